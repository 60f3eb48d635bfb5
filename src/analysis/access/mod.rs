//! Who may call: access tokens, their scopes and how many requests each may send (§5, CONTRACT 27 and 30).

pub(crate) mod caller;
mod rate_limit;
pub(crate) mod read_turns;
pub(crate) mod token_cache;

// The types of the store that callers of this service pass and get.
pub(crate) use monitor_store::{Scope, Scopes};

use crate::analysis::error::ApiError;
use caller::Caller;
use monitor_model::{ApplicationId, Secret};
use monitor_store::TokenId;
use rate_limit::RateLimit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use token_cache::TokenCache;

const SECOND: Duration = Duration::from_secs(1);
/// The time of `limits.application_changes`.
const CHANGES_WITHIN: Duration = Duration::from_secs(600);

/// Turns an access token into a [`Caller`].
pub struct Access {
    tokens: Arc<TokenCache>,
    /// None where requests are not limited.
    requests: Option<Requests>,
    changes: Changes,
    reads: Changes,
}

/// The limit of changes by those who are bound to one application, or of what they read with an entry in the audit log.
struct Changes {
    most: usize,
    rate: RateLimit<ApplicationId>,
    refused: AtomicU64,
}

/// The limit of changes, and how many were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangeFigures {
    pub(crate) most: usize,
    pub(crate) refused: u64,
}

/// The limit of requests with one token.
struct Requests {
    per_second: usize,
    rate: RateLimit<TokenId>,
}

/// The limits of a deployment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessLimits {
    /// Requests of one token (`limits.requests_per_second`).
    pub(crate) requests_per_second: Option<usize>,
    /// Changes of one application within ten minutes (`limits.application_changes`).
    pub(crate) application_changes: usize,
}

impl Changes {
    fn new(most: usize) -> Self {
        Self {
            most,
            rate: RateLimit::new(most, CHANGES_WITHIN),
            refused: AtomicU64::new(0),
        }
    }

    fn admit(&self, caller: &Caller) -> Result<(), ApiError> {
        let Some(application) = caller.bound_to() else {
            return Ok(());
        };
        let taken = self.rate.take(application, Instant::now());
        taken.map_err(|retry_after| {
            self.refused.fetch_add(1, Ordering::Relaxed);
            ApiError::TooManyChanges { retry_after }
        })
    }

    fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

impl Access {
    pub(crate) fn new(tokens: Arc<TokenCache>, limits: AccessLimits) -> Self {
        let requests = limits.requests_per_second.map(|per_second| Requests {
            per_second,
            rate: RateLimit::new(per_second, SECOND),
        });
        Self {
            tokens,
            requests,
            changes: Changes::new(limits.application_changes),
            reads: Changes::new(limits.application_changes),
        }
    }

    /// The caller of an HTTP request, with one of these scopes; it counts against the rate limit
    /// of its token.
    pub(crate) async fn authorize(
        &self,
        key: &Secret,
        scopes: &[Scope],
    ) -> Result<Caller, ApiError> {
        let caller = self.tokens.authorize(key, scopes).await?;
        self.admit(&caller)?;
        Ok(caller)
    }

    /// The caller of a request that is not rate limited, or whose parts are counted one by one.
    pub(crate) async fn recognize(&self, key: &Secret, scope: Scope) -> Result<Caller, ApiError> {
        self.tokens.authorize(key, &[scope]).await
    }

    /// Counts one request against the rate limit of the caller's token.
    pub(crate) fn admit(&self, caller: &Caller) -> Result<(), ApiError> {
        let (Some(id), Some(requests)) = (caller.token_id, &self.requests) else {
            return Ok(());
        };
        let taken = requests.rate.take(id, Instant::now());
        taken.map_err(|retry_after| ApiError::TooManyRequests {
            limit: requests.per_second,
            retry_after,
        })
    }

    /// Counts one change, which has an entry in the audit log, by a caller that is bound to an application; all of them
    /// together have one limit. Others have none.
    pub(crate) fn admit_change(&self, caller: &Caller) -> Result<(), ApiError> {
        self.changes.admit(caller)
    }

    /// Counts one read that has an entry in the audit log, like a change but apart from changes: who reads much does
    /// not keep others from changing settings.
    pub(crate) fn admit_read(&self, caller: &Caller) -> Result<(), ApiError> {
        self.reads.admit(caller)
    }

    /// What the limits of changes and of audited reads refused since the start.
    pub(crate) fn change_figures(&self) -> ChangeFigures {
        ChangeFigures {
            most: self.changes.most,
            refused: self.changes.refused() + self.reads.refused(),
        }
    }
}
