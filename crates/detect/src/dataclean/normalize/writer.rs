//! Writes a reading, character by character.

use super::alphabet::one_alphabet;
use super::item::Item;
use super::number_chain::{ends_with_card, is_behind_number, set_notes_apart};
use super::tag_digits::{TagDigits, tag_digit};
use super::{DIGITS, Piece, Rewritten};
use crate::chars::{is_blank, is_dash};
use crate::confusables::{Reading, is_digit_sign, is_raised, reading, takes_mark};
use std::ops::Range;

/// Letters of the longest word that is looked at for letters of another alphabet.
const LONGEST_WORD: usize = 32;
/// The most characters of what begins with signs for digits that are looked at together.
const MOST_HELD: usize = 48;

/// Writes a reading; holds back a word, digits one by one and what begins with signs for digits until they have ended.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) out: Rewritten,
    pending: Vec<Item>,
    state: State,
    /// The last character is a digit that stands above or below the line.
    is_raised: bool,
    tags: TagDigits,
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
    /// `pending` are digits of which the first is a sign and the second stands right beside it, and what follows them
    /// with a blank or a dash between.
    Signs,
}

impl Writer {
    pub(super) fn read(&mut self, original: &str, place: Range<usize>) {
        for (at, c) in original[place.clone()].char_indices() {
            let item = Item {
                c,
                at: place.start + at,
                length: c.len_utf8(),
                is_sign: false,
            };
            match (reading(c), tag_digit(c)) {
                (_, Some(digit)) => {
                    let is_behind = self.tags.is_empty() && is_behind_number(self.before());
                    self.tags.push(Item { c: digit, ..item }, is_behind);
                }
                (Reading::Nothing, _) => {}
                (Reading::Mark, _) if !self.takes_mark() => {}
                (Reading::Mark, _) => {
                    self.end_tags(Some(c));
                    self.push(item);
                }
                (Reading::As(read), _) => self.take(item, read),
            }
        }
    }

    /// Takes a character that is read as another, mostly itself.
    fn take(&mut self, item: Item, read: char) {
        self.end_tags(Some(read));
        let c = item.c;
        let is_raised = is_raised(c);
        let is_note = is_raised && !self.is_raised && self.after_word();
        self.is_raised = is_raised && !is_note;
        let is_sign = !is_note && is_digit_sign(c);
        // Behind a card number it is a mark or a note, and none of its digits.
        let is_behind_card = is_sign && !is_raised && ends_with_card(self.before());
        let c = match (is_note, is_behind_card) {
            (true, _) => c,
            (_, true) => ' ',
            _ => read,
        };
        self.push(Item { c, is_sign, ..item });
    }

    /// Ends digits that are written as tags, before what is read as this.
    fn end_tags(&mut self, next: Option<char>) {
        if self.tags.is_empty() {
            return;
        }
        for digit in self.tags.end(next) {
            self.push(digit);
        }
    }

    /// What was read so far, backwards.
    fn before(&self) -> impl Iterator<Item = char> {
        let held = self.pending.iter().rev().map(|item| item.c);
        held.chain(self.out.text.chars().rev())
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
    pub(super) fn copy(&mut self, original: &str, place: Range<usize>) {
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
            State::OneByOne if after_digit => self.second_digit(item),
            State::OneByOne => {
                self.pending.push(item);
                if self.pending.len() > DIGITS.end() * 2 {
                    self.write_pending();
                    self.state = State::TooMany;
                }
            }
            State::Number => self.write(item),
            State::Signs => self.hold(item),
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

    /// Two side by side: the one before was the first of a number.
    fn second_digit(&mut self, item: Item) {
        let first = self.pending.pop();
        let sign = self.pending.pop();
        let begins_with_sign = first.is_some_and(|first| first.is_sign);
        self.close(match begins_with_sign {
            true => State::Signs,
            false => State::Number,
        });
        sign.into_iter().for_each(|held| self.write(held));
        for digit in first.into_iter().chain([item]) {
            match begins_with_sign {
                true => self.hold(digit),
                false => self.write(digit),
            }
        }
    }

    /// Holds one more of what begins with signs for digits. Of very many, the first are written.
    fn hold(&mut self, item: Item) {
        self.pending.push(item);
        if self.pending.len() > MOST_HELD {
            self.write_pending();
            self.state = match item.c.is_ascii_digit() {
                true => State::Number,
                false => State::Between,
            };
        }
    }

    fn sign(&mut self, item: Item) {
        let same = self.pending.get(1).is_none_or(|sign| sign.c == item.c);
        match self.state {
            State::OneByOne if self.after_digit() && same => self.pending.push(item),
            State::TooMany if self.after_digit() => self.write(item),
            State::Signs if self.after_digit() => self.hold(item),
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
            State::Signs => set_notes_apart(&mut self.pending),
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

    pub(super) fn finish(mut self) -> Rewritten {
        let certain = self.out.text.len();
        self.end_tags(None);
        self.close(State::Between);
        self.out.certain = certain;
        self.out
    }
}

/// What may stand between digits one by one.
fn is_sign(c: char) -> bool {
    is_blank(c) || is_dash(c) || matches!(c, '.' | '_')
}
