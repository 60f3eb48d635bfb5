//! What the analysis server keeps: records, applications with their policies, and tokens, as domain
//! types and three small traits. No SQL here; each database is a folder below. How a gateway looks
//! policies up is `policy` (§2.5).

mod accounts;
mod attachment;
mod blobs;
mod bucket;
mod bucket_client;
mod chain;
mod error;
mod postgres;
mod record;
mod saved;
mod search;
mod settings;
mod sqlite;
mod survey;
mod traffic;

pub use accounts::{
    Account, AccountChange, AccountId, AccountStore, Identity, Role, SecretHash, SignIn,
};
pub use attachment::{
    Attached, Attachment, AttachmentStore, BlobHash, Erased, Erasure, Extraction, Findings,
    NewAttachment, REMOVAL, Scanned,
};
pub use blobs::{BlobError, BlobStore, Bytes as BlobBytes, Received, Upload};
pub use chain::{
    ChainEntry, ChainFilter, ChainRun, ChainState, ChainStates, ChainStore, GatewaySeen, MOST_RUNS,
};
pub use error::StoreError;
pub use postgres::{PostgresStore, postgres_options};
pub use record::{
    DayStatistics, NewRecord, RecordFilter, RecordPage, RecordSummary, RetentionLimits, Searched,
    SessionFilter, SessionSummary, StatisticsFilter, StoredRecord, VerdictFilter,
};
pub use saved::{FilterId, SavedFilter, SavedFilterStore, SeenFilter};
pub use settings::{
    Application, ApplicationChange, ApplicationFilter, ApplicationPage, ApplicationVersion,
    AuditEntry, AuditFilter, Changed, NameFilter, Scope, Scopes, Token, TokenChange, TokenHash,
    TokenId,
};
pub use sqlite::SqliteStore;
pub use traffic::{HourTraffic, KEPT_HOURS, OTHER_FINDS};

use async_trait::async_trait;
use monitor_model::{AnalysisResponse, ApplicationId, Policy, RecordId, StoredPolicy, TypeCount};
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

    /// The whole records of a page, for exports and replays. It may be short, and still have a next one:
    /// it holds no more bytes than can be in memory at once.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn whole_page(&self, filter: &RecordFilter) -> Result<WholePage, StoreError>;

    /// One page of sessions, the one with the latest record first.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionSummary>, StoreError>;

    /// One page of days, in the order of day, application and stage. Kept as the records come in, so
    /// that its cost does not grow with them; retention does not lower it.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn statistics(&self, filter: &StatisticsFilter)
    -> Result<Vec<DayStatistics>, StoreError>;

    /// Traffic of the hours from the first to the last one (hours since 1970), in order, without those in
    /// which nothing came; of one application, or of all together, those that were removed since
    /// included. The last [`KEPT_HOURS`] are kept.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn traffic(
        &self,
        application: Option<ApplicationId>,
        hours: (i64, i64),
    ) -> Result<Vec<HourTraffic>, StoreError>;

    /// Finds by entity type in the same hours, the most frequent first. Of all applications together those
    /// that are no names of §2.8 count as [`OTHER_FINDS`].
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn traffic_types(
        &self,
        application: Option<ApplicationId>,
        hours: (i64, i64),
        limit: u32,
    ) -> Result<Vec<TypeCount>, StoreError>;

    /// `SQLite` or `PostgreSQL`.
    fn kind(&self) -> &'static str;

    /// What the store is. Its size may take the database a while.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn facts(&self) -> Result<StoreFacts, StoreError>;

    /// Removes the oldest records beyond the limits, of the whole store or of one application, in
    /// bounded steps; gives how many went. Bytes count what the store itself takes for them.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; what went before stays gone.
    async fn enforce_retention(
        &self,
        application: Option<ApplicationId>,
        limits: RetentionLimits,
        now_ms: i64,
    ) -> Result<u64, StoreError>;

    /// Writes what is queued and closes the store; later calls get [`StoreError::Closed`].
    async fn close(&self);
}

/// What a migration found and made: versions of the schema, 0 for an empty database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// Before.
    pub from: i64,
    /// Now.
    pub to: i64,
}

/// What a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFacts {
    /// `SQLite` or `PostgreSQL`.
    pub kind: &'static str,
    /// The database's own version.
    pub version: String,
    /// The version of its schema.
    pub schema: i64,
    /// What it takes on disk.
    pub bytes: u64,
}

/// One page of whole records, newest first.
#[derive(Clone, Debug)]
pub struct WholePage {
    /// The records.
    pub records: Vec<StoredRecord>,
    /// [`RecordFilter::before`] of the next page; None when this is the last one.
    pub next_before: Option<i64>,
}

/// Everything that is kept, as one object.
pub trait Store:
    RecordStore
    + SettingsStore
    + PolicyTable
    + AttachmentStore
    + ChainStore
    + AccountStore
    + SavedFilterStore
{
}

impl<T> Store for T where
    T: RecordStore
        + SettingsStore
        + PolicyTable
        + AttachmentStore
        + ChainStore
        + AccountStore
        + SavedFilterStore
{
}

/// Applications, tokens and the audit log.
#[async_trait]
pub trait SettingsStore: Send + Sync {
    /// The application made first.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read; so for every method here.
    async fn first_application(&self) -> Result<Option<Application>, StoreError>;

    /// One application.
    async fn application(&self, id: ApplicationId) -> Result<Option<Application>, StoreError>;

    /// What these applications are called, in no order; those that are not there are left out.
    async fn application_names(
        &self,
        ids: &[ApplicationId],
    ) -> Result<Vec<(ApplicationId, String)>, StoreError>;

    /// Adds an application; its first version names who made it.
    async fn add_application(&self, application: Application, by: &str) -> Result<(), StoreError>;

    /// Whether any token was ever made.
    async fn has_tokens(&self) -> Result<bool, StoreError>;

    /// The token with this hash, also an expired or revoked one.
    async fn token(&self, hash: &TokenHash) -> Result<Option<Token>, StoreError>;

    /// Adds a token; one with the same hash stays as it is.
    async fn add_token(&self, hash: TokenHash, token: Token) -> Result<(), StoreError>;

    /// Notes a token's use, milliseconds since 1970. Never waits; may be lost under load.
    fn touch_token(&self, id: TokenId, used_at_ms: i64);

    /// One page of applications.
    async fn applications(&self, filter: &ApplicationFilter)
    -> Result<ApplicationPage, StoreError>;

    /// Changes an application and keeps the version before it, in one step. Equal content is a
    /// change too. The store's own constraints may refuse the policy: [`StoreError::Unavailable`].
    async fn change_application(&self, change: ApplicationChange) -> Result<Changed, StoreError>;

    /// Removes an application with its versions, policy and tokens, if it has the expected version.
    /// Its records go too, in bounded steps by the store's own housekeeping, and no list shows them
    /// from now on.
    async fn remove_application(
        &self,
        id: ApplicationId,
        expected_version: i64,
    ) -> Result<Changed, StoreError>;

    /// Versions of an application, newest first, those before `before`.
    async fn application_versions(
        &self,
        id: ApplicationId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ApplicationVersion>, StoreError>;

    /// Every token, newest first, also expired and revoked ones; those before `before`
    /// (`created_at_ms` and id of the last one of the page before).
    async fn tokens(
        &self,
        application: Option<ApplicationId>,
        before: Option<(i64, TokenId)>,
        limit: u32,
    ) -> Result<Vec<Token>, StoreError>;

    /// One token by its identifier, also an expired or revoked one.
    async fn token_by_id(&self, id: TokenId) -> Result<Option<Token>, StoreError>;

    /// Changes a token; gives it as it is now, None where there is none.
    async fn change_token(
        &self,
        id: TokenId,
        change: TokenChange,
    ) -> Result<Option<Token>, StoreError>;

    /// Adds a line to the audit log.
    async fn add_audit(&self, entry: AuditEntry) -> Result<(), StoreError>;

    /// One page of the audit log, newest first.
    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, StoreError>;

    /// Waits until applications or tokens were changed, by this process or another one sharing the
    /// store, or until it is worth looking again; who waits then forgets what it remembers.
    async fn settings_changed(&self);
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
