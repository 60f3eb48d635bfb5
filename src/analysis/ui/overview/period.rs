//! The period that the overview shows and its buckets: one bar of a chart each, all of one length and
//! aligned, so that the last bucket contains the present. Times are UTC.

use crate::analysis::records::HourTraffic;

const HOUR_MS: i64 = 3_600_000;

/// How far back the overview goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Period {
    Day,
    Week,
    Month,
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
        }
    }

    /// The first and the last hour that it covers.
    pub(super) fn hours(self, now_ms: i64) -> (i64, i64) {
        let (count, length) = self.shape();
        let end = (now_ms.div_euclid(HOUR_MS).div_euclid(length) + 1) * length;
        (end - count * length, end - 1)
    }

    /// Its buckets in order, empty ones included.
    pub(super) fn buckets(self, now_ms: i64, traffic: &[HourTraffic]) -> Vec<Bucket> {
        let (first, last) = self.hours(now_ms);
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
        }
    }

    /// The name of a bucket that begins at this hour: short for an axis.
    pub(super) fn label(self, hour: i64) -> String {
        let format = match self {
            Self::Day => "%H:%M",
            Self::Week | Self::Month => "%m-%d",
        };
        formatted(hour, format)
    }

    /// The same in full.
    pub(super) fn name(self, bucket: &Bucket) -> String {
        match self {
            Self::Day => formatted(bucket.from, "%m-%d %H:%M"),
            Self::Week => format!(
                "{} – {}",
                formatted(bucket.from, "%m-%d %H:%M"),
                formatted(bucket.to, "%H:%M")
            ),
            Self::Month => formatted(bucket.from, "%Y-%m-%d"),
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
