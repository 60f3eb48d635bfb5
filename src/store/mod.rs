//! What the analysis server keeps: records, applications with their policies, and tokens, as domain
//! types and three small traits. No SQL here; each database is a folder below. How a gateway looks
//! policies up is `policy` (§2.5).

mod error;
pub mod postgres;
mod record;
mod settings;
mod sqlite;
#[cfg(test)]
pub(crate) mod temporary;

pub use error::StoreError;
pub use record::{NewRecord, RecordFilter, RecordPage, RecordSummary, StoredRecord};
pub use settings::{Application, Scope, Scopes, Token, TokenHash, TokenId};
pub use sqlite::SqliteStore;

use crate::model::{AnalysisResponse, ApplicationId, Policy, RecordId, StoredPolicy};
use async_trait::async_trait;
use std::pin::Pin;
use tokio::sync::watch;

/// Ends once a record that was handed over is durable, or with why it is not kept.
pub type Durable = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// Analysis records (§2.9 `request_id`).
#[async_trait]
pub trait RecordStore: Send + Sync {
    /// Keeps a record and returns its answer once it is durable. A second record of the same
    /// application, exchange and stage is not kept: the first one's answer comes back (CONTRACT 23).
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or [`StoreError::Closed`]; nothing is kept then.
    async fn insert(&self, record: NewRecord) -> Result<AnalysisResponse, StoreError>;

    /// Hands a record over and returns as soon as there is room for it, before it is durable. Records
    /// are kept in the order in which they were handed over.
    ///
    /// # Errors
    /// As [`RecordStore::insert`], here or at the end of what is returned.
    async fn begin_insert(&self, record: NewRecord) -> Result<Durable, StoreError> {
        self.insert(record).await?;
        Ok(Box::pin(std::future::ready(Ok(()))))
    }

    /// One page of the list, newest first.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn page(&self, filter: &RecordFilter) -> Result<RecordPage, StoreError>;

    /// One whole record.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn record(&self, id: RecordId) -> Result<Option<StoredRecord>, StoreError>;

    /// Writes what is queued and closes the store; later calls get [`StoreError::Closed`].
    async fn close(&self);
}

/// Applications and tokens.
#[async_trait]
pub trait SettingsStore: Send + Sync {
    /// The application made first.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read; so for every method here.
    async fn first_application(&self) -> Result<Option<Application>, StoreError>;

    /// One application.
    async fn application(&self, id: ApplicationId) -> Result<Option<Application>, StoreError>;

    /// Adds an application.
    async fn add_application(&self, application: Application) -> Result<(), StoreError>;

    /// Whether any token was ever made.
    async fn has_tokens(&self) -> Result<bool, StoreError>;

    /// The token with this hash, also an expired or revoked one.
    async fn token(&self, hash: &TokenHash) -> Result<Option<Token>, StoreError>;

    /// Adds a token; one with the same hash stays as it is.
    async fn add_token(&self, hash: TokenHash, token: Token) -> Result<(), StoreError>;

    /// Notes a token's use, milliseconds since 1970. Never waits; may be lost under load.
    fn touch_token(&self, id: TokenId, used_at_ms: i64);
}

/// Policies of the applications (§2.5).
#[async_trait]
pub trait PolicyTable: Send + Sync {
    /// Every application that has a policy. One that cannot be read is an entry of its own.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read; so for every method here.
    async fn policies(&self) -> Result<Vec<StoredPolicy>, StoreError>;

    /// A count that differs after every change of policies, also one that another process made.
    async fn policy_changes(&self) -> Result<i64, StoreError>;

    /// Sets an application's policy, or takes it away; false where there is no such application.
    /// The store's constraints refuse what [`Policy::check`] refuses.
    async fn set_policy(
        &self,
        id: ApplicationId,
        policy: Option<Policy>,
    ) -> Result<bool, StoreError>;

    /// Tells of every policy that this process sets.
    fn policy_written(&self) -> watch::Receiver<()>;
}
