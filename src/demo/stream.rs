//! The event stream of a completion: role first, one word per step, the finish reason, the usage
//! when asked for, `[DONE]` (§2.3). All frames are known before the first is sent; the body only
//! spaces them out in time.

use super::completion::Completion;
use super::words::pieces;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use hyper::body::{Body as HttpBody, Frame};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// The response: `text/event-stream`, one word per `pace`.
pub(super) fn response(completion: &Completion, include_usage: bool, pace: Duration) -> Response {
    let frames = Frames {
        completion,
        include_usage,
    };
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, Body::new(PacedBody::new(frames.all(), pace))).into_response()
}

/// Builds the frames of one completion.
struct Frames<'a> {
    completion: &'a Completion,
    include_usage: bool,
}

impl Frames<'_> {
    /// First the roles, then a frame per word, last everything after the words.
    fn all(&self) -> Vec<Bytes> {
        let answers = &self.completion.answers;
        let words: Vec<Vec<&str>> = answers.iter().map(|answer| pieces(&answer.text)).collect();
        let longest = words.iter().map(Vec::len).max().unwrap_or(0);
        let first = |index| Some(self.delta(index, json!({"role": "assistant", "content": ""})));
        let mut frames = vec![self.per_choice(first)];
        for step in 0..longest {
            let word = |index: usize| words.get(index)?.get(step);
            frames.push(
                self.per_choice(|index| Some(self.delta(index, json!({"content": word(index)?})))),
            );
        }
        frames.push(self.ending());
        frames
    }

    fn ending(&self) -> Bytes {
        let mut ending = self
            .per_choice(|index| {
                let answer = self.completion.answers.get(index)?;
                let end = json!(answer.finish_reason);
                Some(self.chunk(json!([choice(index, json!({}), end)]), Value::Null))
            })
            .to_vec();
        if self.include_usage {
            ending.extend(data(&self.chunk(json!([]), self.completion.usage.clone())));
        }
        ending.extend_from_slice(b"data: [DONE]\n\n");
        ending.into()
    }

    /// The events of all choices at one step, in one piece.
    fn per_choice(&self, event: impl Fn(usize) -> Option<Value>) -> Bytes {
        let events = (0..self.completion.answers.len()).filter_map(event);
        events
            .flat_map(|event| data(&event))
            .collect::<Vec<u8>>()
            .into()
    }

    fn delta(&self, index: usize, delta: Value) -> Value {
        self.chunk(json!([choice(index, delta, Value::Null)]), Value::Null)
    }

    fn chunk(&self, choices: Value, usage: Value) -> Value {
        let mut chunk = json!({
            "id": self.completion.id,
            "object": "chat.completion.chunk",
            "created": self.completion.created,
            "model": self.completion.model,
            "choices": choices,
            "system_fingerprint": null,
        });
        // The field is there, null until the end, only for those who asked for it.
        if let (true, Some(fields)) = (self.include_usage, chunk.as_object_mut()) {
            fields.insert("usage".to_owned(), usage);
        }
        chunk
    }
}

fn choice(index: usize, delta: Value, finish_reason: Value) -> Value {
    json!({"index": index, "delta": delta, "logprobs": null, "finish_reason": finish_reason})
}

fn data(event: &Value) -> Vec<u8> {
    format!("data: {event}\n\n").into_bytes()
}

/// A body that gives its first frame at once and waits before each of the others but the last.
struct PacedBody {
    frames: std::vec::IntoIter<Bytes>,
    pace: Duration,
    timer: Pin<Box<Sleep>>,
}

impl PacedBody {
    fn new(frames: Vec<Bytes>, pace: Duration) -> Self {
        let timer = Box::pin(sleep(Duration::ZERO));
        Self {
            frames: frames.into_iter(),
            pace,
            timer,
        }
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        ready!(self.timer.as_mut().poll(context));
        let frame = self.frames.next();
        if self.frames.len() > 1 {
            let next = Instant::now() + self.pace;
            self.timer.as_mut().reset(next);
        }
        Poll::Ready(frame.map(|bytes| Ok(Frame::data(bytes))))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::super::completion::Answer;
    use super::*;
    use std::future::poll_fn;

    fn completion(texts: &[&str]) -> Completion {
        let answer = |text: &&str| Answer {
            text: (*text).to_owned(),
            finish_reason: "stop",
        };
        Completion {
            id: "chatcmpl-1".to_owned(),
            created: 1,
            model: "demo-small".to_owned(),
            answers: texts.iter().map(answer).collect(),
            usage: json!({"total_tokens": 3}),
        }
    }

    fn events(completion: &Completion, include_usage: bool) -> Vec<Value> {
        let text = Frames {
            completion,
            include_usage,
        }
        .all()
        .concat();
        let text = String::from_utf8(text).unwrap();
        let body = text.strip_suffix("data: [DONE]\n\n").unwrap();
        let events = body
            .split_terminator("\n\n")
            .map(|event| event.strip_prefix("data: "));
        events
            .map(|event| serde_json::from_str(event.unwrap()).unwrap())
            .collect()
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
        let frames = ["role", "a", "b", "end"].map(|text| Bytes::from_static(text.as_bytes()));
        let pace = Duration::from_millis(20);
        let mut body = Box::pin(PacedBody::new(frames.to_vec(), pace));
        let start = Instant::now();
        let mut at = Vec::new();
        while let Some(Ok(_)) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
            at.push(start.elapsed());
        }
        assert_eq!(at.len(), 4);
        assert!(at[1] >= pace && at[2] >= pace * 2, "{at:?}");
    }
}
