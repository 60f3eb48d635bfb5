//! A message as it is meant to be read: letters of two alphabets in one word, digits of other widths and
//! scripts, digits one by one, characters nobody sees. Finds are made in that reading and told in
//! places of the original. A plain text is its own reading and costs one quick look.
//!
//! The reading of a text that grows only grows: what is pending at its end (a word, digits one by one) is
//! left out of [`View::certain`].

use super::confusables::{Reading, as_cyrillic, as_latin, is_suspicious, reading};
use super::text::{Text, is_blank, is_dash};
use super::{Span, Strength};
use std::ops::Range;

/// Letters of the longest word that is looked at for letters of another alphabet.
const LONGEST_WORD: usize = 32;
/// Digits one by one are read as a number when there are so many of them.
const DIGITS: std::ops::RangeInclusive<usize> = 9..=19;
/// The end of a plain text in which something may be pending, in bytes.
const PENDING: usize = 256;

/// A message and how it is read.
pub(super) struct View<'a> {
    plain: &'a str,
    folded: Option<Folded>,
}

/// A reading that differs from the original.
#[derive(Default)]
struct Folded {
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

impl<'a> View<'a> {
    /// Reads a message. Linear.
    pub(super) fn new(text: &Text<'a>) -> Self {
        let plain = text.original();
        let odd = is_suspicious(plain) || is_spaced(text);
        Self {
            plain,
            folded: odd.then(|| Folded::new(plain)),
        }
    }

    /// The reading, where it differs from the original.
    pub(super) fn folded(&self) -> Option<&str> {
        self.folded.as_ref().map(|folded| folded.text.as_str())
    }

    /// The reading.
    pub(super) fn text(&self) -> &str {
        self.folded().unwrap_or(self.plain)
    }

    /// The part of the reading that stays as it is, whatever follows.
    pub(super) fn certain(&self) -> &str {
        if let Some(folded) = &self.folded {
            return &folded.text[..folded.certain];
        }
        let near = self.plain.len().saturating_sub(PENDING);
        let tail = Folded::new(&self.plain[self.plain.ceil_char_boundary(near)..]);
        let pending = tail.text.len() - tail.certain;
        &self.plain[..self.plain.len() - pending]
    }

    /// A find at its place in the original. None for one that leans on digits that were joined and has
    /// neither check digits nor a label to prove it.
    pub(super) fn original<K>(&self, span: Span<K>) -> Option<Span<K>> {
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
    pub(super) fn place(&self, at: usize) -> usize {
        self.folded
            .as_ref()
            .map_or(at, |folded| match at == folded.text.len() {
                true => self.plain.len(),
                false => folded.place(at),
            })
    }
}

impl Folded {
    fn new(original: &str) -> Self {
        let mut writer = Writer::default();
        for (at, c) in original.char_indices() {
            let length = c.len_utf8();
            match reading(c) {
                Reading::Nothing => {}
                Reading::Mark if writer.after_digit() => {}
                Reading::Mark => writer.push(Item { c, at, length }),
                Reading::As(c) => writer.push(Item { c, at, length }),
            }
        }
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
    out: Folded,
    pending: Vec<Item>,
    state: State,
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
        let held = self.pending.last().map(|item| item.c);
        held.or_else(|| self.out.text.chars().next_back())
            .is_some_and(|c| c.is_ascii_digit())
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

    fn finish(mut self) -> Folded {
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

/// Writes a word of two alphabets in one, where all letters of the other look like letters of it. A letter
/// with a mark looks like none, so that what is no mixture of plain letters stays as it is.
fn one_alphabet(word: &mut [Item]) {
    let is_latin = |c: char| c.is_ascii_alphabetic();
    let latin = word.iter().filter(|item| is_latin(item.c)).count();
    if latin == 0 || latin == word.len() {
        return;
    }
    let to = |read: fn(char) -> Option<char>, own: fn(char) -> bool| {
        let letter = move |item: &Item| {
            if own(item.c) {
                Some(item.c)
            } else {
                read(item.c)
            }
        };
        word.iter().map(letter).collect::<Option<Vec<char>>>()
    };
    let as_one = to(as_latin, is_latin);
    let as_other = to(as_cyrillic, |c| ('\u{400}'..='\u{52f}').contains(&c));
    let read = match (as_one, as_other) {
        (Some(one), Some(_)) if latin * 2 > word.len() => Some(one),
        (one, other) => other.or(one),
    };
    for (item, c) in word.iter_mut().zip(read.into_iter().flatten()) {
        item.c = c;
    }
}

/// Whether enough digits stand one by one.
fn is_spaced(text: &Text) -> bool {
    let mut count = 0;
    let mut end = 0;
    text.runs().iter().any(|run| {
        let close = run.start - end <= '\u{2212}'.len_utf8();
        end = run.end;
        count = match run.digits() {
            1 if close => count + 1,
            1 => 1,
            _ => 0,
        };
        count >= *DIGITS.start()
    })
}
