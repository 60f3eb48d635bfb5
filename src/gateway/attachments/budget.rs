//! How long the downloads of one call may take together (CONTRACT 31): each second of each of them
//! counts, so that slow hosts cannot hold the places that all calls share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// All downloads of one call.
const WHOLE: Duration = Duration::from_secs(600);

/// What is left of it.
pub(super) struct Budget(AtomicU64);

impl Default for Budget {
    fn default() -> Self {
        Self(AtomicU64::new(milliseconds(WHOLE)))
    }
}

impl Budget {
    /// Zero when all is spent.
    pub(super) fn left(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }

    /// A download took so long.
    pub(super) fn spend(&self, time: Duration) {
        let spent = milliseconds(time);
        let less = |left: u64| Some(left.saturating_sub(spent));
        // The closure refuses nothing.
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
    fn what_is_spent_is_gone_and_no_more_than_all() {
        let budget = Budget::default();
        budget.spend(WHOLE - Duration::from_secs(1));
        assert_eq!(budget.left(), Duration::from_secs(1));
        budget.spend(WHOLE);
        assert_eq!(budget.left(), Duration::ZERO);
    }
}
