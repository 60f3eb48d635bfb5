//! Policies of the configuration file, for fleets without a store (CONTRACT 16, 34 `applications`).
//! They are validated with the rest of the configuration and change only with it.

use super::{Content, PolicyStore, PolicyStoreError};
use async_trait::async_trait;
use monitor_model::{ApplicationId, ApplicationPolicy, Budget, Policy, StoredPolicy};
use std::borrow::Cow;
use tokio::sync::watch;

/// The list in the configuration.
pub struct FileStore {
    list: watch::Receiver<Vec<ApplicationPolicy>>,
    /// Keeps the channel open if nobody else does.
    _changes: FileList,
}

/// Replaces the list when the configuration is reloaded.
#[derive(Clone)]
pub struct FileList(watch::Sender<Vec<ApplicationPolicy>>);

impl FileStore {
    /// A store over the list of `applications:`, and the handle that replaces the list.
    pub fn new(applications: Vec<ApplicationPolicy>) -> (Self, FileList) {
        let sender = watch::Sender::new(applications);
        let mut receiver = sender.subscribe();
        receiver.mark_changed();
        let changes = FileList(sender);
        let store = Self {
            list: receiver,
            _changes: changes.clone(),
        };
        (store, changes)
    }
}

impl FileList {
    /// The policy of an application, if it is listed.
    pub fn policy(&self, id: ApplicationId) -> Option<Policy> {
        let list = self.0.borrow();
        let listed = list.iter().find(|application| application.id == id);
        listed.map(|application| application.policy.clone())
    }

    /// The whole list.
    pub fn all(&self) -> Vec<ApplicationPolicy> {
        self.0.borrow().clone()
    }

    /// The budgets of every application that is listed; none of one without any.
    pub fn budgets(&self) -> Vec<(ApplicationId, Vec<Budget>)> {
        let list = self.0.borrow();
        let listed = list.iter();
        listed
            .map(|it| (it.id, it.policy.budgets.clone()))
            .collect()
    }

    /// Replaces the list.
    pub fn replace(&self, applications: Vec<ApplicationPolicy>) {
        self.0.send_replace(applications);
    }
}

#[async_trait]
impl PolicyStore for FileStore {
    fn name(&self) -> Cow<'static, str> {
        "file".into()
    }

    async fn read(&mut self) -> Result<Content, PolicyStoreError> {
        if !self.list.has_changed().unwrap_or(false) {
            return Ok(Content::Unchanged);
        }
        let applications = self.list.borrow_and_update().clone();
        let stored = applications.into_iter().map(|application| StoredPolicy {
            id: application.id,
            name: application.name,
            policy: Ok(application.policy),
        });
        Ok(Content::All(stored.collect()))
    }

    async fn changed(&mut self) {
        if self.list.changed().await.is_err() {
            return std::future::pending().await;
        }
        // The next read checks for the change too.
        self.list.mark_changed();
    }
}
