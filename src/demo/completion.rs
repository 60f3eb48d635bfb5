//! A completion of the demo before it takes the form of a body or of a stream, and its plain form.

use super::request::ChatCall;
use super::words::estimated_tokens;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::Uuid;

/// One choice's text and why it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// What the message says.
    pub(super) text: String,
    /// `stop`, or `length` when the caller's token limit cut it.
    pub(super) finish_reason: &'static str,
}

/// One completion before it takes the form of a body or of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Completion {
    /// `chatcmpl-` and a UUID.
    pub(super) id: String,
    /// Seconds since 1970.
    pub(super) created: u64,
    /// The name that was asked for.
    pub(super) model: String,
    /// At least one.
    pub(super) answers: Vec<Answer>,
    /// The `usage` object.
    pub(super) usage: Value,
}

impl Completion {
    /// With these answers to a call.
    pub(super) fn new(call: &ChatCall, answers: Vec<Answer>) -> Self {
        Self {
            id: format!("chatcmpl-{}", Uuid::new_v4().simple()),
            created: now(),
            model: call.model.clone(),
            usage: usage(call, &answers),
            answers,
        }
    }

    /// The plain answer in the reference format.
    pub(super) fn to_json(&self) -> Value {
        let choices: Vec<Value> = (0..)
            .zip(&self.answers)
            .map(|(index, answer)| choice(index, answer))
            .collect();
        json!({
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            "usage": self.usage,
            "system_fingerprint": null,
        })
    }
}

fn choice(index: usize, answer: &Answer) -> Value {
    json!({
        "index": index,
        "message": {"role": "assistant", "content": answer.text, "refusal": null},
        "logprobs": null,
        "finish_reason": answer.finish_reason,
    })
}

fn usage(call: &ChatCall, answers: &[Answer]) -> Value {
    let prompt: u64 = call
        .messages
        .iter()
        .map(|message| estimated_tokens(&message.text))
        .sum();
    let completion: u64 = answers
        .iter()
        .map(|answer| estimated_tokens(&answer.text))
        .sum();
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    })
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::super::answer::answers;
    use super::*;

    #[test]
    fn a_completion_has_the_fields_of_the_reference_format() {
        let body =
            br#"{"model":"demo-small","n":2,"messages":[{"role":"system","content":"Be brief"},
            {"role":"user","content":"Hello there"}]}"#;
        let call = ChatCall::read(body, None).unwrap();
        let completion = Completion::new(&call, answers(&call)).to_json();
        assert_eq!(completion["object"], "chat.completion");
        assert!(completion["id"].as_str().unwrap().starts_with("chatcmpl-"));
        assert_eq!(completion["choices"][1]["index"], 1);
        assert_eq!(completion["choices"][1]["message"]["role"], "assistant");
        assert_eq!(completion["choices"][1]["finish_reason"], "stop");
        let usage = &completion["usage"];
        assert_eq!(
            usage["prompt_tokens"], 6,
            "two messages of two words, each rounded up"
        );
        let total = usage["total_tokens"].as_u64().unwrap();
        assert_eq!(total, 6 + usage["completion_tokens"].as_u64().unwrap());
    }
}
