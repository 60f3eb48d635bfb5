//! The audit log: who changed what (CONTRACT 38). It never holds a token's value, a message or a phrase.
//!
//! Methods that change something take the entry of the change and write both in one transaction: either is stored
//! with the other or not at all. A change that turns out to be none has no entry. Without an entry are changes that
//! nobody made: those of a first start and of the configuration file.

use crate::error::StoreError;
use crate::settings::token_id::TokenId;
use async_trait::async_trait;
use monitor_model::ApplicationId;
use serde_json::Value;

/// One entry of the audit log.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    /// Position in the log; 0 in an entry that is not stored yet.
    pub seq: i64,
    /// When it happened, milliseconds since 1970.
    pub at_ms: i64,
    /// The name of the token or of the person.
    pub actor: String,
    /// The token that was used.
    pub token_id: Option<TokenId>,
    /// Noun and verb, such as `application.change`.
    pub action: String,
    /// The identifier of what was acted on.
    pub target: String,
    /// The application concerned.
    pub application_id: Option<ApplicationId>,
    /// Details as JSON: versions, counts, names of changed fields.
    pub details: Value,
}

impl AuditEntry {
    /// The same entry about another target.
    pub(crate) fn about(self, target: impl ToString) -> Self {
        Self {
            target: target.to_string(),
            ..self
        }
    }
}

/// Which entries of the audit log a list shows, newest first; every condition has to hold.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// Only this application.
    pub application_id: Option<ApplicationId>,
    /// Only actions of the person or token with this name.
    pub actor: Option<String>,
    /// Only this action.
    pub action: Option<String>,
    /// Only entries of this time or later, milliseconds since 1970.
    pub from_ms: Option<i64>,
    /// Only entries before this time, milliseconds since 1970.
    pub to_ms: Option<i64>,
    /// Only entries before this [`AuditEntry::seq`].
    pub before: Option<i64>,
    /// Only entries after this [`AuditEntry::seq`].
    pub after: Option<i64>,
    /// Entries per page, from 1.
    pub limit: u32,
}

/// The audit log.
#[async_trait]
pub trait AuditStore: Send + Sync {
    /// Appends an entry that belongs to no change, or to one that takes many transactions.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written; the same holds for every method here.
    async fn add_audit(&self, entry: AuditEntry) -> Result<(), StoreError>;

    /// One page of the log, newest first.
    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, StoreError>;
}
