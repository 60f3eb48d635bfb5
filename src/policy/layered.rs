//! The policies of the configuration file together with those of a store (CONTRACT 47). For an application that both
//! have, the file's policy is in force.

use super::{BudgetCount, Content, FileStore, PolicyStore, PolicyStoreError, SpentBudgets};
use async_trait::async_trait;
use log::warn;
use monitor_model::{ApplicationId, ApplicationPolicy, StoredPolicy};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// The most applications that a warning names.
const MOST_NAMED: usize = 10;

/// How long changed policies of the file wait for a read of the store.
const FIRST_READ: Duration = Duration::from_secs(3);

/// A list in the configuration file over a store.
pub struct LayeredPolicyStore {
    file: FileStore,
    store: Box<dyn PolicyStore>,
    /// What the file had when it was last read.
    listed: Vec<StoredPolicy>,
    /// What the store had when it was last read, by this process or by the one that wrote the copy on disk; None if
    /// it never was.
    stored: Option<Vec<StoredPolicy>>,
    /// The applications for which the store has another policy than the file.
    overridden: Vec<ApplicationId>,
    /// One of them has changed since all policies were last handed over.
    is_new: bool,
}

impl LayeredPolicyStore {
    /// The policies of `file`, and those of `store` that it does not name.
    pub fn new(file: FileStore, store: Box<dyn PolicyStore>) -> Self {
        Self {
            file,
            store,
            listed: Vec::new(),
            stored: None,
            overridden: Vec::new(),
            is_new: false,
        }
    }

    /// All policies; warns about stored ones that are not in force since the last call.
    fn all(&mut self) -> Vec<StoredPolicy> {
        let listed: HashMap<_, _> = self.listed.iter().map(|it| (it.id, it)).collect();
        let (named, rest): (Vec<_>, Vec<_>) = self
            .stored
            .iter()
            .flatten()
            .partition(|it| listed.contains_key(&it.id));
        let differs = |it: &&StoredPolicy| listed[&it.id].policy != it.policy;
        let overridden: Vec<_> = named.into_iter().filter(differs).map(|it| it.id).collect();
        if overridden != self.overridden {
            warn_overridden(&overridden);
        }
        let all = self.listed.iter().chain(rest).cloned().collect();
        self.overridden = overridden;
        all
    }

    /// All policies, if they have changed since they were last handed over.
    fn changes(&mut self) -> Option<Vec<StoredPolicy>> {
        std::mem::take(&mut self.is_new).then(|| self.all())
    }
}

#[async_trait]
impl PolicyStore for LayeredPolicyStore {
    fn name(&self) -> Cow<'static, str> {
        format!("{}+{}", self.file.name(), self.store.name()).into()
    }

    async fn read(&mut self) -> Result<Content, PolicyStoreError> {
        if let Content::All(listed) = self.file.read().await? {
            self.listed = listed;
            self.is_new = true;
        }
        let read = match self.is_new {
            true => {
                let read = tokio::time::timeout(FIRST_READ, self.store.read()).await;
                let late = || Err(PolicyStoreError(format!("no answer within {FIRST_READ:?}")));
                read.unwrap_or_else(|_| late())
            }
            false => self.store.read().await,
        };
        if let Ok(
            Content::All(stored)
            | Content::Stale {
                policies: stored, ..
            },
        ) = &read
        {
            self.stored = Some(stored.clone());
            self.is_new = true;
        }
        match (read, self.changes()) {
            (Ok(Content::Stale { error, .. }) | Err(error), Some(policies)) => Ok(Content::Stale {
                policies,
                is_complete: self.stored.is_some(),
                error,
            }),
            (Err(error), None) => Err(error),
            (Ok(_), Some(policies)) => Ok(Content::All(policies)),
            (Ok(_), None) => Ok(Content::Unchanged),
        }
    }

    fn take_copy(&mut self, policies: &[StoredPolicy]) {
        self.stored = Some(policies.to_vec());
    }

    fn to_keep(&self, in_force: Vec<ApplicationPolicy>) -> Vec<ApplicationPolicy> {
        let listed: HashSet<_> = self.listed.iter().map(|it| it.id).collect();
        let mut kept = in_force;
        kept.retain(|it| !listed.contains(&it.id));
        let stored = self.stored.iter().flatten();
        let overridden = stored.filter(|it| listed.contains(&it.id));
        kept.extend(overridden.filter_map(|it| {
            Some(ApplicationPolicy {
                id: it.id,
                name: it.name.clone(),
                policy: it.policy.clone().ok()?,
            })
        }));
        kept
    }

    async fn changed(&mut self) {
        tokio::select! {
            () = self.file.changed() => {}
            () = self.store.changed() => {}
        }
    }

    fn overridden(&self) -> Vec<ApplicationId> {
        self.overridden.clone()
    }

    async fn read_spent(&mut self) {
        self.store.read_spent().await;
    }

    fn spent(&self) -> Arc<SpentBudgets> {
        self.store.spent()
    }

    fn budget_count(&self) -> BudgetCount {
        self.store.budget_count()
    }
}

fn warn_overridden(applications: &[ApplicationId]) {
    if applications.is_empty() {
        return;
    }
    let named = applications.iter().take(MOST_NAMED);
    let named: Vec<String> = named.map(ToString::to_string).collect();
    let more = match applications.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    warn!(
        target: "policy",
        "stored policies are not in force, because the configuration file (applications) has others for {}{more}",
        named.join(", "),
    );
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::policy::{Found, Policies};
    use monitor_model::{AppMode, Policy};
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    /// A store whose reads are scripted; behind the last one nothing has changed.
    #[derive(Clone, Default)]
    struct Scripted(Arc<Mutex<VecDeque<Result<Content, PolicyStoreError>>>>);

    #[async_trait]
    impl PolicyStore for Scripted {
        fn name(&self) -> Cow<'static, str> {
            "scripted".into()
        }

        async fn read(&mut self) -> Result<Content, PolicyStoreError> {
            let next = self.0.lock().unwrap().pop_front();
            next.unwrap_or(Ok(Content::Unchanged))
        }

        async fn changed(&mut self) {
            std::future::pending().await
        }
    }

    impl Scripted {
        fn then(&self, read: Result<Content, PolicyStoreError>) {
            self.0.lock().unwrap().push_back(read);
        }
    }

    fn id(number: u128) -> ApplicationId {
        ApplicationId(uuid::Uuid::from_u128(number))
    }

    fn failure() -> Result<Content, PolicyStoreError> {
        Err(PolicyStoreError("the disk is away".into()))
    }

    fn listed(phrase: &str) -> Vec<ApplicationPolicy> {
        vec![ApplicationPolicy {
            id: id(1),
            name: String::new(),
            policy: Policy::new(AppMode::Sync, phrase),
        }]
    }

    fn stored() -> Content {
        Content::All(vec![StoredPolicy {
            id: id(2),
            name: String::new(),
            policy: Ok(Policy::new(AppMode::Sync, "stored")),
        }])
    }

    /// The phrases in force, of the application of the file and of that of the store.
    fn phrases(policies: &Policies) -> [Option<String>; 2] {
        [1, 2].map(|number| {
            let found = policies.find(id(number));
            match found {
                Found::Policy(policy) => Some(policy.phrase.clone()),
                _ => None,
            }
        })
    }

    #[tokio::test]
    async fn a_changed_file_is_in_force_while_the_store_cannot_be_read() {
        let store = Scripted::default();
        let (file, list) = FileStore::new(listed("first"));
        let layered = LayeredPolicyStore::new(file, Box::new(store.clone()));
        assert_eq!(layered.name(), "file+scripted");
        let (policies, mut refresher) = Policies::over(Box::new(layered), None);
        let limit = std::time::Duration::from_secs(5);
        let some = |phrase: &str| Some(phrase.to_owned());
        // Before the first read of the store nothing is known of its applications.
        for _ in 0..2 {
            store.then(failure());
            refresher.first_read(limit).await;
            assert_eq!(phrases(&policies), [some("first"), None]);
            assert_eq!(policies.find(id(2)), Found::NeverKnown);
        }
        store.then(Ok(stored()));
        refresher.first_read(limit).await;
        assert_eq!(policies.find(id(3)), Found::NoPolicy);
        assert_eq!(phrases(&policies), [some("first"), some("stored")]);
        assert_eq!(policies.status().store_error, None);
        list.replace(listed("stricter"));
        store.then(failure());
        store.then(failure());
        for _ in 0..2 {
            refresher.first_read(limit).await;
            assert_eq!(phrases(&policies), [some("stricter"), some("stored")]);
            let error = policies.status().store_error;
            assert_eq!(error.as_deref(), Some("the disk is away"));
        }
        refresher.first_read(limit).await;
        assert_eq!(phrases(&policies), [some("stricter"), some("stored")]);
        assert_eq!(policies.status().store_error, None);
    }

    #[tokio::test]
    async fn the_copy_on_disk_stands_in_for_the_store_and_not_for_the_file() {
        let limit = std::time::Duration::from_secs(5);
        let folder =
            std::env::temp_dir().join(format!("monitor-policies-{}", uuid::Uuid::new_v4()));
        let open = |phrase: &str, store: &Scripted| {
            let (file, _) = FileStore::new(listed(phrase));
            let layered = LayeredPolicyStore::new(file, Box::new(store.clone()));
            Policies::over(Box::new(layered), Some(&folder))
        };
        let store = Scripted::default();
        store.then(Ok(stored()));
        let (_, mut refresher) = open("first", &store);
        refresher.first_read(limit).await;
        let store = Scripted::default();
        store.then(failure());
        let (policies, mut refresher) = open("stricter", &store);
        refresher.first_read(limit).await;
        let status = policies.status();
        assert!(status.overridden.is_empty(), "{:?}", status.overridden);
        let some = |phrase: &str| Some(phrase.to_owned());
        assert_eq!(phrases(&policies), [some("stricter"), some("stored")]);
        assert_eq!(policies.find(id(3)), Found::NoPolicy);
        let status = policies.status();
        assert!(status.from_copy && status.store_error.is_some());
        // What the file had is nothing that the store had.
        let store = Scripted::default();
        store.then(failure());
        let (policies, _) = Policies::over(Box::new(store), Some(&folder));
        assert_eq!(phrases(&policies), [None, some("stored")]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// A database that takes connections and answers nothing.
    struct Silent;

    #[async_trait]
    impl PolicyStore for Silent {
        fn name(&self) -> Cow<'static, str> {
            "silent".into()
        }

        async fn read(&mut self) -> Result<Content, PolicyStoreError> {
            std::future::pending().await
        }

        async fn changed(&mut self) {
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn the_file_is_in_force_before_a_store_that_is_silent_has_answered() {
        let (file, _) = FileStore::new(listed("first"));
        let mut layered = LayeredPolicyStore::new(file, Box::new(Silent));
        layered.take_copy(&[]);
        let (policies, mut refresher) = Policies::over(Box::new(layered), None);
        refresher.first_read(FIRST_READ * 2).await;
        assert_eq!(phrases(&policies), [Some("first".to_owned()), None]);
        assert!(policies.status().store_error.is_some());
    }
}
