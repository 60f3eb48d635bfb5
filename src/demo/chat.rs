//! POST `/v1/chat/completions`: the plain answer, and the choice between it and the stream. The
//! stream's frames are in `stream`, the words in `answer`.

use super::answer::{Answer, answers};
use super::refusal::{Refusal, check_key};
use super::request::ChatCall;
use super::stream;
use super::words::estimated_tokens;
use axum::Json;
use axum::body::Bytes;
use axum::extract::Query;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::Uuid;

/// Query of a chat call.
#[derive(Debug, Deserialize)]
pub(super) struct Pace {
    /// Milliseconds between two words of a stream.
    pace_ms: Option<String>,
}

/// One completion before it takes the form of a body or of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Completion {
    /// `chatcmpl-` and a UUID.
    pub(super) id: String,
    /// Unix seconds.
    pub(super) created: u64,
    /// The name that was asked for.
    pub(super) model: String,
    /// At least one.
    pub(super) answers: Vec<Answer>,
    /// The `usage` object.
    pub(super) usage: Value,
}

/// Answers a call, plain or as an event stream.
pub(super) async fn complete(
    headers: HeaderMap,
    Query(query): Query<Pace>,
    body: Bytes,
) -> Result<Response, Refusal> {
    check_key(&headers)?;
    let call = ChatCall::read(&body, query.pace_ms.as_deref())?;
    let completion = Completion::of(&call);
    if call.stream {
        return Ok(stream::response(&completion, call.include_usage, call.pace));
    }
    Ok(Json(completion.to_json()).into_response())
}

impl Completion {
    fn of(call: &ChatCall) -> Self {
        let answers = answers(call);
        Self {
            id: format!("chatcmpl-{}", Uuid::new_v4().simple()),
            created: now(),
            model: call.model.clone(),
            usage: usage(call, &answers),
            answers,
        }
    }

    fn to_json(&self) -> Value {
        let choices: Vec<Value> = self.answers.iter().enumerate().map(choice).collect();
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

fn choice((index, answer): (usize, &Answer)) -> Value {
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
    use super::*;

    #[test]
    fn a_completion_has_the_fields_of_the_reference_format() {
        let body =
            br#"{"model":"demo-small","n":2,"messages":[{"role":"system","content":"Be brief"},
            {"role":"user","content":"Hello there"}]}"#;
        let call = ChatCall::read(body, None).unwrap();
        let completion = Completion::of(&call).to_json();
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
