//! Rate limits (CONTRACT 27: 429 with Retry-After): of the requests of an access token, which is off unless the
//! deployment sets `limits.requests_per_second`, and of the changes of an application (`limits.application_changes`).

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Tokens or applications whose use is tracked.
const MOST_BUCKETS: usize = 10_000;

/// One bucket for each token or application: it is full at first and refills over time.
pub(crate) struct RateLimit<K> {
    full: f64,
    refills_within: Duration,
    buckets: Mutex<HashMap<K, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl<K: Eq + Hash> RateLimit<K> {
    /// So many at once, and as many within each such time.
    pub(crate) fn new(full: usize, refills_within: Duration) -> Self {
        Self {
            full: full as f64,
            refills_within,
            buckets: Mutex::default(),
        }
    }

    /// Takes one out of a bucket.
    ///
    /// # Errors
    /// Whole seconds until there is one, when it is empty.
    pub(crate) fn take(&self, whose: K, now: Instant) -> Result<(), u64> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MOST_BUCKETS && !buckets.contains_key(&whose) {
            self.forget(&mut buckets, now);
        }
        let bucket = buckets.entry(whose).or_insert(Bucket {
            left: self.full,
            at: now,
        });
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        let per_second = self.full / self.refills_within.as_secs_f64();
        bucket.left = (bucket.left + passed * per_second).min(self.full);
        bucket.at = now;
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        let wait = (1.0 - bucket.left) / per_second;
        Err(wait.ceil() as u64)
    }

    /// Removes buckets that are full again; if there are none, all of them.
    fn forget(&self, buckets: &mut HashMap<K, Bucket>, now: Instant) {
        buckets.retain(|_, bucket| now.saturating_duration_since(bucket.at) < self.refills_within);
        if buckets.len() >= MOST_BUCKETS {
            buckets.clear();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_bucket_empties_fills_again_and_is_each_ones_own() {
        let limits = RateLimit::new(2, SECOND);
        let start = Instant::now();
        assert_eq!(limits.take("one", start), Ok(()));
        assert_eq!(limits.take("one", start), Ok(()));
        assert_eq!(limits.take("one", start), Err(1));
        assert_eq!(limits.take("other", start), Ok(()));
        let later = start + SECOND / 2;
        assert_eq!(limits.take("one", later), Ok(()));
        assert!(limits.take("one", later).is_err());
        let much_later = start + SECOND * 60;
        assert_eq!(limits.take("one", much_later), Ok(()));
        assert_eq!(limits.take("one", much_later), Ok(()));
        assert!(limits.take("one", much_later).is_err());
    }

    #[test]
    fn a_long_wait_is_told_in_whole_seconds() {
        let (limits, start) = (RateLimit::new(10, SECOND * 100), Instant::now());
        assert!((0..10).all(|_| limits.take("one", start).is_ok()));
        assert_eq!(limits.take("one", start), Err(10));
        assert_eq!(limits.take("one", start + SECOND * 4), Err(6));
        assert_eq!(limits.take("one", start + SECOND * 11), Ok(()));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let limits = RateLimit::new(1, SECOND);
        let now = Instant::now();
        for number in 0..MOST_BUCKETS + 10 {
            limits.take(number, now).unwrap();
        }
        assert!(limits.buckets.lock().unwrap().len() <= MOST_BUCKETS);
    }
}
