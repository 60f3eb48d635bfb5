//! Dates relative to today: days of the week, "прошлый год", "next week"; and expressions that are dates
//! only under a cue: "завтра", "конец недели". No clock is needed to find them.

use super::super::chain::{Chain, blanks, glue};
use super::super::word::{Unit, Word, YearForm};
use super::{Date, Weight, before, date, preposition};
use crate::dataclean::text::inline::InlineWord;

/// "в пятницу", "on Monday", "Friday, May 5".
pub(super) fn weekday(chain: &Chain, at: usize) -> Option<Date> {
    let start = chain.start(at);
    if !chain.free_before(start) {
        return None;
    }
    if let Some(gap) = chain
        .gap(at)
        .filter(|gap| blanks(gap) || matches!(*gap, ", " | ". " | "., "))
    {
        let digits = matches!(
            chain.word(at + 1),
            Some(Word::Number | Word::Month(_) | Word::MonthShort(_) | Word::MonthHomonym(_))
        );
        let named = digits.then(|| date(chain, at + 1)).flatten();
        let named = named.filter(|found| {
            found.weight == Weight::Whole
                && (gap != ". " || chain.word(at) == Some(Word::WeekdayShort))
        });
        if let Some(found) = named {
            return Some(Date { start, ..found });
        }
    }
    let word = before(chain, start);
    let habitat = chain.behind(chain.end(at)).starts_with(" обитания");
    let place = habitat || word.is("в") && InlineWord::lowercase(chain.raw(at)).is("среде");
    let dated = preposition(&word) && !matches!(word.as_str(), "за" | "по" | "mid");
    let weight = if dated { Weight::Whole } else { Weight::Near };
    (chain.word(at) == Some(Word::Weekday) && !place).then(|| alone(chain, start, at, weight))
}

fn alone(chain: &Chain, start: usize, last: usize, weight: Weight) -> Date {
    Date {
        start,
        end: chain.end(last),
        next: last + 1,
        weight,
    }
}

/// "в прошлом году", "next week", "эту пятницу"; "this week" only under a cue.
pub(super) fn near(chain: &Chain, at: usize) -> Option<Date> {
    let start = chain.start(at);
    if !chain.close(at) || !chain.free_before(start) {
        return None;
    }
    let this = chain.word(at) == Some(Word::This);
    let plain = this
        || matches!(
            InlineWord::lowercase(chain.raw(at)).as_str(),
            "previous" | "following"
        );
    let weight = match chain.word(at + 1)? {
        Word::Weekday => {
            return weekday(chain, at + 1).map(|found| Date {
                start,
                weight: Weight::Whole,
                ..found
            });
        }
        Word::Unit(Unit::Week | Unit::Month | Unit::Year) | Word::Quarter | Word::Century
            if plain =>
        {
            Weight::Near
        }
        Word::Year(YearForm::Both | YearForm::Name) if plain => Weight::Near,
        Word::Unit(Unit::Week | Unit::Month) | Word::Century | Word::Quarter => Weight::Whole,
        Word::Unit(Unit::Year) if !decades(chain, at + 1) => Weight::Whole,
        Word::Year(YearForm::Both | YearForm::Name) => Weight::Whole,
        Word::Month(_) if !this && chain.raw(at).is_ascii() => Weight::Whole,
        Word::Unit(Unit::Day) => Weight::Near,
        _ => return None,
    };
    let several = chain.raw(at + 1).ends_with(['s', 'S']);
    (!several).then(|| alone(chain, start, at + 1, weight))
}

fn decades(chain: &Chain, at: usize) -> bool {
    InlineWord::lowercase(chain.raw(at)).begins_with(&["decade"])
}

/// "завтра", "завтрашнего дня", "EOD".
pub(super) fn deictic(chain: &Chain, at: usize) -> Option<Date> {
    let day = chain.word(at + 1) == Some(Word::Unit(Unit::Day))
        && chain.close(at)
        && !chain.raw(at).is_ascii();
    Some(alone(
        chain,
        chain.start(at),
        at + usize::from(day),
        Weight::Near,
    ))
}

/// "конца недели", "the end of May": what ends may be a date of its own.
pub(super) fn edge(chain: &Chain, at: usize) -> Option<Date> {
    let start = chain.start(at);
    let gap = chain.gap(at)?;
    if !(blanks(gap) || glue(gap, &["of", "of the"])) {
        return None;
    }
    let mut last = at + 1;
    while chain.word(last) == Some(Word::Kind) && chain.close(last) {
        last += 1;
    }
    let part = matches!(
        chain.word(last)?,
        Word::Unit(Unit::Day | Unit::Week | Unit::Month | Unit::Year)
            | Word::Year(YearForm::Both)
            | Word::Quarter
            | Word::Century
    );
    let inner = date(chain, at + 1).or_else(|| month(chain, at + 1));
    let found = inner.unwrap_or_else(|| alone(chain, start, last, Weight::Near));
    (inner.is_some() || part).then_some(Date {
        start,
        weight: Weight::Near,
        ..found
    })
}

/// A month alone, or a year without its preposition, behind "конец".
fn month(chain: &Chain, at: usize) -> Option<Date> {
    let whole = match chain.word(at)? {
        Word::Month(_) => true,
        Word::MonthHomonym(_) => chain.raw(at).starts_with(|c: char| c.is_uppercase()),
        Word::Number => chain.digits(at) == 4 && super::time::is_year(chain, at),
        _ => false,
    };
    whole.then(|| alone(chain, chain.start(at), at, Weight::Near))
}
