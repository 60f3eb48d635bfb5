//! Normalizes a message: one alphabet per word, ASCII digits, digits written one by one joined, invisible
//! characters removed. Detectors search the normalized text; finds are mapped back to the original. For a
//! plain text this costs one quick look.
//!
//! The normalized text of a growing message only grows: what is pending at its end (a word, digits one by
//! one) is not part of [`NormalizedText::certain`].

mod alphabet;
mod suspects;

use super::span::{Span, Strength};
use super::text::Text;
use crate::chars::{is_blank, is_dash};
use crate::confusables::{Reading, is_raised, reading, takes_mark};
use alphabet::one_alphabet;
use std::ops::Range;
use suspects::{Suspects, last_rest, next_rest};

/// Letters of the longest word that is looked at for letters of another alphabet.
const LONGEST_WORD: usize = 32;
/// Digits one by one are read as a number when there are so many of them.
const DIGITS: std::ops::RangeInclusive<usize> = 9..=19;
/// The end of a plain text in which something may be pending, in bytes.
const PENDING: usize = 256;

/// A message and how it is read.
pub(crate) struct NormalizedText<'a> {
    plain: &'a str,
    folded: Option<Rewritten>,
}

/// A reading that differs from the original.
#[derive(Default)]
struct Rewritten {
    text: String,
    pieces: Vec<Piece>,
    /// Places in the reading where digits that stood one by one were joined.
    joined: Vec<Range<usize>>,
    /// Where in the reading what is pending begins.
    certain: usize,
}

/// Characters that stand in both, side by side; or one that was read as another.
struct Piece {
    folded: usize,
    original: usize,
    /// In the original, in bytes.
    length: usize,
    is_same: bool,
}

impl<'a> NormalizedText<'a> {
    /// Reads a message. Linear.
    pub(crate) fn new(text: &Text<'a>) -> Self {
        let plain = text.original();
        let mut odd = Suspects::of(text);
        Self {
            plain,
            folded: odd.next(0).map(|first| Rewritten::new(plain, first, odd)),
        }
    }

    /// The reading, where it differs from the original.
    pub(crate) fn folded(&self) -> Option<&str> {
        self.folded.as_ref().map(|folded| folded.text.as_str())
    }

    /// The normalized text, which may be the original.
    pub(crate) fn text(&self) -> &str {
        self.folded().unwrap_or(self.plain)
    }

    /// The part of the reading that stays as it is, whatever follows.
    pub(crate) fn certain(&self) -> &str {
        if let Some(folded) = &self.folded {
            return &folded.text[..folded.certain];
        }
        let near = self.plain.len().saturating_sub(PENDING);
        let tail = Rewritten::whole(&self.plain[self.plain.ceil_char_boundary(near)..]);
        let pending = tail.text.len() - tail.certain;
        &self.plain[..self.plain.len() - pending]
    }

    /// A find at its place in the original. None for one that leans on digits that were joined and has
    /// neither check digits nor a label to prove it.
    pub(crate) fn original<K>(&self, span: Span<K>) -> Option<Span<K>> {
        let Some(folded) = &self.folded else {
            return Some(span);
        };
        let next = folded
            .joined
            .partition_point(|range| range.end <= span.start);
        let leans = folded
            .joined
            .get(next)
            .is_some_and(|range| range.start < span.end);
        let signed = folded.text[span.start..].starts_with('+');
        (!leans || signed || span.strength > Strength::Form).then(|| Span {
            start: folded.place(span.start),
            end: folded.end(span.end),
            ..span
        })
    }

    /// A place between two characters of the reading, in the original. Never falls as a text grows.
    pub(crate) fn place(&self, at: usize) -> usize {
        self.folded
            .as_ref()
            .map_or(at, |folded| match at == folded.text.len() {
                true => self.plain.len(),
                false => folded.place(at),
            })
    }
}

impl Rewritten {
    /// Reads the stretches in which anything may be read otherwise, and copies what lies between.
    fn new(original: &str, first: Range<usize>, mut odd: Suspects) -> Self {
        let mut writer = Writer::default();
        writer.out.text.reserve(original.len());
        let (mut at, mut stretch) = (0, Some(first));
        while let Some(place) = stretch {
            let from = last_rest(original, at..place.start);
            writer.copy(original, at..from);
            at = next_rest(original, place.end);
            writer.read(original, from..at);
            stretch = odd.next(at);
        }
        // What is pending at the end is told by reading it.
        let from = last_rest(original, at..original.len());
        writer.copy(original, at..from);
        writer.read(original, from..original.len());
        writer.finish()
    }

    fn whole(original: &str) -> Self {
        let mut writer = Writer::default();
        writer.read(original, 0..original.len());
        writer.finish()
    }

    fn piece(&self, at: usize) -> Option<&Piece> {
        let next = self.pieces.partition_point(|piece| piece.folded <= at);
        self.pieces.get(next.checked_sub(1)?)
    }

    fn place(&self, at: usize) -> usize {
        let inside = |piece: &Piece| if piece.is_same { at - piece.folded } else { 0 };
        self.piece(at)
            .map_or(at, |piece| piece.original + inside(piece))
    }

    fn end(&self, at: usize) -> usize {
        let Some(piece) = at.checked_sub(1).and_then(|last| self.piece(last)) else {
            return 0;
        };
        let inside = if piece.is_same {
            at - piece.folded
        } else {
            piece.length
        };
        piece.original + inside
    }
}

/// A character as it is read, and its place in the original.
#[derive(Clone, Copy)]
struct Item {
    c: char,
    at: usize,
    length: usize,
}

/// Writes a reading; holds back a word and digits one by one until they have ended.
#[derive(Default)]
struct Writer {
    out: Rewritten,
    pending: Vec<Item>,
    state: State,
    /// The last character is a digit that stands above or below the line.
    is_raised: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Between,
    /// `pending` are the letters of a word.
    Word,
    /// A word too long to be looked at.
    LongWord,
    /// `pending` are digits, each with the same sign before it, and perhaps that sign at the end.
    OneByOne,
    /// Too many of them; the last was a digit or the sign.
    TooMany,
    /// Two or more digits side by side.
    Number,
}

impl Writer {
    fn read(&mut self, original: &str, place: Range<usize>) {
        for (at, c) in original[place.clone()].char_indices() {
            let (at, length) = (place.start + at, c.len_utf8());
            match reading(c) {
                Reading::Nothing => {}
                Reading::Mark if !self.takes_mark() => {}
                Reading::Mark => self.push(Item { c, at, length }),
                Reading::As(read) => {
                    let is_raised = is_raised(c);
                    let is_digit = !is_raised || self.is_raised || !self.after_word();
                    self.is_raised = is_raised && is_digit;
                    let c = if is_digit { read } else { c };
                    self.push(Item { c, at, length });
                }
            }
        }
    }

    /// Whether a word or a number goes on here.
    fn after_word(&self) -> bool {
        self.last().is_some_and(char::is_alphanumeric)
    }

    fn last(&self) -> Option<char> {
        let held = self.pending.last().map(|item| item.c);
        held.or_else(|| self.out.text.chars().next_back())
    }

    /// Takes over what is read as it stands, from one rest to another.
    fn copy(&mut self, original: &str, place: Range<usize>) {
        if place.is_empty() {
            return;
        }
        let folded = self.out.text.len();
        self.out.text.push_str(&original[place.clone()]);
        match self.out.pieces.last_mut() {
            Some(piece) if piece.is_same && piece.original + piece.length == place.start => {
                piece.length += place.len();
            }
            _ => self.out.pieces.push(Piece {
                folded,
                original: place.start,
                length: place.len(),
                is_same: true,
            }),
        }
    }

    fn push(&mut self, item: Item) {
        if item.c.is_alphabetic() {
            self.letter(item);
        } else if item.c.is_ascii_digit() {
            self.digit(item);
        } else if is_sign(item.c) {
            self.sign(item);
        } else {
            self.close(State::Between);
            self.write(item);
        }
    }

    fn letter(&mut self, item: Item) {
        if !matches!(self.state, State::Word | State::LongWord) {
            self.close(State::Word);
        }
        if self.state == State::LongWord {
            return self.write(item);
        }
        self.pending.push(item);
        if self.pending.len() > LONGEST_WORD {
            self.write_pending();
            self.state = State::LongWord;
        }
    }

    fn digit(&mut self, item: Item) {
        let after_digit = self.after_digit();
        match self.state {
            State::OneByOne if after_digit => {
                // Two side by side: the one before was the first of a number.
                let first = self.pending.pop();
                let sign = self.pending.pop();
                self.close(State::Number);
                [sign, first]
                    .into_iter()
                    .flatten()
                    .for_each(|held| self.write(held));
                self.write(item);
            }
            State::OneByOne => {
                self.pending.push(item);
                if self.pending.len() > DIGITS.end() * 2 {
                    self.write_pending();
                    self.state = State::TooMany;
                }
            }
            State::Number => self.write(item),
            State::TooMany => {
                self.write(item);
                if after_digit {
                    self.state = State::Number;
                }
            }
            State::Between | State::Word | State::LongWord => {
                self.close(State::OneByOne);
                self.pending.push(item);
            }
        }
    }

    fn sign(&mut self, item: Item) {
        let same = self.pending.get(1).is_none_or(|sign| sign.c == item.c);
        match self.state {
            State::OneByOne if self.after_digit() && same => self.pending.push(item),
            State::TooMany if self.after_digit() => self.write(item),
            _ => {
                self.close(State::Between);
                self.write(item);
            }
        }
    }

    fn after_digit(&self) -> bool {
        self.last().is_some_and(|c| c.is_ascii_digit())
    }

    /// A mark over a digit, a blank or a sign says nothing.
    fn takes_mark(&self) -> bool {
        self.last().is_some_and(takes_mark)
    }

    /// Ends what is pending.
    fn close(&mut self, next: State) {
        match self.state {
            State::Word => one_alphabet(&mut self.pending),
            State::OneByOne => self.join(),
            _ => {}
        }
        self.write_pending();
        self.state = next;
    }

    fn join(&mut self) {
        let digits = self.pending.len().div_ceil(2);
        if !DIGITS.contains(&digits) {
            return;
        }
        let last = self
            .pending
            .len()
            .is_multiple_of(2)
            .then(|| self.pending.pop());
        let start = self.out.text.len();
        let held = std::mem::take(&mut self.pending);
        held.into_iter()
            .step_by(2)
            .for_each(|digit| self.write(digit));
        self.out.joined.push(start..self.out.text.len());
        self.pending.extend(last.flatten());
    }

    fn write_pending(&mut self) {
        let held = std::mem::take(&mut self.pending);
        held.iter().for_each(|item| self.write(*item));
        self.pending = held;
        self.pending.clear();
    }

    fn write(&mut self, item: Item) {
        let folded = self.out.text.len();
        let is_same = item.c.len_utf8() == item.length;
        self.out.text.push(item.c);
        if let Some(piece) = self.out.pieces.last_mut()
            && is_same
            && piece.is_same
            && piece.original + piece.length == item.at
        {
            piece.length += item.length;
            return;
        }
        self.out.pieces.push(Piece {
            folded,
            original: item.at,
            length: item.length,
            is_same,
        });
    }

    fn finish(mut self) -> Rewritten {
        let certain = self.out.text.len();
        self.close(State::Between);
        self.out.certain = certain;
        self.out
    }
}

/// What may stand between digits one by one.
fn is_sign(c: char) -> bool {
    is_blank(c) || is_dash(c) || matches!(c, '.' | '_')
}
