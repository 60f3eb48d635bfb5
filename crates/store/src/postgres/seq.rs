//! Positions of records ([`crate::RecordSummary::seq`]): the time of receipt followed by a running number, so
//! that a range of positions is a range of time. They stay below 2^53 until the year 2089, because JSON
//! readers lose the precision of larger numbers.

use monitor_model::CalendarDate;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// 2020-01-01, where positions begin.
const EPOCH_MS: i64 = 1_577_836_800_000;
/// Bits of the running number.
const NUMBER_BITS: u32 = 12;
/// The range of times around that date; a time outside counts as its nearest end.
const REACH_MS: i64 = 1 << 50;

/// Milliseconds of a day.
pub(super) const DAY_MS: i64 = 86_400_000;

/// The lowest position of a record received at this time or later.
pub(super) fn first_seq_at(at_ms: i64) -> i64 {
    at_ms.saturating_sub(EPOCH_MS).clamp(-REACH_MS, REACH_MS) << NUMBER_BITS
}

/// The position of a record received at this time, with the next value of the running number.
pub(super) fn seq_at(at_ms: i64, number: i64) -> i64 {
    first_seq_at(at_ms) | (number & ((1 << NUMBER_BITS) - 1))
}

/// A day (UTC), counted since 1970; each day has its own partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Day(pub(super) i64);

impl Day {
    pub(super) fn of(at_ms: i64) -> Self {
        Self(at_ms.div_euclid(DAY_MS))
    }

    pub(super) fn start_ms(self) -> i64 {
        self.0.saturating_mul(DAY_MS)
    }

    /// The first position of the day.
    pub(super) fn first(self) -> i64 {
        first_seq_at(self.start_ms())
    }

    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The current time, milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

impl fmt::Display for Day {
    /// The suffix of its partitions: year, month, day.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CalendarDate { year, month, day } = CalendarDate::of_day(self.0);
        write!(f, "{year:04}{month:02}{day:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_record_has_a_higher_place_and_its_days_hold_it() {
        let now = 1_790_000_000_123;
        assert!(seq_at(now, 4_095) < seq_at(now + 1, 0));
        assert!(seq_at(now, 4_096 + 7) > seq_at(now, 6));
        assert!(seq_at(now, 4_095) < 1 << 53);
        let day = Day::of(now);
        let first = first_seq_at(now);
        assert!(day.first() <= first && first < day.next().first());
        let ends = [i64::MIN, 0, i64::MAX].map(first_seq_at);
        assert!(ends.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn days_are_named_by_the_calendar() {
        for (day, name) in [
            (0, "19700101"),
            (11_016, "20000229"),
            (11_017, "20000301"),
            (20_818, "20261231"),
            (20_819, "20270101"),
            (-1, "19691231"),
        ] {
            assert_eq!(Day(day).to_string(), name);
        }
    }
}
