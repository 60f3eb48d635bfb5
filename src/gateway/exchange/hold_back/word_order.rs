//! The places of the words of one stream, where clients join those of all items or blocks: some in the order in which
//! they come, some in that of their places, some from the events at the end of each. The words have to be the same in
//! all of these; of a stream in which they are not, nobody can say what its client shows.

use monitor_wire::sse::pieces::{Piece, PlaceKind, Said, Words, WordsBy};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// The most items and parts of one stream.
const MOST_PLACES: usize = 1_024;

/// An item or a block, and a part of it.
type Place = (u64, u64);

/// Why a stream has no verdict.
type Differ = Option<&'static str>;

/// The words so far.
#[derive(Default)]
pub(super) struct WordOrder {
    /// Those of each place, without white space: some servers trim what they say again.
    said: BTreeMap<Place, Sha256>,
    /// The same of each item or block, and of all of them.
    items: BTreeMap<u64, Sha256>,
    all: Sha256,
    /// Whether an item or a block says words.
    kinds: BTreeMap<u64, bool>,
    /// An item or block of words stands where reasoning or a call does: some clients show no words there.
    is_doubtful: bool,
    /// An end has no words where some have come.
    is_emptied: bool,
    /// The pieces of the last event that say words where none have come, ascending.
    new: Vec<usize>,
}

impl WordOrder {
    /// Takes an event; why clients may read different words from here on.
    pub(super) fn differ_at(&mut self, said: &Said) -> Differ {
        self.new.clear();
        if said.begins_answer && !self.said.is_empty() {
            return Some("the answer begins once more");
        }
        let kinds = said.kinds.iter().find_map(|kind| self.place(*kind));
        let words = said.pieces.iter().enumerate();
        let words = words.filter_map(|(at, piece)| Some((at, piece, piece.words?)));
        let (again, is_all) = (self.said_again(said), self.says_all(said));
        let is_again = |piece: &Piece, by| match by {
            WordsBy::Item => again.contains(&piece.choice),
            by => by == WordsBy::Response && is_all,
        };
        let differ = words.filter_map(|(at, piece, words)| match words.by {
            by if is_again(piece, by) => None,
            WordsBy::Delta => self.grow((piece.choice, words.part), &piece.text),
            _ => self.repeat(at, piece, words),
        });
        differ.fold(kinds, |first, next| first.or(Some(next)))
    }

    /// Whether a piece of the last event says words that did not come bit by bit before.
    pub(super) fn is_new(&self, piece: usize) -> bool {
        self.new.binary_search(&piece).is_ok()
    }

    /// The items whose end says, all together, the words that have come of each: some servers number the parts of a
    /// stream in another way than those of an item.
    fn said_again(&self, said: &Said) -> BTreeSet<u64> {
        let mut ends: BTreeMap<u64, Sha256> = BTreeMap::new();
        for piece in &said.pieces {
            if piece.words.is_some_and(|words| words.by == WordsBy::Item) {
                add(ends.entry(piece.choice).or_default(), &piece.text);
            }
        }
        let is_same = |words: &Sha256, end: Sha256| words.clone().finalize() == end.finalize();
        let ends = ends.into_iter();
        let same = ends.filter_map(|(item, end)| {
            let words = self.items.get(&item)?;
            is_same(words, end).then_some(item)
        });
        same.collect()
    }

    /// Whether a response says all the words that have come: some servers number its items otherwise than in the stream.
    fn says_all(&self, said: &Said) -> bool {
        let mut words = Sha256::new();
        let pieces = said.pieces.iter().filter(|piece| {
            let words = piece.words;
            words.is_some_and(|words| words.by == WordsBy::Response)
        });
        pieces.for_each(|piece| add(&mut words, &piece.text));
        !self.said.is_empty() && words.finalize() == self.all.clone().finalize()
    }

    /// Takes what an item or block is. Some servers give reasoning, words and calls the same number; those words are
    /// read alike if they are all of the answer, since clients show either them or none.
    fn place(&mut self, kind: PlaceKind) -> Differ {
        let PlaceKind {
            choice, says_words, ..
        } = kind;
        let has_words = self.has_words(choice);
        if has_words && kind.begins && says_words {
            return Some("an item or block begins where words have come");
        }
        if self.kinds.len() == MOST_PLACES && !self.kinds.contains_key(&choice) {
            return Some("there are too many items");
        }
        let before = self.kinds.insert(choice, says_words);
        let is_replaced = has_words && !says_words;
        let is_other = is_replaced || before.is_some_and(|before| before != says_words);
        self.is_doubtful |= is_other;
        self.is_emptied |= is_replaced;
        (is_other && self.items.len() > 1).then_some("an item or block is of two kinds")
    }

    fn has_words(&self, choice: u64) -> bool {
        let mut places = self.said.range((choice, 0)..=(choice, u64::MAX));
        places.next().is_some()
    }

    /// Adds to the words of a place.
    fn grow(&mut self, place: Place, text: &str) -> Differ {
        if text.is_empty() {
            return None;
        }
        if self.is_emptied {
            return Some("words follow others that an end leaves out");
        }
        self.is_doubtful |= self.kinds.get(&place.0) == Some(&false);
        if self.is_doubtful && self.items.keys().any(|item| *item != place.0) {
            return Some("words come where reasoning or a call stands");
        }
        if self
            .said
            .last_key_value()
            .is_some_and(|(last, _)| place < *last)
        {
            return Some("words come in front of others");
        }
        if self.said.len() == MOST_PLACES && !self.said.contains_key(&place) {
            return Some("there are too many parts");
        }
        add(self.said.entry(place).or_default(), text);
        add(self.items.entry(place.0).or_default(), text);
        add(&mut self.all, text);
        None
    }

    /// Takes words that stand in an event as a whole. A response has its items in their order, which need not be that
    /// of their numbers, and clients that read it read all of it.
    fn repeat(&mut self, at: usize, piece: &Piece, words: Words) -> Differ {
        let place = (piece.choice, words.part);
        let Some(before) = self.said.get(&place) else {
            if !piece.text.is_empty() {
                self.new.push(at);
            }
            return match words.by {
                WordsBy::Response => None,
                _ => self.grow(place, &piece.text),
            };
        };
        if words.by == WordsBy::Response {
            return None;
        }
        if piece.text.is_empty() {
            self.is_emptied = true;
            return None;
        }
        let mut whole = Sha256::new();
        add(&mut whole, &piece.text);
        let is_same = whole.finalize() == before.clone().finalize();
        (!is_same).then_some("an end says other words than those that came")
    }
}

fn add(words: &mut Sha256, text: &str) {
    for word in text.split_whitespace() {
        words.update(word);
    }
}

#[cfg(test)]
mod tests;
