//! All policies at one moment, and what a call finds in them (CONTRACT 14).

use super::spent::{self, Budgeted, BudgetsOf, SpentBudgets};
use monitor_model::{
    ApplicationId, ApplicationPolicy, CallLimits, Policy, PolicyProblems, StoredPolicy,
};
use std::collections::HashMap;
use std::sync::Arc;

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The last valid policy of the application.
    Policy(Arc<Policy>),
    /// There is no application id, it is not a UUID, or the store has no policy for it.
    NoPolicy,
    /// The policy is unknown: the store was not reachable since the start and there is no copy on disk, or its
    /// policy for this application was never readable. The call is async, and is counted and logged.
    NeverKnown,
}

/// An application whose calls are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limited {
    /// The application to limit.
    pub id: ApplicationId,
    /// Its limits, as the policy states them.
    pub limits: CallLimits,
}

/// An application whose stored policy is not in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFault {
    /// The application whose policy is at fault.
    pub id: ApplicationId,
    /// What is wrong, without the texts of the policy.
    pub reason: PolicyProblems,
    /// Whether an earlier valid version is in force instead.
    pub keeps_last_good: bool,
}

/// All policies at one moment. A call uses the same ones from its beginning to its end.
#[derive(Clone, Default)]
pub struct PolicySnapshot {
    /// Whether a store or a copy was read; if not, an application that is missing here is unknown.
    pub(super) known: bool,
    pub(super) applications: HashMap<ApplicationId, Entry>,
    /// Whether any policy limits the rate of calls.
    pub(super) has_limits: bool,
    /// The budgets that calls are warned about or refused for.
    pub(super) spent: Arc<SpentBudgets>,
}

/// One application; None where its policy was never readable.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) name: Box<str>,
    pub(super) policy: Option<Arc<Policy>>,
}

impl Entry {
    fn has_limits(&self) -> bool {
        let policy = self.policy.as_ref();
        policy.is_some_and(|policy| policy.limits.is_some())
    }
}

impl PolicySnapshot {
    /// The policy of the application that X-Application-Id or MONITOR_APPLICATION_ID names (CONTRACT 7, 14).
    pub fn lookup(&self, application_id: Option<&str>) -> Found {
        match application_id.and_then(|text| text.parse().ok()) {
            Some(id) => self.find(id),
            None => Found::NoPolicy,
        }
    }

    /// Whether the application is known: it has a policy, or nobody can tell.
    pub fn knows(&self, application_id: &str) -> bool {
        self.lookup(Some(application_id)) != Found::NoPolicy
    }

    /// The policy of an application.
    pub fn find(&self, id: ApplicationId) -> Found {
        match self.applications.get(&id) {
            Some(Entry {
                policy: Some(policy),
                ..
            }) => Found::Policy(policy.clone()),
            Some(_) => Found::NeverKnown,
            None if self.known => Found::NoPolicy,
            None => Found::NeverKnown,
        }
    }

    /// The call limits of an application; None if it has none. Does not evaluate `application_id` while no
    /// application has limits.
    pub fn limits(&self, application_id: impl FnOnce() -> Option<String>) -> Option<Limited> {
        if !self.has_limits {
            return None;
        }
        let id = application_id()?.parse().ok()?;
        let policy = self.applications.get(&id)?.policy.as_ref()?;
        policy.limits.map(|limits| Limited { id, limits })
    }

    /// Whether some budget is spent, or nearly.
    pub fn has_spent_budgets(&self) -> bool {
        !self.spent.is_empty()
    }

    /// What the budgets of the application in this header, and of the call's user, mean for the call.
    pub fn budget_verdict(
        &self,
        application_id: impl FnOnce() -> Option<String>,
        whose: impl FnOnce() -> BudgetsOf,
        now_ms: i64,
    ) -> Option<Budgeted> {
        let id: ApplicationId = application_id()?.parse().ok()?;
        let states = self.spent.get(&id)?;
        let policy = self.applications.get(&id)?.policy.as_ref()?;
        let verdict = spent::verdict(policy, states, &whose(), now_ms);
        verdict.map(|verdict| Budgeted { id, verdict })
    }

    /// Puts these policies before all others.
    pub(super) fn overlay(&mut self, listed: &[ApplicationPolicy]) {
        for ApplicationPolicy { id, name, policy } in listed {
            let last = self.applications.get(id).and_then(|it| it.policy.clone());
            let same = last.filter(|last| **last == *policy);
            let entry = Entry {
                name: name.as_str().into(),
                policy: Some(same.unwrap_or_else(|| Arc::new(policy.clone()))),
            };
            self.applications.insert(*id, entry);
        }
        self.has_limits = self.applications.values().any(Entry::has_limits);
    }

    /// The snapshot after this one if the store holds `rows`, and the faulty ones among them. If a policy cannot
    /// be read, the last valid one stays in force.
    pub(super) fn next(&self, rows: Vec<StoredPolicy>) -> (Self, Vec<PolicyFault>) {
        let mut faults = Vec::new();
        let mut applications = HashMap::with_capacity(rows.len());
        for StoredPolicy { id, name, policy } in rows {
            let last = self.applications.get(&id);
            let last = last.and_then(|entry| entry.policy.as_ref());
            let policy = match policy {
                Ok(policy) => match last {
                    Some(last) if **last == policy => Some(last.clone()),
                    _ => Some(Arc::new(policy)),
                },
                Err(reason) => {
                    let keeps_last_good = last.is_some();
                    faults.push(PolicyFault {
                        id,
                        reason,
                        keeps_last_good,
                    });
                    last.cloned()
                }
            };
            let name = name.into_boxed_str();
            applications.insert(id, Entry { name, policy });
        }
        let next = Self {
            known: true,
            has_limits: applications.values().any(Entry::has_limits),
            applications,
            spent: self.spent.clone(),
        };
        (next, faults)
    }

    /// The valid policies, to be written to disk, ordered by id.
    pub(super) fn good(&self) -> Vec<ApplicationPolicy> {
        let mut good: Vec<ApplicationPolicy> = self
            .applications
            .iter()
            .filter_map(|(id, entry)| {
                Some(ApplicationPolicy {
                    id: *id,
                    name: entry.name.to_string(),
                    policy: entry.policy.as_deref()?.clone(),
                })
            })
            .collect();
        good.sort_by_key(|application| application.id);
        good
    }

    /// Whether a copy of `other` would have the same content.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        self.applications.len() == other.applications.len()
            && self.applications.iter().all(|(id, entry)| {
                let twin = other.applications.get(id);
                twin.is_some_and(|twin| twin.name == entry.name && twin.policy == entry.policy)
            })
    }
}
