//! The order of records: a place ([`crate::RecordSummary::seq`]) is the time of receipt and a
//! running number, so that a range of places is a range of time. It stays below 2^53 until the year
//! 2089, because readers of JSON keep no more of a number.

use std::fmt;

/// 2020-01-01, from which places count.
const EPOCH_MS: i64 = 1_577_836_800_000;
/// Bits of the running number.
const NUMBER_BITS: u32 = 12;
/// Times that a place can hold; others count as the nearest one.
const REACH_MS: i64 = 1 << 50;

/// Milliseconds of a day.
pub(super) const DAY_MS: i64 = 86_400_000;

/// The lowest place of a record received at this time or later.
pub(super) fn place(at_ms: i64) -> i64 {
    at_ms.saturating_sub(EPOCH_MS).clamp(-REACH_MS, REACH_MS) << NUMBER_BITS
}

/// The place of a record received at this time, with a number of the running count.
pub(super) fn numbered_place(at_ms: i64, number: i64) -> i64 {
    place(at_ms) | (number & ((1 << NUMBER_BITS) - 1))
}

/// A day (UTC) since 1970, and the partitions that hold its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Day(pub(super) i64);

impl Day {
    pub(super) fn of(at_ms: i64) -> Self {
        Self(at_ms.div_euclid(DAY_MS))
    }

    pub(super) fn start_ms(self) -> i64 {
        self.0.saturating_mul(DAY_MS)
    }

    /// The first place of the day.
    pub(super) fn first(self) -> i64 {
        place(self.start_ms())
    }

    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Day {
    /// As partitions are named: year, month, day.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Years that begin in March have their leap day last; 146,097 days make 400 of them.
        let days = self.0 + 719_468;
        let of_era = days.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 {
            from_march + 3
        } else {
            from_march - 9
        };
        let year = days.div_euclid(146_097) * 400 + year_of_era + i64::from(month <= 2);
        write!(f, "{year:04}{month:02}{day:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_record_has_a_higher_place_and_its_days_hold_it() {
        let now = 1_790_000_000_123;
        assert!(numbered_place(now, 4_095) < numbered_place(now + 1, 0));
        assert!(numbered_place(now, 4_096 + 7) > numbered_place(now, 6));
        assert!(numbered_place(now, 4_095) < 1 << 53);
        let day = Day::of(now);
        assert!(day.first() <= place(now) && place(now) < day.next().first());
        assert!(place(i64::MIN) < place(0) && place(0) < place(i64::MAX));
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
