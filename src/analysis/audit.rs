//! The audit log: who changed what, from which version to which, and the names of the fields, and who read originals;
//! never the value of a token, a phrase, the text of a rule or of a message (CONTRACT 30, 38). The store writes a
//! change and its entry in one transaction: a change whose entry cannot be written is not made, and is answered
//! with 503. An erasure takes many transactions, so that it has an entry before it begins and another one when it is
//! complete. What is read has its entry before its first byte is sent; an export, another one with its count. Refused
//! sign-ins are written by `people::refused_sign_ins`.

mod times;

use crate::analysis::access::Access;
use crate::analysis::access::caller::Caller;
use crate::analysis::access::read_turns::ReadTurns;
use crate::analysis::clock::now_ms;
use crate::analysis::error::ApiError;
use monitor_model::{ApplicationId, RecordId};
use monitor_store::{AccountId, AuditEntry, AuditFilter, AuditStore, TokenId};
use serde_json::Value;
use std::sync::Arc;
use uuid::Uuid;

/// An action, by its name in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    ApplicationCreate,
    ApplicationChange,
    ApplicationRestore,
    ApplicationRemove,
    TokenCreate,
    TokenChange,
    TokenRotate,
    TokenRevoke,
    RecordsErase,
    RecordsReadmit,
    RecordReadOriginal,
    RecordsExport,
    RecordsFindValue,
    AttachmentDownload,
    FindingTriage,
    FindingsTriage,
    FindingsExport,
    AccountCreate,
    AccountChange,
    AccountLink,
    AccountPassword,
    AccountSignIn,
    AccountSignInFailed,
    AccountEndSignIns,
    AccountSecondFactorOn,
    AccountSecondFactorOff,
    AccountRecoveryCode,
    ValueKeyRotate,
    AlertRuleSet,
    AlertRuleRemove,
    AlertChannelSet,
    AlertChannelRemove,
    AlertClose,
    AlertMute,
    AlertRetry,
}

impl Action {
    pub(super) const ALL: [Self; 35] = [
        Self::ApplicationCreate,
        Self::ApplicationChange,
        Self::ApplicationRestore,
        Self::ApplicationRemove,
        Self::TokenCreate,
        Self::TokenChange,
        Self::TokenRotate,
        Self::TokenRevoke,
        Self::RecordsErase,
        Self::RecordsReadmit,
        Self::RecordReadOriginal,
        Self::RecordsExport,
        Self::RecordsFindValue,
        Self::AttachmentDownload,
        Self::FindingTriage,
        Self::FindingsTriage,
        Self::FindingsExport,
        Self::AccountCreate,
        Self::AccountChange,
        Self::AccountLink,
        Self::AccountPassword,
        Self::AccountSignIn,
        Self::AccountSignInFailed,
        Self::AccountEndSignIns,
        Self::AccountSecondFactorOn,
        Self::AccountSecondFactorOff,
        Self::AccountRecoveryCode,
        Self::ValueKeyRotate,
        Self::AlertRuleSet,
        Self::AlertRuleRemove,
        Self::AlertChannelSet,
        Self::AlertChannelRemove,
        Self::AlertClose,
        Self::AlertMute,
        Self::AlertRetry,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::ApplicationCreate => "application.create",
            Self::ApplicationChange => "application.change",
            Self::ApplicationRestore => "application.restore",
            Self::ApplicationRemove => "application.remove",
            Self::TokenCreate => "token.create",
            Self::TokenChange => "token.change",
            Self::TokenRotate => "token.rotate",
            Self::TokenRevoke => "token.revoke",
            Self::RecordsErase => "records.erase",
            Self::RecordsReadmit => "records.readmit",
            Self::RecordReadOriginal => "record.read_original",
            Self::RecordsExport => "records.export",
            Self::RecordsFindValue => "records.find_value",
            Self::AttachmentDownload => "attachment.download",
            Self::FindingTriage => "finding.triage",
            Self::FindingsTriage => "findings.triage",
            Self::FindingsExport => "findings.export",
            Self::AccountCreate => "account.create",
            Self::AccountChange => "account.change",
            Self::AccountLink => "account.link",
            Self::AccountPassword => "account.password",
            Self::AccountSignIn => "account.sign_in",
            Self::AccountSignInFailed => "account.sign_in_failed",
            Self::AccountEndSignIns => "account.end_sign_ins",
            Self::AccountSecondFactorOn => "account.second_factor_on",
            Self::AccountSecondFactorOff => "account.second_factor_off",
            Self::AccountRecoveryCode => "account.recovery_code",
            Self::ValueKeyRotate => "value_key.rotate",
            Self::AlertRuleSet => "alert_rule.set",
            Self::AlertRuleRemove => "alert_rule.remove",
            Self::AlertChannelSet => "alert_channel.set",
            Self::AlertChannelRemove => "alert_channel.remove",
            Self::AlertClose => "alert.close",
            Self::AlertMute => "alert.mute",
            Self::AlertRetry => "alert.retry",
        }
    }

    /// The entry of this action, which the caller takes now.
    pub(super) fn entry(self, caller: &Caller, target: Target, details: Value) -> AuditEntry {
        AuditEntry {
            seq: 0,
            at_ms: now_ms(),
            actor: caller.name.clone(),
            token_id: caller.token_id,
            action: self.as_str().to_owned(),
            target: target.id(),
            application_id: target.application_id(),
            details,
        }
    }
}

/// What an action changed, or read.
pub(super) enum Target {
    Application(ApplicationId),
    /// A token, and the application it is bound to.
    Token(TokenId, Option<ApplicationId>),
    /// The tombstone of an erased user, for one application or for all.
    Tombstone(Uuid, Option<ApplicationId>),
    /// A person's account, and the application it is bound to.
    Account(AccountId, Option<ApplicationId>),
    /// A record, and its application.
    Record(RecordId, ApplicationId),
    /// Records, of one application or of all.
    Records(Option<ApplicationId>),
    /// The keys of found values.
    ValueKeys,
    /// Findings, of one application or of all.
    Findings(Option<ApplicationId>),
    /// An alert, or a rule, channel or message of alerts, which are about all applications.
    Alert(Uuid),
}

impl Target {
    fn id(&self) -> String {
        match self {
            Self::Application(id) => id.to_string(),
            Self::Token(id, _) => id.0.to_string(),
            Self::Tombstone(id, _) | Self::Alert(id) => id.to_string(),
            Self::Account(id, _) => id.0.to_string(),
            Self::Record(id, _) => id.to_string(),
            Self::Records(_) => "records".to_owned(),
            Self::ValueKeys => "value_keys".to_owned(),
            Self::Findings(_) => "findings".to_owned(),
        }
    }

    fn application_id(&self) -> Option<ApplicationId> {
        match self {
            Self::Application(id) | Self::Record(_, id) => Some(*id),
            Self::Token(_, application)
            | Self::Tombstone(_, application)
            | Self::Account(_, application)
            | Self::Records(application)
            | Self::Findings(application) => *application,
            Self::ValueKeys | Self::Alert(_) => None,
        }
    }
}

/// The audit log of the store.
#[derive(Clone)]
pub(super) struct AuditLog {
    store: Arc<dyn AuditStore>,
    access: Arc<Access>,
}

impl AuditLog {
    pub(super) fn new(store: Arc<dyn AuditStore>, access: Arc<Access>) -> Self {
        Self { store, access }
    }

    /// An action with an entry, by a caller that may be bound to an application: entries stay for good, so that the
    /// application has a bounded number of them in each time.
    ///
    /// # Errors
    /// [`ApiError::TooManyChanges`] before anything was changed.
    pub(super) fn admit(&self, caller: &Caller, action: Action) -> Result<Action, ApiError> {
        self.access.admit_change(caller)?;
        Ok(action)
    }

    /// Writes the entry of something that is about to be read. Those who are bound to an application have a bounded
    /// number of these as well, apart from their changes.
    ///
    /// # Errors
    /// [`ApiError::TooManyChanges`], and failures of the store: nothing may be read then.
    pub(super) async fn note_read(
        &self,
        caller: &Caller,
        action: Action,
        target: Target,
        details: Value,
    ) -> Result<(), ApiError> {
        self.access.admit_read(caller)?;
        let entry = action.entry(caller, target, details);
        Ok(self.store.add_audit(entry).await?)
    }

    /// Writes the entry of an action that was just completed, in a transaction of its own.
    pub(super) async fn append(&self, entry: AuditEntry) -> Result<(), ApiError> {
        let (action, target) = (entry.action.clone(), entry.target.clone());
        self.store.add_audit(entry).await.map_err(|error| {
            log::error!(
                "{action} of {target} is complete, but its audit entry could not be written"
            );
            ApiError::from(error)
        })
    }

    /// One page of the log; a bound caller sees the entries of its own application.
    pub(super) async fn page(
        &self,
        caller: &Caller,
        mut filter: AuditFilter,
        reads: &ReadTurns,
    ) -> Result<(Vec<AuditEntry>, Option<i64>), ApiError> {
        filter.application_id = caller.narrow(filter.application_id)?;
        let limit = filter.limit;
        filter.limit = limit.saturating_add(1);
        let store = self.store.clone();
        let read = async move {
            let filter = times::narrowed(&*store, filter).await?;
            store.audit(&filter).await
        };
        let mut entries = reads.read(caller, read).await?;
        let is_last = entries.len() <= limit as usize;
        entries.truncate(limit as usize);
        let next = entries.last().map(|entry| entry.seq);
        Ok((entries, next.filter(|_| !is_last)))
    }
}
