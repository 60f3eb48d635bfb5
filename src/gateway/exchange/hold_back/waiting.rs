//! Frames that wait until all their text may be shown, and how a stream ends at a find (CONTRACT 41).
//! Frames leave in the order they came in, to the byte.

use super::tail::{Judge, Tail};
use monitor_wire::sse::pieces::{Field, Named, Reading, Said, read};
use monitor_wire::sse::{Template, writer};
use std::collections::{BTreeMap, VecDeque};

/// What may wait, in bytes of raw frames. Above it the texts are judged as if they ended there.
const MOST_WAITING: usize = 4 << 20;
/// Texts, and choices, that are followed in one stream. A frame that begins another is unreadable.
const MOST_TEXTS: usize = 64;

type Key = (u64, Field);

/// The frames of one stream that the client has not seen, and what it has.
#[derive(Default)]
pub(super) struct Waiting {
    frames: VecDeque<Held>,
    bytes: usize,
    tails: BTreeMap<Key, Tail>,
    /// Choices that the client has seen, and whether it has seen their end.
    choices: BTreeMap<u64, bool>,
    /// The last byte shown is inside a frame that is too large to be held.
    inside: bool,
}

struct Held {
    raw: Vec<u8>,
    is_whole: bool,
    pieces: Vec<Place>,
    choices: Vec<Named>,
}

/// Where a piece stands in its text.
struct Place {
    key: Key,
    start: usize,
    end: usize,
}

impl Waiting {
    /// Takes a frame that holds nothing to be judged, or a part of one.
    pub(super) fn pass(&mut self, raw: &[u8], is_whole: bool) {
        self.hold(raw, is_whole, Vec::new(), Vec::new());
    }

    /// Takes an event. False, and nothing is taken, when it begins more texts than are followed.
    pub(super) fn push(&mut self, raw: &[u8], said: Said, judge: &Judge) -> bool {
        let new = said.pieces.iter().map(|piece| (piece.choice, piece.field));
        let new = new.filter(|key| !self.tails.contains_key(key)).count();
        let seen = said.choices.iter().map(|named| named.choice);
        let unseen = seen
            .filter(|choice| !self.choices.contains_key(choice))
            .count();
        if self.tails.len() + new > MOST_TEXTS || self.choices.len() + unseen > MOST_TEXTS {
            return false;
        }
        let mut pieces = Vec::with_capacity(said.pieces.len());
        for piece in said.pieces {
            let key = (piece.choice, piece.field);
            let tail = self.tails.entry(key).or_default();
            let start = tail.end();
            tail.push(&piece.text, judge);
            let end = tail.end();
            pieces.push(Place { key, start, end });
        }
        self.hold(raw, true, pieces, said.choices);
        true
    }

    /// Whether more waits than may. What says nothing waits behind what does.
    pub(super) fn is_over(&self) -> bool {
        self.bytes > MOST_WAITING
    }

    /// Nothing more follows: what waits is judged as it stands.
    pub(super) fn finish(&mut self, judge: &Judge) {
        self.tails.values_mut().for_each(|tail| tail.finish(judge));
    }

    /// Whether something was found.
    pub(super) fn is_cut(&self) -> bool {
        self.tails.values().any(|tail| tail.cut().is_some())
    }

    /// Moves what may be shown to `out`.
    pub(super) fn show(&mut self, out: &mut Vec<u8>) {
        while let Some(held) = self.frames.front() {
            if held
                .pieces
                .iter()
                .any(|place| place.end > self.shown(place))
            {
                return;
            }
            let Some(held) = self.frames.pop_front() else {
                return;
            };
            self.bytes -= held.raw.len();
            out.extend_from_slice(&held.raw);
            self.inside = !held.is_whole;
            for named in held.choices {
                *self.choices.entry(named.choice).or_default() |= named.finished;
            }
        }
    }

    /// Ends the stream at the find: the text before it, the phrase, the end of every choice.
    pub(super) fn close(&mut self, phrase: &str, out: &mut Vec<u8>) {
        self.show(out);
        if std::mem::take(&mut self.inside) {
            out.extend_from_slice(b"\n\n");
        }
        let (mut template, mut found) = (Template::default(), None);
        while let Some(held) = self.frames.pop_front() {
            template = Template::of(&held.raw);
            self.show_in_part(&held, &template, out);
            let cut = |place: &&Place| self.cut(place).is_some_and(|cut| cut < place.end);
            found = held.pieces.iter().find(cut).map(|place| place.key.0);
            if found.is_some() {
                break;
            }
        }
        let choice = found.unwrap_or_default();
        let is_first = !self.choices.contains_key(&choice);
        out.extend(template.text(choice, Field::Content, (phrase, is_first)));
        self.choices.insert(choice, false);
        let open = self.choices.iter().filter(|(_, ended)| !**ended);
        let ends = open.flat_map(|(choice, _)| template.end(*choice, CONTENT_FILTER));
        out.extend(ends);
        out.extend_from_slice(writer::DONE);
    }

    /// Shows the text of a frame as far as it may be shown, without the frame.
    fn show_in_part(&mut self, held: &Held, template: &Template, out: &mut Vec<u8>) {
        let Reading::Said(said) = read(&held.raw) else {
            return;
        };
        for (place, piece) in held.pieces.iter().zip(said.pieces) {
            let shown = self.shown(place).clamp(place.start, place.end) - place.start;
            if shown > 0 {
                let (choice, field) = place.key;
                let is_first = self.choices.insert(choice, false).is_none();
                out.extend(template.text(choice, field, (&piece.text[..shown], is_first)));
            }
        }
    }

    fn hold(&mut self, raw: &[u8], is_whole: bool, pieces: Vec<Place>, choices: Vec<Named>) {
        self.bytes += raw.len();
        self.frames.push_back(Held {
            raw: raw.to_vec(),
            is_whole,
            pieces,
            choices,
        });
    }

    fn shown(&self, place: &Place) -> usize {
        self.tails.get(&place.key).map_or(0, Tail::shown)
    }

    fn cut(&self, place: &Place) -> Option<usize> {
        self.tails.get(&place.key)?.cut()
    }
}

/// Why a choice ended (§2.3 `finish_reason`).
const CONTENT_FILTER: &str = "content_filter";
