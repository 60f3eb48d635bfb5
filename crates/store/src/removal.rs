//! Removing records: by the limits of retention (CONTRACT 38), and by the erasure of an end user.

use crate::error::StoreError;
use crate::records::NewRecord;
use crate::settings::audit::AuditEntry;
use async_trait::async_trait;
use monitor_model::ApplicationId;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use uuid::Uuid;

/// How long and how many records are kept (CONTRACT 38); None means no such limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionLimits {
    /// Days since a record was received.
    pub days: Option<u32>,
    /// Number of records in the store, or of the application.
    pub rows: Option<u64>,
    /// Bytes of their texts, lists and files together.
    pub bytes: Option<u64>,
    /// Days for which the sums of single users, of costs and of messages, are kept, the current one included, at most
    /// [`crate::KEPT_COST_DAYS`]. Only for the whole store.
    pub cost_days: Option<u32>,
}

impl RetentionLimits {
    /// No limit but this number of records.
    pub(crate) fn only_rows(rows: u64) -> Self {
        Self {
            rows: Some(rows),
            ..Self::default()
        }
    }

    /// No limit but these bytes.
    pub(crate) fn only_bytes(bytes: u64) -> Self {
        Self {
            bytes: Some(bytes),
            ..Self::default()
        }
    }
}

/// What the records of the whole store take, as retention counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredAmount {
    /// Number of records.
    pub records: u64,
    /// Bytes of their texts, lists and files.
    pub bytes: u64,
}

/// How many records a retention run removed, by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Of applications that were removed.
    pub of_removed_applications: u64,
    /// Older than the store keeps records.
    pub by_age: u64,
    /// Beyond the number of records that the store keeps.
    pub by_rows: u64,
    /// Beyond the bytes that the store keeps.
    pub by_bytes: u64,
    /// Beyond the limits of one application.
    pub by_own_limits: u64,
    /// The applications above their part of the store's rows or bytes, and the records each lost by that.
    pub above_their_part: BTreeMap<ApplicationId, u64>,
}

impl Removed {
    /// All removed records.
    pub fn records(&self) -> u64 {
        self.of_removed_applications
            + self.by_age
            + self.by_rows
            + self.by_bytes
            + self.by_own_limits
    }

    /// Adds what another run removed.
    pub fn add(&mut self, other: Self) {
        self.of_removed_applications += other.of_removed_applications;
        self.by_age += other.by_age;
        self.by_rows += other.by_rows;
        self.by_bytes += other.by_bytes;
        self.by_own_limits += other.by_own_limits;
        for (application, records) in other.above_their_part {
            *self.above_their_part.entry(application).or_default() += records;
        }
    }

    /// Records that applications above their part lost.
    pub(crate) fn above_parts(&self) -> u64 {
        self.above_their_part.values().sum()
    }

    /// Counts records of an application above its part.
    pub(crate) fn count_above_part(&mut self, application: ApplicationId, records: u64) {
        if records > 0 {
            *self.above_their_part.entry(application).or_default() += records;
        }
    }
}

/// How a retention run ended.
#[derive(Debug, Default)]
pub struct RetentionRun {
    /// What it removed, also before a failure.
    pub removed: Removed,
    /// The first thing that it could not do.
    pub failure: Option<StoreError>,
}

impl RetentionRun {
    /// A run that removed this, and how it ended.
    pub(crate) fn ended(removed: Removed, result: Result<(), StoreError>) -> Self {
        Self {
            removed,
            failure: result.err(),
        }
    }

    /// What a run that did everything removed.
    ///
    /// # Errors
    /// What the run could not do.
    pub fn complete(self) -> Result<Removed, StoreError> {
        self.failure.map_or(Ok(self.removed), Err)
    }
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

impl RetentionScope {
    /// The limits of one application in the same run.
    pub(crate) fn of_one(self, application: ApplicationId, limits: RetentionLimits) -> Self {
        Self {
            application: Some(application),
            limits,
            ..self
        }
    }
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
    pub fn user_hash(user_id: &str) -> [u8; 32] {
        Sha256::new()
            .chain_update("erased user\0")
            .chain_update(user_id)
            .finalize()
            .into()
    }
}

/// An exchange of an erased user. Its tombstone refuses later parts of its tool calls that name no user, and files:
/// nothing else says whose they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasedExchange {
    /// The application it belongs to.
    pub application_id: ApplicationId,
    /// `additional_parameters.request_id` of its records.
    pub id: String,
    /// When its user's message was refused or erased, milliseconds since 1970.
    pub at_ms: i64,
}

impl ErasedExchange {
    /// How long the tombstone of an exchange is kept; that of a user is permanent.
    pub(crate) const KEPT_MS: i64 = 30 * 86_400_000;

    /// The hash by which a tombstone identifies an exchange of its application.
    pub(crate) fn hash(id: &str) -> [u8; 32] {
        Sha256::new()
            .chain_update("erased exchange\0")
            .chain_update(id)
            .finalize()
            .into()
    }

    /// The identifier of the tombstone: a UUID of version 8, unlike that of a user.
    pub(crate) fn tombstone_id(&self) -> Uuid {
        let digest: [u8; 32] = Sha256::new()
            .chain_update(self.application_id.0)
            .chain_update(Self::hash(&self.id))
            .finalize()
            .into();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        uuid::Builder::from_custom_bytes(bytes).into_uuid()
    }

    /// The exchange whose tombstone would refuse this record.
    pub(crate) fn refusing(record: &NewRecord) -> Option<&str> {
        let is_nameless_call = record.tool.is_some() && record.user_id.is_none();
        record.exchange_id.as_deref().filter(|_| is_nameless_call)
    }
}

/// The hash by which a tombstone would refuse this record: that of its user, or that of the exchange of a part of a tool
/// call that names none.
pub(crate) fn refusing_hash(record: &NewRecord) -> Option<[u8; 32]> {
    match &record.user_id {
        Some(user) => Some(Erasure::user_hash(user)),
        None => ErasedExchange::refusing(record).map(ErasedExchange::hash),
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
    /// Makes the store refuse records of this user from now on ([`StoreError::Erased`]). What an exchange of the user
    /// still brings without a name is refused by a tombstone of the exchange. Returns the
    /// identifier of the tombstone in force, which may be an earlier one; it becomes the target of the audit entry.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written.
    async fn add_tombstone(
        &self,
        erasure: &Erasure,
        audit: Option<AuditEntry>,
    ) -> Result<Uuid, StoreError>;

    /// Removes a tombstone, so that records of its user are stored again; false if there is none with this identifier.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written.
    async fn remove_tombstone(
        &self,
        id: Uuid,
        audit: Option<AuditEntry>,
    ) -> Result<bool, StoreError>;
}

/// Removal of stored records, in bounded steps.
#[async_trait]
pub trait RecordRemoval: Send + Sync {
    /// Removes the oldest records beyond the limits, of the whole store or of one application. The rows and
    /// bytes of the whole store are shared: the oldest records of those applications go that have more than
    /// their part, and none of the others. Bytes count what the store itself counts for a record. What was
    /// removed before a failure stays removed.
    async fn enforce_retention(
        &self,
        application: Option<ApplicationId>,
        limits: RetentionLimits,
        now_ms: i64,
    ) -> RetentionRun;

    /// What all records take, from running totals.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn stored_amount(&self) -> Result<StoredAmount, StoreError>;

    /// Removes some records of the user with everything that belongs to them. The erasure is complete when
    /// a step removes none.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written.
    async fn erase_step(&self, erasure: &Erasure) -> Result<Erased, StoreError>;

    /// For an exchange whose message was refused ([`StoreError::Erased`]): refuses later parts of its tool calls that
    /// name no user, and its files, and removes those that came before the message. It can be repeated.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written.
    async fn erase_exchange(&self, exchange: &ErasedExchange) -> Result<(), StoreError>;
}
