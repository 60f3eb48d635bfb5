//! Events of records on their way to the backend, in the spool and out of it.

use crate::observe::labels::{DropReason, TelemetryOutcome};
use crate::observe::loss_lines::{LossLine, LossSum};
use crate::observe::metrics::Metrics;
use crate::observe::throttle::Throttle;
use log::warn;
use monitor_model::Stage;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The delivery of a record has ended.
pub struct RecordFinished<'a> {
    /// Stage of the record: before or after the model call.
    pub stage: Stage,
    /// The outcome, a label of the metric.
    pub outcome: TelemetryOutcome,
    /// The reason in fixed words; empty when delivered.
    pub reason: &'a str,
}

static UNDELIVERED: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(10)));

impl RecordFinished<'_> {
    /// Counts; warns at most once in ten seconds.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.telemetry(self.stage, self.outcome);
        if self.outcome == TelemetryOutcome::Delivered {
            return;
        }
        if let Some(count) = UNDELIVERED.pass() {
            warn!(
                target: "telemetry",
                "{} record {}: {} ({count} since the last line)",
                self.stage.record_name(),
                self.outcome.as_str(),
                self.reason,
            );
        }
    }
}

/// The backend did not answer; the record is sent again.
pub struct RecordDelayed<'a> {
    /// Stage of the record: before or after the model call.
    pub stage: Stage,
    /// The reason in fixed words.
    pub reason: &'a str,
}

impl RecordDelayed<'_> {
    /// Counts; warns at most once in ten seconds.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.telemetry_retries.inc();
        if let Some(count) = DELAYED.pass() {
            warn!(
                target: "telemetry",
                "{} record not delivered, retrying: {} ({count} since the last line)",
                self.stage.record_name(),
                self.reason,
            );
        }
    }
}

/// Records were evicted from the spool undelivered.
pub struct SpoolLost {
    /// Why; those that were damaged are [`SpoolRecordsDamaged`].
    pub reason: DropReason,
    /// Number of records.
    pub count: u64,
}

impl SpoolLost {
    /// Counts; logs it at most once in ten seconds, with the sum of what came since.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.spool.lost(self.reason, self.count);
        let kinds = EVICTED.iter().find(|(reason, _)| *reason == self.reason);
        if let Some((_, line)) = kinds {
            let due = line.add(self.count, Path::new(""), Instant::now());
            due.iter().for_each(|sum| log_evicted(self.reason, sum));
        }
    }
}

/// Dead letters were evicted because of `spool.max_dead_bytes`.
pub struct DeadLettersLost {
    /// Number of dead letters.
    pub count: u64,
    /// Those of them whose access key had more than its share of a file.
    pub over_share: u64,
}

impl DeadLettersLost {
    /// Counts; logs it at most once in ten seconds, with the sum of what came since.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.spool.letters_lost.inc_by(self.count);
        metrics.spool.letters_over_share.inc_by(self.over_share);
        LETTERS.add(self.count, Path::new(""));
    }
}

/// The spool's thread panicked and was resumed.
pub struct SpoolThreadPanicked;

impl SpoolThreadPanicked {
    /// Counts and logs it.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.spool.panics.inc();
        log::error!(
            target: "telemetry",
            "the spool's writer thread panicked and was resumed; the spool counts as degraded until the next write",
        );
    }
}

/// A part of one of the spool's files could not be read; the file is kept beside the spool.
pub struct SpoolDamaged<'a> {
    /// The damaged file of the spool.
    pub file: &'a std::path::Path,
    /// Size of the unreadable part in bytes.
    pub bytes: u64,
}

impl SpoolDamaged<'_> {
    /// Counts; logs it at most once in ten seconds, with the sum of what came since.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.spool.damaged.inc();
        metrics.spool.damaged_bytes.inc_by(self.bytes);
        DAMAGED.add(self.bytes, self.file);
    }
}

/// Acknowledgements of the backend could not be read; their records are sent again.
pub struct SpoolAcknowledgementsDamaged<'a> {
    /// The damaged file of the spool.
    pub file: &'a std::path::Path,
    /// Size of the unreadable entries in bytes.
    pub bytes: u64,
}

impl SpoolAcknowledgementsDamaged<'_> {
    /// Counts; logs it at most once in ten seconds, with the sum of what came since.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.spool.damaged.inc();
        metrics.spool.damaged_bytes.inc_by(self.bytes);
        ACKNOWLEDGEMENTS.add(self.bytes, self.file);
    }
}

/// Records that were in a damaged part of the spool.
pub struct SpoolRecordsDamaged<'a> {
    /// The damaged file of the spool.
    pub file: &'a std::path::Path,
    /// Number of records, as far as it is known.
    pub count: u64,
}

impl SpoolRecordsDamaged<'_> {
    /// Counts; logs it at most once in ten seconds, with the sum of what came since.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.spool.lost(DropReason::Damaged, self.count);
        RECORDS.add(self.count, self.file);
    }
}

/// The spool cannot be written.
pub struct SpoolDiskFailed<'a> {
    /// The error of the system.
    pub error: &'a std::io::Error,
}

impl SpoolDiskFailed<'_> {
    /// Logs it, at most once in ten seconds.
    pub fn emit(&self, _metrics: &Metrics) {
        if let Some(count) = DISK.pass() {
            log::error!(
                target: "telemetry",
                "cannot write the spool: {}; records wait in memory ({count} since the last line)",
                self.error,
            );
        }
    }
}

static DELAYED: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(10)));
static DISK: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(10)));

/// A kind of loss, and how its line reads.
struct Kind {
    line: LossLine,
    log: fn(&LossSum),
}

impl Kind {
    const fn new(log: fn(&LossSum)) -> Self {
        let line = LossLine::new();
        Self { line, log }
    }

    fn add(&self, amount: u64, file: &Path) {
        if let Some(sum) = self.line.add(amount, file, Instant::now()) {
            (self.log)(&sum);
        }
    }
}

/// Logs the losses that are in no line yet, once it is time for their lines. To be called now and then.
pub fn log_spool_losses() {
    log_each(LossLine::due);
}

/// Logs the losses that are in no line yet: nobody is left to log them later.
pub fn log_last_spool_losses() {
    log_each(LossLine::rest);
}

fn log_each(take: fn(&LossLine, Instant) -> Option<LossSum>) {
    let now = Instant::now();
    for kind in [&DAMAGED, &ACKNOWLEDGEMENTS, &RECORDS, &LETTERS] {
        take(&kind.line, now).iter().for_each(kind.log);
    }
    for (reason, line) in &EVICTED {
        take(line, now)
            .iter()
            .for_each(|sum| log_evicted(*reason, sum));
    }
}

static EVICTED: [(DropReason, LossLine); 4] = [
    (DropReason::Full, LossLine::new()),
    (DropReason::Old, LossLine::new()),
    (DropReason::Disk, LossLine::new()),
    (DropReason::Share, LossLine::new()),
];

fn log_evicted(reason: DropReason, LossSum { amount, times, .. }: &LossSum) {
    let reason = reason.as_str();
    log::error!(
        target: "telemetry",
        "{amount} records evicted from the spool undelivered, reason: {reason} (spool.max_bytes, spool.max_age; {times} times since the last line)",
    );
}

static LETTERS: Kind = Kind::new(|LossSum { amount, times, .. }| {
    log::error!(
        target: "telemetry",
        "{amount} dead letters evicted (spool.max_dead_bytes; {times} times since the last line)",
    );
});

static DAMAGED: Kind = Kind::new(|sum| {
    log::error!(
        target: "telemetry",
        "{} unreadable bytes in the spool's file {}; the file is kept with the suffix .damaged (see monitor spool repair; {})",
        sum.amount,
        sum.file.display(),
        parts(sum),
    );
});

static ACKNOWLEDGEMENTS: Kind = Kind::new(|sum| {
    warn!(
        target: "telemetry",
        "{} unreadable bytes of acknowledgements in {}: their records are sent again ({})",
        sum.amount,
        sum.file.display(),
        parts(sum),
    );
});

static RECORDS: Kind = Kind::new(|sum| {
    log::error!(
        target: "telemetry",
        "{} records lost in damaged parts of the spool's file {} ({})",
        sum.amount,
        sum.file.display(),
        parts(sum),
    );
});

fn parts(LossSum { times, .. }: &LossSum) -> String {
    format!("{times} damaged parts since the last line, of which this file has the latest")
}
