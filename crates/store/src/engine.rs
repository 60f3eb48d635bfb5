//! The store as a whole: what it is, how it ends, and the trait that combines all subjects.

use crate::alerts::AlertStore;
use crate::attachments::AttachmentStore;
use crate::chain::ChainStore;
use crate::error::StoreError;
use crate::exchanges::ExchangeStore;
use crate::findings::FindingStore;
use crate::gateway_reports::GatewayReportStore;
use crate::people::accounts::AccountStore;
use crate::people::saved_filters::SavedFilterStore;
use crate::people::sign_in_failures::SignInFailureStore;
use crate::people::sign_ins::SignInStore;
use crate::records::RecordStore;
use crate::removal::{RecordRemoval, TombstoneStore};
use crate::settings::applications::ApplicationStore;
use crate::settings::audit::AuditStore;
use crate::settings::policies::ApplicationPolicyStore;
use crate::settings::tokens::TokenStore;
use crate::settings::value_keys::ValueKeyStore;
use crate::siem::SiemStore;
use crate::start_lock::StartLock;
use crate::statistics::StatisticsStore;
use async_trait::async_trait;
use std::time::Duration;

/// Schema versions before and after a migration; 0 stands for an empty database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The version that the database had.
    pub from: i64,
    /// The version that it has now.
    pub to: i64,
}

/// What a store is, for the status page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFacts {
    /// `SQLite` or `PostgreSQL`.
    pub kind: &'static str,
    /// The version of the database software.
    pub version: String,
    /// The version of the schema.
    pub schema: i64,
    /// Size on disk, in bytes.
    pub bytes: u64,
}

/// The connections that reads, and changes of settings, share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolFigures {
    /// The most connections at a time.
    pub limit: u64,
    /// Connections that are at work.
    pub in_use: u64,
    /// Connections that are open and wait for work.
    pub idle: u64,
    /// Time that all callers together waited for a connection; zero in an engine that does not measure it.
    pub waited: Duration,
}

/// The database behind a store.
#[async_trait]
pub trait StoreEngine: Send + Sync {
    /// `SQLite` or `PostgreSQL`.
    fn kind(&self) -> &'static str;

    /// Asks the database for the version of its schema. While every connection is at work and some of the work was
    /// completed a moment ago, it is not asked.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer, or when a later program has migrated it to a schema that this
    /// one cannot use.
    async fn ping(&self) -> Result<i64, StoreError>;

    /// The connections of this process.
    fn pool(&self) -> PoolFigures;

    /// Describes the store. Measuring its size may take the database a while.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn facts(&self) -> Result<StoreFacts, StoreError>;

    /// Waits until no other server creates what an empty store lacks.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer, or another server holds the lock for a minute.
    async fn lock_first_start(&self) -> Result<Box<dyn StartLock>, StoreError>;

    /// Writes what is queued and closes the store; later calls return [`StoreError::Closed`].
    async fn close(&self);
}

/// Every subject of the store as one object.
pub trait Store:
    StoreEngine
    + RecordStore
    + ExchangeStore
    + FindingStore
    + StatisticsStore
    + ChainStore
    + GatewayReportStore
    + RecordRemoval
    + TombstoneStore
    + AttachmentStore
    + ApplicationStore
    + ApplicationPolicyStore
    + TokenStore
    + AuditStore
    + AccountStore
    + SignInStore
    + SignInFailureStore
    + SavedFilterStore
    + ValueKeyStore
    + AlertStore
    + SiemStore
{
}

impl<T> Store for T where
    T: StoreEngine
        + RecordStore
        + ExchangeStore
        + FindingStore
        + StatisticsStore
        + ChainStore
        + GatewayReportStore
        + RecordRemoval
        + TombstoneStore
        + AttachmentStore
        + ApplicationStore
        + ApplicationPolicyStore
        + TokenStore
        + AuditStore
        + AccountStore
        + SignInStore
        + SignInFailureStore
        + SavedFilterStore
        + ValueKeyStore
        + AlertStore
        + SiemStore
{
}
