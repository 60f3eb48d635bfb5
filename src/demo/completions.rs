//! The demo in the form of completions: each prompt is answered like a chat whose user says it.

use super::answer::{Answer, answers, pieces};
use super::completion::paced;
use super::refusal::{Refusal, check_key};
use super::request::{ChatCall, object};
use axum::Json;
use axum::body::Bytes;
use axum::extract::Query;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::Uuid;

/// Answers `POST /v1/completions`, plain or as a stream, with a choice for each prompt.
pub(super) async fn complete(
    headers: HeaderMap,
    Query(query): Query<HashMap<String, String>>,
    body: Bytes,
) -> Result<Response, Refusal> {
    check_key(&headers)?;
    let calls = calls(object(&body)?, query.get("pace_ms").map(String::as_str))?;
    let completion = Completion::new(&calls);
    let Some(first) = calls.first() else {
        return Err(unreadable());
    };
    if !first.stream {
        return Ok(Json(completion.plain()).into_response());
    }
    let kind = (header::CONTENT_TYPE, "text/event-stream");
    let headers = [kind, (header::CACHE_CONTROL, "no-cache")];
    let frames = completion.frames(first.include_usage);
    Ok((headers, paced(frames, first.pace)).into_response())
}

/// A call for each prompt.
fn calls(mut body: Value, pace: Option<&str>) -> Result<Vec<ChatCall>, Refusal> {
    let prompts = match body["prompt"].take() {
        Value::String(text) => vec![Value::String(text)],
        Value::Array(texts) if texts.iter().all(Value::is_string) => texts,
        _ => return Err(unreadable()),
    };
    // This API has no tools.
    body["tools"].take();
    let call = |prompt: Value| {
        body["messages"] = json!([{"role": "user", "content": prompt}]);
        ChatCall::read(body.to_string().as_bytes(), pace)
    };
    prompts.into_iter().map(call).collect()
}

fn unreadable() -> Refusal {
    Refusal::field("prompt", "`prompt` must be text or a list of texts.")
}

/// A completion before it takes the form of a body or of a stream.
struct Completion {
    head: Value,
    answers: Vec<Answer>,
    usage: Value,
}

impl Completion {
    fn new(calls: &[ChatCall]) -> Self {
        let answers: Vec<Answer> = calls.iter().flat_map(answers).collect();
        let prompt: u64 = calls.iter().map(|call| call.messages.tokens).sum();
        let completion: u64 = answers.iter().map(Answer::tokens).sum();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let created = now.map_or(0, |since| since.as_secs());
        let model = calls.first().map(|call| &call.model);
        Self {
            head: json!({
                "id": format!("cmpl-{}", Uuid::new_v4().simple()), "object": "text_completion",
                "created": created, "model": model,
            }),
            answers,
            usage: json!({
                "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
            }),
        }
    }

    fn plain(&self) -> Value {
        let choice =
            |(index, one): (usize, &Answer)| choice(index, &one.text, Some(one.finish_reason));
        let mut body = self.head.clone();
        body["choices"] = self.answers.iter().enumerate().map(choice).collect();
        body["usage"] = self.usage.clone();
        body
    }

    /// A frame per word, choice by choice, and last everything after the words.
    fn frames(&self, include_usage: bool) -> Vec<String> {
        let event = |choices: Value, usage: &Value| {
            let mut event = self.head.clone();
            event["choices"] = choices;
            if include_usage {
                event["usage"] = usage.clone();
            }
            format!("data: {event}\n\n")
        };
        let mut frames = Vec::new();
        for (index, one) in self.answers.iter().enumerate() {
            let words = pieces(&one.text).into_iter();
            let words = words.map(|word| choice(index, word, None));
            let end = choice(index, "", Some(one.finish_reason));
            let events = words.chain([end]);
            frames.extend(events.map(|choice| event(json!([choice]), &Value::Null)));
        }
        let usage = include_usage.then(|| event(json!([]), &self.usage));
        frames.push(usage.unwrap_or_default() + "data: [DONE]\n\n");
        frames
    }
}

fn choice(index: usize, text: &str, finish_reason: Option<&str>) -> Value {
    json!({"text": text, "index": index, "logprobs": null, "finish_reason": finish_reason})
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_prompt_is_answered_and_a_stream_says_the_same() {
        let body = json!({"model": "demo-small", "prompt": ["echo: one two", "echo: three"], "stream": true});
        let calls = calls(body, None).unwrap();
        let completion = Completion::new(&calls);
        let plain = completion.plain();
        let texts = |choices: &Value| -> Vec<String> {
            let choices = choices.as_array().unwrap().iter();
            choices
                .map(|choice| choice["text"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(texts(&plain["choices"]), ["one two", "three"]);
        let mut said = vec![String::new(); 2];
        let stream = completion.frames(true).concat();
        for frame in stream
            .strip_suffix("data: [DONE]\n\n")
            .unwrap()
            .split_terminator("\n\n")
        {
            let event: Value = serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap();
            for choice in event["choices"].as_array().unwrap() {
                said[choice["index"].as_u64().unwrap() as usize] +=
                    choice["text"].as_str().unwrap();
            }
        }
        assert_eq!(said, ["one two", "three"]);
    }

    #[test]
    fn numbers_of_tokens_are_refused() {
        for prompt in [json!([1, 2]), json!(null), json!({"a": "b"})] {
            let body = json!({"model": "demo-small", "prompt": prompt});
            assert!(calls(body, None).is_err(), "{prompt}");
        }
    }
}
