//! Searches records for a text. No index answers for a part of a text in any letter case, so a page examines
//! a bounded number of records for a bounded time. No SQL here.

use crate::records::{RecordPage, RecordSummary, Searched};
use std::time::{Duration, Instant};

/// The most records that one page examines.
pub(crate) const MAX_EXAMINED: u32 = 2_000;
/// How long one page searches, once it has examined this many records or this many bytes of texts.
const TIME_LIMIT: Duration = Duration::from_millis(50);
const MIN_EXAMINED: u32 = 200;
const MIN_EXAMINED_BYTES: usize = 1 << 20;

/// A record that is examined, in the order of the list.
#[derive(Clone, Copy)]
pub(crate) struct Examined {
    /// Its position ([`RecordSummary::seq`]).
    pub(crate) seq: i64,
    /// When it was received, milliseconds since 1970.
    pub(crate) created_at_ms: i64,
}

/// The search for one page.
pub(crate) struct TextSearch {
    wanted: String,
    began: Instant,
    records: u32,
    bytes: usize,
    last: Option<Examined>,
}

impl TextSearch {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            wanted: folded(text),
            began: Instant::now(),
            records: 0,
            bytes: 0,
            last: None,
        }
    }

    /// Examines a record; true if one of its texts contains the wanted one.
    pub(crate) fn examine<'t>(
        &mut self,
        record: Examined,
        texts: impl Iterator<Item = &'t str>,
    ) -> bool {
        self.records += 1;
        self.last = Some(record);
        let mut matches = false;
        for text in texts {
            self.bytes += text.len();
            matches = matches || folded(text).contains(&self.wanted);
        }
        matches
    }

    /// Whether the limits of a page are reached.
    pub(crate) fn is_exhausted(&self) -> bool {
        let has_begun = self.records >= MIN_EXAMINED || self.bytes >= MIN_EXAMINED_BYTES;
        self.records >= MAX_EXAMINED || has_begun && self.began.elapsed() >= TIME_LIMIT
    }

    /// The page with the records found; `is_last` if no record is left to examine.
    pub(crate) fn page(self, records: Vec<RecordSummary>, is_last: bool) -> RecordPage {
        let searched = |last: Examined| Searched {
            records: self.records,
            until_ms: last.created_at_ms,
        };
        RecordPage {
            records,
            next_before: self.last.map(|last| last.seq).filter(|_| !is_last),
            searched: self.last.map(searched),
        }
    }
}

/// Lower case, character by character, so that the form of a letter does not depend on its neighbors.
pub(crate) fn folded(text: &str) -> String {
    match text.is_ascii() {
        true => text.to_ascii_lowercase(),
        false => text.chars().flat_map(char::to_lowercase).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seq: i64, created_at_ms: i64) -> Examined {
        Examined { seq, created_at_ms }
    }

    #[test]
    fn a_look_ends_by_number_and_by_time_but_not_before_it_has_begun() {
        let mut search = TextSearch::new("ДОМ");
        search.began -= TIME_LIMIT;
        for place in 0..i64::from(MIN_EXAMINED) {
            assert!(!search.is_exhausted(), "{place}");
            assert!(search.examine(at(-place, 7), ["дома", ""].into_iter()));
        }
        assert!(search.is_exhausted());
        let page = search.page(Vec::new(), false);
        let (records, until_ms) = (MIN_EXAMINED, 7);
        assert_eq!(page.searched, Some(Searched { records, until_ms }));
        assert_eq!(page.next_before, Some(1 - i64::from(MIN_EXAMINED)));

        let mut search = TextSearch::new("x");
        search.began -= TIME_LIMIT;
        assert!(!search.examine(at(1, 1), [&*"y".repeat(MIN_EXAMINED_BYTES)].into_iter()));
        assert!(search.is_exhausted(), "one long text is a beginning");
        assert_eq!(search.page(Vec::new(), true).next_before, None);

        let mut search = TextSearch::new("x");
        search.began += Duration::from_secs(3_600);
        assert!((0..MAX_EXAMINED).all(|_| !search.examine(at(1, 1), std::iter::empty())));
        assert!(search.is_exhausted());
    }
}
