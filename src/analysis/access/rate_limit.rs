//! The rate limit of an access token (CONTRACT 27: 429 with Retry-After). Off unless the deployment sets
//! `limits.requests_per_second`.

use crate::analysis::error::ApiError;
use monitor_store::TokenId;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Tokens whose use is tracked.
const MOST_BUCKETS: usize = 10_000;

/// One token bucket per access token: it holds the requests of one second and refills over time.
pub(crate) struct RateLimit {
    per_second: Option<usize>,
    buckets: Mutex<HashMap<TokenId, Bucket>>,
}

struct Bucket {
    requests: f64,
    at: Instant,
}

impl RateLimit {
    pub(crate) fn new(per_second: Option<usize>) -> Self {
        Self {
            per_second,
            buckets: Mutex::default(),
        }
    }

    /// Takes one request out of the bucket of the token.
    ///
    /// # Errors
    /// [`ApiError::TooManyRequests`] when it is empty.
    pub(crate) fn take(&self, token: TokenId, now: Instant) -> Result<(), ApiError> {
        let Some(limit) = self.per_second else {
            return Ok(());
        };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MOST_BUCKETS && !buckets.contains_key(&token) {
            forget(&mut buckets, now);
        }
        let full = limit as f64;
        let bucket = buckets.entry(token).or_insert(Bucket {
            requests: full,
            at: now,
        });
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.requests = (bucket.requests + passed * full).min(full);
        bucket.at = now;
        if bucket.requests >= 1.0 {
            bucket.requests -= 1.0;
            return Ok(());
        }
        let wait = (1.0 - bucket.requests) / full;
        Err(ApiError::TooManyRequests {
            limit,
            retry_after: wait.ceil() as u64,
        })
    }
}

/// Removes buckets that are full again; if there are none, all of them.
fn forget(buckets: &mut HashMap<TokenId, Bucket>, now: Instant) {
    let second = Duration::from_secs(1);
    buckets.retain(|_, bucket| now.saturating_duration_since(bucket.at) < second);
    if buckets.len() >= MOST_BUCKETS {
        buckets.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_bucket_empties_fills_again_and_is_each_tokens_own() {
        let limits = RateLimit::new(Some(2));
        let (one, other) = (TokenId(Uuid::new_v4()), TokenId(Uuid::new_v4()));
        let start = Instant::now();
        assert_eq!(limits.take(one, start), Ok(()));
        assert_eq!(limits.take(one, start), Ok(()));
        let refused = limits.take(one, start).unwrap_err();
        assert_eq!((refused.status(), refused.retry_after()), (429, Some(1)));
        assert_eq!(limits.take(other, start), Ok(()));
        let later = start + Duration::from_millis(500);
        assert_eq!(limits.take(one, later), Ok(()));
        assert!(limits.take(one, later).is_err());
        let much_later = start + Duration::from_secs(60);
        assert_eq!(limits.take(one, much_later), Ok(()));
        assert_eq!(limits.take(one, much_later), Ok(()));
        assert!(limits.take(one, much_later).is_err());
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        let limits = RateLimit::new(None);
        let token = TokenId(Uuid::new_v4());
        let now = Instant::now();
        assert!((0..10_000).all(|_| limits.take(token, now).is_ok()));
        assert!(limits.buckets.lock().unwrap().is_empty());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let limits = RateLimit::new(Some(1));
        let now = Instant::now();
        for _ in 0..MOST_BUCKETS + 10 {
            limits.take(TokenId(Uuid::new_v4()), now).unwrap();
        }
        assert!(limits.buckets.lock().unwrap().len() <= MOST_BUCKETS);
    }
}
