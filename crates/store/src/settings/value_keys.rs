//! Keys of the hashes that stand for found values. They are stored beside the hashes, so that all servers over one
//! database have the same, and a backup has both.

use crate::error::StoreError;
use crate::settings::audit::AuditEntry;
use async_trait::async_trait;

/// The most keys that are kept: the newest makes hashes, the others find those of before.
pub const MOST_VALUE_KEYS: i64 = 4;

/// A key. It has no text form.
#[derive(Clone, PartialEq, Eq)]
pub struct ValueKey {
    /// Higher than those of the keys before it.
    pub id: i64,
    /// The key of the HMAC: random bytes of the operating system.
    pub secret: [u8; 32],
    /// When it was made, milliseconds since 1970.
    pub created_at_ms: i64,
}

/// The keys of found values.
#[async_trait]
pub trait ValueKeyStore: Send + Sync {
    /// The keys, the newest first.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written; the same holds for every method here.
    async fn value_keys(&self) -> Result<Vec<ValueKey>, StoreError>;

    /// Adds a key, and removes the oldest beyond [`MOST_VALUE_KEYS`]. Gives its identifier.
    async fn add_value_key(
        &self,
        secret: [u8; 32],
        created_at_ms: i64,
        audit: Option<AuditEntry>,
    ) -> Result<i64, StoreError>;
}
