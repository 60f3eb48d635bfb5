// What matrix.py does, with the libraries of npm. The same arguments, the same output. A method gives [text, ...ids], or
// the text alone.

import { readFileSync } from "node:fs";

const [library, base, key, cells] = process.argv.slice(2);
const model = "test-model";
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const description = "The weather in a city";
const weather = { type: "function", function: { name: "weather", description, parameters } };
const headers = (app) => ({ "X-Monitor-Api-Key": key, "X-Application-Id": app });
const messages = (text) => [{ role: "user", content: text }];

// The AI SDK with a provider: what makes a model of an application.
const aiSdk = async (modelOf) => {
  const { generateText, streamText, jsonSchema, tool } = await import("ai");
  const asking = (app, text) => ({ model: modelOf(headers(app)), messages: messages(text), maxRetries: 0 });
  return {
    async call(app, text) {
      const answer = await generateText(asking(app, text));
      return [answer.text, answer.response.id];
    },
    async stream(app, text) {
      let said = "";
      const answer = streamText({ ...asking(app, text), onError() {} });
      for await (const part of answer.fullStream) {
        if (part.type === "error") throw part.error;
        if (part.type === "text-delta") said += part.text;
      }
      return [said, (await answer.response).id];
    },
    async tools(app, text) {
      const tools = { weather: tool({ description, inputSchema: jsonSchema(parameters) }) };
      const call = (await generateText({ ...asking(app, text), tools })).toolCalls[0];
      return `${call.toolName} ${call.input.city}`;
    },
  };
};

const libraries = {
  async openai() {
    const { default: OpenAI } = await import("openai");
    const ask = (app, text, changes = {}) =>
      new OpenAI({ baseURL: base, apiKey: "sk-test", defaultHeaders: headers(app), maxRetries: 0 }).chat.completions
        .create({ model, messages: messages(text), ...changes });
    return {
      async call(app, text) {
        const answer = await ask(app, text);
        return [answer.choices[0].message.content, answer.id];
      },
      async stream(app, text) {
        const said = [""];
        const options = { stream: true, stream_options: { include_usage: true } };
        for await (const chunk of await ask(app, text, options)) {
          for (const choice of chunk.choices) said[0] += choice.delta.content ?? "";
          said.push(chunk.id);
        }
        return said;
      },
      async tools(app, text) {
        const call = (await ask(app, text, { tools: [weather] })).choices[0].message.tool_calls[0].function;
        return `${call.name} ${JSON.parse(call.arguments).city}`;
      },
    };
  },

  async "@ai-sdk/openai-compatible"() {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    const own = { name: "monitor", baseURL: base, apiKey: "sk-test" };
    return aiSdk((headers) => createOpenAICompatible({ ...own, headers })(model));
  },

  async "@ai-sdk/openai"() {
    const { createOpenAI } = await import("@ai-sdk/openai");
    return aiSdk((headers) => createOpenAI({ baseURL: base, apiKey: "sk-test", headers }).chat(model));
  },

  async "@langchain/openai"() {
    const { ChatOpenAI } = await import("@langchain/openai");
    const chat = (app) =>
      new ChatOpenAI({
        model,
        apiKey: "sk-test",
        maxRetries: 0,
        configuration: { baseURL: base, defaultHeaders: headers(app) },
      });
    return {
      async call(app, text) {
        const answer = await chat(app).invoke(text);
        return [answer.content, answer.id];
      },
      async stream(app, text) {
        const said = [""];
        for await (const chunk of await chat(app).stream(text)) {
          said[0] += chunk.content;
          said.push(chunk.id);
        }
        return said;
      },
      async tools(app, text) {
        const call = (await chat(app).bindTools([weather]).invoke(text)).tool_calls[0];
        return `${call.name} ${call.args.city}`;
      },
    };
  },
};

async function got(method, app, text) {
  try {
    const [said, ...ids] = [await method(app, text)].flat();
    return { text: said ?? "", ids: ids.filter(Boolean) };
  } catch (error) {
    return { error: error.name === "Error" ? error.constructor.name : error.name };
  }
}

const methods = await libraries[library]();
for (const action of ["call", "stream", "tools"]) if (!methods[action]) throw new Error(`no ${action}`);
const { version } = JSON.parse(readFileSync(new URL(`./node_modules/${library}/package.json`, import.meta.url)));
const found = {};
for (const [name, action, ...asked] of JSON.parse(cells)) found[name] = await got(methods[action], ...asked);
console.log(JSON.stringify({ version, cells: found }));
process.exit(0);
