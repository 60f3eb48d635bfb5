//! The parts of an address that the Russian and the English way of writing share.

use crate::dataclean::tagger::sentence::Sentence;
use crate::dataclean::tagger::token::{Gap, Kind};

/// The most tokens a name of a street or a town may have.
pub(crate) const LONGEST_NAME: usize = 4;

/// A part of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Code,
    Country,
    Region,
    Town,
    /// A capitalized word that may be a town.
    Maybe,
    Street,
    /// A street with its house number.
    StreetHouse,
    House,
    Flat,
}

/// Behind a word that may be short for something: over its dot.
pub(crate) fn dotted(sentence: &Sentence, at: usize) -> usize {
    let is_dot = sentence.word(at + 1) == "." && sentence.tokens[at + 1].gap == Gap::Glued;
    at + 1 + usize::from(is_dot && at + 2 < sentence.token_count())
}

/// A house number with its letter, fraction or flat.
pub(crate) fn number_end(sentence: &Sentence, at: usize) -> usize {
    let mut end = at + 1;
    let glued = |at: usize| {
        sentence
            .tokens
            .get(at)
            .is_some_and(|token| token.gap == Gap::Glued)
    };
    let is_letter = |at: usize| {
        sentence.word(at).chars().count() == 1
            && sentence
                .kind(at)
                .is_some_and(|kind| matches!(kind, Kind::Cyrillic | Kind::Latin))
    };
    if is_letter(end) && (glued(end) || sentence.is_capital(end) && sentence.on_line(end)) {
        end += 1;
    }
    while matches!(sentence.word(end), "/" | "-" | "к" | "с")
        && glued(end)
        && glued(end + 1)
        && sentence.is_number(end + 1, 1..=4)
    {
        end += 2;
    }
    end
}
