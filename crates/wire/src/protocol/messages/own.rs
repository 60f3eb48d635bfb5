//! Answers and frames that the gateway makes in the form of the Messages API. The end is a normal one: programs that see
//! `refusal` show a text of their own in place of the answer, and ask again.

use crate::protocol::own::frame;
use crate::protocol::{OwnAnswer, OwnError};
use serde_json::{Value, json};

/// The sign of life of this API.
pub(super) const HEARTBEAT: &[u8] = b"event: ping\ndata: {\"type\":\"ping\"}\n\n";

/// The whole answer.
pub(super) fn message(answer: &OwnAnswer<'_>) -> Value {
    let text = json!([{"type": "text", "text": answer.text}]);
    let usage = answer.usage_or(json!({"input_tokens": 0, "output_tokens": 0}));
    begun(answer, text, "end_turn".into(), usage)
}

/// The events of a stream.
pub(super) fn events(answer: &OwnAnswer<'_>) -> Vec<u8> {
    let usage = answer.usage_or(json!({"input_tokens": 0, "output_tokens": 0}));
    let output = usage["output_tokens"].clone();
    let message = begun(answer, json!([]), Value::Null, usage);
    let events = [
        ("message_start", json!({"message": message})),
        (
            "content_block_start",
            json!({"index": 0, "content_block": {"type": "text", "text": ""}}),
        ),
        (
            "content_block_delta",
            json!({"index": 0, "delta": {"type": "text_delta", "text": answer.text}}),
        ),
        ("content_block_stop", json!({"index": 0})),
        (
            "message_delta",
            json!({
                "delta": {"stop_reason": "end_turn", "stop_sequence": null},
                "usage": {"output_tokens": output},
            }),
        ),
        ("message_stop", json!({})),
    ];
    events
        .into_iter()
        .flat_map(|(name, mut data)| {
            data["type"] = name.into();
            frame(name, &data)
        })
        .collect()
}

fn begun(answer: &OwnAnswer<'_>, content: Value, stop_reason: Value, usage: Value) -> Value {
    let mut message = json!({
        "id": answer.id, "type": "message", "role": "assistant", "model": answer.model, "content": content,
        "stop_reason": stop_reason, "stop_sequence": null, "usage": usage,
    });
    if let Some(monitor) = &answer.monitor {
        message["metadata"] = json!({"monitor": monitor});
    }
    message
}

/// The envelope of this API's errors.
pub(super) fn error(error: &OwnError<'_>) -> Value {
    json!({
        "type": "error",
        "error": {"type": kind(error.status), "message": error.message},
        "request_id": error.request_id,
    })
}

fn kind(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        400..500 => "invalid_request_error",
        504 => "timeout_error",
        503 | 529 => "overloaded_error",
        _ => "api_error",
    }
}
