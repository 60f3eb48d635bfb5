//! Findings: the list of what was flagged, and what people decide about it. Deciding takes the scope triage; whoever
//! has it sees what a finding shows, and no text.

use super::Records;
use crate::analysis::access::Scope;
use crate::analysis::access::caller::Caller;
use crate::analysis::audit::{Action, Target};
use crate::analysis::clock::now_ms;
use crate::analysis::error::{ApiError, FieldProblem};
use monitor_model::{ApplicationId, RecordId};
use monitor_store::{
    Account, Assignee, AssigneeFilter, FindingChange, FindingTargets, MOST_ALIKE, Role,
};
use serde_json::{Map, Value, json};

// The types of the store that callers of this service pass and get.
pub(crate) use monitor_store::{
    CATEGORY_LABEL, ClusterId, Finding, FindingEvent, FindingFilter, FindingPage, FindingReason,
    FindingState,
};

/// The most findings that one request names.
pub(crate) const MOST_NAMED: usize = 200;
/// The longest note, in characters.
pub(crate) const LONGEST_NOTE: usize = 1_000;
const NO_ACCOUNT: &str = "is no account that may decide about these findings";
const NO_FINDING: &str = "is not the record of a finding";

/// A list of findings; `assignee` is the name of an account.
#[derive(Default)]
pub(crate) struct FindingQuery {
    pub(crate) filter: FindingFilter,
    pub(crate) assignee: Option<String>,
}

/// What somebody decides; None leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Triage {
    pub(crate) state: Option<FindingState>,
    pub(crate) reason: Option<FindingReason>,
    /// The name of an account; Some(None) for nobody.
    pub(crate) assignee: Option<Option<String>>,
    pub(crate) note: Option<String>,
}

/// The findings that one request decides about.
#[derive(Clone, Debug)]
pub(crate) enum ManyFindings {
    /// Those of these records.
    Records(Vec<RecordId>),
    /// That of this record, and those that are alike and have the same state.
    AlikeTo(RecordId),
}

impl Triage {
    /// Whether nothing is to change.
    pub(crate) fn is_empty(&self) -> bool {
        self.state.is_none()
            && self.reason.is_none()
            && self.assignee.is_none()
            && self.note.is_none()
    }

    /// Everything that is wrong with it.
    pub(crate) fn check(&self) -> Result<(), ApiError> {
        let mut problems = Vec::new();
        let mut refuse = |field: &str, problem: &str| {
            problems.push(FieldProblem::new(field, problem));
        };
        if self.is_empty() {
            refuse(
                "state",
                "is missing: give at least one of state, reason, assignee and note",
            );
        }
        match (self.state, self.reason) {
            (None, Some(_)) => refuse("reason", "is given together with the state"),
            (Some(FindingState::Open), Some(_)) => {
                refuse("reason", "is for findings that are closed");
            }
            (Some(state), None) if state != FindingState::Open => {
                refuse("reason", "is required to close a finding");
            }
            _ => {}
        }
        let note = self.note.as_deref();
        if self.reason == Some(FindingReason::Other) && note.is_none() {
            refuse("note", "is required with the reason other");
        }
        if note.is_some_and(|note| !is_note(note)) {
            refuse(
                "note",
                "must be text of 1 to 1000 characters without control characters",
            );
        }
        match problems.is_empty() {
            true => Ok(()),
            false => Err(ApiError::Fields(problems)),
        }
    }

    /// As the audit log keeps it: of a note only that there is one.
    fn details(&self) -> Map<String, Value> {
        let parts = [
            ("state", self.state.map(|state| state.as_str().into())),
            ("reason", self.reason.map(|reason| reason.as_str().into())),
            ("assignee", self.assignee.as_ref().map(|name| json!(name))),
            ("noted", self.note.is_some().then(|| true.into())),
        ];
        let given = parts.into_iter();
        given
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }
}

fn is_note(note: &str) -> bool {
    let is_odd = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    !note.trim().is_empty() && note.chars().count() <= LONGEST_NOTE && !note.contains(is_odd)
}

impl Records {
    /// A page of findings, newest first.
    pub(crate) async fn findings(
        &self,
        caller: &Caller,
        query: FindingQuery,
    ) -> Result<FindingPage, ApiError> {
        let FindingQuery {
            mut filter,
            assignee,
        } = query;
        filter.application_id = caller.narrow(filter.application_id)?;
        if let Some(name) = assignee {
            let account = self.accounts.account_named(&name.to_lowercase()).await?;
            let Some(account) = account else {
                return Ok(FindingPage::default());
            };
            filter.assignee = Some(AssigneeFilter::Of(account.id));
        }
        let store = self.findings.clone();
        let read = async move { store.findings(&filter).await };
        self.reads.read(caller, read).await
    }

    /// The finding of a record, if the caller may see it.
    pub(crate) async fn finding(&self, caller: &Caller, id: RecordId) -> Result<Finding, ApiError> {
        let store = self.findings.clone();
        let read = async move { store.finding(id).await };
        let found = self.reads.read(caller, read).await?;
        found
            .filter(|finding| caller.sees(Some(finding.application_id)))
            .ok_or(ApiError::NotFound)
    }

    /// What was changed of a finding that the caller sees, the latest first.
    pub(crate) async fn finding_history(
        &self,
        caller: &Caller,
        finding: &Finding,
    ) -> Result<Vec<FindingEvent>, ApiError> {
        let (store, id) = (self.findings.clone(), finding.id);
        let read = async move { store.finding_history(id).await };
        self.reads.read(caller, read).await
    }

    /// Decides about one finding; gives it as it is then.
    pub(crate) async fn triage(
        &self,
        caller: &Caller,
        id: RecordId,
        triage: Triage,
    ) -> Result<Finding, ApiError> {
        caller.must_have(&[Scope::Triage])?;
        triage.check()?;
        let owner = self.finding(caller, id).await?.application_id;
        let assignee = self.assignee(caller, &triage).await?;
        let bound = assignee.as_ref().and_then(|account| account.application_id);
        if bound.is_some_and(|bound| bound != owner) {
            return Err(FieldProblem::new("assignee", NO_ACCOUNT).into());
        }
        let action = self.audit.admit(caller, Action::FindingTriage)?;
        let target = Target::Record(id, owner);
        let entry = action.entry(caller, target, triage.details().into());
        let reach = Reach {
            targets: FindingTargets::Records(vec![id]),
            application_id: Some(owner),
        };
        let change = change(caller, triage, reach, assignee);
        match self.findings.change_findings(change, Some(entry)).await? {
            0 => Err(ApiError::NotFound),
            _ => self.finding(caller, id).await,
        }
    }

    /// Decides about many findings at once; gives the number of those that there are, and that the caller and the
    /// assignee may see.
    pub(crate) async fn triage_many(
        &self,
        caller: &Caller,
        many: ManyFindings,
        triage: Triage,
    ) -> Result<u64, ApiError> {
        caller.must_have(&[Scope::Triage])?;
        triage.check()?;
        let mut details = triage.details();
        let targets = match many {
            ManyFindings::Records(ids) => {
                if ids.is_empty() || ids.len() > MOST_NAMED {
                    return Err(FieldProblem::new("ids", "must be 1 to 200 identifiers").into());
                }
                details.insert("findings".to_owned(), ids.len().into());
                FindingTargets::Records(ids)
            }
            ManyFindings::AlikeTo(id) => {
                self.finding(caller, id)
                    .await
                    .map_err(|error| match error {
                        ApiError::NotFound => FieldProblem::new("alike_to", NO_FINDING).into(),
                        other => other,
                    })?;
                details.insert("alike_to".to_owned(), id.to_string().into());
                details.insert("most".to_owned(), MOST_ALIKE.into());
                FindingTargets::AlikeTo(id)
            }
        };
        let assignee = self.assignee(caller, &triage).await?;
        let bound = assignee.as_ref().and_then(|account| account.application_id);
        let reach = Reach {
            targets,
            application_id: caller.bound_to().or(bound),
        };
        let action = self.audit.admit(caller, Action::FindingsTriage)?;
        let target = Target::Findings(reach.application_id);
        let entry = action.entry(caller, target, details.into());
        let change = change(caller, triage, reach, assignee);
        Ok(self.findings.change_findings(change, Some(entry)).await?)
    }

    /// The account that somebody names to look after findings.
    async fn assignee(
        &self,
        caller: &Caller,
        triage: &Triage,
    ) -> Result<Option<Account>, ApiError> {
        let Some(Some(name)) = &triage.assignee else {
            return Ok(None);
        };
        let account = self.accounts.account_named(&name.to_lowercase()).await?;
        let may_decide =
            |account: &Account| account.disabled_at_ms.is_none() && account.role != Role::Developer;
        let is_within_reach = |account: &Account| {
            let (own, bound) = (account.application_id, caller.bound_to());
            own.is_none() || bound.is_none() || own == bound
        };
        match account.filter(|account| may_decide(account) && is_within_reach(account)) {
            Some(account) => Ok(Some(account)),
            None => Err(FieldProblem::new("assignee", NO_ACCOUNT).into()),
        }
    }
}

/// The findings that a change is about, and the only application of which it takes any.
struct Reach {
    targets: FindingTargets,
    application_id: Option<ApplicationId>,
}

fn change(
    caller: &Caller,
    triage: Triage,
    reach: Reach,
    assignee: Option<Account>,
) -> FindingChange {
    let assignee = assignee.map(|account| Assignee {
        id: account.id,
        name: account.name,
    });
    FindingChange {
        targets: reach.targets,
        application_id: reach.application_id,
        state: triage.state,
        reason: triage.reason,
        assignee: triage.assignee.is_some().then_some(assignee),
        note: triage.note.map(|note| note.trim().to_owned()),
        actor: caller.name.clone(),
        at_ms: now_ms(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn wrong(triage: &Triage) -> String {
        triage
            .check()
            .err()
            .map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn closing_takes_a_reason_and_the_reason_other_a_note() {
        let closed = Triage {
            state: Some(FindingState::FalseAlarm),
            ..Triage::default()
        };
        assert_eq!(wrong(&closed), "reason: is required to close a finding");
        let other = Triage {
            reason: Some(FindingReason::Other),
            ..closed
        };
        assert_eq!(wrong(&other), "note: is required with the reason other");
        let noted = Triage {
            note: Some("a test of the bot".to_owned()),
            ..other
        };
        assert_eq!(wrong(&noted), "");
        let open = Triage {
            state: Some(FindingState::Open),
            ..noted.clone()
        };
        assert_eq!(wrong(&open), "reason: is for findings that are closed");
        assert!(!wrong(&Triage::default()).is_empty());
        let long = Triage {
            note: Some("x".repeat(LONGEST_NOTE + 1)),
            ..noted
        };
        assert!(wrong(&long).starts_with("note: "));
    }

    #[test]
    fn the_audit_log_gets_no_note() {
        let triage = Triage {
            note: Some("of anna".to_owned()),
            assignee: Some(None),
            ..Triage::default()
        };
        let details = Value::from(triage.details());
        assert_eq!(details, json!({"assignee": null, "noted": true}));
    }
}
