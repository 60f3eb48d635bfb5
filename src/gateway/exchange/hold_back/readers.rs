//! What a stream must not do, because clients would read different texts in it: those of `delta` or of `message`, the
//! events of every name or of the default one, what stands before `[DONE]` or all of it, the words of items or blocks
//! in one order or another.

use super::word_order::WordOrder;
use crate::gateway::exchange::capture::EventNames;
use monitor_wire::protocol::Protocol;
use monitor_wire::sse::event_name;
use monitor_wire::sse::pieces::{Reading, Said, TextMembers};

/// How the events of one stream are to be read.
#[derive(Default)]
pub(super) struct Readers {
    members: TextMembers,
    names: EventNames,
    is_done: bool,
    /// The type of an event says what it holds: there are no choices, and each event has a name of its own.
    by_type: bool,
    words: WordOrder,
}

impl Readers {
    pub(super) fn of(protocol: &dyn Protocol) -> Self {
        Self {
            by_type: protocol.names_events(),
            ..Self::default()
        }
    }

    /// Whether an event ends the texts of all choices for some clients: it names none of them, as an error does.
    pub(super) fn ends_texts(&self, reading: &Reading) -> bool {
        let is_apart = |said: &Said| said.choices.is_empty() && has_text(said);
        !self.by_type && matches!(reading, Reading::Said(said) if is_apart(said))
    }

    /// Whether a piece of the last event says words that did not come bit by bit before.
    pub(super) fn is_new(&self, piece: usize) -> bool {
        self.words.is_new(piece)
    }

    /// Takes an event; why clients may read different texts from here on.
    pub(super) fn differ_at(&mut self, frame: &[u8], reading: &Reading) -> Option<&'static str> {
        let was_done = self.is_done;
        match reading {
            Reading::Done => self.is_done = true,
            Reading::Said(said) if has_text(said) => {
                self.members.add(said.members);
                if was_done {
                    return Some("text follows the end of the stream");
                }
                if self.by_type {
                    return self.words.differ_at(said);
                }
                // An error may have a name of its own.
                if !said.choices.is_empty() && !self.names.note(event_name(frame)) {
                    return Some("events with text have different names");
                }
                if self.members.are_mixed() {
                    return Some("the text of choices stands in delta and in message");
                }
            }
            Reading::Said(said) if self.by_type => return self.words.differ_at(said),
            _ => {}
        }
        None
    }
}

fn has_text(said: &Said) -> bool {
    said.pieces.iter().any(|piece| !piece.text.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::gateway::exchange::answer::Stop;
    use crate::gateway::exchange::hold_back::tests::{delta, event, relayed};
    use serde_json::{Value, json};

    const DONE: &str = "data: [DONE]\n\n";

    fn named(name: &str, text: &str) -> String {
        format!("event: {name}\n{}", delta(0, text))
    }

    /// A choice with a text in `message`.
    fn message(delta: &Value, text: &str) -> String {
        event(json!([{"index": 0, "delta": delta, "message": {"content": text}}]))
    }

    fn ended() -> String {
        event(json!([{"index": 0, "delta": {}, "finish_reason": "stop"}]))
    }

    fn error() -> String {
        "data: {\"error\":{\"message\":\"broken\"}}\n\n".to_owned()
    }

    #[test]
    fn what_clients_read_in_different_ways_is_found_or_has_no_verdict() {
        let (begun, whole) = (delta(0, "my sec"), delta(0, "my secret"));
        let (none, null) = (json!({}), Value::Null);
        for (frames, expected) in [
            // Some clients read a message wherever it stands, and others the delta alone.
            (
                vec![message(&none, "my sec"), message(&null, "ret.")],
                Stop::Flagged,
            ),
            (
                vec![message(&null, "my sec"), message(&none, "ret.")],
                Stop::Flagged,
            ),
            (
                vec![begun.clone(), message(&null, "x"), delta(0, "ret.")],
                Stop::Unreadable,
            ),
            (
                vec![message(&json!({"content": "a"}), "b")],
                Stop::Unreadable,
            ),
            // Some clients know the events of one name alone.
            (
                vec![begun.clone(), named("ping", "x"), delta(0, "ret.")],
                Stop::Unreadable,
            ),
            (vec![whole.clone(), named("ping", "ary")], Stop::Flagged),
            // Some clients stop at an end, and others read on.
            (vec![whole.clone(), ended(), delta(0, "ary")], Stop::Flagged),
            (
                vec![begun.clone(), ended(), delta(0, "ret.")],
                Stop::Flagged,
            ),
            (vec![whole.clone(), error(), delta(0, "ary")], Stop::Flagged),
            (
                vec![begun.clone(), error(), delta(0, "ret.")],
                Stop::Flagged,
            ),
            (
                vec![whole.clone(), DONE.to_owned(), delta(0, "ary")],
                Stop::Flagged,
            ),
            (
                vec![begun.clone(), DONE.to_owned(), delta(0, "ret.")],
                Stop::Unreadable,
            ),
        ] {
            let (sent, stop) = relayed(&[frames.concat().as_bytes()]);
            let sent = String::from_utf8(sent).unwrap();
            assert_eq!(stop, Some(expected), "{frames:?}");
            assert!(!sent.contains("secret") && !sent.contains("ret."), "{sent}");
        }
    }

    #[test]
    fn streams_that_all_clients_read_alike_pass() {
        let usage = "data: {\"choices\":[],\"usage\":{\"total_tokens\":1}}\n\n".to_owned();
        for frames in [
            vec![
                named("chunk", "my sec"),
                named("chunk", "retary"),
                DONE.to_owned(),
            ],
            vec![
                named("message", "a"),
                delta(0, "b"),
                DONE.to_owned(),
                DONE.to_owned(),
            ],
            vec![message(&json!({}), "a"), message(&Value::Null, "b")],
            vec![delta(0, "a"), ended(), delta(0, ""), usage, DONE.to_owned()],
            vec![delta(0, "a"), format!("event: error\n{}", error())],
        ] {
            let stream = frames.concat();
            let (sent, stop) = relayed(&[stream.as_bytes()]);
            assert_eq!((String::from_utf8(sent).unwrap(), stop), (stream, None));
        }
    }
}
