//! Answers and frames that the gateway makes in the form of the Responses API. Programs that act on them want every item
//! with its end, and a normal one: a part `refusal`, or the end `response.incomplete`, shows nothing or is tried again.

use crate::protocol::own::{bytes, frame};
use crate::protocol::{OwnAnswer, OwnError};
use serde_json::{Value, json};

/// OpenAI's own form: a comment does not reset the timers of some programs, and libraries refuse an unknown type.
pub(super) const HEARTBEAT: &[u8] = b"event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n";

/// The whole answer.
pub(super) fn response(answer: &OwnAnswer<'_>) -> Value {
    let item = item_of(answer, "completed", vec![part(answer.text)]);
    let usage = answer.usage_or(no_usage());
    begun(answer, "completed", vec![item], usage)
}

pub(super) fn no_usage() -> Value {
    json!({
        "input_tokens": 0, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 0,
    })
}

/// The events of a stream.
pub(super) fn events(answer: &OwnAnswer<'_>) -> Vec<u8> {
    let id = item_id(answer);
    let begin = begun(answer, "in_progress", Vec::new(), Value::Null);
    let events = [
        ("response.created", json!({"response": begin})),
        (
            "response.output_item.added",
            json!({"output_index": 0, "item": item_of(answer, "in_progress", Vec::new())}),
        ),
        (
            "response.content_part.added",
            json!({"item_id": id, "output_index": 0, "content_index": 0, "part": part("")}),
        ),
        (
            "response.output_text.delta",
            json!({"item_id": id, "output_index": 0, "content_index": 0, "delta": answer.text, "logprobs": []}),
        ),
        (
            "response.output_text.done",
            json!({"item_id": id, "output_index": 0, "content_index": 0, "text": answer.text, "logprobs": []}),
        ),
        (
            "response.content_part.done",
            json!({"item_id": id, "output_index": 0, "content_index": 0, "part": part(answer.text)}),
        ),
        (
            "response.output_item.done",
            json!({"output_index": 0, "item": item_of(answer, "completed", vec![part(answer.text)])}),
        ),
        ("response.completed", json!({"response": response(answer)})),
    ];
    let numbered = (0..).zip(events);
    numbered
        .flat_map(|(number, (name, mut data))| {
            data["type"] = name.into();
            data["sequence_number"] = Value::from(number);
            frame(name, &data)
        })
        .collect()
}

/// One frame for all readers: some look for the type `error`, some for a member `error`.
pub(super) fn error_frame(error: &OwnError<'_>) -> Vec<u8> {
    let OwnError {
        message, status, ..
    } = error;
    let kind = error.kind.as_str();
    let data = json!({
        "type": "error", "code": kind, "message": message, "param": null, "sequence_number": 0,
        "error": {"message": message, "type": kind, "code": status},
    });
    [b"event: error\ndata: ".as_slice(), &bytes(&data), b"\n\n"].concat()
}

fn begun(answer: &OwnAnswer<'_>, status: &str, output: Vec<Value>, usage: Value) -> Value {
    let mut response = json!({
        "id": answer.id, "object": "response", "created_at": answer.created, "status": status,
        "error": null, "incomplete_details": null, "instructions": null, "metadata": {},
        "model": answer.model, "output": output, "parallel_tool_calls": true, "temperature": null,
        "tool_choice": "auto", "tools": [], "top_p": null, "usage": usage,
    });
    if let Some(monitor) = &answer.monitor {
        // Metadata are strings in this API, so an object would break typed clients.
        let replacement = &monitor["response_replacement"];
        response["metadata"] = json!({
            "monitor_response_replaced": "true",
            "monitor_type": replacement["type"],
            "monitor_request_id": replacement["request_id"],
        });
        response["monitor"] = monitor.clone();
    }
    response
}

pub(super) fn item_of(answer: &OwnAnswer<'_>, status: &str, content: Vec<Value>) -> Value {
    json!({
        "id": item_id(answer), "type": "message", "role": "assistant", "status": status, "content": content,
    })
}

fn item_id(answer: &OwnAnswer<'_>) -> String {
    let unique = answer.id.rsplit_once("guardrails-");
    format!("msg_{}", unique.map_or(answer.id, |(_, unique)| unique))
}

pub(super) fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}
