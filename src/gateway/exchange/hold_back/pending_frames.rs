//! Frames that wait until the client may see all their text, and the end of a stream at a finding (CONTRACT
//! 41). Frames leave unchanged and in order.

use super::growing_text::{GrowingText, PieceSpan};
use super::text_window::Detectors;
use monitor_wire::sse::pieces::{Field, Named, Piece, Reading, Said, read};
use monitor_wire::sse::{Template, writer};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The most bytes of waiting frames. Above it the texts are inspected as if they ended there.
const MOST_PENDING: usize = 4 << 20;
/// The most texts, and the most choices, of one stream: search results that come with an answer are some dozens. A frame
/// that begins another counts as unreadable.
const MOST_TEXTS: usize = 256;

/// One growing text: a choice and a field of it.
type TextKey = (u64, Field);

/// The frames of one stream that the client has not seen, and the state of what it has seen.
#[derive(Default)]
pub(super) struct PendingFrames {
    frames: VecDeque<PendingFrame>,
    bytes: usize,
    texts: BTreeMap<TextKey, GrowingText>,
    /// The choices that the client has seen, and whether it has seen their end.
    choices: BTreeMap<u64, bool>,
    /// The client's stream ends inside a frame that was too large to be held.
    inside_frame: bool,
}

struct PendingFrame {
    raw: Vec<u8>,
    is_whole: bool,
    pieces: Vec<PiecePosition>,
    choices: Vec<Named>,
}

/// The position of a piece in its text.
struct PiecePosition {
    key: TextKey,
    span: PieceSpan,
}

impl PendingFrames {
    /// Takes a frame without text to inspect, or a part of a frame.
    pub(super) fn pass(&mut self, raw: &[u8], is_whole: bool) {
        self.hold(raw, is_whole, Vec::new(), Vec::new());
    }

    /// Takes an event; false, and nothing is taken, when it begins more texts than are followed.
    pub(super) fn push(&mut self, raw: &[u8], said: Said, detectors: &Detectors) -> bool {
        let new: BTreeSet<TextKey> = said.pieces.iter().map(key_of).collect();
        let new = new.iter().filter(|key| !self.texts.contains_key(key));
        let unseen: BTreeSet<u64> = said.choices.iter().map(|named| named.choice).collect();
        let unseen = unseen
            .iter()
            .filter(|choice| !self.choices.contains_key(choice));
        if self.texts.len() + new.count() > MOST_TEXTS
            || self.choices.len() + unseen.count() > MOST_TEXTS
        {
            return false;
        }
        let mut pieces = Vec::with_capacity(said.pieces.len());
        self.flush_finished(&said.pieces, detectors);
        for piece in said.pieces {
            let key = key_of(&piece);
            let text = self.texts.entry(key).or_default();
            let span = text.push(&piece, detectors);
            pieces.push(PiecePosition { key, span });
        }
        self.hold(raw, true, pieces, said.choices);
        true
    }

    /// Shows the texts that are over as far as can be told, so that they hold back nothing behind them: the
    /// reasoning of a choice that goes on to answer, and a text under another name that the event does not continue.
    fn flush_finished(&mut self, pieces: &[Piece], detectors: &Detectors) {
        let said = || pieces.iter().filter(|piece| !piece.text.is_empty());
        for ((choice, field), text) in &mut self.texts {
            let goes_on = || said().any(|piece| piece.choice == *choice && piece.field == *field);
            let is_over = match field {
                Field::Other(_) => said().next().is_some() && !goes_on(),
                Field::Reasoning | Field::ReasoningContent => {
                    !goes_on() && said().any(|piece| piece.choice == *choice && is_answer(piece))
                }
                _ => false,
            };
            if is_over {
                text.settle(detectors);
            }
        }
    }

    /// Whether more frames wait than may. Frames without text wait behind those with text.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > MOST_PENDING
    }

    /// Whether a text ends inside a long run of characters that no reader shows: a number may go on behind it.
    pub(super) fn is_inside_unseen_run(&self) -> bool {
        self.texts.values().any(GrowingText::is_inside_unseen_run)
    }

    /// Inspects the waiting texts as if they ended here.
    pub(super) fn finish(&mut self, detectors: &Detectors) {
        self.texts
            .values_mut()
            .for_each(|text| text.finish(detectors));
    }

    /// Whether there is a finding.
    pub(super) fn has_finding(&self) -> bool {
        self.texts.values().any(GrowingText::has_finding)
    }

    /// Moves the frames that the client may see to `out`.
    pub(super) fn release(&mut self, out: &mut Vec<u8>) {
        while let Some(frame) = self.frames.front() {
            if !frame.pieces.iter().all(|place| self.is_visible(place)) {
                return;
            }
            let Some(frame) = self.frames.pop_front() else {
                return;
            };
            self.bytes -= frame.raw.len();
            out.extend_from_slice(&frame.raw);
            self.inside_frame = !frame.is_whole;
            for named in frame.choices {
                *self.choices.entry(named.choice).or_default() |= named.finished;
            }
        }
    }

    /// Ends the stream at the finding: the text before it, the phrase, and the end of every choice.
    pub(super) fn close(&mut self, phrase: &str, out: &mut Vec<u8>) {
        self.release(out);
        if std::mem::take(&mut self.inside_frame) {
            out.extend_from_slice(b"\n\n");
        }
        let (mut template, mut found) = (Template::default(), None);
        while let Some(frame) = self.frames.pop_front() {
            template = Template::of(&frame.raw);
            self.release_part(&frame, &template, out);
            let mut places = frame.pieces.iter();
            let found_in = places.find(|place| self.is_found_in(place));
            found = found_in.map(|place| place.key.0);
            if found.is_some() {
                break;
            }
        }
        let choice = found.unwrap_or_default();
        let is_first = !self.choices.contains_key(&choice);
        out.extend(match is_first {
            true => template.first_text(choice, Field::Content, phrase),
            false => template.text(choice, Field::Content, phrase),
        });
        self.choices.insert(choice, false);
        let open = self.choices.iter().filter(|(_, ended)| !**ended);
        let ends = open.flat_map(|(choice, _)| template.end(*choice, CONTENT_FILTER));
        out.extend(ends);
        out.extend_from_slice(writer::DONE);
    }

    /// Sends the visible part of a frame's text in frames of the template.
    fn release_part(&mut self, frame: &PendingFrame, template: &Template, out: &mut Vec<u8>) {
        let Reading::Said(said) = read(&frame.raw) else {
            return;
        };
        for (place, piece) in frame.pieces.iter().zip(said.pieces) {
            let text = self.texts.get(&place.key);
            let visible = text.map_or(0, |text| text.visible(&place.span, &piece.text));
            let (choice, field) = place.key;
            // The form around a text under another name is not known, so none of it is shown.
            if visible > 0 && !matches!(field, Field::Other(_)) {
                let is_first = self.choices.insert(choice, false).is_none();
                let text = &piece.text[..visible];
                out.extend(match is_first {
                    true => template.first_text(choice, field, text),
                    false => template.text(choice, field, text),
                });
            }
        }
    }

    fn hold(
        &mut self,
        raw: &[u8],
        is_whole: bool,
        pieces: Vec<PiecePosition>,
        choices: Vec<Named>,
    ) {
        self.bytes += raw.len();
        self.frames.push_back(PendingFrame {
            raw: raw.to_vec(),
            is_whole,
            pieces,
            choices,
        });
    }

    fn is_visible(&self, place: &PiecePosition) -> bool {
        let text = self.texts.get(&place.key);
        text.is_some_and(|text| text.is_visible(&place.span))
    }

    fn is_found_in(&self, place: &PiecePosition) -> bool {
        let text = self.texts.get(&place.key);
        text.is_some_and(|text| text.is_found_in(&place.span))
    }
}

fn key_of(piece: &Piece) -> TextKey {
    (piece.choice, piece.field)
}

/// Whether a piece belongs to what a reasoning leads to.
fn is_answer(piece: &Piece) -> bool {
    !matches!(
        piece.field,
        Field::Reasoning | Field::ReasoningContent | Field::Other(_)
    )
}

/// The `finish_reason` of a choice that a finding ends (§2.3).
const CONTENT_FILTER: &str = "content_filter";

#[cfg(test)]
mod tests {
    use super::{MOST_TEXTS, PendingFrames, Reading, read};
    use crate::gateway::exchange::hold_back::tests::{Never, detectors};
    use serde_json::{Value, json};

    fn is_taken(choices: Value) -> bool {
        let event = format!("data: {}\n\n", json!({"choices": choices}));
        let Reading::Said(said) = read(event.as_bytes()) else {
            panic!("not readable: {event}");
        };
        PendingFrames::default().push(event.as_bytes(), said, &detectors(Never))
    }

    #[test]
    fn only_texts_and_choices_that_begin_count_and_each_once() {
        let parts = json!([{"index": 0, "delta": {"content": vec!["a "; 1_000]}}]);
        assert!(is_taken(parts));
        let again = |index: usize| json!({"index": index % MOST_TEXTS, "delta": {"content": "a "}});
        assert!(is_taken((0..1_000).map(again).collect()));
        for (count, expected) in [(MOST_TEXTS, true), (MOST_TEXTS + 1, false)] {
            let words = (0..count).map(|at| (format!("w{at}"), json!("a ")));
            let delta = Value::Object(words.collect());
            assert_eq!(is_taken(json!([{"index": 0, "delta": delta}])), expected);
            let choice = |index: usize| json!({"index": index, "delta": {}});
            assert_eq!(is_taken((0..count).map(choice).collect()), expected);
        }
    }
}
