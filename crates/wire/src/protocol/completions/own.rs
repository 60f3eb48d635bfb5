//! The completion that replaces an answer, whole or as the events of a stream. The official library reads both as one
//! type, so both have the same members.

use crate::protocol::OwnAnswer;
use crate::protocol::own::bytes;
use crate::sse::writer::DONE;
use serde_json::{Value, json};

/// One JSON object.
pub(super) fn completion(answer: &OwnAnswer<'_>) -> Vec<u8> {
    let mut completion = event(answer, json!([choice(answer.text, Some("stop"))]));
    completion["usage"] = usage(answer);
    with_metadata(&mut completion, answer);
    bytes(&completion)
}

/// An event with the text, one that ends the choice, one with the usage where it was asked for, and `[DONE]`.
pub(super) fn events(answer: &OwnAnswer<'_>) -> Vec<u8> {
    let mut said = event(answer, json!([choice(answer.text, None)]));
    with_metadata(&mut said, answer);
    let end = event(answer, json!([choice("", Some("stop"))]));
    let mut events = vec![said, end];
    if answer.with_usage {
        events
            .iter_mut()
            .for_each(|event| event["usage"] = Value::Null);
        let mut last = event(answer, json!([]));
        last["usage"] = usage(answer);
        events.push(last);
    }
    let mut stream = Vec::new();
    for event in &events {
        stream.extend_from_slice(b"data: ");
        stream.extend(bytes(event));
        stream.extend_from_slice(b"\n\n");
    }
    stream.extend_from_slice(DONE);
    stream
}

fn event(answer: &OwnAnswer<'_>, choices: Value) -> Value {
    json!({
        "id": answer.id, "object": "text_completion", "created": answer.created, "model": answer.model,
        "choices": choices,
    })
}

fn choice(text: &str, finish_reason: Option<&str>) -> Value {
    json!({"index": 0, "text": text, "logprobs": null, "finish_reason": finish_reason})
}

fn usage(answer: &OwnAnswer<'_>) -> Value {
    answer.usage_or(json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}))
}

fn with_metadata(event: &mut Value, answer: &OwnAnswer<'_>) {
    if let Some(monitor) = &answer.monitor {
        event["metadata"] = json!({"monitor": monitor});
    }
}
