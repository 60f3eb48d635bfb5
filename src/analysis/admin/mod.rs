//! Administration: applications with their versions and policies, tokens, the audit log, drafts tried on a
//! text or on stored records (CONTRACT 16, 30, 38).

pub(crate) mod applications;
pub(crate) mod changes;
pub(crate) mod differences;
pub(crate) mod draft;
mod in_force;
mod key_locks;
mod phrase;
pub(crate) mod policies;
pub(crate) mod replay;
pub(crate) mod tokens;
pub(crate) mod trial;
mod weaker;

pub(crate) use in_force::InForce;
pub(crate) use key_locks::KeyLocks;
// The types of the store that callers of this service pass and get.
pub(crate) use monitor_store::{
    Application, ApplicationFilter, ApplicationVersion, AuditEntry, AuditFilter, NameFilter, Token,
    TokenId,
};

use crate::analysis::access::caller::Caller;
use crate::analysis::access::read_turns::ReadTurns;
use crate::analysis::access::token_cache::TokenCache;
use crate::analysis::audit::AuditLog;
use crate::analysis::budgets::BudgetBoard;
use crate::analysis::error::ApiError;
use crate::analysis::ingest::analyzer::MessageAnalyzer;
use crate::analysis::ingest::application_cache::ApplicationCache;
use crate::analysis::ingest::compilation::Compilations;
use crate::analysis::ingest::inline_rules::InlineRulesCache;
use crate::analysis::rules::application_rules::ApplicationRules;
use crate::analysis::rules::file_policies::FilePolicies;
use crate::fair_queue::TurnFigures;
use monitor_model::ApplicationId;
use monitor_store::{
    AccountStore, ApplicationPolicyStore, ApplicationStore, RecordStore, TokenStore, VersionLimits,
};
use serde_json::Value;
use std::sync::Arc;

/// Changes settings, and tries changes before they are made.
pub struct Admin {
    pub(super) applications: Arc<dyn ApplicationStore>,
    pub(super) policies: Arc<dyn ApplicationPolicyStore>,
    pub(super) tokens: Arc<dyn TokenStore>,
    pub(super) records: Arc<dyn RecordStore>,
    pub(super) accounts: Arc<dyn AccountStore>,
    pub(super) audit: AuditLog,
    pub(super) reads: Arc<ReadTurns>,
    pub(super) file_policies: Arc<FilePolicies>,
    pub(super) in_force: InForce,
    pub(super) budgets: Arc<BudgetBoard>,
    pub(super) application_cache: Arc<ApplicationCache>,
    pub(super) token_cache: Arc<TokenCache>,
    pub(super) analyzer: Arc<MessageAnalyzer>,
    pub(super) inline_rules: Arc<InlineRulesCache>,
    pub(super) compilations: Arc<Compilations>,
    pub(super) key_locks: KeyLocks,
    /// Valid access keys that one application may have (`limits.application_keys`).
    pub(super) application_keys: usize,
    /// Earlier versions of an application that a change leaves: `limits.application_versions` and
    /// `limits.application_version_bytes` say how many.
    pub(super) keep_versions: VersionLimits,
}

impl Admin {
    /// The rules of requests, and those of applications, that are compiled or wait for it.
    pub(crate) fn compilation_figures(&self) -> [TurnFigures; 2] {
        self.compilations.figures()
    }

    /// Checks a draft of an application's rules, and compiles what it has.
    ///
    /// # Errors
    /// [`ApiError::Fields`] with everything that is wrong; [`ApiError::Busy`].
    pub(crate) async fn check_draft(
        &self,
        caller: &Caller,
        application: ApplicationId,
        document: Value,
    ) -> Result<ApplicationRules, ApiError> {
        let claim = caller.awaited(application);
        self.compilations.parse(claim, document).await
    }

    /// One page of the audit log; a bound caller sees the entries of its own application.
    pub(crate) async fn audit_log(
        &self,
        caller: &Caller,
        filter: AuditFilter,
    ) -> Result<(Vec<AuditEntry>, Option<i64>), ApiError> {
        self.audit.page(caller, filter, &self.reads).await
    }
}
