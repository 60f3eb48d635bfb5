//! Bounds the time of all downloads of one call together (CONTRACT 31): the durations of concurrent downloads
//! add up, so that slow hosts cannot occupy the slots that all calls share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The time for all downloads of one call.
const TOTAL: Duration = Duration::from_secs(600);

/// The remaining milliseconds.
pub(super) struct DownloadBudget(AtomicU64);

impl Default for DownloadBudget {
    fn default() -> Self {
        Self(AtomicU64::new(milliseconds(TOTAL)))
    }
}

impl DownloadBudget {
    /// The remaining time, zero when the budget is spent.
    pub(super) fn left(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }

    /// Subtracts the duration of a download.
    pub(super) fn spend(&self, time: Duration) {
        let spent = milliseconds(time);
        let less = |left: u64| Some(left.saturating_sub(spent));
        // The closure always returns a value, so this cannot fail.
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spent_time_is_subtracted_down_to_zero() {
        let budget = DownloadBudget::default();
        budget.spend(TOTAL - Duration::from_secs(1));
        assert_eq!(budget.left(), Duration::from_secs(1));
        budget.spend(TOTAL);
        assert_eq!(budget.left(), Duration::ZERO);
    }
}
