// Texts of bodies in the chat API format, for the middleware. A body in another format needs functions of its own.

/** The last text of the user in a request; undefined where there is none. */
export function prompt(body) {
  const own = body.messages.filter((message) => message.role === "user").map((message) => text(message.content));
  return own.findLast((found) => found !== "");
}

/** The texts of all choices of an answer, or of the events of a stream. */
export function answer(body, contentType) {
  if (contentType.startsWith("text/event-stream")) return streamed(body);
  const choices = JSON.parse(body).choices;
  return choices.map((choice) => text(choice.message?.content)).join("\n");
}

function text(content) {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content : [];
  return parts.map((part) => part.text).filter((found) => typeof found === "string").join("\n");
}

function streamed(body) {
  const texts = new Map();
  for (const line of body.toString().split(/\r?\n/)) {
    if (!line.startsWith("data:") || line.slice(5).trim() === "[DONE]") continue;
    for (const { index = 0, delta } of JSON.parse(line.slice(5)).choices ?? []) {
      texts.set(index, (texts.get(index) ?? "") + (delta?.content ?? ""));
    }
  }
  return [...texts.values()].join("\n");
}
