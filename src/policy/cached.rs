//! The snapshot in which every call looks up its policy, without a lock, a wait or an allocation (CONTRACT 14).
//! The `refresher` fills it.

use arc_swap::ArcSwap;
use monitor_model::{
    ApplicationId, ApplicationPolicy, CallLimits, Policy, PolicyProblems, StoredPolicy,
};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The policies of one process; clones share them.
#[derive(Clone)]
pub struct Policies(pub(super) Arc<PolicyCache>);

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
    pub(super) snapshot: ArcSwap<Snapshot>,
    pub(super) health: Mutex<Health>,
}

/// All policies at one moment.
#[derive(Default)]
pub(super) struct Snapshot {
    /// Whether a store or a copy was read; if not, an application that is missing here is unknown.
    pub(super) known: bool,
    pub(super) applications: HashMap<ApplicationId, Entry>,
    /// Whether any policy limits the rate of calls.
    pub(super) has_limits: bool,
}

/// One application; None where its policy was never readable.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) name: Box<str>,
    pub(super) policy: Option<Arc<Policy>>,
}

/// The state of the store, for operators.
#[derive(Default)]
pub(super) struct Health {
    pub(super) read_at: Option<SystemTime>,
    pub(super) from_copy: bool,
    pub(super) store_error: Option<String>,
    pub(super) faults: Vec<PolicyFault>,
    pub(super) overridden: Vec<ApplicationId>,
}

impl Policies {
    /// Without a store and a list: no application has a policy.
    pub fn none() -> Self {
        let policies = Self::new("none".into());
        policies.0.snapshot.store(Arc::new(Snapshot {
            known: true,
            ..Snapshot::default()
        }));
        policies
    }

    pub(super) fn new(store: Cow<'static, str>) -> Self {
        Self(Arc::new(PolicyCache {
            store,
            snapshot: ArcSwap::default(),
            health: Mutex::default(),
        }))
    }

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
        let snapshot = self.0.snapshot.load();
        match snapshot.applications.get(&id) {
            Some(Entry {
                policy: Some(policy),
                ..
            }) => Found::Policy(policy.clone()),
            Some(_) => Found::NeverKnown,
            None if snapshot.known => Found::NoPolicy,
            None => Found::NeverKnown,
        }
    }

    /// The call limits of an application; None if it has none. Does not evaluate `application_id` while no
    /// application has limits.
    pub fn limits(&self, application_id: impl FnOnce() -> Option<String>) -> Option<Limited> {
        let snapshot = self.0.snapshot.load();
        if !snapshot.has_limits {
            return None;
        }
        let id = application_id()?.parse().ok()?;
        let policy = snapshot.applications.get(&id)?.policy.as_ref()?;
        policy.limits.map(|limits| Limited { id, limits })
    }

    /// Time since the store was last read; see [`PolicyStatus::age`].
    pub fn age(&self) -> Option<Duration> {
        self.0.health().age()
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
}

impl Health {
    fn age(&self) -> Option<Duration> {
        let read_at = self.read_at?;
        // After the clock was set back a copy looks younger than it is, never older.
        Some(read_at.elapsed().unwrap_or_default())
    }
}

impl Snapshot {
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
        let has_limits =
            |entry: &Entry| entry.policy.as_ref().is_some_and(|it| it.limits.is_some());
        let next = Self {
            known: true,
            has_limits: applications.values().any(has_limits),
            applications,
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use monitor_model::AppMode;

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
}
