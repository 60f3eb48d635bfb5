// The npm package, as built, against the real binary: operations with their types, retries, errors and the middleware.
// `tsc --strict` reads it with the package's types.
//
// Arguments: base URL of the analysis API; base URL of one that takes two requests a second; an address that refuses
// connections; access key; application; the document.

import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import {
  AuthenticationError,
  ConflictError,
  ConnectionFailed,
  InvalidRequestError,
  Monitor,
  MonitorError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  type Schemas,
} from "monitor-gateway-client";
import { monitorCalls, type Options } from "monitor-gateway-client/express";

type Six = [string, string, string, string, string, string];
const [ANALYSIS, BUSY, NOBODY, KEY, APPLICATION, DOCUMENT] = process.argv.slice(2) as Six;
const QUICK = { attempts: 3, first: 0.01 };
const CARD = "My card is 4111 1111 1111 1111";
const monitor = new Monitor(ANALYSIS, KEY);

function expect(condition: unknown, what: unknown): asserts condition {
  if (!condition) throw new Error(typeof what === "string" ? what : JSON.stringify(what));
}

async function fails<Kind extends MonitorError>(
  kind: new (...args: never[]) => Kind,
  call: () => Promise<unknown>,
): Promise<Kind> {
  try {
    await call();
  } catch (error) {
    expect(error instanceof kind && error.name === kind.name, `${error} instead of ${kind.name}`);
    expect(!`${error}${error.stack}`.includes(KEY), "the error names the key");
    return error;
  }
  throw new Error(`${kind.name} was expected`);
}

const message = (text: string, user?: string): Schemas["Message"] => ({
  application_id: APPLICATION,
  message: text,
  additional_parameters: { user_id: user },
});

async function operations() {
  const { paths } = JSON.parse(readFileSync(DOCUMENT, "utf8")) as {
    paths: Record<string, Record<string, { operationId: string; security?: unknown[] }>>;
  };
  const listed = Object.values(paths).flatMap((item) => Object.values(item));
  for (const { operationId, security } of listed) {
    expect(security?.length === 0 || operationId in monitor, `${operationId} is missing`);
  }
  const verdict = await monitor.processRequest({ body: message("Write to anna@example.com", "u-npm") });
  expect(verdict.dataclean.cleaned_text === "Write to [EMAILS]", verdict);
  const path = { id: verdict.request_id };
  const files = [
    { name: "a.txt", content: "to anna@example.com", type: "text/plain" },
    { name: "b.txt", content: new Uint8Array([1, 2]) },
  ];
  const attached = await monitor.attachToPrompt({ path, body: files });
  expect(attached.map((file) => file.name).join() === "a.txt,b.txt", attached);
  const record = await monitor.getRecord({ path });
  expect(record.attachments?.length === 2, record);
  const page = await monitor.listRecords({ query: { user_id: "u-npm", verdict: "flagged", limit: 1 } });
  expect(page.records[0]?.user_id === "u-npm", page);
  const lines = await monitor.processBatch({ body: JSON.stringify({ stage: "post", body: message("fine") }) });
  expect(JSON.parse(lines.toString()).status === 200, "the batch");
  const exported = await monitor.exportRecords({ query: { user_id: "u-npm", format: "csv" } });
  expect(exported.toString().startsWith("seq,"), "the export");
  const made = await monitor.createApplication({ body: { name: "npm" } });
  const changed = await monitor.changeApplication({
    path: { id: made.id },
    headers: { "If-Match": `"${made.version}"` },
    body: { description: "x" },
  });
  expect(changed.version === made.version + 1, changed);
  const removed = await monitor.removeApplication({ path: { id: made.id }, query: { version: changed.version } });
  expect(removed === undefined, "an answer without a body");
  // @ts-expect-error a word that the document does not have
  await fails(InvalidRequestError, () => monitor.listRecords({ query: { verdict: "perhaps" } }));
}

async function typedErrors() {
  const id = "00000000-0000-4000-8000-000000000000";
  const missing = await fails(NotFoundError, () => monitor.getRecord({ path: { id } }));
  expect(missing.status === 404 && missing.kind === "invalid_request_error", missing);
  const body = { version: 999, name: "x" };
  await fails(ConflictError, () => monitor.changeApplication({ path: { id: APPLICATION }, body }));
  const made = await monitor.createToken({ body: { name: "ingest", scopes: ["ingest"] } });
  await fails(PermissionDeniedError, () => new Monitor(ANALYSIS, made.value).listTokens());
  await fails(AuthenticationError, () => new Monitor(ANALYSIS, "mon_invented").listTokens());
  await fails(ConnectionFailed, () => new Monitor(NOBODY, KEY, { retries: QUICK }).listTokens());
  try {
    new Monitor(ANALYSIS, `${KEY}\n`);
    throw new Error("a key with a line feed is taken");
  } catch (error) {
    expect(error instanceof TypeError && !error.message.includes(KEY), error);
  }
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const closed = (server: Server) => new Promise((done) => server.close(done));

/** Passes calls on to the real server and loses the first answers. */
async function lossy(losses: number, use: (base: string, sent: () => number) => Promise<void>) {
  let sent = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const headers = { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" };
    const answer = await fetch(ANALYSIS + request.url, {
      method: request.method ?? "GET",
      headers,
      body: Buffer.concat(chunks),
    });
    const body = await answer.text();
    sent += 1;
    if (sent <= losses) request.socket.destroy();
    else response.writeHead(answer.status, { "Content-Type": "application/json" }).end(body);
  });
  await use(await listening(server), () => sent);
  server.closeAllConnections();
  await closed(server);
}

async function retries() {
  await lossy(2, async (base, sent) => {
    const body = message("hello", "u-lossy-npm");
    const verdict = await new Monitor(base, KEY, { retries: QUICK }).processRequest({ body });
    expect(sent() === 3, sent());
    const { records } = await monitor.listRecords({ query: { user_id: "u-lossy-npm" } });
    expect(records.length === 1 && records[0]?.request_id === verdict.request_id, records);
  });
  await lossy(1, async (base, sent) => {
    const client = new Monitor(base, KEY, { retries: QUICK });
    await fails(ConnectionFailed, () => client.createApplication({ body: { name: "once-npm" } }));
    expect(sent() === 1, sent());
    const { applications } = await monitor.listApplications({ query: { name: "once-npm" } });
    expect(applications.length === 1, applications);
  });
}

async function retryAfter() {
  const hasty = new Monitor(BUSY, KEY, { retries: { attempts: 1 } });
  const refused = await fails(RateLimitError, async () => {
    for (let call = 0; call < 1000; call += 1) await hasty.listTokens();
  });
  expect(refused.retryAfter !== undefined && refused.retryAfter >= 1, refused);
  const patient = new Monitor(BUSY, KEY, { retries: { attempts: 10 } });
  for (let call = 0; call < 4; call += 1) expect((await patient.listTokens()).tokens[0], "no tokens");
}

/** A wait that is longer than the client waits at all. */
async function longRetryAfter() {
  let sent = 0;
  const server = createServer((_request, response) => {
    sent += 1;
    response.writeHead(429, { "Retry-After": "31" }).end();
  });
  const client = new Monitor(await listening(server), KEY, { retries: QUICK });
  const refused = await fails(RateLimitError, () => client.listTokens());
  expect(sent === 1 && refused.retryAfter === 31, refused);
  server.closeAllConnections();
  await closed(server);
}

const completion = (text: string) => ({ choices: [{ index: 0, message: { role: "assistant", content: text } }] });
const event = (text: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`;
const asked = (text: string) => ({
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "hi" },
    { role: "assistant", content: "yes?" },
    { role: "user", content: text },
  ],
});

type Calls = Partial<Options<express.Request, express.Response>>;
const lines: string[] = [];

/** An application of somebody, with the middleware; it has ended behind its use. */
async function served(
  options: Calls,
  use: (post: (path: string, body: unknown, user?: string) => Promise<Response>, goOn: () => void) => Promise<void>,
) {
  const log = (line: string) => void lines.push(line);
  const calls = monitorCalls<express.Request, express.Response>({
    monitor,
    applicationId: APPLICATION,
    maxBody: 4096,
    log,
    ...options,
  });
  let goOn = () => {};
  const gone = new Promise<void>((resolve) => (goOn = resolve));
  const app = express();
  app.use(express.json());
  app.post("/chat", calls, (req, res) => {
    res.json(completion(`You said: ${req.body.messages.at(-1).content}`));
  });
  app.post("/stream", calls, async (_req, res) => {
    res.type("text/event-stream");
    res.write(event("Write to "));
    // Only a client that has the first event lets the second one out.
    await gone;
    res.write(event("anna@example.com"));
    res.end("data: [DONE]\n\n");
  });
  app.post("/cut", calls, async (_req, res) => {
    res.type("text/event-stream");
    res.write(event("Write to "));
  });
  app.post("/broken", calls, (_req, res) => void res.status(500).json({}));
  app.post("/other", (_req, res) => void res.json({}));
  const server = createServer(app);
  const base = await listening(server);
  const post = (path: string, body: unknown, user = "u-nobody") =>
    fetch(base + path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-User-Id": user, "X-Session-Id": "s-express" },
      body: JSON.stringify(body),
    });
  await use(post, goOn);
  server.closeAllConnections();
  await closed(server);
  await calls.drain();
}

/** The records of a user, in their order. */
async function exchange(user: string) {
  const { records } = await monitor.listRecords({ query: { user_id: user } });
  expect(new Set(records.map((record) => record.exchange_id)).size <= 1, records);
  return Promise.all(records.reverse().map(({ request_id: id }) => monitor.getRecord({ path: { id } })));
}

async function registered() {
  await served({}, async (post, goOn) => {
    const answer = await post("/chat", asked(CARD), "u-express");
    expect(JSON.stringify(await answer.json()) === JSON.stringify(completion(`You said: ${CARD}`)), "the answer");
    const reader = (await post("/stream", asked("stream"), "u-stream-npm")).body!.getReader();
    expect(Buffer.from((await reader.read()).value!).toString() === event("Write to "), "the first event");
    goOn();
    while (!(await reader.read()).done);
    const cut = (await post("/cut", asked("cut"), "u-cut-npm")).body!.getReader();
    await cut.read();
    await cut.cancel();
    expect((await post("/broken", asked("x"), "u-broken-npm")).status === 500, "broken");
    await post("/other", asked("x"), "u-other-npm");
    await post("/chat", { messages: "none" }, "u-unread-npm");
    await post("/chat", asked("x".repeat(5000)), "u-long-npm");
    for (const end of ["a", "b"]) await post("/chat", asked("hello"), "n".repeat(600) + end);
  });
  const [before, after] = await exchange("u-express");
  expect(before?.stage === "pre" && before.session_id === "s-express", before);
  expect(before.cleaned_text === "My card is [BANK_CARD_NUMBER]", before);
  expect(after?.cleaned_text === "You said: My card is [BANK_CARD_NUMBER]", after);
  expect(!after.failed && !after.incomplete, after);
  expect((await exchange("u-stream-npm"))[1]?.cleaned_text === "Write to [EMAILS]", "the stream");
  const cut = (await exchange("u-cut-npm"))[1];
  expect(cut?.failed && cut.incomplete && cut.cleaned_text === "Write to ", cut);
  expect((await exchange("u-broken-npm"))[1]?.failed, "broken");
  expect((await exchange("u-other-npm")).length === 0, "another path is registered");
  expect((await exchange("u-unread-npm"))[0]?.additional_parameters["unchecked"] === true, "unread");
  expect((await exchange("u-long-npm"))[1]?.incomplete, "a long answer");
  const { records } = await monitor.listRecords({ query: { stage: "pre" } });
  const users = records.map((record) => record.user_id).filter((user) => user?.startsWith("nnn"));
  expect(users.length === 2 && users[0] !== users[1], users);
}

/** Both records of an exchange in their order, and before the end, although the first one takes its time. */
async function order() {
  const done: string[] = [];
  const slow = Object.create(monitor) as Monitor;
  slow.processRequest = async (parts) => {
    await new Promise((ready) => setTimeout(ready, 300));
    const verdict = await monitor.processRequest(parts);
    done.push("pre");
    return verdict;
  };
  slow.processResponse = (parts) => {
    done.push("post");
    return monitor.processResponse(parts);
  };
  await served({ monitor: slow }, async (post) => {
    expect((await post("/chat", asked("last words"), "u-end-npm")).ok, "the answer");
  });
  expect(done.join() === "pre,post", done);
  expect((await exchange("u-end-npm")).length === 2, "records are lost at the end");
}

async function refused() {
  const refuse: Calls["refuse"] = (verdict, _req, res) =>
    verdict.dataclean.flagged && res.status(403).json({ detail: "refused" });
  await served({ refuse }, async (post) => {
    expect((await post("/chat", asked(CARD), "u-refused-npm")).status === 403, "it is not refused");
    expect((await post("/chat", asked("hello"), "u-let-npm")).status === 200, "it is refused");
  });
  const stages = async (user: string) => (await exchange(user)).map((record) => record.stage).join();
  expect((await stages("u-refused-npm")) === "pre", "the application was called");
  expect((await stages("u-let-npm")) === "pre,post", "the records");
  const lost = new Monitor(NOBODY, KEY, { retries: QUICK });
  for (const [isClosed, status] of [[true, 503], [false, 200]] as const) {
    await served({ refuse, isClosed, monitor: lost }, async (post) => {
      expect((await post("/chat", asked(CARD))).status === status, `without a verdict: not ${status}`);
    });
  }
  await served({ refuse, isClosed: true }, async (post) => {
    expect((await post("/chat", { messages: "none" })).status === 503, "an unread prompt passes");
  });
}

await operations();
await typedErrors();
await retries();
await longRetryAfter();
await registered();
await order();
await refused();
await retryAfter();
expect(lines.length > 0, "nothing was logged");
expect(!lines.some((line) => line.includes(KEY) || line.includes("4111")), lines);
console.log("the npm package works");
