//! What stands between the groups of a bank card number: a blank or a dash, as it is printed; or what tables,
//! lists and those who hide a number put there.

use crate::chars::{is_blank, separator};
use crate::dataclean::{Run, Text};

/// The same one throughout a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    Blank,
    Dash,
    Blanks,
    Tab,
    Line,
    Comma,
    Dot,
    Underscore,
    Slash,
    LongDash,
    Point,
    Colon,
    Bar,
}

/// Characters of the longest one.
const LONGEST: usize = 3;

/// Digits of a group of a printed card.
const GROUP: std::ops::RangeInclusive<usize> = 3..=6;
const MOST_GROUPS: usize = 6;

/// Where the last groups begin that are separated as no card is printed and may still become one, or be none. No
/// run that begins before `from` is among them.
pub(super) fn open_groups(text: &Text, from: usize) -> Option<usize> {
    let runs = text.runs();
    let last = runs.len().checked_sub(1)?;
    let is_group = |at: usize| runs[at].start >= from && GROUP.contains(&runs[at].digits());
    let behind = &text.original()[runs[last].end..];
    let may_grow = behind.is_empty() && runs[last].digits() <= *GROUP.end();
    if !(is_group(last) || may_grow && runs[last].start >= from) {
        return None;
    }
    let goes_on = behind.chars().take(LONGEST + 1).count() <= LONGEST && behind.chars().all(begins);
    if !goes_on && !text.is_edge(runs[last].end) {
        return None;
    }
    let joined = |left: usize| {
        let separator = text.gap(left).and_then(Separator::of);
        is_group(left) && separator.is_some_and(|separator| !separator.is_usual())
    };
    let mut first = last;
    while first > 0 && last - first + 1 < MOST_GROUPS && joined(first - 1) {
        first -= 1;
    }
    Some(runs[first].start)
}

impl Separator {
    pub(super) fn of(gap: &str) -> Option<Self> {
        match separator(gap) {
            Some('-') => return Some(Self::Dash),
            Some(_) => return Some(Self::Blank),
            None if gap.is_empty() || gap.len() > LONGEST * '\u{202f}'.len_utf8() => return None,
            None => {}
        }
        match gap.trim_matches(is_blank) {
            "" => (gap.chars().count() <= LONGEST).then_some(Self::Blanks),
            "\t" => Some(Self::Tab),
            "\n" | "\r\n" | "\r" => Some(Self::Line),
            "," => Some(Self::Comma),
            "." => Some(Self::Dot),
            "_" => Some(Self::Underscore),
            "/" => Some(Self::Slash),
            "\u{2014}" | "\u{2015}" => Some(Self::LongDash),
            "\u{b7}" | "\u{2022}" | "\u{2219}" | "\u{22c5}" => Some(Self::Point),
            ":" => Some(Self::Colon),
            "|" => Some(Self::Bar),
            _ => None,
        }
        .filter(|_| gap.chars().count() <= LONGEST)
    }

    /// As cards are printed.
    pub(super) fn is_usual(self) -> bool {
        matches!(self, Self::Blank | Self::Dash)
    }

    /// It separates the numbers of a list more often than the groups of one.
    pub(super) fn is_of_lists(self) -> bool {
        matches!(self, Self::Tab | Self::Line | Self::Comma | Self::Bar)
    }
}

/// Groups of one number at most.
pub(super) const MOST_SIZES: usize = 8;

/// How many digits each of its groups has.
pub(super) struct Sizes {
    sizes: [usize; MOST_SIZES],
    count: usize,
}

impl Sizes {
    pub(super) fn of(runs: &[Run]) -> Self {
        let mut sizes = [0; MOST_SIZES];
        for (size, run) in sizes.iter_mut().zip(runs) {
            *size = run.digits();
        }
        let count = runs.len();
        Self { sizes, count }
    }

    pub(super) fn all(&self) -> &[usize] {
        &self.sizes[..self.count]
    }
}

/// A character of a separator.
fn begins(c: char) -> bool {
    const SIGNS: &[char] = &[
        '\t', '\n', '\r', ',', '.', '_', '/', ':', '|', '\u{2014}', '\u{2015}', '\u{b7}',
        '\u{2022}', '\u{2219}', '\u{22c5}',
    ];
    is_blank(c) || SIGNS.contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_separator_is_one_of_a_few() {
        for (gap, separator) in [
            (" ", Some(Separator::Blank)),
            ("\u{a0}", Some(Separator::Blank)),
            ("\u{2013}", Some(Separator::Dash)),
            ("   ", Some(Separator::Blanks)),
            ("    ", None),
            ("\t", Some(Separator::Tab)),
            (" \n", Some(Separator::Line)),
            ("\r\n", Some(Separator::Line)),
            ("\r", Some(Separator::Line)),
            ("\n\n", None),
            (", ", Some(Separator::Comma)),
            (",,", None),
            ("_", Some(Separator::Underscore)),
            (" / ", Some(Separator::Slash)),
            (".", Some(Separator::Dot)),
            (" \u{2014} ", Some(Separator::LongDash)),
            ("\u{b7}", Some(Separator::Point)),
            (": ", Some(Separator::Colon)),
            (" | ", Some(Separator::Bar)),
            ("||", None),
            (" and ", None),
            ("", None),
        ] {
            assert_eq!(Separator::of(gap), separator, "{gap:?}");
        }
    }
}
