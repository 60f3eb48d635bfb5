// What cells.py does, with the packages of npm. The same arguments, where the name may be that of an older version
// (`openai-4`), and the same output.

import { readFileSync } from "node:fs";

const [name, model, gateway, key, cells] = process.argv.slice(2);
const photo = Buffer.from(Array.from({ length: 1024 }, (_, at) => at % 256)).toString("base64");
const city = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const { default: Package } = await import(name);

// An answer as JSON, without what the package adds to it on its own.
const plain = (thing) => JSON.parse(JSON.stringify(thing));

async function collected(stream) {
  const events = [];
  for await (const event of stream) events.push(plain(event));
  return events;
}

// The exception of a call, as its user tells it from others.
async function raised(call) {
  let got;
  try {
    got = await call();
  } catch (error) {
    const { headers, message } = error;
    return {
      error: error.constructor.name,
      status: error.status ?? null,
      message,
      body: error.error ?? null,
      retry_after: (headers?.get ? headers.get("retry-after") : headers?.["retry-after"]) ?? null,
    };
  }
  return { no_error: plain(got) };
}

const packages = {
  openai(base, own) {
    const api = new Package({ baseURL: `${base}/v1`, ...own });
    const tools = [{ type: "function", name: "weather", description: "Of a city", parameters: city, strict: false }];
    const body = (input) => ({ model: "m-1", input, tools, include: ["reasoning.encrypted_content"] });
    return {
      user(text, hasPhoto = false) {
        const content = [{ type: "input_text", text }];
        const image_url = `data:image/png;base64,${photo}`;
        if (hasPhoto) content.unshift({ type: "input_image", detail: "auto", image_url });
        return { role: "user", content };
      },
      ask: (turns) => api.responses.create(body(turns)),
      events: async (turns) => collected(await api.responses.create({ ...body(turns), stream: true })),
      final: (turns) => api.responses.stream(body(turns)).finalResponse(),
      bytes: async (turns) => (await api.responses.create({ ...body(turns), stream: true }).asResponse()).text(),
      history(answer) {
        const results = answer.output
          .filter((item) => item.type === "function_call")
          .map(({ call_id }) => ({ type: "function_call_output", call_id, output: `${call_id}: sunny` }));
        return [...answer.output, ...results, this.user("cell:told")];
      },
      shown(answer) {
        const calls = answer.output
          .filter((item) => item.type === "function_call")
          .map((item) => [item.name, JSON.parse(item.arguments)]);
        // An older version has no `output_text` in what its helper gives.
        const parts = answer.output.flatMap((item) => item.content ?? []);
        const text = parts.map((part) => part.text ?? "").join("");
        return { id: answer.id, text, calls, end: answer.status };
      },
    };
  },
  anthropic(base, own) {
    const api = new Package({ baseURL: base, ...own });
    const tools = [{ name: "weather", description: "Of a city", input_schema: city }];
    const body = (messages) => ({ model: "m-1", max_tokens: 1000, messages, tools });
    return {
      user(text, hasPhoto = false) {
        const content = [{ type: "text", text }];
        const source = { type: "base64", media_type: "image/png", data: photo };
        if (hasPhoto) content.unshift({ type: "image", source });
        return { role: "user", content };
      },
      ask: (turns) => api.messages.create(body(turns)),
      events: async (turns) => collected(await api.messages.create({ ...body(turns), stream: true })),
      final: (turns) => api.messages.stream(body(turns)).finalMessage(),
      bytes: async (turns) => (await api.messages.create({ ...body(turns), stream: true }).asResponse()).text(),
      history(answer) {
        const results = answer.content
          .filter((block) => block.type === "tool_use")
          .map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: `${id}: sunny` }));
        const asked = this.user("cell:told");
        asked.content.unshift(...results);
        return [{ role: "assistant", content: answer.content }, asked];
      },
      shown(answer) {
        const text = answer.content.map((block) => block.text ?? "").join("");
        const calls = answer.content
          .filter((block) => block.type === "tool_use")
          .map((block) => [block.name, block.input]);
        return { id: answer.id, text, calls, end: answer.stop_reason };
      },
    };
  },
};

function connect(base, application, accessKey = key) {
  const defaultHeaders = { "X-Application-Id": application };
  if (accessKey) defaultHeaders["X-Monitor-Api-Key"] = accessKey;
  const kind = name.startsWith("openai") ? "openai" : "anthropic";
  return packages[kind](base, { apiKey: "sk-test", defaultHeaders, maxRetries: 0, timeout: 20_000 });
}

// A call, a stream by its events and by its helper; then, after each whole answer, the next turn.
async function turns(client, cell) {
  const first = [client.user(`cell:${cell}`)];
  const [called, events, streamed] = [await client.ask(first), await client.events(first), await client.final(first)];
  const next = [];
  for (const answer of [called, streamed]) {
    next.push(plain(await client.ask([...first, ...client.history(plain(answer))])));
  }
  return { call: plain(called), events, final: plain(streamed), next };
}

async function errors(client, cell, kinds = ["ask", "events", "final"]) {
  const found = {};
  for (const kind of kinds) found[kind] = await raised(() => client[kind]([client.user(`cell:${cell}`)]));
  return found;
}

// What a user sees of whole answers: text, calls of tools, and end.
async function shows(client, prompt) {
  const found = {};
  for (const kind of ["ask", "final"]) found[kind] = client.shown(await client[kind]([client.user(prompt)]));
  return found;
}

// Those that are not here have the name of an answer of the model server.
const asked = {
  async image(base, application) {
    const client = connect(base, application);
    const turn = [client.user("cell:told", true)];
    return { call: plain(await client.ask(turn)), final: plain(await client.final(turn)) };
  },
  async slow(base, application) {
    const client = connect(base, application);
    const turn = [client.user("cell:slow")];
    // An older version hands over {event, data} for what it does not know.
    const events = (await client.events(turn)).filter((event) => (event.type ?? event.event) !== "keepalive");
    const beats = (await client.bytes(turn)).match(/^event: (ping|keepalive)$/gm)?.length ?? 0;
    return { beats, events, final: plain(await client.final(turn)) };
  },
  failing: (base, application) => errors(connect(base, application), "failing", ["events", "final"]),
  broken: (base, application) => errors(connect(base, application), "broken", ["events", "final"]),
  gone: (base, application) => errors(connect(base, application), "gone"),
  "no key": (base, application) => errors(connect(base, application, null), "told"),
  // The first call may pass.
  async limited(base, application) {
    await errors(connect(base, application), "told", ["ask"]);
    return errors(connect(base, application), "told", ["ask", "final"]);
  },
  blocked: (base, application) => shows(connect(base, application), "My card is 4111 1111 1111 1111, cell:told"),
  held: (base, application) => shows(connect(base, application), "cell:cards"),
};

async function fill(cell, base, application) {
  if (cell.startsWith("status-")) return errors(connect(base, application), cell);
  return (asked[cell] ?? ((...where) => turns(connect(...where), cell)))(base, application);
}

const { version } = JSON.parse(readFileSync(new URL(`./node_modules/${name}/package.json`, import.meta.url)));
console.log(JSON.stringify({ version }));
for (const [cell, application, isDirect] of JSON.parse(cells)) {
  const direct = isDirect ? await fill(cell, model, application) : null;
  console.log(JSON.stringify({ cell, direct, gateway: await fill(cell, gateway, application) }));
}
process.exit(0);
