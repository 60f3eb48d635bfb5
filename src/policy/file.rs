//! Policies of the configuration file, for fleets without a store (CONTRACT 16, 34 `applications`).
//! They were checked with the rest of the configuration and change with it only.

use super::{Content, PolicyStore, PolicyStoreError};
use async_trait::async_trait;
use monitor_model::{ApplicationPolicy, StoredPolicy};
use tokio::sync::watch;

/// The list as the configuration has it.
pub struct FileStore {
    list: watch::Receiver<Vec<ApplicationPolicy>>,
    /// So that the list stays where nobody ever changes it.
    _changes: FileList,
}

/// Whoever reads the configuration again.
#[derive(Clone)]
pub struct FileList(watch::Sender<Vec<ApplicationPolicy>>);

impl FileStore {
    /// The list of `applications:`, and the way to change it.
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
    /// Puts another list in the place of the present one.
    pub fn replace(&self, applications: Vec<ApplicationPolicy>) {
        self.0.send_replace(applications);
    }
}

#[async_trait]
impl PolicyStore for FileStore {
    fn name(&self) -> &'static str {
        "file"
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
        // The next read is to see it too.
        self.list.mark_changed();
    }
}
