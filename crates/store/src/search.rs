//! How far one page of a search for a text looks: at so many records, and for so long, since no index
//! answers for a part of a text in any letter case. No SQL here.

use super::{RecordPage, RecordSummary, Searched};
use std::time::{Duration, Instant};

/// Records that one page looks at, at most.
pub(super) const MOST: u32 = 2_000;
/// For how long one page looks, once it has looked at so many records or so many bytes of texts.
const LONGEST: Duration = Duration::from_millis(50);
const AT_LEAST: u32 = 200;
const AT_LEAST_BYTES: usize = 1 << 20;

/// One page's look at records, in the order of the list.
pub(super) struct Look {
    wanted: String,
    began: Instant,
    records: u32,
    bytes: usize,
    /// Place and time of the last one.
    last: Option<(i64, i64)>,
}

impl Look {
    pub(super) fn for_text(text: &str) -> Self {
        Self {
            wanted: folded(text),
            began: Instant::now(),
            records: 0,
            bytes: 0,
            last: None,
        }
    }

    /// Whether one of a record's texts is or holds the wanted one; the record by its place and time.
    pub(super) fn at<'t>(
        &mut self,
        record: (i64, i64),
        texts: impl Iterator<Item = &'t str>,
    ) -> bool {
        self.records += 1;
        self.last = Some(record);
        let mut holds = false;
        for text in texts {
            self.bytes += text.len();
            holds = holds || folded(text).contains(&self.wanted);
        }
        holds
    }

    /// Whether the page has looked far enough.
    pub(super) fn is_over(&self) -> bool {
        let has_begun = self.records >= AT_LEAST || self.bytes >= AT_LEAST_BYTES;
        self.records >= MOST || has_begun && self.began.elapsed() >= LONGEST
    }

    /// The page of what was found; `is_last` where no record is left to look at.
    pub(super) fn page(self, records: Vec<RecordSummary>, is_last: bool) -> RecordPage {
        let searched = |(_, until_ms)| Searched {
            records: self.records,
            until_ms,
        };
        RecordPage {
            records,
            next_before: self.last.map(|(seq, _)| seq).filter(|_| !is_last),
            searched: self.last.map(searched),
        }
    }
}

/// Letter by letter, so that a letter's form does not depend on its neighbours.
pub(super) fn folded(text: &str) -> String {
    match text.is_ascii() {
        true => text.to_ascii_lowercase(),
        false => text.chars().flat_map(char::to_lowercase).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_ends_by_number_and_by_time_but_not_before_it_has_begun() {
        let mut look = Look::for_text("ДОМ");
        look.began -= LONGEST;
        for place in 0..i64::from(AT_LEAST) {
            assert!(!look.is_over(), "{place}");
            assert!(look.at((-place, 7), ["дома", ""].into_iter()));
        }
        assert!(look.is_over());
        let page = look.page(Vec::new(), false);
        let (records, until_ms) = (AT_LEAST, 7);
        assert_eq!(page.searched, Some(Searched { records, until_ms }));
        assert_eq!(page.next_before, Some(1 - i64::from(AT_LEAST)));

        let mut look = Look::for_text("x");
        look.began -= LONGEST;
        assert!(!look.at((1, 1), [&*"y".repeat(AT_LEAST_BYTES)].into_iter()));
        assert!(look.is_over(), "one long text is a beginning");
        assert_eq!(look.page(Vec::new(), true).next_before, None);

        let mut look = Look::for_text("x");
        look.began += Duration::from_secs(3_600);
        assert!((0..MOST).all(|_| !look.at((1, 1), std::iter::empty())));
        assert!(look.is_over());
    }
}
