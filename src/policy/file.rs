//! Policies of the configuration file, for fleets without a store (CONTRACT 16, 34 `applications`).
//! They were checked with the rest of the configuration and change with it only.

use super::{Content, PolicyStore, PolicyStoreError};
use crate::model::{ApplicationPolicy, StoredPolicy};
use async_trait::async_trait;

/// A fixed list.
pub struct FileStore(Option<Vec<ApplicationPolicy>>);

impl FileStore {
    /// The list of `applications:`.
    pub fn new(applications: Vec<ApplicationPolicy>) -> Self {
        Self(Some(applications))
    }
}

#[async_trait]
impl PolicyStore for FileStore {
    fn name(&self) -> &'static str {
        "file"
    }

    async fn read(&mut self) -> Result<Content, PolicyStoreError> {
        let Some(applications) = self.0.take() else {
            return Ok(Content::Unchanged);
        };
        let stored = applications.into_iter().map(|application| StoredPolicy {
            id: application.id,
            name: application.name,
            policy: Ok(application.policy),
        });
        Ok(Content::All(stored.collect()))
    }

    async fn changed(&mut self) {
        std::future::pending().await
    }
}
