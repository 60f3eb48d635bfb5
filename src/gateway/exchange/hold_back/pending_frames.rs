//! Frames that wait until the client may see all their text, and the end of a stream at a finding (CONTRACT
//! 41). Frames leave unchanged and in order.

use super::event_texts::{
    ALL_WORDS, Event, TextKey, is_alone, is_end, is_over, key_of_source, source_of,
};
use super::frame_queue::{FrameQueue, PendingFrame, PiecePosition};
use super::growing_text::{GrowingText, PieceSpan};
use super::text_window::Detectors;
use crate::gateway::limits::MemoryReservation;
use monitor_wire::json::CallTexts;
use monitor_wire::protocol::{OwnAnswer, Protocol, StreamWriter, Wanted};
use monitor_wire::sse::pieces::{Field, Named, Piece, Reading, Said, WordsBy};
use std::collections::{BTreeMap, BTreeSet};

/// The most bytes of waiting frames. Above it the texts are inspected as if they ended there.
const MOST_PENDING: usize = 4 << 20;
/// The same while a call of a tool is held: its arguments come in frames of a few letters.
const MOST_OF_CALL: usize = 16 << 20;
/// The most texts, and the most choices, of one stream (search results are some dozens); a further one is unreadable.
const MOST_TEXTS: usize = 256;

/// The frames of one stream that the client has not seen, and the state of what it has seen.
pub(super) struct PendingFrames {
    protocol: &'static dyn Protocol,
    /// What is inspected of calls of tools.
    calls_read: CallTexts,
    /// Knows what the client has seen.
    writer: Box<dyn StreamWriter>,
    frames: FrameQueue,
    texts: BTreeMap<TextKey, GrowingText>,
    /// The choices that have been named.
    choices: BTreeSet<u64>,
    /// The calls of tools that wait for their end, so that all of each is checked before it begins.
    calls: BTreeSet<u64>,
    /// The client's stream ends inside a frame that was too large to be held.
    inside_frame: bool,
}

impl PendingFrames {
    pub(super) fn new(protocol: &'static dyn Protocol) -> Self {
        Self {
            protocol,
            calls_read: CallTexts::Whole,
            writer: protocol.stream_writer(),
            frames: FrameQueue::default(),
            texts: BTreeMap::new(),
            choices: BTreeSet::new(),
            calls: BTreeSet::new(),
            inside_frame: false,
        }
    }

    /// The same, of whose calls of tools these texts are inspected.
    pub(super) fn with_calls(self, calls_read: CallTexts) -> Self {
        Self { calls_read, ..self }
    }

    /// Counts the waiting frames here.
    pub(super) fn set_memory(&mut self, memory: MemoryReservation) {
        self.frames.set_memory(memory);
    }

    /// Whether a piece is inspected.
    fn inspects(&self, piece: &Piece) -> bool {
        self.calls_read.have_arguments() || !piece.in_arguments
    }

    /// Takes a frame without text to inspect, or a part of a frame.
    pub(super) fn pass(&mut self, raw: &[u8], is_whole: bool) {
        self.hold(raw, is_whole, Vec::new(), Said::default());
    }

    /// Takes an event; false, and nothing is taken, when it begins more texts than are followed.
    pub(super) fn push(&mut self, event: Event<'_>, detectors: &Detectors) -> bool {
        let Event { raw, said, is_new } = event;
        let grow = said.pieces.iter().filter(|piece| self.inspects(piece));
        let grow = grow.filter(|piece| !is_alone(piece));
        let new: BTreeSet<TextKey> = grow.map(|piece| self.key_of(piece)).collect();
        let new = new.iter().filter(|key| !self.texts.contains_key(key));
        let unseen: BTreeSet<u64> = said.choices.iter().map(|named| named.choice).collect();
        let unseen = unseen.difference(&self.choices);
        if self.texts.len() + new.count() > MOST_TEXTS
            || self.choices.len() + unseen.count() > MOST_TEXTS
        {
            return false;
        }
        self.choices
            .extend(said.choices.iter().map(|named| named.choice));
        self.follow_call(&said, detectors);
        self.flush_finished(&said.pieces, detectors);
        let pieces = self.add_pieces(&said, is_new, detectors);
        self.probe_ended(&said.choices, detectors);
        self.hold(raw, true, pieces, said);
        true
    }

    /// Adds the pieces of an event to their texts; the positions of those that its frame waits for.
    fn add_pieces(
        &mut self,
        said: &Said,
        is_new: &dyn Fn(usize) -> bool,
        detectors: &Detectors,
    ) -> Vec<PiecePosition> {
        let mut pieces = Vec::with_capacity(said.pieces.len());
        // Clients that read a response read all its words from there.
        self.texts.remove(&key_of_source(WordsBy::Response));
        for (index, piece) in said.pieces.iter().enumerate() {
            if !self.inspects(piece) {
                continue;
            }
            let mut add = |key, span: Option<PieceSpan>| {
                let position = |span| PiecePosition {
                    key,
                    span,
                    index,
                    choice: piece.choice,
                };
                pieces.extend(span.map(position));
            };
            let source = source_of(piece).map(key_of_source);
            // The first words of a source are alone in it.
            if source.is_none_or(|source| self.texts.contains_key(&source)) {
                let key = self.key_of(piece);
                add(key, self.grow(key, piece, detectors));
            }
            if let Some(source) = source {
                add(source, self.grow_source(source, piece, detectors));
            }
            if is_new(index) {
                let words = self.texts.entry(ALL_WORDS).or_default();
                add(ALL_WORDS, Some(words.push(piece, detectors)));
            }
        }
        pieces
    }

    /// Adds a piece to its text; None where its frame need not wait for it.
    fn grow(&mut self, key: TextKey, piece: &Piece, detectors: &Detectors) -> Option<PieceSpan> {
        if is_end(piece) {
            // The words of another block may continue those of this one.
            let goes_on = key == ALL_WORDS && piece.choice != ALL_WORDS.0;
            if let Some(text) = self.texts.get_mut(&key).filter(|_| !goes_on) {
                text.settle(detectors);
            }
            return None;
        }
        if !is_alone(piece) {
            return Some(self.texts.entry(key).or_default().push(piece, detectors));
        }
        let mut text = GrowingText::default();
        let span = text.push(piece, detectors);
        text.finish(detectors);
        let has_finding = text.has_finding();
        if has_finding {
            self.texts.insert(key, text);
        }
        has_finding.then_some(span)
    }

    /// Adds a piece to the words that the ends of one kind say: clients may read these alone. None where there is no
    /// finding, since words that wait do so where they come first.
    fn grow_source(
        &mut self,
        key: TextKey,
        piece: &Piece,
        detectors: &Detectors,
    ) -> Option<PieceSpan> {
        let text = self.texts.entry(key).or_default();
        let span = text.push(piece, detectors);
        text.settle(detectors);
        text.has_finding().then_some(span)
    }

    /// Inspects the texts of choices that end here as if nothing followed: a client may stop at the end, or read on.
    fn probe_ended(&mut self, choices: &[Named], detectors: &Detectors) {
        for ended in choices.iter().filter(|named| named.finished) {
            let texts = self.texts.iter_mut();
            let own = texts.filter(|(key, _)| key.0 == ended.choice || **key == ALL_WORDS);
            own.for_each(|(_, text)| text.probe(detectors));
        }
    }

    /// Inspects all texts as if they ended here, without showing more of them.
    pub(super) fn probe(&mut self, detectors: &Detectors) {
        self.texts
            .values_mut()
            .for_each(|text| text.probe(detectors));
    }

    fn follow_call(&mut self, said: &Said, detectors: &Detectors) {
        for ended in said.choices.iter().filter(|named| named.finished) {
            self.calls.remove(&ended.choice);
        }
        let ends_all = |piece: &Piece| is_end(piece) && piece.choice == ALL_WORDS.0;
        if said.pieces.iter().any(ends_all) {
            self.probe(detectors);
            // The answer ends, perhaps inside a call.
            let calls = std::mem::take(&mut self.calls);
            let texts = self.texts.iter_mut();
            let open = texts.filter(|((choice, _), _)| calls.contains(choice));
            open.for_each(|(_, text)| text.settle(detectors));
        }
        // A call is held until its arguments are inspected.
        if self.calls_read.have_arguments() {
            self.calls.extend(said.begins_call);
        }
    }

    /// Whether the call of a tool waits for its end.
    pub(super) fn is_inside_call(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Waits no longer for the end of the call.
    pub(super) fn end_call(&mut self) {
        self.calls.clear();
    }

    /// Shows the texts that are over as far as can be told, so that they hold back nothing behind them: the
    /// reasoning of a choice that goes on to answer, and a text under another name that the event does not continue.
    fn flush_finished(&mut self, pieces: &[Piece], detectors: &Detectors) {
        let over = self
            .texts
            .iter_mut()
            .filter(|(key, _)| is_over(**key, pieces));
        over.for_each(|(_, text)| text.settle(detectors));
    }

    /// Whether more frames wait than may. Frames without text wait behind those with text.
    pub(super) fn is_full(&self) -> bool {
        let most = match self.is_inside_call() {
            true => MOST_OF_CALL,
            false => MOST_PENDING,
        };
        self.frames.bytes() > most
    }

    /// Whether there is room for the waiting frames in the memory of all calls.
    pub(super) fn has_memory(&self) -> bool {
        self.frames.has_memory()
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
            let is_visible = frame.pieces.iter().all(|place| self.is_visible(place));
            if !is_visible || frame.begins_call.is_some_and(|call| self.holds_call(call)) {
                return;
            }
            let Some(frame) = self.frames.pop() else {
                return;
            };
            out.extend_from_slice(&frame.raw);
            self.inside_frame = !frame.is_whole;
            self.writer.sent(&frame.raw, &frame.choices);
        }
    }

    /// Whether a call may not begin: it has not ended, or there is a finding in it.
    fn holds_call(&self, call: u64) -> bool {
        let mut texts = self.texts.iter().filter(|((choice, _), _)| *choice == call);
        self.calls.contains(&call) || texts.any(|(_, text)| text.has_finding())
    }

    /// Ends the stream at the finding: the text before it, the answer of the policy, and the end of every choice.
    pub(super) fn close(
        &mut self,
        answer: &OwnAnswer<'_>,
        detectors: &Detectors,
        out: &mut Vec<u8>,
    ) {
        // No words follow those that wait: the answer of the policy does.
        if let Some(words) = self.texts.get_mut(&ALL_WORDS) {
            words.settle(detectors);
        }
        self.release(out);
        if std::mem::take(&mut self.inside_frame) {
            out.extend_from_slice(b"\n\n");
        }
        let mut found = None;
        while let Some(frame) = self.frames.pop() {
            self.writer.learn(&frame.raw);
            self.release_part(&frame, out);
            let mut places = frame.pieces.iter();
            let found_in = places.find(|place| self.is_found_in(place));
            found = found_in.map(|place| place.choice);
            if found.is_some() {
                break;
            }
        }
        out.extend(self.writer.end(found.unwrap_or_default(), answer));
    }

    /// Sends the visible part of a frame's text in frames of the gateway's.
    fn release_part(&mut self, frame: &PendingFrame, out: &mut Vec<u8>) {
        let Reading::Said(said) = self.protocol.read_frame(&frame.raw, Wanted::Next) else {
            return;
        };
        for place in &frame.pieces {
            let Some(piece) = said.pieces.get(place.index) else {
                return;
            };
            let text = self.texts.get(&place.key);
            let visible = text.map_or(0, |text| text.visible(&place.span, &piece.text));
            let (choice, field) = (piece.choice, piece.field);
            if visible > 0 && self.can_send_part_of(field) {
                out.extend(self.writer.text(choice, field, &piece.text[..visible]));
            }
        }
    }

    /// Whether a part of a text can stand in a frame of the gateway's. The form around a text under another name is not
    /// known. A call of a tool in a chat completion has its id where it begins, and clients refuse a part without that.
    fn can_send_part_of(&self, field: Field) -> bool {
        match field {
            Field::Whole(_) | Field::Other(_) => false,
            Field::ToolName(_)
            | Field::ToolArguments(_)
            | Field::FunctionName
            | Field::FunctionArguments => self.protocol.names_events(),
            _ => true,
        }
    }

    /// The text that a piece belongs to.
    fn key_of(&self, piece: &Piece) -> TextKey {
        match piece.field {
            Field::Content | Field::Part(_) | Field::Refusal if self.protocol.names_events() => {
                ALL_WORDS
            }
            field => (piece.choice, field),
        }
    }

    fn hold(&mut self, raw: &[u8], is_whole: bool, pieces: Vec<PiecePosition>, said: Said) {
        self.frames.push(PendingFrame {
            raw: raw.to_vec(),
            is_whole,
            pieces,
            choices: said.choices,
            begins_call: said.begins_call,
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

#[cfg(test)]
mod tests;
