// The client: operations are methods, and failed calls are sent again where that is safe.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ConnectionFailed, ofResponse } from "./errors.js";
import { operations } from "./operations.js";
import { code, DEFAULTS, wait } from "./retries.js";

export * from "./errors.js";

/** The analysis API: each operation of its document is a method that takes `{ path, query, headers, body }`. */
export class Monitor {
  #base;
  #authorization;
  #timeout;
  #retries;

  /** `timeout` is in seconds, for each attempt. */
  constructor(baseUrl, token, { timeout = 60, retries = {} } = {}) {
    // Checked here, since `fetch` would quote a header that it refuses.
    if (!/^[!-~]+$/.test(token)) {
      throw new TypeError("the access token is empty or has a character other than visible ASCII");
    }
    this.#base = String(baseUrl).replace(/\/+$/, "");
    this.#authorization = `Bearer ${token}`;
    this.#timeout = timeout * 1000;
    this.#retries = { ...DEFAULTS, ...retries };
  }

  /** Calls an operation of the table. */
  async call(operation, { path = {}, query = {}, headers = {}, body } = {}) {
    const url = this.#base + filled(operation.path, path) + search(query);
    const written = body === undefined ? {} : write(operation, body);
    const isRepeatable = operation.method === "GET" || operation.identifiedBy !== undefined;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#send(url, {
        method: operation.method,
        headers: { ...present(headers), ...written.headers, Authorization: this.#authorization },
        body: written.body,
      });
      if (outcome.result) return read(operation, outcome.result);
      const seconds = wait(this.#retries, attempt, isRepeatable, outcome);
      if (seconds === undefined) throw await failureOf(outcome);
      await outcome.response?.body?.cancel();
      await sleep(seconds * 1000);
    }
  }

  /** A successful answer with its whole body, an answer that is an error, or a failure of the network. */
  async #send(url, request) {
    try {
      const response = await fetch(url, { ...request, signal: AbortSignal.timeout(this.#timeout) });
      return response.ok ? { result: Buffer.from(await response.arrayBuffer()) } : { response };
    } catch (failure) {
      return { failure };
    }
  }
}

for (const [name, operation] of Object.entries(operations)) {
  Monitor.prototype[name] = function (parts) {
    return this.call(operation, parts);
  };
}

function filled(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, name) => {
    if (values[name] === undefined) throw new TypeError(`path.${name} is missing`);
    return encodeURIComponent(values[name]);
  });
}

function search(query) {
  const text = new URLSearchParams(present(query)).toString();
  return text && `?${text}`;
}

function present(values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== null));
}

/** Body and headers. A message that nothing identifies gets ids, so that it can be sent again. */
function write(operation, body) {
  if (operation.sends === "files") {
    const form = new FormData();
    for (const { name, content, type } of body) form.append(operation.field, new Blob([content], { type }), name);
    return { body: form };
  }
  if (operation.sends === "text") return { body, headers: { "Content-Type": operation.mediaType } };
  const whole = operation.identifiedBy ? identified(body, ...operation.identifiedBy) : body;
  return { body: JSON.stringify(whole), headers: { "Content-Type": "application/json" } };
}

function identified(message, parameter, ...fields) {
  const parameters = { ...message.additional_parameters };
  parameters[parameter] ??= randomUUID();
  const whole = { ...message, additional_parameters: parameters };
  // Such a field may stand among the parameters too.
  for (const name of fields) if (parameters[name] == null) whole[name] ??= randomUUID();
  return whole;
}

function read(operation, bytes) {
  if (operation.returns === "json") return JSON.parse(bytes.toString());
  return operation.returns === "bytes" ? bytes : undefined;
}

async function failureOf({ response, failure }) {
  // What a failure says may quote the request; its code does not.
  return response ? ofResponse(response) : new ConnectionFailed(`no answer: ${code(failure)}`);
}
