// What a page asks a gateway with fetch, as matrix.py does: the same cells, and the same objects for what comes back.

const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather in a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

async function ask(base, key, app, text, changes = {}) {
  const answer = await fetch(`${base}/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Monitor-Api-Key": key, "X-Application-Id": app },
    body: JSON.stringify({ model: "test-model", messages: [{ role: "user", content: text }], ...changes }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

// The events of a stream as they arrive.
async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + part.value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.startsWith("data: {")) yield JSON.parse(line.slice("data: ".length));
  }
}

const methods = {
  async call(...asked) {
    const answer = await (await ask(...asked)).json();
    return { text: answer.choices[0].message.content, ids: [answer.id] };
  },
  async stream(...asked) {
    const said = { text: "", ids: [] };
    for await (const event of events(await ask(...asked, { stream: true }))) {
      for (const choice of event.choices) said.text += choice.delta.content ?? "";
      said.ids.push(event.id);
    }
    return said;
  },
  async tools(...asked) {
    const answer = await (await ask(...asked, { tools: [weather] })).json();
    const call = answer.choices[0].message.tool_calls[0].function;
    return { text: `${call.name} ${JSON.parse(call.arguments).city}`, ids: [] };
  },
};

async function filled(base, key, cells) {
  const found = {};
  for (const [name, action, ...asked] of cells) {
    found[name] = await methods[action](base, key, ...asked).catch((error) => ({ error: error.name }));
  }
  return { version: null, cells: found };
}
