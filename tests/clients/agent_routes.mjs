// Drives the Responses and the Messages API of a gateway with the official packages, retries off.
//
// Arguments: base URL of a gateway with the demo model, without /v1, access key, and two applications in synchronous
// mode, of which the second holds streams back. Exits non-zero with the reason on anything that is not as it should be.

import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const [base, key, sync, held] = process.argv.slice(2);
const phrase = "This is not allowed here.";
const card = "4111 1111 1111 1111";
const model = "demo-small";

const settings = (application) => ({
  apiKey: "sk-test",
  defaultHeaders: { "X-Monitor-Api-Key": key, ...(application && { "X-Application-Id": application }) },
  maxRetries: 0,
  timeout: 20_000,
});

const packages = {
  openai: (application) => {
    const api = new OpenAI({ baseURL: `${base}/v1`, ...settings(application) });
    return {
      async ask(input) {
        const answer = await api.responses.create({ model, input });
        assert.equal(answer.status, "completed");
        return [answer.id, answer.output_text];
      },
      async stream(input) {
        let said = "";
        const stream = api.responses.stream({ model, input });
        for await (const event of stream) if (event.type === "response.output_text.delta") said += event.delta;
        const whole = await stream.finalResponse();
        assert.equal(whole.output_text, said);
        return [whole.id, said];
      },
    };
  },
  "@anthropic-ai/sdk": (application) => {
    const api = new Anthropic({ baseURL: base, ...settings(application) });
    const body = (content) => ({ model, max_tokens: 1000, messages: [{ role: "user", content }] });
    return {
      async ask(text) {
        const answer = await api.messages.create(body(text));
        assert.equal(answer.stop_reason, "end_turn");
        return [answer.id, answer.content[0].text];
      },
      async stream(text) {
        const stream = api.messages.stream(body(text));
        let said = "";
        stream.on("text", (piece) => (said += piece));
        const whole = await stream.finalMessage();
        assert.equal(whole.content[0].text, said);
        assert.equal(whole.stop_reason, "end_turn");
        return [whole.id, said];
      },
    };
  },
};

for (const [name, client] of Object.entries(packages)) {
  for (const call of ["ask", "stream"]) {
    for (const application of [undefined, sync]) {
      const [, said] = await client(application)[call]("Hello there");
      assert.ok(said.split(" ").length > 3, `${name} ${call}: ${said}`);
    }
    const [first, said] = await client(sync)[call](`My card is ${card}`);
    assert.equal(said, phrase, `${name} ${call}`);
    assert.ok(first.startsWith("monitor-guardrails-"));
  }
  const [, said] = await client(held).stream(`echo: Your card is ${card}, as you know`);
  assert.equal(said, `Your card is ${phrase}`, name);
  console.log(name, "ok");
}
