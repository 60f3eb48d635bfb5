//! The time of day that belongs to a numeric date, and the year behind a day or month.

use super::super::chain::{Chain, blanks};
use super::super::word::{Word, YearForm};
use super::Weight;
use crate::dataclean::text::inline::InlineWord;

/// The end of a time of day behind a date, and the first word behind it.
pub(super) fn time(chain: &Chain, end: usize, next: usize) -> Option<(usize, usize)> {
    let gap = chain.lead(end, next)?;
    let at = match chain.word(next)? {
        Word::Iso if gap.is_empty() && chain.raw(next) == "T" && chain.gap(next) == Some("") => {
            next + 1
        }
        Word::Number if blanks(gap) || gap == ", " => next,
        _ => return None,
    };
    let two = |at: usize, most: u64| {
        chain.digits(at) == 2 && chain.number(at).is_some_and(|value| value <= most)
    };
    let hour = chain.digits(at) <= 2 && chain.number(at).is_some_and(|value| value <= 24);
    if !hour || chain.gap(at) != Some(":") || !two(at + 1, 59) {
        return None;
    }
    let mut last = at + 1;
    if chain.gap(last) == Some(":") && two(last + 1, 60) {
        last += 1;
        if matches!(chain.gap(last), Some("." | ",")) && chain.digits(last + 1) > 0 {
            last += 1;
        }
    }
    Some(zone(chain, last))
}

/// Takes in a zone: `Z`, `+03:00`, `am`.
fn zone(chain: &Chain, last: usize) -> (usize, usize) {
    let gap = chain.gap(last).unwrap_or("?");
    match chain.word(last + 1) {
        Some(Word::Iso) if gap.is_empty() && chain.raw(last + 1) == "Z" => {
            (chain.end(last + 1), last + 2)
        }
        Some(Word::DayPart) if gap.is_empty() || blanks(gap) => (chain.end(last + 1), last + 2),
        Some(Word::Number) if matches!(gap, "+" | "-" | " +" | " -") => {
            match chain.digits(last + 1) {
                4 => (chain.end(last + 1), last + 2),
                2 if chain.gap(last + 1) == Some(":") && chain.digits(last + 2) == 2 => {
                    (chain.end(last + 2), last + 3)
                }
                2 => (chain.end(last + 1), last + 2),
                _ => (chain.end(last), last + 1),
            }
        }
        _ => (chain.end(last), last + 1),
    }
}

/// The year behind a day or month: "2024", "2024 г.", "2024-го года", "прошлого года". The end, and the
/// first word behind it.
pub(super) fn year_behind(chain: &Chain, end: usize, next: usize) -> Option<(usize, usize)> {
    let gap = chain.lead(end, next)?;
    let apart = blanks(gap) || matches!(gap, ", " | "," | ". " | "-" | "/" | " of ");
    if !apart {
        return None;
    }
    match chain.word(next)? {
        Word::Number if chain.digits(next) == 4 && is_year(chain, next) => {
            Some(with_word(chain, next))
        }
        Word::This | Word::Relative
            if blanks(gap) && named_year(chain, next + 1) && chain.close(next) =>
        {
            Some((chain.end(next + 1), next + 2))
        }
        Word::Numeral(_) | Word::Multiplier if blanks(gap) => in_words(chain, next),
        _ => None,
    }
}

fn named_year(chain: &Chain, at: usize) -> bool {
    matches!(
        chain.word(at),
        Some(Word::Year(YearForm::Both | YearForm::Name))
    )
}

/// The weight of a part of a year: that of the year, where one stands among the words of it.
pub(super) fn year_of(chain: &Chain, from: usize, to: usize) -> Weight {
    let year = (from..to)
        .find(|at| chain.digits(*at) == 4)
        .and_then(|at| chain.number(at));
    year.map_or(Weight::Whole, Weight::Years)
}

/// Whether the number at a place can be a year: nothing counts with it.
pub(super) fn is_year(chain: &Chain, at: usize) -> bool {
    let counted = chain.close(at)
        && match chain.word(at + 1) {
            Some(
                Word::Currency
                | Word::Sign
                | Word::Coins
                | Word::Doubtful
                | Word::Multiplier
                | Word::Scale,
            ) => true,
            Some(
                Word::Nation
                | Word::Kind
                | Word::Unit(_)
                | Word::Year(YearForm::Count)
                | Word::Code,
            ) => true,
            Some(Word::Number) => chain.digits(at + 1) == 3,
            _ => false,
        };
    let value = chain
        .number(at)
        .is_some_and(|value| (1000..2200).contains(&value));
    let behind = chain.behind(chain.end(at));
    let decimal = matches!(chain.gap(at), Some("." | ",")) && chain.digits(at + 1) > 0
        || behind
            .strip_prefix(':')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == ':'));
    value && !counted && !decimal && !behind.trim_start_matches(' ').starts_with('%')
}

/// The end of a year with the word "год" behind it.
pub(super) fn with_word(chain: &Chain, at: usize) -> (usize, usize) {
    let mut last = at;
    if chain.word(last + 1) == Some(Word::Suffix) && chain.gap(last) == Some("-") {
        last += 1;
    }
    let letter = |at: usize| chain.word(at) == Some(Word::Year(YearForm::Letter));
    if chain.close(last)
        && (named_year(chain, last + 1) || letter(last + 1) && !of_birth(chain, last + 1))
    {
        last += 1;
    }
    let short = last > at && matches!(InlineWord::lowercase(chain.raw(last)).as_str(), "г" | "гг");
    let dot = short && chain.behind(chain.end(last)).starts_with('.');
    (chain.end(last) + usize::from(dot), last + 1)
}

/// The "г." of "г.р." belongs to the word behind it.
fn of_birth(chain: &Chain, at: usize) -> bool {
    let behind = chain.behind(chain.end(at));
    [".р", ". р."].iter().any(|rest| behind.starts_with(rest))
}

/// "две тысячи двадцать четвертого года"
fn in_words(chain: &Chain, at: usize) -> Option<(usize, usize)> {
    let mut last = at;
    let part = |word| {
        matches!(
            word,
            Some(Word::Numeral(_) | Word::Multiplier | Word::Ordinal(_))
        )
    };
    while chain.close(last) && part(chain.word(last + 1)) {
        last += 1;
    }
    let year = matches!(chain.word(last), Some(Word::Ordinal(_)))
        && chain.close(last)
        && named_year(chain, last + 1);
    year.then(|| (chain.end(last + 1), last + 2))
}
