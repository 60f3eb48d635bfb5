//! Findings: what becomes of flagged records. Each flagged record has one from the transaction that inserts it until it
//! is removed; people decide whether it was right. No SQL here.

mod flagged;
mod pages;

pub(crate) use flagged::Flagged;
pub(crate) use pages::{ReadState, StatePage, page};

use crate::error::StoreError;
use crate::people::accounts::AccountId;
use crate::settings::audit::AuditEntry;
use async_trait::async_trait;
use monitor_model::{ApplicationId, RecordId};
use utoipa::ToSchema;
use uuid::Uuid;

/// Findings that a page examines for a label, or for the newest of each cluster: a page may be short.
pub(crate) const EXAMINED: i64 = 20_000;
/// The most findings of a cluster that are counted, and that one change reaches.
pub const MOST_ALIKE: u32 = 1_000;
/// The most changes of a finding that its history shows.
pub(crate) const SHOWN_CHANGES: i64 = 200;

/// What begins the label of a guardrail category. The label of a type is its name.
pub const CATEGORY_LABEL: &str = "guardrail:";
/// What begins the label of a custom policy.
pub const POLICY_LABEL: &str = "policy:";

/// What people decided about a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum FindingState {
    /// Nobody has decided yet: the state of a new finding.
    Open,
    /// It was flagged rightly.
    Confirmed,
    /// It was flagged wrongly.
    FalseAlarm,
    /// There is nothing left to do; says nothing about the detection.
    Resolved,
}

impl FindingState {
    /// In the order of the enum.
    pub const ALL: [Self; 4] = [
        Self::Open,
        Self::Confirmed,
        Self::FalseAlarm,
        Self::Resolved,
    ];

    /// The word in the store and in addresses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Confirmed => "confirmed",
            Self::FalseAlarm => "false_alarm",
            Self::Resolved => "resolved",
        }
    }

    /// The state that this word names.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

/// Why a finding was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum FindingReason {
    /// Data that must not be there.
    RealData,
    /// An attack, or what a policy forbids.
    RealViolation,
    /// What was found is something else.
    WrongDetection,
    /// It is what was found, and nobody's secret.
    NotSensitive,
    /// Data of a test.
    TestData,
    /// The application may do this.
    AllowedUse,
    /// Somebody took care of it.
    Handled,
    /// Another finding says the same.
    Duplicate,
    /// What a note says.
    Other,
}

impl FindingReason {
    /// In the order of the enum.
    pub const ALL: [Self; 9] = [
        Self::RealData,
        Self::RealViolation,
        Self::WrongDetection,
        Self::NotSensitive,
        Self::TestData,
        Self::AllowedUse,
        Self::Handled,
        Self::Duplicate,
        Self::Other,
    ];

    /// The word in the store and in addresses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RealData => "real_data",
            Self::RealViolation => "real_violation",
            Self::WrongDetection => "wrong_detection",
            Self::NotSensitive => "not_sensitive",
            Self::TestData => "test_data",
            Self::AllowedUse => "allowed_use",
            Self::Handled => "handled",
            Self::Duplicate => "duplicate",
            Self::Other => "other",
        }
    }

    /// The reason that this word names.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == name)
    }
}

/// Identifies findings that are alike: of the same application and user, with the same labels. Those of records that
/// were stored before there were findings are alike to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClusterId(pub Uuid);

/// A flagged record, and what people decided about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The position of its record, and cursor of [`FindingFilter::before`].
    pub seq: i64,
    /// The record that was flagged.
    pub id: RecordId,
    /// The application of the record.
    pub application_id: ApplicationId,
    /// The end user of the record.
    pub user_id: Option<String>,
    /// When the record was received, milliseconds since 1970.
    pub created_at_ms: i64,
    /// Which findings are alike.
    pub cluster: ClusterId,
    /// What was found: names of types, [`CATEGORY_LABEL`] and [`POLICY_LABEL`] with a name; at most 32.
    pub labels: Vec<String>,
    /// What people decided.
    pub state: FindingState,
    /// Why it was closed.
    pub reason: Option<FindingReason>,
    /// The name of the account that looks after it.
    pub assignee: Option<String>,
    /// When somebody last changed it, or its record was received; milliseconds since 1970.
    pub changed_at_ms: i64,
    /// Those that are alike and have the same state, this one included.
    pub alike: Alike,
}

/// Findings that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alike {
    /// Their number, counted up to [`MOST_ALIKE`].
    pub count: u64,
    /// When the first of their records was received, milliseconds since 1970.
    pub first_ms: i64,
    /// When the last one was received.
    pub last_ms: i64,
}

/// A change of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingEvent {
    /// When it was made, milliseconds since 1970.
    pub at_ms: i64,
    /// The account or token that made it.
    pub actor: String,
    /// The state before it.
    pub from: FindingState,
    /// The state after it.
    pub to: FindingState,
    /// Why it was closed.
    pub reason: Option<FindingReason>,
    /// Who looks after it from then on; empty for nobody, None if that did not change.
    pub assignee: Option<String>,
    /// What was noted.
    pub note: Option<String>,
}

/// Whose findings a list is narrowed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssigneeFilter {
    /// Those that nobody looks after.
    Nobody,
    /// Those of this account.
    Of(AccountId),
}

/// Which findings a list shows, newest first; every condition has to hold.
#[derive(Clone, Debug, Default)]
pub struct FindingFilter {
    /// Only this application.
    pub application_id: Option<ApplicationId>,
    /// Only this end user.
    pub user_id: Option<String>,
    /// Only this state.
    pub state: Option<FindingState>,
    /// Only those that somebody looks after, or nobody.
    pub assignee: Option<AssigneeFilter>,
    /// Only those that are alike.
    pub cluster: Option<ClusterId>,
    /// Only those with this label.
    pub label: Option<String>,
    /// Only those whose records were received at this time or later, milliseconds since 1970.
    pub from_ms: Option<i64>,
    /// Only those whose records were received before this time, milliseconds since 1970.
    pub to_ms: Option<i64>,
    /// Of those that are alike and have the same state only the newest.
    pub only_newest: bool,
    /// Only findings before this [`Finding::seq`].
    pub before: Option<i64>,
    /// Findings per page, from 1.
    pub limit: u32,
}

impl FindingFilter {
    /// Whether a page examines more findings than it shows.
    pub(crate) fn is_searched(&self) -> bool {
        self.label.is_some() || self.only_newest
    }
}

/// A page of findings.
#[derive(Clone, Debug, Default)]
pub struct FindingPage {
    /// The newest one first.
    pub findings: Vec<Finding>,
    /// [`FindingFilter::before`] of the next page; None when this is the last one.
    pub next_before: Option<i64>,
}

/// The findings that a change is about.
#[derive(Clone, Debug)]
pub enum FindingTargets {
    /// Those of these records.
    Records(Vec<RecordId>),
    /// That of this record, and those that are alike and have the same state; the newest [`MOST_ALIKE`].
    AlikeTo(RecordId),
}

/// A change of findings; None leaves a field as it is.
#[derive(Clone, Debug)]
pub struct FindingChange {
    /// The findings that it changes.
    pub targets: FindingTargets,
    /// Only those of this application.
    pub application_id: Option<ApplicationId>,
    /// The new state.
    pub state: Option<FindingState>,
    /// Why they are closed; taken over with the state.
    pub reason: Option<FindingReason>,
    /// Who looks after them from now on; Some(None) for nobody.
    pub assignee: Option<Option<Assignee>>,
    /// What is noted in their history.
    pub note: Option<String>,
    /// The account or token that makes the change.
    pub actor: String,
    /// When it is made, milliseconds since 1970.
    pub at_ms: i64,
}

/// An account that looks after findings.
#[derive(Clone, Debug)]
pub struct Assignee {
    /// The account's identifier.
    pub id: AccountId,
    /// Its name, which the history keeps.
    pub name: String,
}

impl FindingChange {
    /// The account that looks after them from now on.
    pub(crate) fn assignee_id(&self) -> Option<Uuid> {
        let assignee = self.assignee.as_ref()?.as_ref();
        assignee.map(|assignee| assignee.id.0)
    }

    /// As the history has it: empty for nobody.
    pub(crate) fn assignee_name(&self) -> Option<&str> {
        let assignee = self.assignee.as_ref()?;
        Some(
            assignee
                .as_ref()
                .map_or("", |assignee| assignee.name.as_str()),
        )
    }
}

/// Which decided findings are read, newest first.
#[derive(Clone, Debug, Default)]
pub struct JudgedFilter {
    /// Only those of this application.
    pub application_id: Option<ApplicationId>,
    /// Only findings before this position.
    pub before: Option<i64>,
    /// The most findings.
    pub limit: u32,
}

/// A finding that is confirmed or a false alarm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedFinding {
    /// The position of its record, and cursor of [`JudgedFilter::before`].
    pub seq: i64,
    /// The record that was flagged.
    pub id: RecordId,
    /// Whether it was flagged rightly.
    pub is_confirmed: bool,
    /// What was found.
    pub labels: Vec<String>,
}

/// Findings and their history.
#[async_trait]
pub trait FindingStore: Send + Sync {
    /// One page of the list, newest first.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written; the same holds for every method here.
    async fn findings(&self, filter: &FindingFilter) -> Result<FindingPage, StoreError>;

    /// The finding of a record.
    async fn finding(&self, id: RecordId) -> Result<Option<Finding>, StoreError>;

    /// What was changed of it, the latest first, at most 200.
    async fn finding_history(&self, id: RecordId) -> Result<Vec<FindingEvent>, StoreError>;

    /// Changes findings and writes their history; gives their number. Without any, the audit log has no entry.
    async fn change_findings(
        &self,
        change: FindingChange,
        audit: Option<AuditEntry>,
    ) -> Result<u64, StoreError>;

    /// Findings that are confirmed or false alarms, newest first.
    async fn judged_findings(
        &self,
        filter: &JudgedFilter,
    ) -> Result<Vec<JudgedFinding>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_states_and_reasons_come_back() {
        for state in FindingState::ALL {
            assert_eq!(FindingState::from_name(state.as_str()), Some(state));
        }
        for reason in FindingReason::ALL {
            assert_eq!(FindingReason::from_name(reason.as_str()), Some(reason));
        }
        assert_eq!(FindingState::from_name("closed"), None);
    }
}
