// Drives a gateway with the official `openai` package, retries off.
//
// Arguments: base URL of a gateway with the demo model, access key, base URL of a gateway whose
// upstream is down. Exits non-zero with the reason on anything that is not as it should be.

import assert from "node:assert/strict";
import OpenAI from "openai";

const [base, key, broken] = process.argv.slice(2);
const model = "demo-small";
const messages = [{ role: "user", content: "Hello there" }];

function client({ baseURL = base, apiKey = "sk-test", headers = { "X-Monitor-Api-Key": key } } = {}) {
  return new OpenAI({ baseURL, apiKey, defaultHeaders: headers, maxRetries: 0, timeout: 20_000 });
}

const ask = (api, changes = {}) => api.chat.completions.create({ model, messages, ...changes });

async function fails(kind, status, type, call) {
  let error;
  try {
    await call();
  } catch (caught) {
    error = caught;
  }
  assert.ok(error, `${kind.name} ${status} was expected, the call succeeded`);
  assert.equal(error.constructor, kind, `${error.constructor.name} instead of ${kind.name}: ${error.message}`);
  assert.equal(error.status, status);
  assert.equal(error.error?.type, type, JSON.stringify(error.error));
  assert.ok(error.error.message, "no message");
  return error;
}

const checks = {
  async chat() {
    const answer = await ask(client());
    assert.equal(answer.object, "chat.completion");
    assert.equal(answer.model, model);
    assert.equal(answer.choices[0].message.role, "assistant");
    assert.ok(answer.choices[0].message.content);
    assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
  },

  async stream() {
    let text = "";
    let chunks = 0;
    for await (const chunk of await ask(client(), { stream: true })) {
      assert.equal(chunk.object, "chat.completion.chunk");
      chunks += 1;
      for (const choice of chunk.choices) text += choice.delta.content ?? "";
    }
    assert.ok(chunks > 2, `only ${chunks} chunks`);
    const plain = await ask(client());
    assert.equal(text, plain.choices[0].message.content, "stream and plain differ");
  },

  async streamLeftEarly() {
    const stream = await ask(client(), { stream: true });
    for await (const _ of stream) break;
    await checks.chat();
  },

  async embeddings() {
    const answer = await client().embeddings.create({ model, input: ["one", "two"] });
    assert.deepEqual(answer.data.map((item) => item.index), [0, 1]);
    for (const item of answer.data) assert.equal(typeof item.embedding[0], "number");
  },

  async models() {
    const ids = [];
    for await (const item of client().models.list()) ids.push(item.id);
    assert.ok(ids.includes(model), `${model} is not among ${ids}`);
  },

  async refusalsByTheGateway() {
    const keyless = client({ headers: {} });
    const calls = [
      () => ask(keyless),
      () => ask(keyless, { stream: true }),
      () => keyless.embeddings.create({ model, input: "x" }),
      () => keyless.models.list(),
    ];
    for (const call of calls) {
      const error = await fails(OpenAI.AuthenticationError, 401, "invalid_request_error", call);
      assert.equal(error.error.code, 401);
    }
  },

  async refusalsByTheUpstream() {
    const api = client();
    await fails(OpenAI.RateLimitError, 429, "rate_limit_error", () => ask(api, { model: "rate-limited" }));
    const rejected = client({ apiKey: "invalid" });
    await fails(OpenAI.AuthenticationError, 401, "invalid_request_error", () => ask(rejected));
    const incomplete = () => api.post("/chat/completions", { body: { model } });
    await fails(OpenAI.BadRequestError, 400, "invalid_request_error", incomplete);
    for (const changes of [{}, { stream: true }]) {
      const call = () => ask(api, { model: "overloaded", ...changes });
      const error = await fails(OpenAI.InternalServerError, 503, "upstream_error", call);
      assert.equal(error.error.code, 503);
    }
  },

  async anUpstreamThatIsDown() {
    const api = client({ baseURL: broken });
    const calls = [
      () => ask(api),
      () => ask(api, { stream: true }),
      () => api.embeddings.create({ model, input: "x" }),
      () => api.models.list(),
    ];
    for (const call of calls) {
      const error = await fails(OpenAI.InternalServerError, 502, "gateway_error", call);
      assert.equal(error.error.code, 502);
    }
  },
};

for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
  } catch (error) {
    console.error(`${name}: ${error.stack ?? error}`);
    process.exit(1);
  }
  console.log(`ok ${name}`);
}
