//! New positions for records that are restored: by their time, and within a millisecond in the order in which they
//! come. Records come in the order of receipt; a clock that was set back makes some come late, and those are placed
//! among the ones that are there already.

use crate::postgres::seq::first_seq_at;
use std::collections::HashMap;

/// The most late milliseconds that are remembered; the database knows all.
const MOST_LATE: usize = 10_000;

/// Where a record goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// At this position.
    At(i64),
    /// Perhaps in this millisecond: the database has to tell with [`Positions::learn`] what is there.
    Unknown(i64),
}

/// Gives each record its position, in the order in which they come.
pub(super) struct Positions {
    /// The time and the position of the latest record that did not come late.
    last_ms: i64,
    last: i64,
    /// The next position in milliseconds before that.
    late: HashMap<i64, i64>,
}

impl Positions {
    pub(super) fn new() -> Self {
        Self {
            last_ms: i64::MIN,
            last: i64::MIN,
            late: HashMap::new(),
        }
    }

    /// The position of the next record.
    pub(super) fn next(&mut self, at_ms: i64) -> Position {
        let mut late_ms = at_ms;
        while late_ms < self.last_ms {
            match self.late.get_mut(&late_ms) {
                None => return Position::Unknown(late_ms),
                Some(next) if *next < first_seq_at(late_ms + 1) => {
                    *next += 1;
                    return Position::At(*next - 1);
                }
                // It is full.
                Some(_) => late_ms += 1,
            }
        }
        self.last_ms = late_ms;
        self.last = first_seq_at(late_ms).max(self.last.saturating_add(1));
        Position::At(self.last)
    }

    /// The highest position in this millisecond, if it has one.
    pub(super) fn learn(&mut self, at_ms: i64, highest: Option<i64>) {
        if self.late.len() >= MOST_LATE {
            self.late.clear();
        }
        let next = highest.map_or_else(|| first_seq_at(at_ms), |highest| highest + 1);
        self.late.insert(at_ms, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_follow_the_time_and_the_order_of_receipt() {
        let mut positions = Positions::new();
        let at = |ms: i64, number: i64| Position::At(first_seq_at(ms) + number);
        assert_eq!(positions.next(1_000), at(1_000, 0));
        assert_eq!(positions.next(1_000), at(1_000, 1));
        assert_eq!(positions.next(1_005), at(1_005, 0));
        assert_eq!(positions.next(1_000), Position::Unknown(1_000));
        positions.learn(1_000, Some(first_seq_at(1_000) + 1));
        assert_eq!(positions.next(1_000), at(1_000, 2));
        assert_eq!(positions.next(1_003), Position::Unknown(1_003));
        positions.learn(1_003, None);
        assert_eq!(positions.next(1_003), at(1_003, 0));
        assert_eq!(positions.next(1_003), at(1_003, 1));
        assert_eq!(positions.next(1_005), at(1_005, 1));
        assert_eq!(positions.next(1_006), at(1_006, 0));
    }

    #[test]
    fn a_millisecond_that_is_full_goes_on_in_the_next() {
        let mut positions = Positions::new();
        let mut last = i64::MIN;
        for at_ms in [7; 5_000].into_iter().chain([8, 9]) {
            let Position::At(seq) = positions.next(at_ms) else {
                panic!("nothing comes late");
            };
            assert!(seq > last);
            last = seq;
        }
        assert_eq!(last, first_seq_at(9));
        // A late one finds its millisecond full, and goes on in the next.
        assert_eq!(positions.next(7), Position::Unknown(7));
        positions.learn(7, Some(first_seq_at(8) - 1));
        assert_eq!(positions.next(7), Position::Unknown(8));
        positions.learn(8, Some(first_seq_at(8) + 904));
        assert_eq!(positions.next(7), Position::At(first_seq_at(8) + 905));
    }
}
