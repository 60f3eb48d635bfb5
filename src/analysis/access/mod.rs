//! Who may call: access tokens, their scopes and how many requests each may send (§5, CONTRACT 27 and 30).

pub(crate) mod caller;
mod rate_limit;
pub(crate) mod read_turns;
pub(crate) mod token_cache;

// The types of the store that callers of this service pass and get.
pub(crate) use monitor_store::{Scope, Scopes};

use crate::analysis::error::ApiError;
use caller::Caller;
use monitor_model::Secret;
use rate_limit::RateLimit;
use std::sync::Arc;
use std::time::Instant;
use token_cache::TokenCache;

/// Turns an access token into a [`Caller`].
pub struct Access {
    tokens: Arc<TokenCache>,
    rate_limit: RateLimit,
}

impl Access {
    pub(crate) fn new(tokens: Arc<TokenCache>, requests_per_second: Option<usize>) -> Self {
        Self {
            tokens,
            rate_limit: RateLimit::new(requests_per_second),
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
        match caller.token_id {
            Some(id) => self.rate_limit.take(id, Instant::now()),
            None => Ok(()),
        }
    }
}
