//! A token bucket in one atomic number: the time at which the bucket is full again (the generic cell rate
//! algorithm).
//!
//! Own code instead of the crate `governor`, whose limiters keep the rate they were created with: here the
//! rate is an application's policy, which may change between two calls without resetting the bucket, and a
//! faster rate must forgive what only the slower one before would still hold back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A bucket of tokens, full at first.
#[derive(Default)]
pub(super) struct TokenBucket {
    /// When the bucket is full again, in nanoseconds of the caller's clock.
    full_at: AtomicU64,
}

impl TokenBucket {
    /// Takes one token of at most `burst`, of which one returns every `interval`. `now` is the time since
    /// an origin of the caller's that never changes.
    ///
    /// # Errors
    /// The wait for the next token, when the bucket is empty.
    pub(super) fn take(
        &self,
        interval: Duration,
        burst: u32,
        now: Duration,
    ) -> Result<(), Duration> {
        let (interval, now) = (nanoseconds(interval), nanoseconds(now));
        let capacity = interval.saturating_mul(u64::from(burst));
        let mut full_at = self.limit_debt(now.saturating_add(capacity));
        loop {
            let next = full_at.max(now).saturating_add(interval);
            let ahead = next - now;
            if ahead > capacity {
                return Err(Duration::from_nanos(ahead - capacity));
            }
            let exchanged = self.full_at.compare_exchange_weak(
                full_at,
                next,
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            match exchanged {
                Ok(_) => return Ok(()),
                Err(other) => full_at = other,
            }
        }
    }

    /// Whether a new bucket would hold as many tokens.
    pub(super) fn is_full(&self, now: Duration) -> bool {
        self.full_at.load(Ordering::Relaxed) <= nanoseconds(now)
    }

    /// Under a faster rate the bucket is full by `latest` at the latest: what a slower rate before would
    /// have held back for hours is forgiven.
    fn limit_debt(&self, latest: u64) -> u64 {
        self.full_at.fetch_min(latest, Ordering::AcqRel).min(latest)
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(5);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_bucket_empties_and_fills_with_time() {
        let bucket = TokenBucket::default();
        let take = |now| bucket.take(SECOND / 2, 2, now);
        assert_eq!(take(START), Ok(()));
        assert_eq!(take(START), Ok(()));
        assert_eq!(take(START), Err(SECOND / 2));
        assert_eq!(take(START + SECOND / 2), Ok(()));
        assert!(take(START + SECOND / 2).is_err());
        // However long nobody calls, the bucket holds no more than its burst.
        assert_eq!(take(START + 100 * SECOND), Ok(()));
        assert_eq!(take(START + 100 * SECOND), Ok(()));
        assert!(take(START + 100 * SECOND).is_err());
    }

    #[test]
    fn a_faster_rate_forgives_what_a_slower_one_would_have_held_back_for_hours() {
        let bucket = TokenBucket::default();
        for _ in 0..500 {
            assert_eq!(bucket.take(60 * SECOND, 1000, START), Ok(()));
        }
        let fast = |now| bucket.take(SECOND / 100, 100, now);
        assert_eq!(fast(START), Err(SECOND / 100));
        assert_eq!(fast(START + SECOND / 100), Ok(()));
    }
}
