//! The policies of the configuration file together with those of a store (CONTRACT 16). For an application that both
//! have, the file's policy is in force.

use super::{Content, FileStore, PolicyStore, PolicyStoreError};
use async_trait::async_trait;
use monitor_model::{ApplicationId, StoredPolicy};
use std::borrow::Cow;
use std::collections::HashSet;

/// A list in the configuration file over a store.
pub struct LayeredPolicyStore {
    file: FileStore,
    store: Box<dyn PolicyStore>,
    /// What the file had when it was last read.
    listed: Vec<StoredPolicy>,
    /// What the store had when it was last read; None if it never was.
    stored: Option<Vec<StoredPolicy>>,
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
            is_new: false,
        }
    }

    fn all(&self) -> Vec<StoredPolicy> {
        let listed: HashSet<ApplicationId> = self.listed.iter().map(|it| it.id).collect();
        let stored = self.stored.iter().flatten();
        let rest = stored.filter(|it| !listed.contains(&it.id));
        self.listed.iter().chain(rest).cloned().collect()
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
        let read = self.store.read().await;
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
        // Without the store's policies it is not known which application has none.
        let changes = match self.stored {
            Some(_) => self.changes(),
            None => None,
        };
        match (read, changes) {
            (Ok(Content::Stale { error, .. }) | Err(error), Some(policies)) => {
                Ok(Content::Stale { policies, error })
            }
            (Err(error), None) => Err(error),
            (Ok(_), Some(policies)) => Ok(Content::All(policies)),
            (Ok(_), None) => Ok(Content::Unchanged),
        }
    }

    async fn changed(&mut self) {
        tokio::select! {
            () = self.file.changed() => {}
            () = self.store.changed() => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::policy::{Found, Policies};
    use monitor_model::{AppMode, ApplicationPolicy, Policy};
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
        // Before the first read of the store nothing is known of its applications.
        store.then(failure());
        refresher.first_read(limit).await;
        assert_eq!(phrases(&policies), [None, None]);
        store.then(Ok(stored()));
        refresher.first_read(limit).await;
        let some = |phrase: &str| Some(phrase.to_owned());
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
}
