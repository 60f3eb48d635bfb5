// Calls the gateway and the analysis API through openapi-fetch, with the types that openapi-typescript made of their
// documents: `tsc --strict` refuses what the documents do not have.
//
// Arguments: base URLs of gateway and analysis API, access key, an application.

import createClient from "openapi-fetch";
import type { paths as Analysis } from "./analysis.js";
import type { components, paths as Gateway } from "./gateway.js";

type Completion = components["schemas"]["ChatCompletion"] | components["schemas"]["BlockedCompletion"];

const [GATEWAY, ANALYSIS, KEY, APPLICATION] = process.argv.slice(2) as [string, string, string, string];
const PHRASE = "I cannot help with that.";

const gateway = createClient<Gateway>({ baseUrl: GATEWAY, headers: { "X-Monitor-Api-Key": KEY } });
const analysis = createClient<Analysis>({ baseUrl: ANALYSIS, headers: { Authorization: `Bearer ${KEY}` } });

function expect(condition: unknown, what: unknown): asserts condition {
  if (!condition) throw new Error(typeof what === "string" ? what : JSON.stringify(what));
}

/** The answer of a call that must succeed. */
function answered<Data>(call: { data?: Data; error?: unknown; response: Response }): Data {
  expect(call.data !== undefined, { status: call.response.status, error: call.error });
  return call.data;
}

/** A chat completion: with another Accept or `stream: true` the answer is a text of events. */
function completion(call: Parameters<typeof answered<Completion | string>>[0]): Completion {
  const answer = answered(call);
  expect(typeof answer !== "string", answer);
  return answer;
}

const request = (text: string): components["schemas"]["ChatCompletionRequest"] => ({
  model: "demo-small",
  messages: [{ role: "user", content: text }],
});

async function chatAndEmbeddings() {
  const files = JSON.stringify([{ content_base64: "aGVsbG8=", name: "a.txt" }]);
  const header = { "X-Attached-Files": files, "X-User-Id": "u-generated-ts" };
  const chat = await gateway.POST("/v1/chat/completions", { params: { header }, body: request("hello") });
  expect(completion(chat).choices[0]?.message.content, chat.data);
  for (const input of ["The food was good.", ["one", "two"], [1, 2], [[1, 2], [3]]]) {
    const vectors = await gateway.POST("/v1/embeddings", { body: { model: "demo-small", input } });
    expect(answered(vectors).data[0]?.embedding, vectors.data);
  }
  expect(answered(await gateway.GET("/v1/models")).data[0]?.id, "no models");
  const refused = await createClient<Gateway>({ baseUrl: GATEWAY }).POST("/v1/chat/completions", {
    body: request("hello"),
  });
  expect(refused.error?.error.code === 401, refused.error);
}

async function streams() {
  const stream = await gateway.POST("/v1/chat/completions", {
    body: { ...request("hello"), stream: true },
    parseAs: "text",
  });
  const frames = String(answered(stream)).trimEnd().split("\n\n");
  expect(frames.pop() === "data: [DONE]", frames);
  const chunks = frames.map((frame): components["schemas"]["ChatCompletionChunk"] => JSON.parse(frame.slice(6)));
  expect(chunks.some((chunk) => chunk.choices[0]?.delta.content), chunks);
}

async function blocked() {
  const policy = { app_mode: "sync", phrase: PHRASE, block_on: { guardrails: false } } as const;
  const made = answered(await analysis.POST("/applications", { body: { name: "generated ts", policy } }));
  const params = { path: { id: made.id }, header: { "If-Match": `"${made.version}"` } };
  const changed = await analysis.PATCH("/applications/{id}/policy", {
    params,
    body: { policy: { on_backend_failure: "closed" } },
  });
  expect(answered(changed).policy?.on_backend_failure === "closed", changed.data);
  const answer = completion(
    await gateway.POST("/v1/chat/completions", {
      params: { header: { "X-Application-Id": made.id } },
      body: request("My card is 4111 1111 1111 1111"),
    }),
  );
  expect(answer.choices[0]?.message.content === PHRASE, answer);
  expect(answer.metadata?.monitor?.response_replacement.type === "dataclean", answer);
}

async function messages() {
  const message = {
    application_id: APPLICATION,
    message: "Write to anna@example.com",
    additional_parameters: { user_id: "u-generated-ts" },
  };
  const verdict = answered(await analysis.POST("/process_request", { body: message }));
  expect(verdict.dataclean.types[0]?.type === "EMAILS", verdict);
  answered(await analysis.POST("/process_response", { body: message }));
  const path = { id: verdict.request_id };
  const attached = await analysis.POST("/user_prompt_analysis/{id}/attach_files", {
    params: { path },
    body: { attached_files: ["to anna@example.com"] },
    bodySerializer: ({ attached_files }) => {
      const form = new FormData();
      for (const file of attached_files) form.append("attached_files", new Blob([file]), "a.txt");
      return form;
    },
  });
  const record = answered(await analysis.GET("/records/{id}", { params: { path } }));
  expect(record.attachments?.[0]?.sha256 === answered(attached)[0]?.sha256, record);
  const query = { user_id: "u-generated-ts", stage: "pre", limit: 1 } as const;
  const page = answered(await analysis.GET("/records", { params: { query } }));
  expect(page.records.length === 1, page);
  const missing = await analysis.GET("/records/{id}", {
    params: { path: { id: "00000000-0000-4000-8000-000000000000" } },
  });
  expect(missing.error?.error.type === "invalid_request_error", missing.error);
}

await chatAndEmbeddings();
await streams();
await blocked();
await messages();
console.log("every call through the generated TypeScript clients is right");
