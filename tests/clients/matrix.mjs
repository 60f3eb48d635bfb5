// What matrix.py does, with the libraries of npm. The same arguments, the same output.

import { readFileSync } from "node:fs";

const [library, base, key, cells] = process.argv.slice(2);
const model = "test-model";
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const description = "The weather in a city";
const weather = { type: "function", function: { name: "weather", description, parameters } };
const headers = (app) => ({ "X-Monitor-Api-Key": key, "X-Application-Id": app });
const messages = (text) => [{ role: "user", content: text }];


const libraries = {
  async openai() {
    const { default: OpenAI } = await import("openai");
    const ask = (app, text, changes = {}) =>
      new OpenAI({ baseURL: base, apiKey: "sk-test", defaultHeaders: headers(app), maxRetries: 0 }).chat.completions
        .create({ model, messages: messages(text), ...changes });
    return {
      call: async (app, text) => (await ask(app, text)).choices[0].message.content,
      async stream(app, text) {
        let said = "";
        const options = { stream: true, stream_options: { include_usage: true } };
        for await (const chunk of await ask(app, text, options))
          for (const choice of chunk.choices) said += choice.delta.content ?? "";
        return said;
      },
      async tools(app, text) {
        const call = (await ask(app, text, { tools: [weather] })).choices[0].message.tool_calls[0].function;
        return `${call.name} ${JSON.parse(call.arguments).city}`;
      },
    };
  },

  async "@ai-sdk/openai-compatible"() {
    const { generateText, streamText, jsonSchema, tool } = await import("ai");
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    const asking = (app, text) => {
      const provider = createOpenAICompatible({ name: "monitor", baseURL: base, apiKey: "sk-test", headers: headers(app) });
      return { model: provider(model), messages: messages(text), maxRetries: 0 };
    };
    return {
      call: async (app, text) => (await generateText(asking(app, text))).text,
      async stream(app, text) {
        let said = "";
        for await (const part of streamText({ ...asking(app, text), onError() {} }).fullStream) {
          if (part.type === "error") throw part.error;
          if (part.type === "text-delta") said += part.text;
        }
        return said;
      },
      async tools(app, text) {
        const tools = { weather: tool({ description, inputSchema: jsonSchema(parameters) }) };
        const call = (await generateText({ ...asking(app, text), tools })).toolCalls[0];
        return `${call.toolName} ${call.input.city}`;
      },
    };
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
      call: async (app, text) => (await chat(app).invoke(text)).content,
      async stream(app, text) {
        let said = "";
        for await (const chunk of await chat(app).stream(text)) said += chunk.content;
        return said;
      },
      async tools(app, text) {
        const call = (await chat(app).bindTools([weather]).invoke(text)).tool_calls[0];
        return `${call.name} ${call.args.city}`;
      },
    };
  },
};

async function seen(actions, [action, app, text, expected]) {
  if (!actions[action]) return null;
  try {
    const got = await actions[action](app, text);
    if (got === expected) return "shown";
    return got ? `other: ${got}` : "nothing";
  } catch (error) {
    return error.name === "Error" ? error.constructor.name : error.name;
  }
}

const actions = await libraries[library]();
const { version } = JSON.parse(readFileSync(new URL(`./node_modules/${library}/package.json`, import.meta.url)));
const found = {};
for (const [name, ...cell] of JSON.parse(cells)) found[name] = await seen(actions, cell);
console.log(JSON.stringify({ version, cells: found }));
process.exit(0);
