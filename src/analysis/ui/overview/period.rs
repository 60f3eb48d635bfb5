//! The period that the overview shows and its buckets: one bar of a chart each, all of one length and
//! aligned, so that the last bucket contains the present. Times are UTC.

use crate::analysis::records::{HourTraffic, KEPT_HOURS};
use crate::analysis::ui::layout::chart::label_step;

const HOUR_MS: i64 = 3_600_000;

/// How far back the overview goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Period {
    Day,
    Week,
    Month,
    /// From the first to the last of these days (UTC), since 1970.
    Days {
        first: i64,
        last: i64,
    },
}

/// The traffic of one bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    /// Its first hour, since 1970.
    pub(super) from: i64,
    /// The hour behind its last one.
    pub(super) to: i64,
    /// The traffic of the whole period, summed.
    pub(super) sum: HourTraffic,
}

impl Period {
    pub(super) const ALL: [Self; 3] = [Self::Day, Self::Week, Self::Month];

    /// Its word in an address.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
            Self::Days { .. } => "",
        }
    }

    /// The period of a word; the shortest one of none.
    pub(super) fn named(word: &str) -> Option<Self> {
        match word {
            "" => Some(Self::Day),
            word => Self::ALL.into_iter().find(|period| period.word() == word),
        }
    }

    /// How many buckets, and hours of each.
    fn shape(self) -> (i64, i64) {
        match self {
            Self::Day => (24, 1),
            Self::Week => (28, 6),
            Self::Month => (30, 24),
            Self::Days { first, last } => match last - first + 1 {
                1 => (24, 1),
                days @ 2..=7 => (days * 4, 6),
                days => (days, 24),
            },
        }
    }

    /// The first and the last hour that it covers.
    pub(super) fn hours(self, now_ms: i64) -> (i64, i64) {
        let (count, length) = self.shape();
        if let Self::Days { first, last } = self {
            return (first * 24, last * 24 + 23);
        }
        let end = (now_ms.div_euclid(HOUR_MS).div_euclid(length) + 1) * length;
        (end - count * length, end - 1)
    }

    /// The hours of the time before, which is as long; None where they are not kept any more.
    pub(super) fn hours_before(self, now_ms: i64) -> Option<(i64, i64)> {
        let (first, last) = self.hours(now_ms);
        let before = (first - (last - first + 1), first - 1);
        let is_kept = before.0 > now_ms.div_euclid(HOUR_MS) - KEPT_HOURS;
        is_kept.then_some(before)
    }

    /// Its buckets in order, empty ones included.
    pub(super) fn buckets(self, now_ms: i64, traffic: &[HourTraffic]) -> Vec<Bucket> {
        self.buckets_of(self.hours(now_ms), traffic)
    }

    /// The buckets of other hours of the same number.
    pub(super) fn buckets_of(self, hours: (i64, i64), traffic: &[HourTraffic]) -> Vec<Bucket> {
        let (first, last) = hours;
        let (_, length) = self.shape();
        let empty = |from| Bucket {
            from,
            to: from + length,
            sum: HourTraffic::default(),
        };
        let mut buckets: Vec<_> = (first..=last).step_by(length as usize).map(empty).collect();
        for hour in traffic {
            let at = usize::try_from((hour.hour - first).div_euclid(length));
            if let Some(bucket) = at.ok().and_then(|at| buckets.get_mut(at)) {
                add(&mut bucket.sum, hour);
            }
        }
        buckets
    }

    /// One bucket of so many has its label on the axis.
    pub(super) fn labelled(self) -> usize {
        match self {
            Self::Day | Self::Month => 6,
            Self::Week => 4,
            Self::Days { .. } => match self.shape() {
                (_, 1) => 6,
                (_, 6) => 4,
                (days, _) => label_step(usize::try_from(days).unwrap_or(1)),
            },
        }
    }

    /// The name of a bucket that begins at this hour: short for an axis.
    pub(super) fn label(self, hour: i64) -> String {
        let format = match self.shape() {
            (_, 1) => "%H:%M",
            _ => "%m-%d",
        };
        formatted(hour, format)
    }

    /// The same in full.
    pub(super) fn name(self, bucket: &Bucket) -> String {
        match self.shape() {
            (_, 1) => formatted(bucket.from, "%m-%d %H:%M"),
            (_, 6) => format!(
                "{} – {}",
                formatted(bucket.from, "%m-%d %H:%M"),
                formatted(bucket.to, "%H:%M")
            ),
            _ => day(bucket.from),
        }
    }
}

/// The sum of some buckets.
pub(super) fn total(buckets: &[Bucket]) -> HourTraffic {
    let mut total = HourTraffic::default();
    buckets.iter().for_each(|one| add(&mut total, &one.sum));
    total
}

/// The beginning of an hour as an address says it.
pub(super) fn instant(hour: i64) -> String {
    formatted(hour, "%Y-%m-%dT%H:%M")
}

/// The day that an hour belongs to.
pub(super) fn day(hour: i64) -> String {
    formatted(hour, "%Y-%m-%d")
}

fn formatted(hour: i64, format: &str) -> String {
    let stamp = jiff::Timestamp::from_millisecond(hour.saturating_mul(HOUR_MS));
    stamp.map_or_else(
        |_| String::new(),
        |stamp| stamp.strftime(format).to_string(),
    )
}

fn add(sum: &mut HourTraffic, more: &HourTraffic) {
    sum.prompts += more.prompts;
    sum.answers += more.answers;
    sum.flagged_guardrails += more.flagged_guardrails;
    sum.flagged_custom_policy += more.flagged_custom_policy;
    sum.flagged_dataclean += more.flagged_dataclean;
    sum.blocked += more.blocked;
    sum.failed += more.failed;
    sum.unchecked += more.unchecked;
    sum.tokens = sum.tokens.saturating_add(more.tokens);
    sum.total_us = sum.total_us.saturating_add(more.total_us);
    sum.max_us = sum.max_us.max(more.max_us);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-31 13:20.
    const NOW_MS: i64 = 1_769_865_600_000;

    #[test]
    fn a_period_ends_with_the_bucket_that_runs() {
        for (period, count, last, label) in [
            (Period::Day, 24, "2026-01-31T13:00", "13:00"),
            (Period::Week, 28, "2026-01-31T12:00", "01-31"),
            (Period::Month, 30, "2026-01-31T00:00", "01-31"),
        ] {
            let buckets = period.buckets(NOW_MS, &[]);
            let end = buckets[buckets.len() - 1];
            assert_eq!((buckets.len(), &*instant(end.from)), (count, last));
            assert_eq!(count % period.labelled(), 0);
            assert_eq!(period.label(end.from), label);
            assert!(buckets.windows(2).all(|two| two[0].to == two[1].from));
            let (first, last) = period.hours(NOW_MS);
            assert_eq!((buckets[0].from, end.to - 1), (first, last));
        }
    }

    #[test]
    fn days_are_bars_of_hours_or_of_days_and_each_label_stands_for_equally_many() {
        let today = NOW_MS / 86_400_000;
        for (days, count, label) in [
            (1, 24, "00:00"),
            (2, 8, "01-30"),
            (7, 28, "01-25"),
            (9, 9, "01-23"),
        ] {
            let period = Period::Days {
                first: today - days + 1,
                last: today,
            };
            let buckets = period.buckets(NOW_MS, &[]);
            assert_eq!(buckets.len(), count, "{days}");
            assert_eq!(count % period.labelled(), 0, "{days}");
            assert_eq!(period.label(buckets[0].from), label);
            assert_eq!(buckets[count - 1].to, (today + 1) * 24);
        }
    }

    #[test]
    fn the_time_before_is_as_long_and_known_while_it_is_kept() {
        let (first, _) = Period::Week.hours(NOW_MS);
        assert_eq!(
            Period::Week.hours_before(NOW_MS),
            Some((first - 168, first - 1))
        );
        assert_eq!(Period::Month.hours_before(NOW_MS), None);
        let before = Period::Day.hours_before(NOW_MS).unwrap_or_default();
        assert_eq!(Period::Day.buckets_of(before, &[]).len(), 24);
    }

    #[test]
    fn every_hour_falls_into_one_bucket_and_others_into_none() {
        let (first, last) = Period::Week.hours(NOW_MS);
        let hours: Vec<_> = (first - 2..=last + 2)
            .map(|hour| HourTraffic {
                hour,
                prompts: 1,
                max_us: 9,
                ..HourTraffic::default()
            })
            .collect();
        let buckets = Period::Week.buckets(NOW_MS, &hours);
        assert!(buckets.iter().all(|bucket| bucket.sum.prompts == 6));
        let total = total(&buckets);
        assert_eq!((total.prompts, total.max_us), (168, 9));
        assert_eq!(Period::named("7d"), Some(Period::Week));
        assert_eq!(Period::named(""), Some(Period::Day));
        assert_eq!(Period::named("soon"), None);
    }
}
