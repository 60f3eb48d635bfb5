//! Bearer tokens (§5, CONTRACT 30): making and checking them. Values are never stored, logged or shown
//! again; the cache holds their hashes.

use super::caller::Caller;
use crate::analysis::cache::Cache;
use crate::analysis::clock::now_ms;
use crate::analysis::error::ApiError;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use monitor_model::{ApplicationId, Secret};
use monitor_store::{AuditEntry, Scope, Scopes, StoreError, Token, TokenHash, TokenId, TokenStore};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// How long a revocation by another process may go unnoticed where the store does not report it.
const TIME_TO_LIVE: Duration = Duration::from_millis(500);
const CAPACITY: usize = 4096;
/// The last use of a token is written at most this often.
const TOUCHED_EVERY_MS: i64 = 60_000;

struct Known {
    token: Token,
    touched_at_ms: AtomicI64,
}

/// Tokens of the store, cached.
pub(crate) struct TokenCache {
    store: Arc<dyn TokenStore>,
    known: Cache<TokenHash, Arc<Known>>,
}

impl TokenCache {
    pub(crate) fn new(store: Arc<dyn TokenStore>) -> Self {
        Self {
            store,
            known: Cache::new(CAPACITY, TIME_TO_LIVE),
        }
    }

    /// The caller of this value, if the token is valid now and has one of the scopes.
    pub(crate) async fn authorize(
        &self,
        key: &Secret,
        scopes: &[Scope],
    ) -> Result<Caller, ApiError> {
        let known = self
            .load(TokenHash::of(key))
            .await?
            .ok_or(ApiError::TokenInvalid)?;
        let now_ms = now_ms();
        if !known.token.is_valid_at(now_ms) {
            return Err(ApiError::TokenInvalid);
        }
        let caller = Caller::from(&known.token);
        caller.must_have(scopes)?;
        self.touch(&known, now_ms);
        Ok(caller)
    }

    /// Forgets everything: tokens were changed.
    pub(crate) fn invalidate_all(&self) {
        self.known.invalidate_all();
    }

    /// Stores a token with this value; one that is known already stays unchanged.
    pub(crate) async fn add(
        &self,
        value: &Secret,
        token: Token,
        audit: Option<AuditEntry>,
    ) -> Result<(), StoreError> {
        let hash = TokenHash::of(value);
        self.store.add_token(hash, token, audit).await
    }

    async fn load(&self, hash: TokenHash) -> Result<Option<Arc<Known>>, StoreError> {
        let now = Instant::now();
        if let Some(known) = self.known.get(&hash, now) {
            return Ok(Some(known));
        }
        let read_at = self.known.generation();
        let known = self.store.token(&hash).await?.map(|token| {
            let touched_at_ms = AtomicI64::new(token.last_used_at_ms.unwrap_or(0));
            Arc::new(Known {
                token,
                touched_at_ms,
            })
        });
        self.known.set(hash, known.clone(), read_at, now);
        Ok(known)
    }

    fn touch(&self, known: &Known, now_ms: i64) {
        let last = known.touched_at_ms.load(Ordering::Relaxed);
        let due = now_ms - last >= TOUCHED_EVERY_MS;
        if due
            && known
                .touched_at_ms
                .compare_exchange(last, now_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            self.store.touch_token(known.token.id, now_ms);
        }
    }
}

/// A token made now, valid until it is revoked.
pub(crate) fn new_token(
    name: impl Into<String>,
    scopes: Scopes,
    application_id: Option<ApplicationId>,
) -> Token {
    Token {
        id: TokenId(Uuid::new_v4()),
        name: name.into(),
        scopes,
        application_id,
        created_at_ms: now_ms(),
        expires_at_ms: None,
        revoked_at_ms: None,
        last_used_at_ms: None,
    }
}

/// A new token's value: `mon_` and 256 random bits.
pub(crate) fn random_value() -> Result<Secret, getrandom::Error> {
    let mut bits = [0u8; 32];
    getrandom::fill(&mut bits)?;
    Ok(Secret::new(format!("mon_{}", URL_SAFE_NO_PAD.encode(bits))))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::random_value;

    #[test]
    fn a_token_has_its_prefix_and_256_random_bits() {
        let (one, other) = (random_value().unwrap(), random_value().unwrap());
        assert_ne!(one, other);
        let bits = one.expose().strip_prefix("mon_").unwrap();
        assert_eq!(bits.len(), 43);
        assert!(
            bits.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        );
    }
}
