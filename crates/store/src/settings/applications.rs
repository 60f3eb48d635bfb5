//! Applications and their versions (CONTRACT 38).

use crate::error::StoreError;
use crate::settings::audit::AuditEntry;
use crate::text_search::folded;
use async_trait::async_trait;
use monitor_model::{ApplicationId, Policy, PolicyProblems};
use serde_json::Value;

/// An application registered at the backend.
#[derive(Clone, Debug)]
pub struct Application {
    /// What records, tokens and accounts refer to.
    pub id: ApplicationId,
    /// Shown to people; need not be unique.
    pub name: String,
    /// Shown to people; may be empty.
    pub description: String,
    /// When it was created, milliseconds since 1970.
    pub created_at_ms: i64,
    /// When it was last changed, milliseconds since 1970.
    pub updated_at_ms: i64,
    /// Counts the changes, from 1; a record names the version that judged it.
    pub version: i64,
    /// The rules as JSON; the analysis knows their shape.
    pub rules: Value,
    /// The gateway's policy (§2.5). None: there is no policy, calls are async. Err: another program wrote
    /// a policy that cannot be read.
    pub policy: Option<Result<Policy, PolicyProblems>>,
}

/// The new content of an application; replaces all of it.
#[derive(Clone, Debug)]
pub struct ApplicationChange {
    /// Which application to change.
    pub id: ApplicationId,
    /// The version that the change is based on; if the store holds another one, it refuses the change
    /// (CONTRACT 38, optimistic locking).
    pub expected_version: i64,
    /// The new name.
    pub name: String,
    /// The new description.
    pub description: String,
    /// The rules as JSON.
    pub rules: Value,
    /// The policy, checked by the caller; None removes it.
    pub policy: Option<Policy>,
    /// When the change is made, milliseconds since 1970.
    pub changed_at_ms: i64,
    /// The name of the token or of the person who makes it.
    pub changed_by: String,
    /// Which earlier versions stay.
    pub keep: VersionLimits,
}

/// How many earlier versions of an application a change leaves; the oldest ones beyond that are removed with it. The
/// version before the latest one always stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionLimits {
    /// The most versions that are kept.
    pub versions: usize,
    /// Bytes of their names, descriptions, rules and policies together, as the database stores them.
    pub bytes: u64,
}

impl Default for VersionLimits {
    fn default() -> Self {
        Self {
            versions: 1_000,
            bytes: 64 << 20,
        }
    }
}

/// The outcome of a change of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It is stored under this version.
    Done(i64),
    /// The store holds this other version; nothing was changed.
    Conflict(i64),
    /// There is no such application.
    Unknown,
}

/// One version of an application (CONTRACT 38). The latest one is the application itself.
#[derive(Clone, Debug)]
pub struct ApplicationVersion {
    /// Counts from 1.
    pub version: i64,
    /// The name that this version had.
    pub name: String,
    /// The description that this version had.
    pub description: String,
    /// The rules as JSON.
    pub rules: Value,
    /// The policy as JSON.
    pub policy: Option<Value>,
    /// When it was created, milliseconds since 1970.
    pub changed_at_ms: i64,
    /// The name of the token or of the person who created it.
    pub changed_by: String,
}

/// Which names a list is narrowed to, ignoring letter case in any alphabet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameFilter {
    /// Names that contain this text.
    Part(String),
    /// Names equal to this text, ignoring surrounding white space.
    Whole(String),
}

impl NameFilter {
    /// Whether the filter accepts a name. Evaluated here and not in a database, whose case folding follows
    /// its locale or knows ASCII alone.
    pub fn takes(&self, name: &str) -> bool {
        match self {
            Self::Part(text) => folded(name).contains(&folded(text)),
            Self::Whole(text) => folded(name.trim()) == folded(text.trim()),
        }
    }
}

/// Which applications a list shows, in the order of their creation.
#[derive(Clone, Debug, Default)]
pub struct ApplicationFilter {
    /// Only this one: what a bound token may see.
    pub id: Option<ApplicationId>,
    /// Only these names.
    pub name: Option<NameFilter>,
    /// Only applications created after the one at this position ([`ApplicationPage::next_after`]).
    pub after: Option<i64>,
    /// Applications per page, from 1.
    pub limit: u32,
}

/// One page of applications.
#[derive(Clone, Debug)]
pub struct ApplicationPage {
    /// In the order of their creation.
    pub applications: Vec<Application>,
    /// [`ApplicationFilter::after`] of the next page; None when this is the last one.
    pub next_after: Option<i64>,
}

/// Applications and their versions.
#[async_trait]
pub trait ApplicationStore: Send + Sync {
    /// The application that was created first.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written; the same holds for every method here.
    async fn first_application(&self) -> Result<Option<Application>, StoreError>;

    /// The application with this identifier.
    async fn application(&self, id: ApplicationId) -> Result<Option<Application>, StoreError>;

    /// The names of these applications, in no particular order; leaves out those that do not exist.
    async fn application_names(
        &self,
        ids: &[ApplicationId],
    ) -> Result<Vec<(ApplicationId, String)>, StoreError>;

    /// One page of applications.
    async fn applications(&self, filter: &ApplicationFilter)
    -> Result<ApplicationPage, StoreError>;

    /// Adds an application; `by` is recorded as the author of its first version.
    async fn add_application(
        &self,
        application: Application,
        by: &str,
        audit: Option<AuditEntry>,
    ) -> Result<(), StoreError>;

    /// Changes an application and keeps its previous version, atomically, with as many earlier ones as the change
    /// says. Equal content is a change too.
    /// The constraints of the store may refuse the policy: [`StoreError::Unavailable`].
    async fn change_application(
        &self,
        change: ApplicationChange,
        audit: Option<AuditEntry>,
    ) -> Result<Changed, StoreError>;

    /// Removes an application with its versions, policy and tokens, if it has the expected version. No
    /// list shows its records from then on; the store's maintenance removes them in bounded steps.
    async fn remove_application(
        &self,
        id: ApplicationId,
        expected_version: i64,
        audit: Option<AuditEntry>,
    ) -> Result<Changed, StoreError>;

    /// Versions of an application before `before`, newest first.
    async fn application_versions(
        &self,
        id: ApplicationId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ApplicationVersion>, StoreError>;

    /// Waits until applications or tokens were changed, by this process or by another one that shares the
    /// store, or until a periodic check is due. The caller then invalidates its caches.
    async fn settings_changed(&self);
}
