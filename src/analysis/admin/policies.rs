//! Policies in the store of the analysis server: setting one, and serving all of them to the gateway of the
//! same process (CONTRACT 16). The gateway applies them.

use super::Admin;
use super::applications::bare_application;
use crate::policy::{Content, CountedPolicyStore, FileList, PolicyStore, PolicyStoreError};
use async_trait::async_trait;
use monitor_model::{ApplicationId, ApplicationPolicy, Policy, PolicyProblems, StoredPolicy};
use monitor_store::{ApplicationPolicyStore, StoreError};
use serde_json::json;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::watch;

/// A change by another process takes effect in under a second.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Why a policy was not set.
#[derive(Debug, Error)]
pub enum SetPolicyError {
    /// The policy contradicts itself.
    #[error("{0}")]
    Refused(PolicyProblems),
    /// There is no such application.
    #[error("no application has this id")]
    UnknownApplication,
    /// The store cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Admin {
    /// Sets an application's policy. It is in force for the gateway of this process at once, for any other
    /// in under a second (CONTRACT 16).
    ///
    /// # Errors
    /// [`SetPolicyError`]; nothing is changed then.
    pub async fn set_policy(
        &self,
        application: ApplicationId,
        policy: Policy,
    ) -> Result<(), SetPolicyError> {
        policy
            .check()
            .map_err(|problems| SetPolicyError::Refused(PolicyProblems(problems)))?;
        match self.policies.set_policy(application, Some(policy)).await? {
            true => {
                self.until_in_force().await;
                Ok(())
            }
            false => Err(SetPolicyError::UnknownApplication),
        }
    }

    /// Waits until the gateway of this process has the policies that are stored now.
    pub(super) async fn until_in_force(&self) {
        let count = async { self.policies.policy_changes().await.ok() };
        self.in_force.reach(count).await;
    }

    /// Every application that has a policy, with what is wrong where it cannot be read.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn policies(&self) -> Result<Vec<StoredPolicy>, StoreError> {
        self.policies.policies().await
    }

    /// The policies of this store for the gateway of the same process.
    pub fn policy_store(&self) -> Box<dyn PolicyStore> {
        let store = self.policies.clone();
        Box::new(LocalPolicies::new(store, self.in_force.report()))
    }

    /// A policy store for the gateway of this process, with the budgets that are counted here.
    pub(crate) fn with_own_count(&self, store: Box<dyn PolicyStore>) -> Box<dyn PolicyStore> {
        Box::new(CountedPolicyStore::new(store, self.budgets.subscribe()))
    }

    /// Puts the policies of a configuration file in force before those of the store.
    pub fn list_in_file(&self, list: FileList) {
        self.file_policies.set(list);
    }

    /// Creates the applications of a configuration file that the store does not have, so that their messages are
    /// accepted; their policies stay in the file.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written.
    pub async fn add_listed(&self, listed: &[ApplicationPolicy]) -> Result<(), StoreError> {
        for application in listed {
            if self
                .applications
                .application(application.id)
                .await?
                .is_none()
            {
                self.add_bare(application).await?;
            }
        }
        self.application_cache.invalidate_all();
        Ok(())
    }

    async fn add_bare(&self, listed: &ApplicationPolicy) -> Result<(), StoreError> {
        let bare = bare_application(listed.id, listed.name.clone(), json!({}));
        let added = self
            .applications
            .add_application(bare, "configuration", None)
            .await;
        // Another server may have created it at the same time.
        match added.is_err() && self.applications.application(listed.id).await?.is_some() {
            true => Ok(()),
            false => added,
        }
    }
}

/// The store of this process, as the policy store of the gateway.
struct LocalPolicies {
    store: Arc<dyn ApplicationPolicyStore>,
    written: watch::Receiver<()>,
    seen: Option<i64>,
    in_force: watch::Sender<Option<i64>>,
}

impl LocalPolicies {
    fn new(store: Arc<dyn ApplicationPolicyStore>, in_force: watch::Sender<Option<i64>>) -> Self {
        let written = store.policy_written();
        Self {
            store,
            written,
            seen: None,
            in_force,
        }
    }

    async fn read_now(&mut self) -> Result<Content, StoreError> {
        // The count first: a change between the two reads is seen by the next one.
        let count = self.store.policy_changes().await?;
        if self.seen == Some(count) {
            return Ok(Content::Unchanged);
        }
        let policies = self.store.policies().await?;
        self.seen = Some(count);
        Ok(Content::All(policies))
    }
}

#[async_trait]
impl PolicyStore for LocalPolicies {
    fn name(&self) -> Cow<'static, str> {
        "sqlite".into()
    }

    async fn read(&mut self) -> Result<Content, PolicyStoreError> {
        match self.read_now().await {
            // The process is shutting down; the policies in force stay.
            Err(StoreError::Closed) => Ok(Content::Unchanged),
            other => other.map_err(|error| PolicyStoreError(error.to_string())),
        }
    }

    async fn changed(&mut self) {
        // What was read last has been put in force since.
        self.in_force.send_replace(self.seen);
        // This ends early only when the store is gone, which is not a change either.
        if let Ok(Err(_)) = tokio::time::timeout(POLL_INTERVAL, self.written.changed()).await {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}
