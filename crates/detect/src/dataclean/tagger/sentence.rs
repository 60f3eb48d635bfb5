//! A sentence, as the rules see it: tokens, facts, labels and roles. The trainer uses this code.

use super::crf::features::{Facts, fold, hash};
use super::lexicon::{self, Lexicon};
use super::token::{Gap, Kind, Token};

/// A sentence with what is known of its tokens.
pub struct Sentence<'a> {
    pub text: &'a str,
    pub tokens: &'a [Token],
    pub facts: &'a [Facts],
    /// The labels of the chain.
    pub labels: &'a [usize],
    parts: Vec<u32>,
}

impl<'a> Sentence<'a> {
    /// Looks up the parts that each token may play.
    pub fn new(
        text: &'a str,
        tokens: &'a [Token],
        facts: &'a [Facts],
        labels: &'a [usize],
        lexicon: &Lexicon,
    ) -> Self {
        let words = tokens.iter().zip(facts);
        let parts = words.map(|(token, facts)| part(text, *token, facts, lexicon));
        Self {
            text,
            tokens,
            facts,
            labels,
            parts: parts.collect(),
        }
    }

    /// How many tokens the sentence has.
    pub fn token_count(&self) -> usize {
        self.tokens.len()
    }

    /// Whether any token may play one of these parts.
    pub fn has_any(&self, parts: u32) -> bool {
        self.parts.iter().any(|part| part & parts != 0)
    }

    /// Whether the token may play one of these parts; false outside the sentence.
    #[inline]
    pub fn is(&self, at: usize, parts: u32) -> bool {
        self.parts.get(at).is_some_and(|part| part & parts != 0)
    }

    /// The token's text; empty outside the sentence.
    #[inline]
    pub fn word(&self, at: usize) -> &'a str {
        let token = self.tokens.get(at);
        token.map_or("", |token| &self.text[token.start..token.end])
    }

    #[inline]
    pub fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// Whether it is a word that begins with a capital.
    #[inline]
    pub fn is_capital(&self, at: usize) -> bool {
        self.tokens
            .get(at)
            .is_some_and(|token| token.is_word() && token.is_capital())
    }

    /// Whether it is a word in lower case.
    #[inline]
    pub fn is_lower(&self, at: usize) -> bool {
        self.tokens
            .get(at)
            .is_some_and(|token| token.is_word() && !token.is_capital())
    }

    /// Whether it is a run of digits of this many.
    pub fn is_number(&self, at: usize, digits: std::ops::RangeInclusive<usize>) -> bool {
        self.kind(at) == Some(Kind::Digits) && digits.contains(&self.word(at).len())
    }

    /// Whether a token stands on the line of the one before it.
    #[inline]
    pub fn on_line(&self, at: usize) -> bool {
        self.tokens
            .get(at)
            .is_some_and(|token| matches!(token.gap, Gap::Glued | Gap::Space))
    }

    /// The bytes of some tokens.
    pub fn bytes(&self, first: usize, last: usize) -> (usize, usize) {
        (self.tokens[first].start, self.tokens[last - 1].end)
    }

    /// The word ends like a Russian adjective.
    pub fn is_adjective(&self, at: usize) -> bool {
        const ENDINGS: &[&str] = &[
            "ый", "ий", "ая", "яя", "ое", "ее", "ого", "его", "ому", "ему", "ым", "им", "ую", "юю",
            "ой", "ей", "ые", "ие", "ых", "их", "ыми", "ими",
        ];
        let word = self.word(at);
        self.is_lower(at) && word.len() > 8 && ENDINGS.iter().any(|end| word.ends_with(end))
    }
}

/// A word with a hyphen plays the part of its first half, else of its last: врач-терапевт.
fn part(text: &str, token: Token, facts: &Facts, lexicon: &Lexicon) -> u32 {
    if token.kind == Kind::Digits || token.kind == Kind::Mark {
        return 0;
    }
    let whole = lexicon.get(facts.word);
    let word = &text[token.start..token.end];
    if whole != 0 || token.end - token.start < 7 || !word.contains('-') {
        return whole;
    }
    let of = |half: &str| lexicon.get(hash(half.chars().map(fold)));
    let first = word.split('-').next().map_or(0, of);
    match first {
        0 | lexicon::JOB_BEFORE => word.rsplit('-').next().map_or(first, of),
        _ => first,
    }
}
