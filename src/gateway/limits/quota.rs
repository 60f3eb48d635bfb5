//! The call limits of an application (`limits` of its policy, CONTRACT 34): a rate, and a number of
//! concurrent calls. Applications without limits are not tracked.

use super::token_bucket::TokenBucket;
use crate::gateway::error::CallError;
use crate::observe::Metrics;
use crate::observe::QuotaLimit;
use crate::observe::events::CallRefused;
use monitor_model::{ApplicationId, CallLimits, CallRate};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Applications beyond this number are forgotten once they have a full bucket and no call.
const REMEMBERED: usize = 20_000;
/// The Retry-After of a call beyond the concurrent ones: nobody knows when one of them ends.
const RETRY_CONCURRENT: Duration = Duration::from_secs(1);

/// The quotas of all applications; a reload keeps them.
pub(crate) struct CallQuotas {
    by_application: RwLock<HashMap<ApplicationId, Arc<Quota>>>,
    origin: Instant,
    metrics: Arc<Metrics>,
}

/// The state of one application.
#[derive(Default)]
struct Quota {
    concurrent: AtomicI64,
    rate: TokenBucket,
}

/// The right to one call, counted as concurrent until it is dropped.
pub(crate) struct CallPermit(Arc<Quota>);

impl CallQuotas {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self {
            by_application: RwLock::default(),
            origin: Instant::now(),
            metrics,
        })
    }

    /// Admits a call of the application.
    ///
    /// # Errors
    /// [`CallError::TooMany`], counted, when a limit is reached.
    pub(crate) fn try_acquire(
        &self,
        id: ApplicationId,
        limits: &CallLimits,
    ) -> Result<CallPermit, CallError> {
        let now = self.origin.elapsed();
        let permit = CallPermit(self.quota(id, now));
        let concurrent = permit.0.concurrent.fetch_add(1, Ordering::AcqRel);
        let refused = match limits.concurrent {
            Some(most) if concurrent >= i64::from(most) => {
                Some((QuotaLimit::Concurrent, RETRY_CONCURRENT))
            }
            _ => {
                let wait = limits
                    .rate()
                    .and_then(|rate| permit.0.take(rate, now).err());
                wait.map(|wait| (QuotaLimit::Rate, wait))
            }
        };
        let Some((limit, wait)) = refused else {
            return Ok(permit);
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

    fn quota(&self, id: ApplicationId, now: Duration) -> Arc<Quota> {
        let known = self
            .by_application
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(quota) = known.get(&id) {
            return quota.clone();
        }
        drop(known);
        let mut known = self
            .by_application
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            // Forgetting a bucket that is not full would give the application calls it may not have.
            known.retain(|_, quota| Arc::strong_count(quota) > 1 || !quota.rate.is_full(now));
        }
        known.entry(id).or_default().clone()
    }
}

impl Quota {
    fn take(&self, rate: CallRate, now: Duration) -> Result<(), Duration> {
        self.rate.take(rate.interval, rate.burst, now)
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        self.0.concurrent.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn concurrent_calls_are_bounded_per_application() {
        let quotas = CallQuotas::new(Arc::new(Metrics::new().unwrap()));
        let (id, other) = (ApplicationId::random(), ApplicationId::random());
        let limits = CallLimits {
            concurrent: Some(2),
            ..CallLimits::default()
        };
        let _one = quotas.try_acquire(id, &limits).unwrap();
        let two = quotas.try_acquire(id, &limits).unwrap();
        assert!(quotas.try_acquire(id, &limits).is_err());
        assert!(quotas.try_acquire(other, &limits).is_ok());
        drop(two);
        assert!(quotas.try_acquire(id, &limits).is_ok());
    }
}
