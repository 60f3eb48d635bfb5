//! The completion that replaces an answer (§2.4), whole or as the events of a stream (CONTRACT 43).

use crate::protocol::OwnAnswer;
use crate::sse::writer::DONE;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[derive(Serialize)]
struct Completion<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: Vec<Value>,
    /// Missing in a stream without usage, null in its events before the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<Usage<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Usage<'a> {
    Upstream(&'a RawValue),
    None {
        prompt_tokens: u32,
        completion_tokens: u32,
        total_tokens: u32,
    },
}

/// One JSON object.
pub(super) fn completion(answer: &OwnAnswer<'_>) -> Vec<u8> {
    let message = json!({"role": "assistant", "content": answer.text});
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let completion = Completion {
        object: "chat.completion",
        choices: vec![choice],
        usage: Some(Some(usage(answer))),
        metadata: metadata(answer),
        ..begin(answer)
    };
    json_of(&completion)
}

/// An event with the text, one that ends the choice, one with the usage where it was asked for, and `[DONE]`.
pub(super) fn events(answer: &OwnAnswer<'_>) -> Vec<u8> {
    let choice = |delta: Value, finish_reason: Option<&str>| {
        vec![json!({"index": 0, "delta": delta, "finish_reason": finish_reason})]
    };
    let event = |choices| Completion {
        choices,
        usage: answer.with_usage.then_some(None),
        ..begin(answer)
    };
    let said = json!({"role": "assistant", "content": answer.text});
    let mut events = vec![
        Completion {
            metadata: metadata(answer),
            ..event(choice(said, None))
        },
        event(choice(json!({}), Some("stop"))),
    ];
    if answer.with_usage {
        events.push(Completion {
            usage: Some(Some(usage(answer))),
            ..event(Vec::new())
        });
    }
    let mut stream = Vec::new();
    for event in &events {
        stream.extend_from_slice(b"data: ");
        stream.extend(json_of(event));
        stream.extend_from_slice(b"\n\n");
    }
    stream.extend_from_slice(DONE);
    stream
}

/// What a completion and each event of a stream have in common.
fn begin<'a>(answer: &OwnAnswer<'a>) -> Completion<'a> {
    Completion {
        id: answer.id,
        object: "chat.completion.chunk",
        created: answer.created,
        model: answer.model,
        choices: Vec::new(),
        usage: None,
        metadata: None,
    }
}

fn usage<'a>(answer: &OwnAnswer<'a>) -> Usage<'a> {
    match answer.usage {
        Some(usage) => Usage::Upstream(usage),
        None => Usage::None {
            prompt_tokens: 0,
            completion_tokens: 0,
            total_tokens: 0,
        },
    }
}

fn metadata(answer: &OwnAnswer<'_>) -> Option<Value> {
    let monitor = answer.monitor.as_ref()?;
    Some(json!({"monitor": monitor}))
}

fn json_of(completion: &Completion<'_>) -> Vec<u8> {
    // Strings, numbers and checked JSON only, so serialization cannot fail. JSON has no line breaks.
    serde_json::to_vec(completion).unwrap_or_default()
}
