//! A completion of the demo, as a body or as an event stream: role first, one word or piece per step, the finish
//! reason, the usage when asked for, `[DONE]` (§2.3). All frames are known before the first is sent; the
//! stream only spaces them out in time.

use super::answer::{Answer, answers, pieces};
use super::request::ChatCall;
use super::tool_call::ToolCall;
use axum::Json;
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use uuid::Uuid;

/// One completion before it takes the form of a body or of a stream.
pub(super) struct Completion {
    /// The fields that every form has.
    head: Value,
    answers: Vec<Answer>,
    usage: Value,
}

impl Completion {
    pub(super) fn new(call: &ChatCall) -> Self {
        let answers = answers(call);
        let completion: u64 = answers.iter().map(Answer::tokens).sum();
        let prompt = call.messages.tokens;
        let id = format!("chatcmpl-{}", Uuid::new_v4().simple());
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let created = now.map_or(0, |since| since.as_secs());
        Self {
            head: json!({"id": id, "created": created, "model": call.model, "system_fingerprint": null}),
            answers,
            usage: json!({
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            }),
        }
    }

    pub(super) fn response(&self, call: &ChatCall) -> Response {
        if !call.stream {
            return Json(self.plain()).into_response();
        }
        let kind = (header::CONTENT_TYPE, "text/event-stream");
        let headers = [kind, (header::CACHE_CONTROL, "no-cache")];
        (headers, paced(self.frames(call.include_usage), call.pace)).into_response()
    }

    /// The plain answer in the reference format.
    fn plain(&self) -> Value {
        let choice = |(index, answer): (usize, &Answer)| {
            let mut message = json!({"role": "assistant", "content": answer.text, "refusal": null});
            if let Some(tool) = &answer.tool {
                message["content"] = Value::Null;
                message["tool_calls"] = json!([function(tool, &tool.arguments)]);
            }
            let end = answer.finish_reason;
            json!({"index": index, "message": message, "logprobs": null, "finish_reason": end})
        };
        let choices = self.answers.iter().enumerate().map(choice).collect();
        let mut body = self.body("chat.completion", choices);
        body["usage"] = self.usage.clone();
        body
    }

    fn body(&self, object: &str, choices: Value) -> Value {
        let mut body = self.head.clone();
        (body["object"], body["choices"]) = (object.into(), choices);
        body
    }

    /// First the roles, then a frame per word, last everything after the words.
    fn frames(&self, include_usage: bool) -> Vec<String> {
        let event = |choices: Value, usage: Value| {
            let mut chunk = self.body("chat.completion.chunk", choices);
            // The field is there, null until the end, only for those who asked for it.
            if include_usage {
                chunk["usage"] = usage;
            }
            format!("data: {chunk}\n\n")
        };
        let deltas: Vec<_> = self.answers.iter().map(deltas).collect();
        let last = deltas.iter().map(Vec::len).max().unwrap_or(0);
        let choice = |step: usize, (index, deltas): (usize, &Vec<Value>)| {
            let (delta, end) = match step == last {
                false => (deltas.get(step)?.clone(), Value::Null),
                true => (json!({}), self.answers[index].finish_reason.into()),
            };
            let choice =
                json!({"index": index, "delta": delta, "logprobs": null, "finish_reason": end});
            Some(event(json!([choice]), Value::Null))
        };
        let frame = |step| {
            let all = deltas.iter().enumerate();
            all.filter_map(|deltas| choice(step, deltas)).collect()
        };
        let mut frames: Vec<String> = (0..=last).map(frame).collect();
        frames[last] += &match include_usage {
            true => event(json!([]), self.usage.clone()) + DONE,
            false => DONE.to_owned(),
        };
        frames
    }
}

/// What a stream adds to a choice, step by step: its role, then its words or the pieces of its call.
fn deltas(answer: &Answer) -> Vec<Value> {
    let Some(tool) = &answer.tool else {
        let role = json!({"role": "assistant", "content": ""});
        let words = pieces(&answer.text).into_iter();
        let words = words.map(|word| json!({"content": word}));
        return [role].into_iter().chain(words).collect();
    };
    let role = json!({"role": "assistant", "content": null});
    let mut call = function(tool, "");
    call["index"] = 0.into();
    let pieces = tool.pieces().into_iter();
    let pieces =
        pieces.map(|piece| json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}));
    let begin = [role, json!({"tool_calls": [call]})];
    begin.into_iter().chain(pieces).collect()
}

fn function(tool: &ToolCall, arguments: &str) -> Value {
    json!({
        "id": format!("call_{}", Uuid::new_v4().simple()), "type": "function",
        "function": {"name": tool.name, "arguments": arguments},
    })
}

const DONE: &str = "data: [DONE]\n\n";

/// A body that gives its first frame at once and waits before each of the others but the last.
pub(super) fn paced(frames: Vec<String>, pace: Duration) -> Body {
    let last = frames.len() - 1;
    let timed = move |(at, frame)| async move {
        if at > 0 && at < last {
            tokio::time::sleep(pace).await;
        }
        Ok::<_, Infallible>(frame)
    };
    Body::from_stream(stream::iter(frames).enumerate().then(timed))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use std::time::Instant;

    fn completion(texts: &[&str]) -> Completion {
        let answer = |text: &&str| Answer::text((*text).to_owned(), "stop");
        Completion {
            head: json!({"id": "chatcmpl-1", "created": 1, "model": "demo-small"}),
            answers: texts.iter().map(answer).collect(),
            usage: json!({"total_tokens": 3}),
        }
    }

    fn events(completion: &Completion, include_usage: bool) -> Vec<Value> {
        let text = completion.frames(include_usage).concat();
        let body = text.strip_suffix("data: [DONE]\n\n").unwrap();
        let events = body
            .split_terminator("\n\n")
            .map(|event| event.strip_prefix("data: "));
        events
            .map(|event| serde_json::from_str(event.unwrap()).unwrap())
            .collect()
    }

    #[test]
    fn a_completion_has_the_fields_of_the_reference_format() {
        let body =
            br#"{"model":"demo-small","n":2,"messages":[{"role":"system","content":"Be brief"},
            {"role":"user","content":"Hello there"}]}"#;
        let call = ChatCall::read(body, None).unwrap();
        let completion = Completion::new(&call).plain();
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

    #[test]
    fn the_role_comes_first_and_the_reason_last() {
        let events = events(&completion(&["two words"]), false);
        let deltas: Vec<&Value> = events
            .iter()
            .map(|event| &event["choices"][0]["delta"])
            .collect();
        assert_eq!(*deltas[0], json!({"role": "assistant", "content": ""}));
        assert_eq!(
            (deltas[1], deltas[2]),
            (&json!({"content": "two "}), &json!({"content": "words"}))
        );
        assert_eq!(events[3]["choices"][0]["finish_reason"], "stop");
        assert_eq!(events.len(), 4);
        assert!(
            events
                .iter()
                .all(|event| event["object"] == "chat.completion.chunk")
        );
        assert!(events.iter().all(|event| event.get("usage").is_none()));
    }

    #[test]
    fn usage_is_sent_only_on_request_with_empty_choices() {
        let events = events(&completion(&["one"]), true);
        let (last, others) = events.split_last().unwrap();
        assert_eq!(last["choices"], json!([]));
        assert_eq!(last["usage"]["total_tokens"], 3);
        assert!(others.iter().all(|event| event["usage"].is_null()));
    }

    #[test]
    fn choices_of_different_length_end_with_their_own_text() {
        let texts = ["one", "two more words", ""];
        let mut seen = vec![String::new(); texts.len()];
        for event in events(&completion(&texts), false) {
            let index = event["choices"][0]["index"].as_u64().unwrap() as usize;
            let word = event["choices"][0]["delta"]["content"]
                .as_str()
                .unwrap_or_default();
            seen[index].push_str(word);
        }
        assert_eq!(seen, texts);
    }

    #[tokio::test]
    async fn a_paced_body_takes_its_time_between_words() {
        let frames = ["role", "a", "b", "end"].map(str::to_owned);
        let pace = Duration::from_millis(20);
        let mut body = paced(frames.to_vec(), pace);
        let start = Instant::now();
        let mut at = Vec::new();
        while let Some(Ok(_)) = body.frame().await {
            at.push(start.elapsed());
        }
        assert_eq!(at.len(), 4);
        assert!(at[1] >= pace && at[2] >= pace * 2, "{at:?}");
    }
}
