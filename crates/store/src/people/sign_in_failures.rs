//! Wrong passwords, counted for all servers over one store. What is counted (an account, a network, both) is the
//! caller's matter; the store knows its hash only.

use crate::error::StoreError;
use async_trait::async_trait;
use std::time::Duration;

/// The first wait; each further failure doubles the next one.
pub const FIRST_WAIT: Duration = Duration::from_secs(30);
/// The longest wait.
pub const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);
/// Failures are dropped after this long without another one.
pub(crate) const FORGOTTEN_AFTER_MS: i64 = 3_600_000;

/// What failures are counted of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureCounter {
    /// SHA-256 of it.
    pub key: [u8; 32],
    /// Failures before a wait.
    pub allowed: u32,
}

/// A counter as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct CountedFailures {
    pub(crate) key: Vec<u8>,
    pub(crate) failures: i64,
    pub(crate) at_ms: i64,
}

/// The counted failures.
#[async_trait]
pub trait SignInFailureStore: Send + Sync {
    /// The longest wait that any of these counters imposes; None for no wait.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written; the same holds for every method here.
    async fn failure_wait(
        &self,
        counters: &[FailureCounter],
        now_ms: i64,
    ) -> Result<Option<Duration>, StoreError>;

    /// Counts one more failure. If any of the counters imposes a wait, nothing is counted and the wait is returned: of
    /// attempts at the same moment, at whichever server, each one sees those before it.
    async fn count_failure(
        &self,
        counters: &[FailureCounter],
        now_ms: i64,
    ) -> Result<Option<Duration>, StoreError>;

    /// Sets the counters `cleared` to zero and subtracts one from the counter `reduced`.
    async fn forgive_failures(
        &self,
        cleared: &[FailureCounter],
        reduced: FailureCounter,
    ) -> Result<(), StoreError>;

    /// Deletes what is dropped by now, and the oldest counters beyond `most`.
    async fn forget_failures(&self, now_ms: i64, most: u32) -> Result<(), StoreError>;
}

/// The longest wait that the stored counters impose.
pub(crate) fn longest_wait(
    counters: &[FailureCounter],
    counted: &[CountedFailures],
    now_ms: i64,
) -> Option<Duration> {
    let waits = counted.iter().filter_map(|counted| {
        let counter = counters.iter().find(|one| one.key[..] == counted.key[..])?;
        let wait = wait_after(counted.failures, counter.allowed);
        // The clock of another server may be ahead: nobody waits for longer than that.
        let passed = now_ms.saturating_sub(counted.at_ms).max(0).unsigned_abs();
        let left = wait.saturating_sub(Duration::from_millis(passed));
        (!left.is_zero()).then_some(left)
    });
    waits.max()
}

fn wait_after(failures: i64, allowed: u32) -> Duration {
    let over = failures.saturating_sub(i64::from(allowed));
    if over < 0 {
        return Duration::ZERO;
    }
    let doubled = u32::try_from(over).unwrap_or(u32::MAX).min(10);
    FIRST_WAIT
        .saturating_mul(2_u32.saturating_pow(doubled))
        .min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_700_000_000_000;

    fn counter(key: u8, allowed: u32) -> FailureCounter {
        FailureCounter {
            key: [key; 32],
            allowed,
        }
    }

    fn counted(key: u8, failures: i64, at_ms: i64) -> CountedFailures {
        CountedFailures {
            key: vec![key; 32],
            failures,
            at_ms,
        }
    }

    #[test]
    fn waits_double_up_to_the_longest_and_pass() {
        let counters = [counter(1, 5)];
        let wait = |failures, passed_ms| {
            let at_ms = NOW_MS - passed_ms;
            longest_wait(&counters, &[counted(1, failures, at_ms)], NOW_MS)
        };
        assert_eq!(wait(4, 0), None);
        assert_eq!(wait(5, 0), Some(FIRST_WAIT));
        assert_eq!(wait(5, 10_000), Some(Duration::from_secs(20)));
        assert_eq!(wait(5, 30_000), None);
        assert_eq!(wait(6, 0), Some(FIRST_WAIT * 2));
        assert_eq!(wait(i64::MAX, 0), Some(LONGEST_WAIT));
        assert_eq!(wait(5, -60_000), Some(FIRST_WAIT), "a clock that is ahead");
    }

    #[test]
    fn of_several_counters_the_longest_wait_counts_and_others_do_not() {
        let counters = [counter(1, 5), counter(2, 50)];
        let stored = [
            counted(1, 5, NOW_MS),
            counted(2, 51, NOW_MS),
            counted(3, 99, NOW_MS),
        ];
        assert_eq!(
            longest_wait(&counters, &stored, NOW_MS),
            Some(FIRST_WAIT * 2)
        );
        assert_eq!(longest_wait(&counters, &stored[2..], NOW_MS), None);
    }
}
