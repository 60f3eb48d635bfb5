//! What stands between the groups of a bank card number: a blank or a dash, as it is printed; or what tables,
//! lists and those who hide a number put there.

use crate::chars::{is_blank, separator};
use crate::dataclean::text::number_chain::Links;

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
}

/// Characters of the longest one.
const LONGEST: usize = 3;

/// Groups that a number may be in however they are separated.
pub(super) const LINKS: Links = Links {
    joins: |gap| Separator::of(gap).is_some(),
    may_join: |behind| {
        behind.chars().take(LONGEST + 1).count() <= LONGEST && behind.chars().all(begins)
    },
};

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
            "\n" | "\r\n" => Some(Self::Line),
            "," => Some(Self::Comma),
            "." => Some(Self::Dot),
            "_" => Some(Self::Underscore),
            "/" => Some(Self::Slash),
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
        matches!(self, Self::Tab | Self::Line | Self::Comma)
    }
}

/// A character of a separator.
fn begins(c: char) -> bool {
    is_blank(c) || matches!(c, '\t' | '\n' | '\r' | ',' | '.' | '_' | '/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_separator_is_one_of_a_few_and_all_that_begins_one_may_join() {
        for (gap, separator) in [
            (" ", Some(Separator::Blank)),
            ("\u{a0}", Some(Separator::Blank)),
            ("\u{2013}", Some(Separator::Dash)),
            ("   ", Some(Separator::Blanks)),
            ("    ", None),
            ("\t", Some(Separator::Tab)),
            (" \n", Some(Separator::Line)),
            ("\r\n", Some(Separator::Line)),
            ("\n\n", None),
            (", ", Some(Separator::Comma)),
            (",,", None),
            ("_", Some(Separator::Underscore)),
            (" / ", Some(Separator::Slash)),
            (".", Some(Separator::Dot)),
            (" and ", None),
            ("", None),
        ] {
            assert_eq!(Separator::of(gap), separator, "{gap:?}");
            let dash = separator == Some(Separator::Dash);
            for end in gap.char_indices().map(|(at, c)| at + c.len_utf8()) {
                let may_join = (LINKS.may_join)(&gap[..end]);
                assert!(may_join || dash || separator.is_none(), "{gap:?}");
            }
        }
    }
}
