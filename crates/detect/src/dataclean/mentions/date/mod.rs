//! The grammar of dates, shared by DATE and DEADLINE_DATE: days in digits and words, months, years, parts
//! of years, days of the week. `cue` decides whether a date is a deadline.

mod named;
mod numeric;
mod relative;
mod time;
mod year;

use super::chain::Chain;
use super::duration::last_word;
use super::word::Word;
use crate::dataclean::text::inline::InlineWord;

/// A date in its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Date {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The first word behind it.
    pub(super) next: usize,
    pub(super) weight: Weight,
}

/// How much of a date it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// Names a day, a month or the like.
    Whole,
    /// Names no day, but a year, or a part of one; the year is zero for a century.
    Years(u64),
    /// A date only where a cue says so: "tomorrow", "12.03".
    Near,
}

/// Of a year, the longest number in a date.
const MOST_DIGITS: usize = 4;

/// The date that begins at a place.
pub(super) fn date(chain: &Chain, at: usize) -> Option<Date> {
    // Digits of days, months and years that follow each other; most pairs of numbers are none.
    let (paired, short) = match (chain.digits(at), chain.digits(at + 1)) {
        (1 | 2, 1 | 2) => (true, true),
        (4, 1 | 2) | (2, 4) => (true, false),
        _ => (false, false),
    };
    let numeric = |at| paired.then(|| numeric::numeric(chain, at)).flatten();
    let short = |at| short.then(|| numeric::short(chain, at)).flatten();
    match chain.word(at)? {
        // Only "0003 квартал" is written with more.
        Word::Number if chain.digits(at) > MOST_DIGITS => year::quarter(chain, at),
        Word::Number if chain.gap(at).is_none() => year::year(chain, at),
        Word::Number => numeric(at)
            .or_else(|| named::day_first(chain, at))
            .or_else(|| year::quarter(chain, at))
            .or_else(|| year::century(chain, at))
            .or_else(|| year::year(chain, at))
            .or_else(|| short(at)),
        Word::Ordinal(_) | Word::Numeral(20 | 30) => named::day_in_words(chain, at)
            .or_else(|| year::quarter(chain, at))
            .or_else(|| year::century(chain, at)),
        Word::Month(_) | Word::MonthShort(_) | Word::MonthHomonym(_) => {
            named::month_first(chain, at)
        }
        Word::Weekday | Word::WeekdayShort => relative::weekday(chain, at),
        Word::Season => year::season(chain, at),
        Word::Roman => year::century(chain, at).or_else(|| year::quarter(chain, at)),
        Word::QuarterSign => year::quarter_sign(chain, at),
        Word::Relative | Word::This => relative::near(chain, at),
        Word::Deictic => relative::deictic(chain, at),
        Word::Edge => relative::edge(chain, at),
        _ => None,
    }
}

/// The word right before a byte, in lower case; empty where punctuation stands between.
fn before(chain: &Chain, start: usize) -> InlineWord {
    let head = chain.text[..start].trim_end_matches([' ', '\u{a0}']);
    InlineWord::lowercase(match head.len() < start {
        true => last_word(head),
        false => "",
    })
}

/// Prepositions behind which a month, a day of the week or a year is a date.
fn preposition(word: &InlineWord) -> bool {
    matches!(
        word.as_str(),
        "в" | "во"
            | "с"
            | "со"
            | "до"
            | "к"
            | "ко"
            | "по"
            | "на"
            | "за"
            | "от"
            | "после"
            | "около"
            | "in"
            | "on"
            | "since"
            | "until"
            | "till"
            | "by"
            | "before"
            | "after"
            | "from"
            | "through"
            | "during"
            | "early"
            | "late"
            | "mid"
            | "between"
            | "last"
            | "next"
    )
}
