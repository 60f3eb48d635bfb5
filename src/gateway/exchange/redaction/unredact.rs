//! Replaces the placeholders in the texts of an answer with their values (CONTRACT 41). Pure: bytes in, bytes
//! out; `unredact_response` applies it. A placeholder may be split anywhere in a stream. Text that cannot
//! become one is never held.

use super::placeholders::Placeholders;
use monitor_wire::json::{self, Edit, escape_into, raw_spans};
use monitor_wire::protocol::{Protocol, StreamWriter, Wanted};
use monitor_wire::sse::pieces::{Field, Piece, Reading, Said};
use monitor_wire::sse::{Frame, Frames};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Texts whose end may be held at the same time; further ones pass unchanged.
const MOST_HELD: usize = 1024;

/// A complete answer with its values; None for an unreadable body.
pub(super) fn answer(
    protocol: &dyn Protocol,
    placeholders: &Placeholders,
    body: &[u8],
) -> Option<Vec<u8>> {
    let mut edits = Vec::new();
    for literal in protocol.answer_literals(body)? {
        let token = &body[literal.span.clone()];
        let text = json::unescape(token);
        let found = placeholders.find(&text);
        let spans: Vec<_> = found.iter().map(|(span, _)| span.clone()).collect();
        for ((_, value), raw) in found.iter().zip(raw_spans(token, &spans)) {
            let span = literal.span.start + raw.start..literal.span.start + raw.end;
            edits.push((span, escaped(value, literal.is_arguments)));
        }
    }
    Some(json::replace_spans(body, &edits))
}

/// A complete event stream with its values; None for one with an unreadable frame.
pub(super) fn stream(
    protocol: &'static dyn Protocol,
    placeholders: &Placeholders,
    body: &[u8],
) -> Option<Vec<u8>> {
    let mut stream = UnredactStream::new(protocol, placeholders.clone(), body.len());
    let mut unredacted = stream.push(body);
    unredacted.extend(stream.finish());
    (stream.unreadable() == 0).then_some(unredacted)
}

/// A value as the content of a JSON string. Arguments are JSON inside a string, so it is escaped twice.
fn escaped(value: &str, is_arguments: bool) -> Vec<u8> {
    let mut once = Vec::with_capacity(value.len());
    escape_into(value, &mut once);
    if !is_arguments {
        return once;
    }
    let mut twice = Vec::with_capacity(once.len());
    escape_into(&String::from_utf8_lossy(&once), &mut twice);
    twice
}

/// Unredacts an event stream in chunks.
pub(super) struct UnredactStream {
    protocol: &'static dyn Protocol,
    placeholders: Placeholders,
    frames: Frames,
    /// Ends of texts that may become placeholders.
    held: BTreeMap<TextKey, String>,
    /// Writes a held end when no placeholder comes of it.
    writer: Box<dyn StreamWriter>,
    unreadable: u64,
    /// Frames that were read for the template.
    #[cfg(test)]
    templates: usize,
}

/// One growing text of a stream: a choice and a field of it.
type TextKey = (u64, Field);

impl UnredactStream {
    /// `max_frame_bytes` bounds what is held of one frame; a larger one passes untouched.
    pub(super) fn new(
        protocol: &'static dyn Protocol,
        placeholders: Placeholders,
        max_frame_bytes: usize,
    ) -> Self {
        Self {
            protocol,
            placeholders,
            frames: Frames::new(max_frame_bytes),
            held: BTreeMap::new(),
            writer: protocol.stream_writer(),
            unreadable: 0,
            #[cfg(test)]
            templates: 0,
        }
    }

    /// Takes bytes from the upstream and returns those that can be passed on.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut frames = std::mem::replace(&mut self.frames, Frames::new(0));
        frames.push(bytes, |frame| self.frame(frame, &mut out));
        self.frames = frames;
        out
    }

    /// Ends the stream and returns what was held.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        match self.frames.finish() {
            // The held text is sent before a frame that was cut, which is unreadable.
            Some(rest) => {
                self.flush_all(&mut out);
                out.extend(rest);
            }
            None => self.flush_all(&mut out),
        }
        out
    }

    /// The number of unreadable frames so far; placeholders in them are not replaced.
    pub(super) fn unreadable(&self) -> u64 {
        self.unreadable
    }

    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<u8>) {
        let reading = match frame.is_whole {
            // What stands under other names than those of the reference format stays as it is.
            true => self.protocol.read_frame(frame.bytes, Wanted::Known),
            false => Reading::Unreadable,
        };
        match reading {
            Reading::Nothing => out.extend_from_slice(frame.bytes),
            Reading::Said(said) => self.text_frame(frame.bytes, &said, out),
            Reading::Done => {
                self.flush_all(out);
                out.extend_from_slice(frame.bytes);
            }
            Reading::Unreadable => {
                self.unreadable += 1;
                // Its text may continue the held ones.
                self.flush_all(out);
                out.extend_from_slice(frame.bytes);
            }
        }
    }

    fn text_frame(&mut self, frame: &[u8], said: &Said, out: &mut Vec<u8>) {
        let ended = said.choices.iter().filter(|named| named.finished);
        let ended: BTreeSet<u64> = ended.map(|named| named.choice).collect();
        let last: BTreeMap<TextKey, usize> = said.pieces.iter().map(key_of).zip(0..).collect();
        let mut edits: Vec<Edit<Vec<u8>>> = Vec::new();
        let mut holds_end = false;
        for (at, piece) in said.pieces.iter().enumerate() {
            let goes_on = last.get(&key_of(piece)).is_some_and(|last| *last > at);
            let may_hold = goes_on || !(piece.ends || ended.contains(&piece.choice));
            if is_unredacted(&piece.field)
                && !piece.span.is_empty()
                && let Some(token) = self.piece(frame, piece, may_hold)
            {
                edits.push((piece.span.clone(), token));
            }
            holds_end |= self.held.contains_key(&key_of(piece));
        }
        if holds_end {
            self.writer.learn(frame);
            #[cfg(test)]
            {
                self.templates += 1;
            }
        }
        let over = self
            .held
            .keys()
            .filter(|(choice, _)| ended.contains(choice));
        for key in over.cloned().collect::<Vec<_>>() {
            self.flush(key, out);
        }
        edits.sort_by_key(|(span, _)| span.start);
        out.extend(json::replace_spans(frame, &edits));
        self.writer.sent(frame, &said.choices);
    }

    /// The string that replaces a piece of text; None where it is unchanged.
    fn piece(&mut self, frame: &[u8], piece: &Piece, may_hold: bool) -> Option<Vec<u8>> {
        let key = key_of(piece);
        let begun = self.held.remove(&key).unwrap_or_default();
        let whole = format!("{begun}{}", piece.text);
        let found = self.placeholders.find(&whole);
        let hold = match may_hold && self.held.len() < MOST_HELD {
            true => self.placeholders.unfinished(&whole),
            false => whole.len(),
        };
        if begun.is_empty() && found.is_empty() && hold == whole.len() {
            return None;
        }
        let token = frame.get(piece.span.clone())?;
        let rewrite = Rewrite {
            begun: &begun,
            found: &found,
            end: hold,
            is_arguments: piece.is_arguments,
        };
        let token = rewrite.apply(token);
        if hold < whole.len() {
            self.held.insert(key, whole[hold..].to_owned());
        }
        Some(token)
    }

    fn flush_all(&mut self, out: &mut Vec<u8>) {
        while let Some(key) = self.held.keys().next().cloned() {
            self.flush(key, out);
        }
    }

    /// Sends a held end that will not become a placeholder in a frame of its own.
    fn flush(&mut self, key: TextKey, out: &mut Vec<u8>) {
        if let Some(begun) = self.held.remove(&key) {
            let (choice, field) = key;
            out.extend(self.writer.text(choice, field, &begun));
        }
    }
}

/// The replacement of one piece's string. Places are bytes of the text that begins with `begun`.
struct Rewrite<'a> {
    /// The held end of the text before the piece.
    begun: &'a str,
    /// Placeholders with their values.
    found: &'a [(Range<usize>, &'a str)],
    /// The text from here on is held.
    end: usize,
    is_arguments: bool,
}

impl Rewrite<'_> {
    /// The new string for the piece's `token`: the held end, then the piece with each placeholder replaced.
    fn apply(&self, token: &[u8]) -> Vec<u8> {
        let (begun, found) = (self.begun, self.found);
        let starts = [0]
            .into_iter()
            .chain(found.iter().map(|(span, _)| span.end));
        let ends = found.iter().map(|(span, _)| span.start).chain([self.end]);
        let kept: Vec<Range<usize>> = starts.zip(ends).map(|(start, end)| start..end).collect();
        let own = |at: usize| at.saturating_sub(begun.len());
        let raw: Vec<_> = kept
            .iter()
            .map(|span| own(span.start)..own(span.end))
            .collect();
        let raw = raw_spans(token, &raw);
        let values = found
            .iter()
            .map(|(_, value)| escaped(value, self.is_arguments));
        let mut values = values.chain([Vec::new()]);
        let mut out = vec![b'"'];
        for (span, raw) in kept.into_iter().zip(raw) {
            let held = span.start.min(begun.len())..span.end.min(begun.len());
            // The beginning of a placeholder needs no escaping.
            out.extend_from_slice(&begun.as_bytes()[held]);
            out.extend_from_slice(&token[raw]);
            out.extend(values.next().unwrap_or_default());
        }
        out.push(b'"');
        out
    }
}

fn key_of(piece: &Piece) -> TextKey {
    (piece.choice, piece.field)
}

/// Whether a text is unredacted. Function names come from the client's own tools; all else may quote the prompt.
fn is_unredacted(field: &Field) -> bool {
    !matches!(
        field,
        Field::ToolName(_) | Field::FunctionName | Field::Other(_)
    )
}

#[cfg(test)]
mod tests;
