//! The demo in the forms of the Responses and the Messages API. Their requests are read like chat completions, and the
//! answer is the same.

use super::agent_call::AgentCall;
use super::answer::{Answer, answers, pieces};
use super::completion::paced;
use super::refusal::{MessagesRefusal, Refusal, check_key};
use super::request::{ChatCall, object};
use super::stored::StoredResponses;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use monitor_wire::protocol::{Messages, OwnAnswer, Protocol, Responses};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::Uuid;

type Parameters = HashMap<String, String>;

/// Answers `POST /v1/responses`, plain or as a stream, and stores the response.
pub(super) async fn respond(
    State(stored): State<Arc<StoredResponses>>,
    headers: HeaderMap,
    Query(query): Query<Parameters>,
    body: Bytes,
) -> Result<Response, Refusal> {
    check_key(&headers)?;
    let body = object(&body)?;
    let is_stored = body["store"] != false;
    let call = read(&as_chat(body)?, &query)?;
    let answer = AgentAnswer::new(&Responses, "resp", &call);
    if is_stored {
        stored.add(&answer.id, &answer.whole());
    }
    Ok(answer.response(&call))
}

/// Answers `POST /v1/messages`, plain or as a stream.
pub(super) async fn message(
    headers: HeaderMap,
    Query(query): Query<Parameters>,
    body: Bytes,
) -> Result<Response, MessagesRefusal> {
    check_key(&headers)?;
    let call = read(&object(&body)?, &query)?;
    Ok(AgentAnswer::new(&Messages, "msg", &call).response(&call))
}

/// Answers `POST /v1/responses/input_tokens`.
pub(super) async fn input_tokens(headers: HeaderMap, body: Bytes) -> Result<Json<Value>, Refusal> {
    check_key(&headers)?;
    let call = read(&as_chat(object(&body)?)?, &Parameters::new())?;
    let tokens = call.messages.tokens;
    Ok(Json(
        json!({"object": "response.input_tokens", "input_tokens": tokens}),
    ))
}

/// Answers `POST /v1/messages/count_tokens`.
pub(super) async fn count_tokens(
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, MessagesRefusal> {
    check_key(&headers)?;
    let call = read(&object(&body)?, &Parameters::new())?;
    Ok(Json(json!({"input_tokens": call.messages.tokens})))
}

fn read(body: &Value, query: &Parameters) -> Result<ChatCall, Refusal> {
    let pace = query.get("pace_ms").map(String::as_str);
    ChatCall::read(body.to_string().as_bytes(), pace)
}

/// The body of a request of the Responses API with `messages` in the place of its `input`.
fn as_chat(mut body: Value) -> Result<Value, Refusal> {
    let mut messages = match body["input"].take() {
        Value::String(text) => vec![json!({"role": "user", "content": text})],
        Value::Array(items) => items.into_iter().filter_map(as_message).collect(),
        _ => {
            return Err(Refusal::field(
                "input",
                "`input` must be text or a list of items.",
            ));
        }
    };
    let parts = messages
        .iter_mut()
        .filter_map(|item| item["content"].as_array_mut());
    for part in parts.flatten().filter(|part| part["text"].is_string()) {
        part["type"] = "text".into();
    }
    body["messages"] = messages.into();
    Ok(body)
}

/// An item that has a role, or the result of a tool; the others are none of the demo's business.
fn as_message(mut item: Value) -> Option<Value> {
    let kind = item["type"].as_str().unwrap_or_default();
    if kind.ends_with("_output") {
        let output = match item["output"].take() {
            output @ (Value::String(_) | Value::Array(_)) => output,
            _ => Value::Null,
        };
        return Some(json!({"role": "tool", "content": output}));
    }
    item["role"].is_string().then_some(item)
}

/// An answer before it takes the form of a body or of a stream.
struct AgentAnswer<'a> {
    protocol: &'a dyn Protocol,
    id: String,
    created: u64,
    model: &'a str,
    text: String,
    /// In the place of the text.
    call: Option<AgentCall>,
    usage: Option<Box<RawValue>>,
}

impl<'a> AgentAnswer<'a> {
    fn new(protocol: &'a dyn Protocol, prefix: &str, call: &'a ChatCall) -> Self {
        let said = answers(call).into_iter().next();
        let said = said.unwrap_or_else(|| Answer::text(String::new(), "stop"));
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            protocol,
            id: format!("{prefix}_{}", Uuid::new_v4().simple()),
            created: now.map_or(0, |since| since.as_secs()),
            model: &call.model,
            usage: usage(call.messages.tokens, said.tokens()),
            text: said.text,
            call: said.tool.map(AgentCall::new),
        }
    }

    fn response(&self, call: &ChatCall) -> Response {
        if !call.stream {
            let kind = [(header::CONTENT_TYPE, "application/json")];
            return (kind, self.whole()).into_response();
        }
        let kind = (header::CONTENT_TYPE, "text/event-stream");
        let headers = [kind, (header::CACHE_CONTROL, "no-cache")];
        (headers, paced(self.frames(), call.pace)).into_response()
    }

    fn whole(&self) -> Vec<u8> {
        let answer = self.protocol.own_answer(&self.own());
        match &self.call {
            None => answer,
            Some(call) => call.in_answer(&answer),
        }
    }

    fn frames(&self) -> Vec<String> {
        let stream = self.protocol.own_stream(&self.own());
        frames(&stream, |event| match &self.call {
            None => word_by_word(event, &self.text),
            Some(call) => call.in_event(event),
        })
    }

    fn own(&self) -> OwnAnswer<'_> {
        OwnAnswer {
            id: &self.id,
            created: self.created,
            model: self.model,
            text: &self.text,
            usage: self.usage.as_deref(),
            with_usage: false,
            monitor: None,
        }
    }
}

fn usage(prompt: u64, answer: u64) -> Option<Box<RawValue>> {
    let usage =
        json!({"input_tokens": prompt, "output_tokens": answer, "total_tokens": prompt + answer});
    to_raw_value(&usage).ok()
}

/// The frames of a stream, with these events in the place of each.
fn frames(stream: &[u8], instead: impl Fn(Value) -> Vec<Value>) -> Vec<String> {
    let stream = String::from_utf8_lossy(stream);
    let events = stream.split_terminator("\n\n");
    let events = events
        .filter_map(|frame| serde_json::from_str::<Value>(frame.split_once("data: ")?.1).ok());
    let numbered = (0u64..).zip(events.flat_map(instead));
    numbered
        .map(|(number, mut event)| {
            if let Some(at) = event.get_mut("sequence_number") {
                *at = number.into();
            }
            format!(
                "event: {}\ndata: {event}\n\n",
                event["type"].as_str().unwrap_or_default()
            )
        })
        .collect()
}

/// An event for each word, where one has all of them.
fn word_by_word(event: Value, text: &str) -> Vec<Value> {
    let place = match event["type"].as_str() {
        Some("response.output_text.delta") => "/delta",
        Some("content_block_delta") => "/delta/text",
        _ => return vec![event],
    };
    let word = |word: &&str| {
        let mut event = event.clone();
        if let Some(said) = event.pointer_mut(place) {
            *said = (*word).into();
        }
        event
    };
    pieces(text).iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::tool_call::ToolCall;

    fn stream(protocol: &dyn Protocol) -> Vec<u8> {
        protocol.own_stream(&OwnAnswer {
            id: "resp_1",
            created: 1,
            model: "m",
            text: "two words",
            usage: None,
            with_usage: false,
            monitor: None,
        })
    }

    /// The events of the Responses API are counted from 0.
    #[track_caller]
    fn assert_numbered(frames: &[String]) {
        for (number, frame) in frames.iter().enumerate() {
            let is_numbered = frame.contains("sequence_number");
            assert!(!is_numbered || frame.contains(&format!("\"sequence_number\":{number}")));
        }
    }

    #[test]
    fn a_stream_says_each_word_in_an_event_of_its_own() {
        for protocol in [&Responses as &dyn Protocol, &Messages] {
            let frames = frames(&stream(protocol), |event| word_by_word(event, "two words"));
            let count = |text: &str| frames.iter().filter(|frame| frame.contains(text)).count();
            assert_eq!(
                (count("\"two \""), count("\"words\"")),
                (1, 1),
                "{frames:?}"
            );
            assert_numbered(&frames);
        }
    }

    #[test]
    fn a_stream_of_a_call_has_none_of_the_text() {
        let call = AgentCall::new(ToolCall {
            name: "ls".to_owned(),
            arguments: "{\"a\": \"two words\"}".to_owned(),
        });
        for protocol in [&Responses as &dyn Protocol, &Messages] {
            let frames = frames(&stream(protocol), |event| call.in_event(event));
            assert_numbered(&frames);
            let all = frames.concat();
            assert!(all.contains("\"name\":\"ls\""), "{all}");
            for text in ["output_text", "content_part", "text_delta", "end_turn"] {
                assert!(!all.contains(text), "{text}: {all}");
            }
        }
    }
}
