//! A chain of words, as the grammars read it: the word at a position and the text between two words.

use super::word::{Token, Word};
use crate::chars::{is_blank, is_dash, is_letter, is_word_char};
use crate::dataclean::text::inline::InlineWord;

/// A chain and the text it stands in. Places are indices of its words.
#[derive(Clone, Copy)]
pub(super) struct Chain<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: &'a [Token],
    ends: Ends,
}

/// Up to where the words stand without which nothing of a sort begins.
#[derive(Clone, Copy)]
struct Ends {
    money: usize,
    duration: usize,
}

impl<'a> Chain<'a> {
    /// A chain of these words of a text.
    pub(super) fn new(text: &'a str, tokens: &'a [Token]) -> Self {
        let end = |is: fn(Word) -> bool| {
            let last = tokens.iter().rposition(|token| is(token.word));
            last.map_or(0, |last| last + 1)
        };
        let ends = Ends {
            money: end(is_of_money),
            duration: end(is_of_duration),
        };
        Self { text, tokens, ends }
    }

    /// Whether an amount of money can begin at a place.
    pub(super) fn may_be_money(&self, at: usize) -> bool {
        at < self.ends.money
    }

    /// Whether a duration can begin at a place.
    pub(super) fn may_be_duration(&self, at: usize) -> bool {
        at < self.ends.duration
    }

    pub(super) fn word(&self, at: usize) -> Option<Word> {
        self.tokens.get(at).map(|token| token.word)
    }

    pub(super) fn start(&self, at: usize) -> usize {
        self.tokens[at].start
    }

    pub(super) fn end(&self, at: usize) -> usize {
        self.tokens[at].end
    }

    pub(super) fn raw(&self, at: usize) -> &'a str {
        &self.text[self.start(at)..self.end(at)]
    }

    /// The digits at a place, as a number; None where there is none.
    pub(super) fn number(&self, at: usize) -> Option<u64> {
        match self.word(at)? {
            Word::Number => value(&self.text.as_bytes()[self.start(at)..self.end(at)]),
            _ => None,
        }
    }

    /// How many digits stand at a place.
    pub(super) fn digits(&self, at: usize) -> usize {
        match self.word(at) {
            Some(Word::Number) => self.end(at) - self.start(at),
            _ => 0,
        }
    }

    /// What stands between byte `end` and the word at a place; None where there is no such word.
    pub(super) fn lead(&self, end: usize, at: usize) -> Option<&'a str> {
        self.tokens
            .get(at)
            .and_then(|token| self.text.get(end..token.start))
    }

    /// What stands between a place and the next one.
    pub(super) fn gap(&self, at: usize) -> Option<&'a str> {
        self.lead(self.tokens.get(at)?.end, at + 1)
    }

    /// Whether a word follows right away or behind blanks.
    pub(super) fn close(&self, at: usize) -> bool {
        self.gap(at)
            .is_some_and(|gap| gap.is_empty() || blanks(gap))
    }

    /// The text from a byte on.
    pub(super) fn behind(&self, end: usize) -> &'a str {
        &self.text[end..]
    }

    /// Whether a number or word that begins here is not the rest of something longer.
    pub(super) fn free_before(&self, start: usize) -> bool {
        let mut before = self.text[..start].chars().rev();
        let outer_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        match before.next() {
            Some('.' | ',' | ':' | '/') => !outer_digit(before.next()),
            Some('_' | '#' | '@' | '\\' | '&') => false,
            Some(c) if is_dash(c) => !before.next().is_some_and(is_word_char),
            Some(c) => !is_word_char(c),
            None => true,
        }
    }

    /// Whether a word that ends here is the first part of a longer one: "март-апрельский".
    pub(super) fn compound(&self, end: usize) -> bool {
        let behind = self.behind(end).strip_prefix('-');
        behind.is_some_and(|behind| behind.starts_with(is_letter))
    }

    /// Whether a number that ends here does not go on.
    pub(super) fn free_after(&self, end: usize) -> bool {
        let mut behind = self.behind(end).chars();
        match behind.next() {
            Some('.' | ',' | ':' | '/') => !behind.next().is_some_and(|c| c.is_ascii_digit()),
            Some('_' | '%' | '@' | '\\') => false,
            Some(c) if is_dash(c) => !behind.next().is_some_and(|c| c.is_ascii_digit()),
            Some(c) => !is_word_char(c),
            None => true,
        }
    }
}

fn is_of_money(word: Word) -> bool {
    matches!(
        word,
        Word::Sign
            | Word::Code
            | Word::CapitalCode
            | Word::Currency
            | Word::Coins
            | Word::Doubtful
            | Word::Conventional
    )
}

fn is_of_duration(word: Word) -> bool {
    matches!(
        word,
        Word::HalfUnit
            | Word::Period
            | Word::Unit(_)
            | Word::UnitAdjective
            | Word::Quarter
            | Word::Century
            | Word::Year(_)
            | Word::Ordinal(_)
    )
}

/// Digits as a number; None where there are too many for one.
fn value(digits: &[u8]) -> Option<u64> {
    const MOST_DIGITS: usize = 19;
    let number = |number, digit: &u8| number * 10 + u64::from(digit - b'0');
    (digits.len() <= MOST_DIGITS).then(|| digits.iter().fold(0, number))
}

/// A blank or several, or the end of a line.
pub(super) fn blanks(gap: &str) -> bool {
    gap == " " || !gap.is_empty() && gap.len() <= 6 && gap.chars().all(|c| is_blank(c) || c == '\n')
}

/// A dash with or without blanks.
pub(super) fn dash(gap: &str) -> bool {
    let mut chars = gap.trim_matches(is_blank).chars();
    chars.next().is_some_and(|c| is_dash(c) || c == '—') && chars.next().is_none()
}

/// One of these small words between blanks.
pub(super) fn glue(gap: &str, words: &[&str]) -> bool {
    let word = gap.trim();
    word.len() + 2 <= gap.len() && !word.is_empty() && InlineWord::lowercase(word).is_one_of(words)
}

/// The one character of a gap.
pub(super) fn only(gap: &str) -> Option<char> {
    let mut chars = gap.chars();
    chars.next().filter(|_| chars.next().is_none())
}
