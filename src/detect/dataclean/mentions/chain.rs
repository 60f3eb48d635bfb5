//! A chain of words as a grammar reads it: what stands at a place, and what between two. No meaning.

use super::word::{Token, Word};
use crate::detect::dataclean::text::{is_blank, is_dash};

/// A chain and the text it stands in. Places are indices of its words.
#[derive(Clone, Copy)]
pub(super) struct Chain<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: &'a [Token],
}

impl<'a> Chain<'a> {
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
            Word::Number => self.raw(at).parse().ok(),
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
            Some(c) if is_dash(c) => !before.next().is_some_and(char::is_alphanumeric),
            Some(c) => !c.is_alphanumeric(),
            None => true,
        }
    }

    /// Whether a word that ends here is the first part of a longer one: "март-апрельский".
    pub(super) fn compound(&self, end: usize) -> bool {
        let behind = self.behind(end).strip_prefix('-');
        behind.is_some_and(|behind| behind.starts_with(char::is_alphabetic))
    }

    /// Whether a number that ends here does not go on.
    pub(super) fn free_after(&self, end: usize) -> bool {
        let mut behind = self.behind(end).chars();
        match behind.next() {
            Some('.' | ',' | ':' | '/') => !behind.next().is_some_and(|c| c.is_ascii_digit()),
            Some('_' | '%' | '@' | '\\') => false,
            Some(c) if is_dash(c) => !behind.next().is_some_and(|c| c.is_ascii_digit()),
            Some(c) => !c.is_alphanumeric(),
            None => true,
        }
    }
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
    word.len() + 2 <= gap.len()
        && words
            .iter()
            .any(|one| one.eq_ignore_ascii_case(word) || *one == word.to_lowercase())
}

/// The one character of a gap.
pub(super) fn only(gap: &str) -> Option<char> {
    let mut chars = gap.chars();
    chars.next().filter(|_| chars.next().is_none())
}
