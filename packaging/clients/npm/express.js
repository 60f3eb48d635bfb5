// Middleware that registers calls of an application of your own with the analysis API, before and after it answers. It
// is for applications that call a model without the gateway; the gateway registers calls by itself.

import { createHash, randomUUID } from "node:crypto";
import * as chat from "./chat.js";
import { MonitorError, StatusError } from "./errors.js";

/**
 * Registers the calls of the routes that it stands in, behind `express.json()`.
 *
 * See express.d.ts for its options.
 */
export function monitorCalls({
  monitor,
  applicationId,
  prompt = chat.prompt,
  answer = chat.answer,
  refuse,
  isClosed = false,
  maxBody = 1 << 20,
  maxPending = 1000,
  log = console.warn,
}) {
  const pending = new Set();

  function message(text, parameters) {
    return { application_id: applicationId, message: text, additional_parameters: { ...parameters } };
  }

  async function register(call, text, parameters) {
    try {
      return await call.call(monitor, { body: message(text, parameters) });
    } catch (error) {
      if (!(error instanceof MonitorError)) throw error;
      log(`a record is lost: ${named(error)}`);
    }
  }

  function later(work) {
    if (pending.size >= maxPending) {
      log(`a record is lost: ${maxPending} others wait (maxPending)`);
      return undefined;
    }
    const task = work().finally(() => pending.delete(task));
    pending.add(task);
    return task;
  }

  /** Whether something was sent in place of the application's answer. */
  async function isRefused(text, parameters, req, res) {
    try {
      const verdict = await monitor.processRequest({ body: message(text, parameters) });
      await refuse(verdict, req, res);
      if (res.headersSent) return true;
    } catch (error) {
      if (!(error instanceof MonitorError)) throw error;
      log(`a call has no verdict: ${named(error)}`);
      parameters.unchecked = true;
    }
    if (!parameters.unchecked || !isClosed) return false;
    const why = "the call could not be checked; try again later";
    res.status(503).json({ error: { message: why, type: "gateway_error", code: 503 } });
    return true;
  }

  /** Whether the application is to answer. */
  async function begin(req, res) {
    const parameters = parametersOf(req);
    const text = found(() => prompt(req.body));
    if (text === undefined) {
      log(`a call of ${req.path} has no prompt that can be read: it is not checked`);
      parameters.unchecked = true;
    }
    let registered;
    if (refuse) {
      if (await isRefused(text ?? "", parameters, req, res)) return false;
    } else {
      registered = later(() => register(monitor.processRequest, text ?? "", parameters));
    }
    const captured = capture(res, maxBody);
    res.once("close", () =>
      later(async () => {
        // The records of an exchange are registered in their order.
        await registered;
        const said = found(() => answer(captured.body(), String(res.getHeader("Content-Type") ?? "")));
        await register(monitor.processResponse, said ?? "", { ...parameters, ...captured.facts() });
      }),
    );
    return true;
  }

  async function calls(req, res, next) {
    let goesOn;
    try {
      goesOn = await begin(req, res);
    } catch (error) {
      return next(error);
    }
    if (goesOn) next();
  }

  /** Waits until everything is registered. */
  calls.drain = async () => {
    while (pending.size > 0) await Promise.allSettled(pending);
  };
  return calls;
}

/** What an application sends, passed on at once. */
function capture(res, limit) {
  const chunks = [];
  let length = 0;
  for (const name of ["write", "end"]) {
    const send = res[name];
    res[name] = function (chunk, encoding, ...rest) {
      if ((typeof chunk === "string" || ArrayBuffer.isView(chunk)) && length < limit) {
        const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoded(encoding)) : Buffer.from(chunk);
        chunks.push(bytes.subarray(0, limit - length));
        length += chunks.at(-1).length;
      }
      return send.call(this, chunk, encoding, ...rest);
    };
  }
  return {
    body: () => Buffer.concat(chunks),
    /** What the record says about the answer beside its text. */
    facts() {
      const facts = res.writableFinished && length < limit ? {} : { incomplete: true };
      if (!res.writableFinished) facts.error = { type: "closed", code: res.statusCode, closed_by: "client" };
      else if (res.statusCode >= 400) facts.error = { type: "status", code: res.statusCode };
      return facts;
    },
  };
}

function encoded(encoding) {
  return typeof encoding === "string" ? encoding : "utf8";
}

/** The exchange, and whom the headers of the gateway name. */
function parametersOf(req) {
  const parameters = { request_id: randomUUID() };
  for (const [name, header] of [["user_id", "x-user-id"], ["session_id", "x-session-id"]]) {
    const value = req.headers[header];
    if (value) parameters[name] = bounded(value);
  }
  return parameters;
}

/** The API takes 512 bytes. A longer name ends in a hash of the whole, so that two of them stay two. */
function bounded(name) {
  if (Buffer.byteLength(name) <= 512) return name;
  return `${name.slice(0, 200)}…${createHash("sha256").update(name).digest("hex")}`;
}

/** A text, or undefined where a body has another form than the function expects. */
function found(find) {
  try {
    return find();
  } catch {
    return undefined;
  }
}

function named(error) {
  // The message of an answer may come from anywhere between.
  return error instanceof StatusError ? `${error.name} ${error.status}` : error.message;
}
