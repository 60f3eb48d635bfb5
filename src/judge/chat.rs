//! One question to a model behind an OpenAI-compatible chat endpoint: builds the conversation and extracts the
//! text of the answer, which the caller interprets.

use super::fault::Fault;
use crate::config::ResponseFormat;
use serde::Deserialize;
use serde_json::{Value, json};

/// The path of such an endpoint, below its base URL.
pub(super) const PATH: &str = "/v1/chat/completions";

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
}

/// The two messages of a call.
#[derive(Clone, Copy)]
pub(super) struct Prompt<'a> {
    /// Instructions; empty for none.
    pub(super) system: &'a str,
    pub(super) user: &'a str,
}

/// The body of a call.
pub(super) fn request(model: &str, prompt: Prompt<'_>, format: ResponseFormat) -> Value {
    let Prompt { system, user } = prompt;
    let mut messages = Vec::new();
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system}));
    }
    messages.push(json!({"role": "user", "content": user}));
    let mut request = json!({
        "model": model,
        "messages": messages,
        "temperature": 0,
        "stream": false,
    });
    if format == ResponseFormat::JsonObject {
        request["response_format"] = json!({"type": "json_object"});
    }
    request
}

/// The text of the first choice.
pub(super) fn content(answer: &[u8]) -> Result<String, Fault> {
    let completion: Completion = serde_json::from_slice(answer)
        .map_err(|_| Fault::Nonsense("it is not a chat completion"))?;
    let first = completion.choices.into_iter().next();
    let content = first.and_then(|choice| choice.message.content);
    content.ok_or(Fault::Nonsense("it has no text"))
}
