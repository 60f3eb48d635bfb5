//! Restoring what was redacted (CONTRACT 41): placeholders in the texts of an answer become the values
//! again. Pure: bytes in, bytes out; how an answer comes and goes stands in `restored`. A placeholder
//! may be cut anywhere in a stream; what cannot become one is never held.

use super::placeholders::Placeholders;
use monitor_wire::json::{self, Edit, escape_into, raw_spans};
use monitor_wire::sse::pieces::{self, Field, Piece, Reading, Said};
use monitor_wire::sse::{Frame, Frames, Template};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Texts of which an end may be held at once; further ones pass as they come.
const MOST_HELD: usize = 1024;

/// A whole `chat.completion` with its values; None for a body that cannot be read.
pub(super) fn completion(placeholders: &Placeholders, body: &[u8]) -> Option<Vec<u8>> {
    let mut edits = Vec::new();
    for literal in json::answer_literals(body)? {
        let token = &body[literal.span.clone()];
        let text = json::unescape(token);
        let found = placeholders.find(&text);
        let spans: Vec<_> = found.iter().map(|(span, _)| span.clone()).collect();
        for ((_, value), raw) in found.iter().zip(raw_spans(token, &spans)) {
            let span = literal.span.start + raw.start..literal.span.start + raw.end;
            edits.push((span, written(value, literal.is_arguments)));
        }
    }
    Some(json::replace_spans(body, &edits))
}

/// A whole event stream with its values; None for one with a frame that cannot be read.
pub(super) fn stream(placeholders: &Placeholders, body: &[u8]) -> Option<Vec<u8>> {
    let mut stream = RestoreStream::new(placeholders.clone(), body.len());
    let mut restored = stream.push(body);
    restored.extend(stream.end());
    (stream.unreadable() == 0).then_some(restored)
}

/// A value as the inside of a string; in arguments it stands inside a string of JSON inside a string.
fn written(value: &str, is_arguments: bool) -> Vec<u8> {
    let mut once = Vec::with_capacity(value.len());
    escape_into(value, &mut once);
    if !is_arguments {
        return once;
    }
    let mut twice = Vec::with_capacity(once.len());
    escape_into(&String::from_utf8_lossy(&once), &mut twice);
    twice
}

/// The streamed twin of [`completion`].
pub(super) struct RestoreStream {
    placeholders: Placeholders,
    frames: Frames,
    /// The ends of texts that may become placeholders.
    held: BTreeMap<Place, String>,
    /// What a frame of its own needs to say one of them.
    template: Template,
    unreadable: u64,
}

/// Which growing text of a stream.
type Place = (u64, Field);

impl RestoreStream {
    /// `max_frame_bytes` bounds what is held of one frame; a larger one passes untouched.
    pub(super) fn new(placeholders: Placeholders, max_frame_bytes: usize) -> Self {
        Self {
            placeholders,
            frames: Frames::new(max_frame_bytes),
            held: BTreeMap::new(),
            template: Template::default(),
            unreadable: 0,
        }
    }

    /// Takes the next bytes of the upstream's and gives what can be passed on.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut frames = std::mem::replace(&mut self.frames, Frames::new(0));
        frames.push(bytes, |frame| self.frame(frame, &mut out));
        self.frames = frames;
        out
    }

    /// The stream is over: what was held of it.
    pub(super) fn end(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        match self.frames.finish() {
            // A frame that was cut says nothing; what is ours stands before it.
            Some(rest) => {
                self.say_all(&mut out);
                out.extend(rest);
            }
            None => self.say_all(&mut out),
        }
        out
    }

    /// Frames that could not be read, so that a placeholder in them is left, up to now.
    pub(super) fn unreadable(&self) -> u64 {
        self.unreadable
    }

    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<u8>) {
        let reading = match frame.is_whole {
            true => pieces::read(frame.bytes),
            false => Reading::Unreadable,
        };
        match reading {
            Reading::Nothing => out.extend_from_slice(frame.bytes),
            Reading::Said(said) => self.said(frame.bytes, &said, out),
            Reading::Done => {
                self.say_all(out);
                out.extend_from_slice(frame.bytes);
            }
            Reading::Unreadable => {
                self.unreadable += 1;
                // Its text may follow on what is held.
                self.say_all(out);
                out.extend_from_slice(frame.bytes);
            }
        }
    }

    fn said(&mut self, frame: &[u8], said: &Said, out: &mut Vec<u8>) {
        let ended = said.choices.iter().filter(|named| named.finished);
        let ended: BTreeSet<u64> = ended.map(|named| named.choice).collect();
        let last: BTreeMap<Place, usize> = said.pieces.iter().map(place_of).zip(0..).collect();
        let mut edits: Vec<Edit<Vec<u8>>> = Vec::new();
        for (at, piece) in said.pieces.iter().enumerate() {
            let goes_on = last.get(&place_of(piece)).is_some_and(|last| *last > at);
            let may_hold = goes_on || !ended.contains(&piece.choice);
            if is_restored(piece.field)
                && let Some(token) = self.piece(frame, piece, may_hold)
            {
                edits.push((piece.span.clone(), token));
            }
        }
        let over = self
            .held
            .keys()
            .filter(|(choice, _)| ended.contains(choice));
        for place in over.copied().collect::<Vec<_>>() {
            self.say(place, out);
        }
        edits.sort_by_key(|(span, _)| span.start);
        out.extend(json::replace_spans(frame, &edits));
    }

    /// The string that stands in a piece's place; None where it stays as it is.
    fn piece(&mut self, frame: &[u8], piece: &Piece, may_hold: bool) -> Option<Vec<u8>> {
        let place = place_of(piece);
        let begun = self.held.remove(&place).unwrap_or_default();
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
        let token = rewritten(token, &begun, &found, (hold, is_arguments(piece.field)));
        if hold < whole.len() {
            self.held.insert(place, whole[hold..].to_owned());
            self.template = Template::of(frame);
        }
        Some(token)
    }

    fn say_all(&mut self, out: &mut Vec<u8>) {
        while let Some(place) = self.held.keys().next().copied() {
            self.say(place, out);
        }
    }

    /// Says in a frame of its own what will not become a placeholder any more.
    fn say(&mut self, place: Place, out: &mut Vec<u8>) {
        if let Some(begun) = self.held.remove(&place) {
            let (choice, field) = place;
            out.extend(self.template.text(choice, field, (&begun, false)));
        }
    }
}

/// The string of a piece anew: what was held of the text before it, then its own bytes with each of
/// `found` replaced, up to `end`. Places are bytes of the text that begins with `begun`.
fn rewritten(
    token: &[u8],
    begun: &str,
    found: &[(Range<usize>, &str)],
    (end, is_arguments): (usize, bool),
) -> Vec<u8> {
    let starts = [0]
        .into_iter()
        .chain(found.iter().map(|(span, _)| span.end));
    let ends = found.iter().map(|(span, _)| span.start).chain([end]);
    let kept: Vec<Range<usize>> = starts.zip(ends).map(|(start, end)| start..end).collect();
    let own = |at: usize| at.saturating_sub(begun.len());
    let raw: Vec<_> = kept
        .iter()
        .map(|span| own(span.start)..own(span.end))
        .collect();
    let raw = raw_spans(token, &raw);
    let values = found.iter().map(|(_, value)| written(value, is_arguments));
    let mut values = values.chain([Vec::new()]);
    let mut out = vec![b'"'];
    for (span, raw) in kept.into_iter().zip(raw) {
        let held = span.start.min(begun.len())..span.end.min(begun.len());
        // A beginning of a placeholder has nothing to escape.
        out.extend_from_slice(&begun.as_bytes()[held]);
        out.extend_from_slice(&token[raw]);
        out.extend(values.next().unwrap_or_default());
    }
    out.push(b'"');
    out
}

fn place_of(piece: &Piece) -> Place {
    (piece.choice, piece.field)
}

/// Names are the client's own, everything else may quote the prompt.
fn is_restored(field: Field) -> bool {
    !matches!(field, Field::ToolName(_) | Field::FunctionName)
}

fn is_arguments(field: Field) -> bool {
    matches!(field, Field::ToolArguments(_) | Field::FunctionArguments)
}

#[cfg(test)]
mod tests;
