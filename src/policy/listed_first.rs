//! The policies of the configuration file together with those of a store (CONTRACT 16). For an application that both
//! have, the file's policy is in force.

use super::{Content, FileStore, PolicyStore, PolicyStoreError};
use async_trait::async_trait;
use monitor_model::{ApplicationId, StoredPolicy};
use std::collections::HashSet;

/// A list in the configuration file before a store.
pub struct ListedFirst {
    file: FileStore,
    store: Box<dyn PolicyStore>,
    /// What the file had when it was last read.
    listed: Vec<StoredPolicy>,
    /// What the store had when it was last read.
    stored: Vec<StoredPolicy>,
    /// One of them has changed since all policies were last handed over.
    is_new: bool,
}

impl ListedFirst {
    /// The policies of `file`, and those of `store` that it does not name.
    pub fn new(file: FileStore, store: Box<dyn PolicyStore>) -> Self {
        Self {
            file,
            store,
            listed: Vec::new(),
            stored: Vec::new(),
            is_new: false,
        }
    }

    fn all(&self) -> Vec<StoredPolicy> {
        let listed: HashSet<ApplicationId> = self.listed.iter().map(|it| it.id).collect();
        let rest = self.stored.iter().filter(|it| !listed.contains(&it.id));
        self.listed.iter().chain(rest).cloned().collect()
    }
}

#[async_trait]
impl PolicyStore for ListedFirst {
    fn name(&self) -> &'static str {
        "file+sqlite"
    }

    async fn read(&mut self) -> Result<Content, PolicyStoreError> {
        if let Content::All(listed) = self.file.read().await? {
            self.listed = listed;
            self.is_new = true;
        }
        // While the store cannot be read, all that was in force stays, also of the file.
        if let Content::All(stored) = self.store.read().await? {
            self.stored = stored;
            self.is_new = true;
        }
        Ok(match std::mem::take(&mut self.is_new) {
            true => Content::All(self.all()),
            false => Content::Unchanged,
        })
    }

    async fn changed(&mut self) {
        tokio::select! {
            () = self.file.changed() => {}
            () = self.store.changed() => {}
        }
    }
}
