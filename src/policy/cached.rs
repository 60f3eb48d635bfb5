//! The snapshot in which every call looks up its policy, without a lock, a wait or an allocation (CONTRACT 14).
//! The `refresher` fills it, and a reload with what the configuration file lists.

use super::snapshot::{Entry, Found, PolicyFault, PolicySnapshot};
use super::spent::{BudgetCount, SpentBudgets};
use arc_swap::ArcSwap;
use monitor_model::{ApplicationId, ApplicationPolicy, StoredPolicy};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The policies of one process; clones share them.
#[derive(Clone)]
pub struct Policies(pub(super) Arc<PolicyCache>);

/// What an operator is shown (CONTRACT 35).
#[derive(Clone, Debug)]
pub struct PolicyStatus {
    /// `none`, `file`, `sqlite`, `postgres`, `file+sqlite` or `file+postgres`.
    pub store: Cow<'static, str>,
    /// Applications with a policy in force.
    pub applications: usize,
    /// Time since the store was last read, by this process or by the one that wrote the copy on disk; None if it
    /// never was, or if there is no store.
    pub age: Option<Duration>,
    /// Whether the policies in force come from the copy on disk.
    pub from_copy: bool,
    /// Why the store cannot be read at present.
    pub store_error: Option<String>,
    /// Stored policies that are not in force.
    pub faults: Vec<PolicyFault>,
    /// Applications whose stored policy is not in force, because the configuration file has a different one.
    pub overridden: Vec<ApplicationId>,
}

/// What the clones of [`Policies`] share.
pub(super) struct PolicyCache {
    pub(super) store: Cow<'static, str>,
    pub(super) snapshot: ArcSwap<PolicySnapshot>,
    /// What the configuration file lists, before all that is read. Held while a snapshot is replaced.
    listed: Mutex<Vec<ApplicationPolicy>>,
    pub(super) health: Mutex<Health>,
}

/// The state of the store, for operators.
#[derive(Default)]
pub(super) struct Health {
    pub(super) read_at: Option<SystemTime>,
    pub(super) from_copy: bool,
    pub(super) store_error: Option<String>,
    pub(super) faults: Vec<PolicyFault>,
    pub(super) overridden: Vec<ApplicationId>,
    pub(super) budget_count: BudgetCount,
}

impl Policies {
    /// Without a store and a list: no application has a policy.
    pub fn none() -> Self {
        let policies = Self::new("none".into());
        policies.0.snapshot.store(Arc::new(PolicySnapshot {
            known: true,
            ..PolicySnapshot::default()
        }));
        policies
    }

    pub(super) fn new(store: Cow<'static, str>) -> Self {
        Self(Arc::new(PolicyCache {
            store,
            snapshot: ArcSwap::default(),
            listed: Mutex::default(),
            health: Mutex::default(),
        }))
    }

    /// Puts the policies of the configuration file in force, at once. An application that the file does not list any
    /// more keeps its policy until the store has been read again.
    pub fn list(&self, applications: Vec<ApplicationPolicy>) {
        let mut listed = self.0.listed();
        *listed = applications;
        let mut next = PolicySnapshot::clone(&self.0.snapshot.load());
        next.overlay(&listed);
        self.0.snapshot.store(Arc::new(next));
    }

    /// The policies as they are now.
    pub fn snapshot(&self) -> Arc<PolicySnapshot> {
        self.0.snapshot.load_full()
    }

    /// As [`PolicySnapshot::lookup`], in the policies as they are now.
    pub fn lookup(&self, application_id: Option<&str>) -> Found {
        self.0.snapshot.load().lookup(application_id)
    }

    /// As [`PolicySnapshot::find`], in the policies as they are now.
    pub fn find(&self, id: ApplicationId) -> Found {
        self.0.snapshot.load().find(id)
    }

    /// Time since the store was last read; see [`PolicyStatus::age`].
    pub fn age(&self) -> Option<Duration> {
        self.0.health().age()
    }

    /// The count of budgets that the store had when it was last read.
    pub fn budget_count(&self) -> BudgetCount {
        self.0.health().budget_count
    }

    /// What an operator is shown.
    pub fn status(&self) -> PolicyStatus {
        let snapshot = self.0.snapshot.load();
        let in_force = |entry: &&Entry| entry.policy.is_some();
        let health = self.0.health();
        PolicyStatus {
            store: self.0.store.clone(),
            applications: snapshot.applications.values().filter(in_force).count(),
            age: health.age(),
            from_copy: health.from_copy,
            store_error: health.store_error.clone(),
            faults: health.faults.clone(),
            overridden: health.overridden.clone(),
        }
    }
}

impl PolicyCache {
    pub(super) fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listed(&self) -> MutexGuard<'_, Vec<ApplicationPolicy>> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts what a store holds in force, and before it what the file lists. Where these are not all rows, other
    /// applications may have a policy too. Gives the faulty rows, and whether anything has changed.
    pub(super) fn replace(
        &self,
        rows: Vec<StoredPolicy>,
        is_complete: bool,
    ) -> (Vec<PolicyFault>, bool) {
        let listed = self.listed();
        let last = self.snapshot.load_full();
        let (mut next, faults) = last.next(rows);
        next.known = is_complete;
        next.overlay(&listed);
        let differs = !last.known || !next.same_as(&last);
        self.snapshot.store(Arc::new(next));
        (faults, differs)
    }

    /// Puts what was counted of budgets in force.
    pub(super) fn set_spent(&self, spent: Arc<SpentBudgets>) {
        let _replacing = self.listed();
        let last = self.snapshot.load_full();
        if Arc::ptr_eq(&last.spent, &spent) || last.spent == spent {
            return;
        }
        let mut next = PolicySnapshot::clone(&last);
        next.spent = spent;
        self.snapshot.store(Arc::new(next));
    }
}

impl Health {
    fn age(&self) -> Option<Duration> {
        let read_at = self.read_at?;
        // After the clock was set back a copy looks younger than it is, never older.
        Some(read_at.elapsed().unwrap_or_default())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::policy::{BudgetVerdict, BudgetsOf};
    use monitor_model::{
        AppMode, Budget, BudgetAction, BudgetPer, BudgetState, BudgetWindow, Policy,
    };

    fn good(id: ApplicationId, phrase: &str) -> StoredPolicy {
        StoredPolicy {
            id,
            name: "a".to_owned(),
            policy: Ok(Policy::new(AppMode::Sync, phrase)),
        }
    }

    fn bad(id: ApplicationId) -> StoredPolicy {
        StoredPolicy {
            id,
            name: "a".to_owned(),
            policy: Policy::from_json("{}").map(|_| unreachable!()),
        }
    }

    fn filled(rows: Vec<StoredPolicy>) -> (Policies, Vec<PolicyFault>) {
        let policies = Policies::new("file".into());
        let faults = refill(&policies, rows);
        (policies, faults)
    }

    fn refill(policies: &Policies, rows: Vec<StoredPolicy>) -> Vec<PolicyFault> {
        let (next, faults) = policies.0.snapshot.load().next(rows);
        policies.0.snapshot.store(Arc::new(next));
        faults
    }

    fn phrase(found: Found) -> String {
        match found {
            Found::Policy(policy) => policy.phrase.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_application_is_found_however_its_uuid_is_written() {
        let id: ApplicationId = "6f1c0000-0000-4000-8000-00000000abcd".parse().unwrap();
        let (policies, _) = filled(vec![good(id, "no")]);
        for text in [
            "6f1c0000-0000-4000-8000-00000000abcd",
            "6F1C0000-0000-4000-8000-00000000ABCD",
            " 6f1c00000000400080000000 0000abcd"
                .replace(' ', "")
                .as_str(),
        ] {
            assert_eq!(phrase(policies.lookup(Some(text))), "no", "{text}");
        }
        for text in [None, Some(""), Some("support-bot"), Some("6f1c")] {
            assert_eq!(policies.lookup(text), Found::NoPolicy, "{text:?}");
        }
        assert_eq!(policies.find(ApplicationId::random()), Found::NoPolicy);
    }

    #[test]
    fn before_anything_was_read_only_calls_without_an_application_are_sure() {
        let policies = Policies::new("postgres".into());
        let id = ApplicationId::random().to_string();
        assert_eq!(policies.lookup(Some(&id)), Found::NeverKnown);
        assert_eq!(policies.lookup(None), Found::NoPolicy);
        assert_eq!(Policies::none().lookup(Some(&id)), Found::NoPolicy);
        assert_eq!(policies.age(), None);
    }

    #[test]
    fn what_the_file_lists_is_in_force_at_once_and_whatever_a_store_says_later() {
        let (a, b) = (ApplicationId::random(), ApplicationId::random());
        let (policies, _) = filled(vec![good(a, "stored")]);
        let listed = |id, phrase: &str| ApplicationPolicy {
            id,
            name: "a".to_owned(),
            policy: Policy::new(AppMode::Sync, phrase),
        };
        let before = policies.snapshot();
        policies.list(vec![listed(a, "listed"), listed(b, "added")]);
        for rows in [vec![], vec![good(a, "stored")], vec![good(b, "stored")]] {
            assert_eq!(phrase(policies.find(a)), "listed");
            assert_eq!(phrase(policies.find(b)), "added");
            policies.0.replace(rows, true);
        }
        policies.list(vec![listed(a, "listed")]);
        assert_eq!(phrase(policies.find(b)), "added");
        policies.0.replace(vec![good(b, "stored")], true);
        assert_eq!(phrase(policies.find(b)), "stored");
        // A call that has begun keeps those that it began with.
        assert_eq!(phrase(before.find(a)), "stored");
        assert_eq!(before.find(b), Found::NoPolicy);
    }

    #[test]
    fn a_policy_that_turns_bad_keeps_its_last_good_version() {
        let (a, b) = (ApplicationId::random(), ApplicationId::random());
        let (policies, faults) = filled(vec![good(a, "first"), bad(b)]);
        assert!(faults.len() == 1 && faults[0].id == b && !faults[0].keeps_last_good);
        assert_eq!(policies.find(b), Found::NeverKnown);
        let faults = refill(&policies, vec![bad(a), good(b, "mended")]);
        assert!(faults.len() == 1 && faults[0].id == a && faults[0].keeps_last_good);
        assert_eq!(phrase(policies.find(a)), "first");
        assert_eq!(phrase(policies.find(b)), "mended");
        refill(&policies, vec![good(b, "mended")]);
        assert_eq!(policies.find(a), Found::NoPolicy);
    }

    #[test]
    fn what_is_spent_is_in_force_at_once_and_stays_when_policies_change() {
        let id = ApplicationId::random();
        let budget = Budget {
            per: BudgetPer::Application,
            window: BudgetWindow::Day,
            tokens: Some(1),
            cost: None,
            action: BudgetAction::Stop,
            warn_at: 80,
        };
        let with_budget = |phrase: &str| {
            let mut row = good(id, phrase);
            row.policy = row.policy.map(|policy| Policy {
                budgets: vec![budget],
                ..policy
            });
            row
        };
        let (policies, _) = filled(vec![with_budget("first")]);
        let is_refused = || {
            let application = || Some(id.to_string());
            let nobody = || BudgetsOf::All(String::new());
            let found = policies.snapshot().budget_verdict(application, nobody, 0);
            found.is_some_and(|it| matches!(it.verdict, BudgetVerdict::Refuse { .. }))
        };
        assert!(!is_refused());
        let state = BudgetState {
            budget,
            until_ms: 1,
            spent: vec![String::new()],
            warned: vec![],
        };
        policies
            .0
            .set_spent(Arc::new(SpentBudgets::from([(id, vec![state])])));
        assert!(is_refused());
        refill(&policies, vec![with_budget("second")]);
        assert!(is_refused());
        refill(&policies, vec![good(id, "without")]);
        assert!(!is_refused());
        refill(&policies, vec![with_budget("third")]);
        policies.0.set_spent(Arc::default());
        assert!(!is_refused());
    }
}
