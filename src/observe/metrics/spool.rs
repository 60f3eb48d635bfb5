//! The metrics of the spool: what waits for the backend, what it refused, what was lost (CONTRACT 23).

use super::register::{About, counter, gauge, labelled, seconds};
use crate::observe::labels::{DropReason, Label as _};
use prometheus::{Gauge, IntCounter, IntCounterVec, IntGauge, Registry};

const BYTES: About = ("monitor_spool_bytes", "Bytes of the spool's files.");
const RECORDS: About = (
    "monitor_spool_records",
    "Records on disk that the backend has not taken, as far as they have been read.",
);
const AGE: About = (
    "monitor_spool_age_seconds",
    "Age of the oldest record that the backend has not taken.",
);
const DEGRADED: About = (
    "monitor_spool_degraded",
    "1 while the spool's disk refuses writes.",
);
const WAITS: About = (
    "monitor_spool_waits_total",
    "Calls that waited because the spool's disk was behind.",
);
const LOST: About = (
    "monitor_spool_lost_total",
    "Records that were dropped from the spool undelivered, by reason.",
);
const DEAD_LETTERS: About = (
    "monitor_spool_dead_letters",
    "Records that the backend refused for good, kept until they are replayed.",
);
const DEAD_LETTER_BYTES: About = (
    "monitor_spool_dead_letter_bytes",
    "Bytes of the files with dead letters.",
);
const LETTERS_LOST: About = (
    "monitor_spool_dead_letters_lost_total",
    "Dead letters that were dropped because of spool.max_dead_bytes.",
);
const LETTERS_OVER_SHARE: About = (
    "monitor_spool_dead_letters_over_share_total",
    "Dead letters of monitor_spool_dead_letters_lost_total whose access key had more than its share of a file.",
);
const PANICS: About = (
    "monitor_spool_thread_panics_total",
    "Panics of the thread that writes the spool; it continues after each.",
);
const DAMAGED: About = (
    "monitor_spool_damaged_total",
    "Parts of the spool's files that could not be read.",
);
const DAMAGED_BYTES: About = (
    "monitor_spool_damaged_bytes_total",
    "Bytes of the spool's files that could not be read.",
);

/// Of the spool of this process.
pub struct SpoolMetrics {
    /// Bytes of the spool's files.
    pub bytes: IntGauge,
    /// Records on disk that the backend has not taken, as far as they have been read.
    pub records: IntGauge,
    /// Age of the oldest record that the backend has not taken, in seconds.
    pub age: Gauge,
    /// 1 while the spool's disk refuses writes.
    pub degraded: IntGauge,
    /// Calls that waited because the spool's disk was behind.
    pub waits: IntCounter,
    lost: IntCounterVec,
    /// Records that the backend refused for good, kept next to the spool.
    pub dead_letters: IntGauge,
    /// Bytes of their files.
    pub dead_letter_bytes: IntGauge,
    /// Dead letters dropped because of the limit.
    pub letters_lost: IntCounter,
    /// Those of them whose access key had more than its share.
    pub letters_over_share: IntCounter,
    /// Panics of the thread that writes the spool.
    pub panics: IntCounter,
    /// Parts of the spool's files that could not be read.
    pub damaged: IntCounter,
    /// Bytes of those parts.
    pub damaged_bytes: IntCounter,
}

impl SpoolMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        Ok(Self {
            bytes: gauge(registry, BYTES)?,
            records: gauge(registry, RECORDS)?,
            age: seconds(registry, AGE)?,
            degraded: gauge(registry, DEGRADED)?,
            waits: counter(registry, WAITS)?,
            lost: labelled::<DropReason>(registry, LOST, "reason")?,
            dead_letters: gauge(registry, DEAD_LETTERS)?,
            dead_letter_bytes: gauge(registry, DEAD_LETTER_BYTES)?,
            letters_lost: counter(registry, LETTERS_LOST)?,
            letters_over_share: counter(registry, LETTERS_OVER_SHARE)?,
            panics: counter(registry, PANICS)?,
            damaged: counter(registry, DAMAGED)?,
            damaged_bytes: counter(registry, DAMAGED_BYTES)?,
        })
    }

    /// Records that were dropped so far for that reason.
    pub fn lost_so_far(&self, reason: DropReason) -> u64 {
        self.lost.with_label_values(&[reason.as_str()]).get()
    }

    /// The reasons, and the records that were dropped so far for each.
    pub fn lost_by_reason(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let reasons = DropReason::ALL.iter();
        reasons.map(|reason| (reason.as_str(), self.lost_so_far(*reason)))
    }

    /// Records were dropped from the spool undelivered.
    pub fn lost(&self, reason: DropReason, count: u64) {
        self.lost
            .with_label_values(&[reason.as_str()])
            .inc_by(count);
    }
}
