//! Removing records: by the limits of retention (CONTRACT 38), and by the erasure of an end user.

use crate::error::StoreError;
use async_trait::async_trait;
use monitor_model::ApplicationId;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// How long and how many records are kept (CONTRACT 38); None means no such limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionLimits {
    /// Days since a record was received.
    pub days: Option<u32>,
    /// Number of records in the store, or of the application.
    pub rows: Option<u64>,
    /// Bytes of their texts and lists together.
    pub bytes: Option<u64>,
}

/// What a retention run applies to.
#[derive(Clone, Copy)]
pub(crate) struct RetentionScope {
    /// One application; None means the whole store.
    pub(crate) application: Option<ApplicationId>,
    pub(crate) limits: RetentionLimits,
    /// The current time, milliseconds since 1970.
    pub(crate) now_ms: i64,
}

/// A request to erase the records of an end user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// Identifies the tombstone.
    pub id: Uuid,
    /// The end user whose records go.
    pub user_id: String,
    /// Only records of this application; None means every application.
    pub application_id: Option<ApplicationId>,
    /// When it was requested, milliseconds since 1970.
    pub at_ms: i64,
}

impl Erasure {
    /// The hash by which a tombstone identifies a user.
    pub(crate) fn user_hash(user_id: &str) -> [u8; 32] {
        Sha256::new()
            .chain_update("erased user\0")
            .chain_update(user_id)
            .finalize()
            .into()
    }
}

/// What one step of an erasure, or all of them, removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// Number of records, each removed with its texts.
    pub records: u64,
    /// Number of links from files to those records.
    pub attachments: u64,
}

/// Tombstones of erased users.
#[async_trait]
pub trait TombstoneStore: Send + Sync {
    /// Makes the store refuse records of this user from now on ([`StoreError::Erased`]). Returns the
    /// identifier of the tombstone in force, which may be an earlier one.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written.
    async fn add_tombstone(&self, erasure: &Erasure) -> Result<Uuid, StoreError>;
}

/// Removal of stored records, in bounded steps.
#[async_trait]
pub trait RecordRemoval: Send + Sync {
    /// Removes the oldest records beyond the limits, of the whole store or of one application. Returns the
    /// number of removed records. Bytes count what the store itself counts for a record.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; what was removed before stays removed.
    async fn enforce_retention(
        &self,
        application: Option<ApplicationId>,
        limits: RetentionLimits,
        now_ms: i64,
    ) -> Result<u64, StoreError>;

    /// Removes some records of the user with everything that belongs to them. The erasure is complete when
    /// a step removes none.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written.
    async fn erase_step(&self, erasure: &Erasure) -> Result<Erased, StoreError>;
}
