//! How passport numbers are written: series, separators, and letters of other countries. `passport_number`
//! decides whether such a number is a passport.

use crate::chars::{is_blank, is_dash};
use crate::dataclean::text::inline::InlineWord;
use crate::dataclean::text::number_chain::Links;
use crate::dataclean::{Run, Text};

/// What stands between series and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bridge {
    /// Nothing: ten digits in a row.
    None,
    /// One blank and nothing else.
    Blank,
    /// "№" or a word for it.
    Sign,
    /// A comma, a dash, several blanks.
    Loose,
}

const NUMBER: usize = 6;
/// The longest bridge, in bytes: ", номер: ".
const LONGEST_BRIDGE: usize = 18;
const LETTERS: usize = 2;
/// Words and signs for "number", in small letters.
const SIGNS: &[&str] = &["№", "номер", "ном", "no", "n", "#", "number"];
/// Two digits of the year of the form: from 1997 on. No clock is read here, so that some years to come
/// are among them.
const LAST_YEAR: u8 = 35;
/// Codes of regions (OKATO) that series begin with.
const REGIONS: &[u8] = &[
    1, 3, 4, 5, 7, 8, 10, 11, 12, 14, 15, 17, 18, 19, 20, 22, 24, 25, 26, 27, 28, 29, 30, 32, 33,
    34, 35, 36, 37, 38, 40, 41, 42, 44, 45, 46, 47, 49, 50, 52, 53, 54, 56, 57, 58, 60, 61, 63, 64,
    65, 66, 67, 68, 69, 70, 71, 73, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90,
    91, 92, 93, 94, 95, 96, 97, 98, 99,
];

/// What joins series and number, for a text that still grows.
pub(super) const LINKS: Links = Links {
    joins: |gap| bridge(gap).is_some(),
    may_join,
};

/// The last run of a Russian number that begins with run `first`, and what stands between its parts.
pub(super) fn parts(text: &Text, first: usize) -> Option<(usize, Bridge)> {
    let digits = |at: usize| text.runs().get(at).map(|run| run.digits());
    let series = match digits(first)? {
        10 => return Some((first, Bridge::None)),
        4 => first,
        2 if digits(first + 1) == Some(2) && bridge(text.gap(first)?) == Some(Bridge::Blank) => {
            first + 1
        }
        _ => return None,
    };
    (digits(series + 1)? == NUMBER).then_some(())?;
    Some((series + 1, bridge(text.gap(series)?)?))
}

/// Start and last run of a number as other countries and passports for travel write it: 2 and 7
/// digits, 9 digits, or one or two capital letters and 6 to 8 digits.
pub(super) fn foreign(text: &Text, first: usize) -> Option<(usize, usize)> {
    let run = text.runs()[first];
    let lettered = with_letters(text.original(), run.start);
    match run.digits() {
        6..=8 if lettered < run.start => Some((lettered, first)),
        9 => Some((lettered, first)),
        2 => {
            let next = text.runs().get(first + 1)?;
            let fits = next.digits() == 7 && bridge(text.gap(first)?).is_some();
            fits.then_some((run.start, first + 1))
        }
        _ => None,
    }
}

/// The same place, or that of the one or two capital letters before it, with a blank between or not.
pub(super) fn with_letters(whole: &str, at: usize) -> usize {
    let head = &whole[..at];
    let head = head.strip_suffix(is_blank).unwrap_or(head);
    let letters = head.trim_end_matches(is_capital);
    let count = head[letters.len()..].chars().count();
    let free = !letters.ends_with(char::is_alphanumeric);
    if (1..=LETTERS).contains(&count) && free {
        letters.len()
    } else {
        at
    }
}

/// A capital letter; those of our two alphabets are known at a glance.
fn is_capital(c: char) -> bool {
    match c {
        _ if c.is_ascii() => c.is_ascii_uppercase(),
        'а'..='я' => false,
        _ => c.is_uppercase(),
    }
}

/// Where the letters begin that a number may follow.
pub(super) fn open_letters(whole: &str) -> usize {
    with_letters(whole, whole.len())
}

/// Region and year are such as passports have.
pub(super) fn is_series(values: &[u8]) -> bool {
    let pair = |at: usize| values[at] * 10 + values[at + 1];
    pair(0) != 0 && (pair(2) <= LAST_YEAR || pair(2) >= 97)
}

/// The region is one that passports are given out in.
pub(super) fn is_known_region(values: &[u8]) -> bool {
    REGIONS.contains(&(values[0] * 10 + values[1]))
}

/// "2012 150000": a series in one piece that may be a year.
pub(super) fn is_calendar_year(series: Run, values: &[u8]) -> bool {
    series.digits() == 4 && matches!(values[..2], [1, 9] | [2, 0])
}

fn bridge(gap: &str) -> Option<Bridge> {
    if gap.is_empty() || gap.len() > LONGEST_BRIDGE {
        return None;
    }
    let sign = gap.trim_start_matches(is_loose);
    let sign = sign.trim_end_matches(|c| is_blank(c) || matches!(c, '.' | ':'));
    let blank = gap.chars().all(is_blank) && gap.chars().count() == 1;
    match sign {
        "" if blank => Some(Bridge::Blank),
        "" => gap.chars().all(is_loose).then_some(Bridge::Loose),
        _ => InlineWord::lowercase(sign)
            .is_one_of(SIGNS)
            .then_some(Bridge::Sign),
    }
}

/// Whether text behind a run may still become a bridge.
fn may_join(behind: &str) -> bool {
    let sign = behind.trim_start_matches(is_loose);
    let sign = sign.trim_end_matches(|c| is_blank(c) || matches!(c, '.' | ':'));
    let sign = sign.to_lowercase();
    let begun = sign.is_empty() && behind.chars().all(is_loose);
    let signed = !sign.is_empty() && SIGNS.iter().any(|known| known.starts_with(&sign));
    behind.len() <= LONGEST_BRIDGE && (begun || signed)
}

/// What may stand before the sign, or instead of it.
fn is_loose(c: char) -> bool {
    is_blank(c) || is_dash(c) || c == ','
}
