//! Events of the machine's clock.

use crate::observe::metrics::Metrics;
use log::{info, warn};

/// The clock was set, or the machine slept.
pub struct ClockJumped {
    /// How far it went ahead of the time that passed, in milliseconds; negative is back.
    pub by_ms: i64,
}

impl ClockJumped {
    /// Counts and logs it.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.clock_jumps.inc();
        let seconds = self.by_ms / 1_000;
        warn!(
            "the clock jumped by {seconds} s: records in the spool are no older for it, and retention follows a jump ahead after a day"
        );
    }
}

/// The calendar was further ahead at the start than it can be of what an earlier process left, or the process was
/// stopped for long.
pub struct ClockDoubted {
    /// How far it was ahead, in milliseconds.
    pub ahead_ms: i64,
}

impl ClockDoubted {
    /// Logs how far the clock is ahead, and what waits for it.
    pub fn emit(&self) {
        let seconds = self.ahead_ms / 1_000;
        info!(
            "the clock is {seconds} s ahead of everything that an earlier process left: deletion by age follows it after a day"
        );
    }
}
