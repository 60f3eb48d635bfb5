//! The body of the completion that replaces an answer (§2.4), whole or as the events of a stream (CONTRACT 43).

use monitor_wire::sse::writer::DONE;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::Uuid;

/// The form in which a client can read an answer that the gateway makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockForm {
    /// A chat completion (§2.4).
    Completion,
    /// The events of a stream, for a client that asked for one and may get it.
    Stream {
        /// Whether the last event holds the usage, as `stream_options.include_usage` asks for.
        with_usage: bool,
    },
}

/// What the completion says.
pub(super) struct BlockBody<'a> {
    pub(super) model: &'a str,
    pub(super) phrase: &'a str,
    /// The upstream's `usage`, where the upstream was called.
    pub(super) usage: Option<&'a RawValue>,
    /// `metadata.monitor`; None where a header says it.
    pub(super) monitor: Option<Value>,
}

#[derive(Serialize)]
struct Completion<'a> {
    id: String,
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

impl BlockBody<'_> {
    /// One JSON object.
    pub(super) fn completion(self) -> Vec<u8> {
        let message = json!({"role": "assistant", "content": self.phrase});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        let completion = Completion {
            object: "chat.completion",
            choices: vec![choice],
            usage: Some(Some(self.usage())),
            metadata: self.metadata(),
            ..self.begin()
        };
        json_of(&completion)
    }

    /// An event with the phrase, one that ends the choice, one with the usage where it was asked for, and `[DONE]`.
    pub(super) fn events(self, with_usage: bool) -> Vec<u8> {
        let begin = self.begin();
        let choice = |delta: Value, finish_reason: Option<&str>| {
            vec![json!({"index": 0, "delta": delta, "finish_reason": finish_reason})]
        };
        let event = |choices| Completion {
            id: begin.id.clone(),
            choices,
            usage: with_usage.then_some(None),
            ..self.begin()
        };
        let said = json!({"role": "assistant", "content": self.phrase});
        let mut events = vec![
            Completion {
                metadata: self.metadata(),
                ..event(choice(said, None))
            },
            event(choice(json!({}), Some("stop"))),
        ];
        if with_usage {
            events.push(Completion {
                usage: Some(Some(self.usage())),
                ..event(Vec::new())
            });
        }
        let mut stream = Vec::new();
        for event in &mut events {
            event.created = begin.created;
            stream.extend_from_slice(b"data: ");
            stream.extend(json_of(event));
            stream.extend_from_slice(b"\n\n");
        }
        stream.extend_from_slice(DONE);
        stream
    }

    /// What a completion and each event of a stream have in common.
    fn begin(&self) -> Completion<'_> {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        Completion {
            id: format!("monitor-guardrails-{}", Uuid::new_v4()),
            object: "chat.completion.chunk",
            created: since_epoch.map_or(0, |time| time.as_secs()),
            model: self.model,
            choices: Vec::new(),
            usage: None,
            metadata: None,
        }
    }

    fn usage(&self) -> Usage<'_> {
        match self.usage {
            Some(usage) => Usage::Upstream(usage),
            None => Usage::None {
                prompt_tokens: 0,
                completion_tokens: 0,
                total_tokens: 0,
            },
        }
    }

    fn metadata(&self) -> Option<Value> {
        let monitor = self.monitor.as_ref()?;
        Some(json!({"monitor": monitor}))
    }
}

fn json_of(completion: &Completion<'_>) -> Vec<u8> {
    // Strings, numbers and checked JSON only, so serialization cannot fail. JSON has no line breaks.
    serde_json::to_vec(completion).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::gateway::docs::openapi_json;

    /// The events of a stream that is complete.
    fn events(stream: &str) -> Vec<Value> {
        let events = stream.strip_suffix("data: [DONE]\n\n").unwrap();
        let events = events.split_terminator("\n\n");
        let events = events.map(|event| event.strip_prefix("data: ").unwrap());
        events
            .map(|event| serde_json::from_str(event).unwrap())
            .collect()
    }

    #[test]
    fn the_openapi_document_shows_the_stream_of_a_block() {
        let document: Value = serde_json::from_slice(openapi_json()).unwrap();
        let example = &document["components"]["examples"]["StreamBlocked"]["value"];
        let shown = events(example.as_str().unwrap());
        let body = BlockBody {
            model: shown[0]["model"].as_str().unwrap(),
            phrase: shown[0]["choices"][0]["delta"]["content"].as_str().unwrap(),
            usage: None,
            monitor: Some(shown[0]["metadata"]["monitor"].clone()),
        };
        let mut sent = events(std::str::from_utf8(&body.events(true)).unwrap());
        for event in &mut sent {
            event["id"] = shown[0]["id"].clone();
            event["created"] = shown[0]["created"].clone();
        }
        assert_eq!(sent, shown);
    }
}
