//! Events of the gateway's in a stream of the Messages API. A call of a tool cannot be taken back once its block has
//! begun, so the client has none that is not complete.

use super::own;
use crate::json::View;
use crate::protocol::events::each_event;
use crate::protocol::fields::{number, text};
use crate::protocol::own::frame;
use crate::protocol::{OwnAnswer, StreamWriter};
use crate::sse::pieces::{Field, Named};
use serde_json::{Value, json};

#[derive(Default)]
pub(super) struct MessagesWriter {
    has_begun: bool,
    /// The block that the client has the beginning of, and whether it is one of text.
    open: Option<(u64, bool)>,
    /// The index of the next block.
    next: u64,
}

impl MessagesWriter {
    fn see(&mut self, event: View<'_>) {
        let index = number(event, "index").unwrap_or_default();
        match text(event, "type").as_deref() {
            Some("message_start") => self.has_begun = true,
            Some("content_block_start") => {
                let block = event.named("content_block").last();
                let kind = block.and_then(|block| text(block, "type"));
                self.open = Some((index, kind.as_deref() == Some("text")));
                self.next = self.next.max(index.saturating_add(1));
            }
            Some("content_block_stop") => self.open = None,
            _ => {}
        }
    }
}

impl StreamWriter for MessagesWriter {
    fn sent(&mut self, frame: &[u8], _choices: &[Named]) {
        each_event(frame, |event| self.see(event));
    }

    fn text(&mut self, choice: u64, field: Field, text: &str) -> Vec<u8> {
        let delta = match field {
            Field::Content => json!({"type": "text_delta", "text": text}),
            Field::ToolArguments(_) => json!({"type": "input_json_delta", "partial_json": text}),
            Field::Reasoning => json!({"type": "thinking_delta", "thinking": text}),
            _ => return Vec::new(),
        };
        let data = json!({"type": "content_block_delta", "index": choice, "delta": delta});
        // A part of a call that has not begun for the client cannot be shown.
        match self.open.is_some_and(|(open, _)| open == choice) {
            true => frame("content_block_delta", &data),
            false => Vec::new(),
        }
    }

    fn end(&mut self, _choice: u64, answer: &OwnAnswer<'_>) -> Vec<u8> {
        if !self.has_begun {
            return own::events(answer);
        }
        let mut out = Vec::new();
        let mut tell = |name: &str, mut data: Value| {
            data["type"] = name.into();
            out.extend(frame(name, &data));
        };
        let index = match self.open {
            Some((open, true)) => open,
            before => {
                if let Some((open, _)) = before {
                    tell("content_block_stop", json!({"index": open}));
                }
                let block = json!({"type": "text", "text": ""});
                let data = json!({"index": self.next, "content_block": block});
                tell("content_block_start", data);
                self.next
            }
        };
        let delta = json!({"type": "text_delta", "text": answer.text});
        tell(
            "content_block_delta",
            json!({"index": index, "delta": delta}),
        );
        tell("content_block_stop", json!({"index": index}));
        let delta = json!({"stop_reason": "end_turn", "stop_sequence": null});
        let usage = json!({"output_tokens": 0});
        tell("message_delta", json!({"delta": delta, "usage": usage}));
        tell("message_stop", json!({}));
        out
    }
}
