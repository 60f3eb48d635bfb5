//! How many calls of one application are let through (`limits` of its policy, CONTRACT 34): a bucket of
//! tokens as one number, and a count of calls under way. Applications without limits have neither.

use super::error::CallError;
use crate::observe::Metrics;
use crate::observe::QuotaLimit;
use crate::observe::events::CallRefused;
use monitor_model::{ApplicationId, CallLimits, CallRate};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Applications that are remembered; those with a call under way always are.
const REMEMBERED: usize = 20_000;
/// When a place among the calls under way may be free.
const SOON: Duration = Duration::from_secs(1);

/// Those of all applications; a reload keeps them.
pub(crate) struct Quotas {
    of: RwLock<HashMap<ApplicationId, Arc<Quota>>>,
    origin: Instant,
    metrics: Arc<Metrics>,
}

/// Of one application.
#[derive(Default)]
struct Quota {
    under_way: AtomicI64,
    /// When the bucket is full again, in nanoseconds since the origin.
    full_at: AtomicU64,
}

/// A call that was let through; under way until it is dropped.
pub(crate) struct Turn(Arc<Quota>);

impl Quotas {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self {
            of: RwLock::default(),
            origin: Instant::now(),
            metrics,
        })
    }

    /// Lets a call through.
    ///
    /// # Errors
    /// [`CallError::TooMany`], counted, when the application has had as many as it may.
    pub(crate) fn enter(&self, id: ApplicationId, limits: &CallLimits) -> Result<Turn, CallError> {
        let now = u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let turn = Turn(self.of(id, now));
        let under_way = turn.0.under_way.fetch_add(1, Ordering::AcqRel);
        let refused = match limits.concurrent {
            Some(most) if under_way >= i64::from(most) => Some((QuotaLimit::Concurrent, SOON)),
            _ => {
                let late = limits.rate().and_then(|rate| turn.0.take(rate, now).err());
                late.map(|wait| (QuotaLimit::Rate, wait))
            }
        };
        let Some((limit, wait)) = refused else {
            return Ok(turn);
        };
        CallRefused {
            limit,
            application: &id,
        }
        .emit(&self.metrics);
        let retry_after = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Err(CallError::TooMany {
            limit,
            retry_after: retry_after.max(1),
        })
    }

    fn of(&self, id: ApplicationId, now: u64) -> Arc<Quota> {
        let known = self.of.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(quota) = known.get(&id) {
            return quota.clone();
        }
        drop(known);
        let mut known = self.of.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.retain(|_, quota| Arc::strong_count(quota) > 1 || quota.is_owed(now));
        }
        known.entry(id).or_default().clone()
    }
}

impl Quota {
    /// # Errors
    /// The wait for the next token, when there is none.
    fn take(&self, rate: CallRate, now: u64) -> Result<(), Duration> {
        let interval = nanoseconds(rate.interval);
        let most = interval.saturating_mul(u64::from(rate.burst));
        let mut full_at = self.owed_at_most(now.saturating_add(most));
        loop {
            let next = full_at.max(now).saturating_add(interval);
            let ahead = next - now;
            if ahead > most {
                return Err(Duration::from_nanos(ahead - most));
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

    /// When the bucket is full again. Under limits that have been relaxed it owes no more than they can:
    /// what the slower ones before would have taken hours for is forgiven.
    fn owed_at_most(&self, latest: u64) -> u64 {
        self.full_at.fetch_min(latest, Ordering::AcqRel).min(latest)
    }

    /// A bucket that is not full would be forgotten to the application's good.
    fn is_owed(&self, now: u64) -> bool {
        self.full_at.load(Ordering::Relaxed) > now
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_bucket_empties_and_fills_with_time() {
        let (quota, start) = (Quota::default(), 5 * SECOND);
        let rate = CallRate {
            interval: Duration::from_millis(500),
            burst: 2,
        };
        assert_eq!(quota.take(rate, start), Ok(()));
        assert_eq!(quota.take(rate, start), Ok(()));
        assert_eq!(quota.take(rate, start), Err(Duration::from_millis(500)));
        assert_eq!(quota.take(rate, start + SECOND / 2), Ok(()));
        assert!(quota.take(rate, start + SECOND / 2).is_err());
        // However long nobody calls, the bucket holds no more than its burst.
        assert_eq!(quota.take(rate, start + 100 * SECOND), Ok(()));
        assert_eq!(quota.take(rate, start + 100 * SECOND), Ok(()));
        assert!(quota.take(rate, start + 100 * SECOND).is_err());
    }

    #[test]
    fn what_slower_limits_would_have_taken_hours_for_is_no_debt_under_faster_ones() {
        let (quota, start) = (Quota::default(), 5 * SECOND);
        let slow = CallRate {
            interval: Duration::from_secs(60),
            burst: 1000,
        };
        for _ in 0..500 {
            assert_eq!(quota.take(slow, start), Ok(()));
        }
        let fast = CallRate {
            interval: Duration::from_millis(10),
            burst: 100,
        };
        assert_eq!(quota.take(fast, start), Err(Duration::from_millis(10)));
        assert_eq!(quota.take(fast, start + SECOND / 100), Ok(()));
    }

    #[test]
    fn calls_under_way_are_bounded_and_given_back() {
        let quotas = Quotas::new(Arc::new(Metrics::new().unwrap()));
        let (id, other) = (ApplicationId::random(), ApplicationId::random());
        let limits = CallLimits {
            concurrent: Some(2),
            ..CallLimits::default()
        };
        let _one = quotas.enter(id, &limits).unwrap();
        let two = quotas.enter(id, &limits).unwrap();
        assert!(quotas.enter(id, &limits).is_err());
        assert!(quotas.enter(other, &limits).is_ok());
        drop(two);
        assert!(quotas.enter(id, &limits).is_ok());
    }
}
