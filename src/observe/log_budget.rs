//! Bounds the bytes a second that the log grows by (`log.bytes_per_second`), so that no client can fill a disk
//! by causing lines, whoever writes them. Lines beyond the bound are counted, and a line now and then reports
//! how many.
//!
//! One budget for all lines on standard error. Less important ones leave a part of it to those above them: a flood of
//! refused calls cannot suppress a warning, nor warnings an error. Lines about the log itself are not bounded here;
//! they have a rate of their own. The access log has a second budget of the same size for the lines that anybody can
//! cause, since it may be another file.
//!
//! A token bucket of its own: the size of a line is known only once it is formatted, so it is charged afterward and may
//! overdraw the bucket.

use super::labels::{Label, LogSource};
use super::throttle::Throttle;
use log::{Level, warn};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The seconds' worth of bytes that may be written at once. With the default of 16 KiB a second, no minute
/// has more than 1,008 KiB.
const BURST_SECONDS: f64 = 3.0;
/// Between two lines about suppressed lines.
const NOTICE: Duration = Duration::from_secs(10);

/// The budget of this process.
pub(super) static LOG_BUDGET: LazyLock<LogBudget> = LazyLock::new(LogBudget::new);

pub(super) struct LogBudget {
    log: Mutex<Bucket>,
    access_log: Mutex<Bucket>,
    /// Lines that no metric has counted yet, by [`LogSource`].
    suppressed: [AtomicU64; LogSource::ALL.len()],
    notice: Throttle,
    access_log_notice: Throttle,
}

/// A token bucket of bytes.
struct Bucket {
    bytes_per_second: f64,
    /// Negative after a line that was longer than what was left.
    left: f64,
    refilled: Instant,
}

impl LogBudget {
    fn new() -> Self {
        Self {
            log: Mutex::new(Bucket::empty()),
            access_log: Mutex::new(Bucket::empty()),
            suppressed: Default::default(),
            notice: Throttle::every(NOTICE),
            access_log_notice: Throttle::every(NOTICE),
        }
    }

    /// Puts another rate in force, with full budgets.
    pub(super) fn set(&self, bytes_per_second: u64) {
        for source in [LogSource::Program, LogSource::AccessLog] {
            self.bucket(source).set(bytes_per_second, Instant::now());
        }
    }

    /// Whether a line may be written. One that may not is counted.
    pub(super) fn try_admit(&self, source: LogSource, level: Level) -> bool {
        let is_admitted = self
            .bucket(source)
            .try_admit(reserve(source, level), Instant::now());
        if !is_admitted {
            self.suppressed[source as usize].fetch_add(1, Ordering::Relaxed);
            self.give_notice(source);
        }
        is_admitted
    }

    fn give_notice(&self, source: LogSource) {
        let (notice, what) = match source {
            LogSource::AccessLog => (
                &self.access_log_notice,
                "lines of the access log suppressed: those of callers whose access key no backend has accepted",
            ),
            _ => (&self.notice, "log lines suppressed: they"),
        };
        if let Some(count) = notice.pass() {
            warn!(
                target: "log",
                "{what} exceed log.bytes_per_second ({count} since the last line)"
            );
        }
    }

    /// Takes the bytes of a line that is written.
    pub(super) fn charge(&self, source: LogSource, bytes: usize) {
        self.bucket(source).left -= bytes as f64;
    }

    /// Lines of this source that were suppressed since this was last asked.
    pub(super) fn take_suppressed(&self, source: LogSource) -> u64 {
        self.suppressed[source as usize].swap(0, Ordering::Relaxed)
    }

    fn bucket(&self, source: LogSource) -> MutexGuard<'_, Bucket> {
        let bucket = match source {
            LogSource::AccessLog => &self.access_log,
            LogSource::Program | LogSource::Library | LogSource::Access => &self.log,
        };
        bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The seconds' worth of bytes that a line must leave for more important ones.
fn reserve(source: LogSource, level: Level) -> f64 {
    match (source, level) {
        (LogSource::Library | LogSource::Access, _) => 1.5,
        (LogSource::Program, Level::Error) => 0.0,
        (LogSource::Program, Level::Warn) => 0.5,
        (LogSource::Program, _) => 1.0,
        (LogSource::AccessLog, _) => 0.0,
    }
}

impl Bucket {
    fn empty() -> Self {
        Self {
            bytes_per_second: 0.0,
            left: 0.0,
            refilled: Instant::now(),
        }
    }

    fn set(&mut self, bytes_per_second: u64, now: Instant) {
        self.bytes_per_second = bytes_per_second as f64;
        self.left = self.bytes_per_second * BURST_SECONDS;
        self.refilled = now;
    }

    fn try_admit(&mut self, reserve_seconds: f64, now: Instant) -> bool {
        let waited = now.saturating_duration_since(self.refilled).as_secs_f64();
        let refilled = self.left + waited * self.bytes_per_second;
        self.left = refilled.min(self.bytes_per_second * BURST_SECONDS);
        self.refilled = now;
        self.left > self.bytes_per_second * reserve_seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u64 = 16 << 10;
    const LINE: f64 = 200.0;

    fn bucket(now: Instant) -> Bucket {
        let mut bucket = Bucket::empty();
        bucket.set(RATE, now);
        bucket
    }

    /// Writes as many lines as there may be at once; returns their bytes.
    fn fill(bucket: &mut Bucket, source: LogSource, level: Level, now: Instant) -> f64 {
        let mut written = 0.0;
        while bucket.try_admit(reserve(source, level), now) {
            bucket.left -= LINE;
            written += LINE;
        }
        written
    }

    #[test]
    fn no_minute_of_a_flood_has_a_mebibyte() {
        let start = Instant::now();
        let mut bucket = bucket(start);
        let mut written = 0.0;
        for tick in 0..=60_000 {
            let now = start + Duration::from_millis(tick);
            for level in [Level::Info, Level::Warn, Level::Error] {
                written += fill(&mut bucket, LogSource::Program, level, now);
            }
        }
        assert!(
            (60.0 * RATE as f64..1_048_576.0).contains(&written),
            "{written}"
        );
    }

    #[test]
    fn refused_calls_and_libraries_leave_space_for_lines_and_lines_for_errors() {
        let now = Instant::now();
        let mut bucket = bucket(now);
        for (source, level) in [
            (LogSource::Access, Level::Info),
            (LogSource::Program, Level::Info),
            (LogSource::Program, Level::Warn),
            (LogSource::Program, Level::Error),
        ] {
            assert!(fill(&mut bucket, source, level, now) > 0.0, "{level}");
            let library = reserve(LogSource::Library, Level::Error);
            assert!(!bucket.try_admit(library, now), "{level}");
        }
    }
}
