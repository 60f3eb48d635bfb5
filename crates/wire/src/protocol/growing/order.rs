//! In which order the words of a stream come, and what events say in place of others. Clients join them as they come,
//! or by their places, or read the last event alone: where they would show different words, an answer has unread parts.

use super::{GrowingAnswer, Grown, Key, Kind, MOST_TEXTS, OTHER_PARTS, TRANSCRIPT};
use crate::protocol::fields::ReadText;
use std::collections::BTreeSet;

impl GrowingAnswer {
    /// The answer begins, which it does once.
    pub(in crate::protocol) fn begin(&mut self) {
        self.skip_if(self.order.last.is_some());
    }

    /// The indices of items of these kinds that come together: those that events have named, whose numbers may have
    /// gaps, and further ones.
    pub(in crate::protocol) fn indices(&self, kinds: impl Iterator<Item = Kind>) -> Vec<u64> {
        let of = |kind: Kind| {
            let named = self.items.iter().filter(move |(_, named)| **named == kind);
            named.map(|(index, _)| *index)
        };
        // Words may stand where an item of another kind does.
        let with_words = self.grown.iter().filter(|(_, grown)| says(grown));
        let with_words = with_words.map(|((index, _), _)| *index);
        let said: BTreeSet<u64> = of(Kind::Said).chain(with_words).collect();
        let mut said = said.into_iter();
        let (mut calls, mut beside) = (of(Kind::Call), of(Kind::Beside));
        let last = self.items.last_key_value();
        let mut next = last.map_or(0, |(last, _)| last.saturating_add(1));
        let index = |kind| {
            let named = match kind {
                Kind::Said => said.next(),
                Kind::Call => calls.next(),
                Kind::Beside => beside.next(),
            };
            named.unwrap_or_else(|| {
                next = next.saturating_add(1);
                next - 1
            })
        };
        kinds.map(index).collect()
    }

    /// Counts what clients read in different ways, of a stream of which every text is wanted.
    pub(super) fn skip_if(&mut self, differs: bool) {
        self.skipped += u64::from(differs && self.is_stream && self.wants_every());
    }

    /// Takes note of an item at the place of another kind of item. Some servers give reasoning, words and calls the
    /// same number; those words are read alike if they are all of the answer, since clients show either them or none.
    pub(super) fn note_two_kinds(&mut self, index: u64, kind: Kind) {
        let has_words = self.said_of(index).next().is_some();
        self.order.is_doubtful = true;
        self.order.is_emptied |= has_words && kind != Kind::Said;
        self.skip_if(self.order.has_several);
    }

    /// Whether parts of an item say, all together, the words that have come of it: some servers number them otherwise.
    pub(in crate::protocol) fn says_again(&self, index: u64, parts: &[ReadText]) -> bool {
        let words = self.said_of(index).flat_map(|grown| grown.text.bytes());
        let again = parts.iter().flat_map(|part| part.text.bytes());
        let has_words = self.said_of(index).next().is_some();
        self.is_stream && has_words && parts.iter().all(|part| part.is_whole) && words.eq(again)
    }

    fn said_of(&self, index: u64) -> impl Iterator<Item = &Grown> {
        let parts = self.grown.range((index, 0)..(index, OTHER_PARTS));
        parts.map(|(_, grown)| grown).filter(|grown| says(grown))
    }

    /// Takes note of words that clients join with those of all places, in the order of these or as they come.
    pub(super) fn note_said(&mut self, key: Key, words: &str) {
        if words.is_empty() || key.1 == TRANSCRIPT {
            return;
        }
        let kind = self.items.get(&key.0);
        let is_elsewhere = kind.is_some_and(|kind| *kind != Kind::Said);
        if kind.is_none() && self.items.len() < MOST_TEXTS {
            self.items.insert(key.0, Kind::Said);
        }
        self.order.is_doubtful |= is_elsewhere;
        let first = *self.order.first.get_or_insert(key.0);
        self.order.has_several |= first != key.0;
        let is_shared = self.order.is_doubtful && self.order.has_several;
        let is_in_front = self.order.last.is_some_and(|last| key < last);
        let is_too_far = key.1 >= OTHER_PARTS;
        self.skip_if(self.order.is_emptied || is_shared || is_in_front || is_too_far);
        self.order.last = self.order.last.max(Some(key));
    }

    /// The same of words that stand in an event as a whole; false where there are none in place of those that came.
    pub(super) fn note_whole(&mut self, key: Key, whole: &str) -> bool {
        let before = self.grown.get(&key).map_or("", |grown| grown.text.as_str());
        if before.is_empty() {
            self.note_said(key, whole);
            return true;
        }
        self.order.is_emptied |= whole.is_empty();
        // Some servers trim what they say again.
        let differs = whole != before && !letters(whole).eq(letters(before));
        self.skip_if(differs && !whole.is_empty());
        !whole.is_empty()
    }
}

fn says(grown: &Grown) -> bool {
    grown.kind == Kind::Said && !grown.text.is_empty()
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.split_whitespace().flat_map(str::chars)
}
