//! Policies in the analysis server's store: setting one, and handing all of them to the gateway of
//! the same process as its policy store (CONTRACT 16). What a policy does is the gateway's.

use crate::policy::{Content, PolicyStore, PolicyStoreError};
use async_trait::async_trait;
use monitor_model::{ApplicationId, Policy, PolicyProblems};
use monitor_store::{Store, StoreError};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::watch;

/// A change by another process is live in under a second.
const LOOK: Duration = Duration::from_millis(500);

/// Why a policy was not set.
#[derive(Debug, Error)]
pub enum SetPolicyError {
    /// The policy says what cannot be meant.
    #[error("{0}")]
    Refused(PolicyProblems),
    /// There is no such application.
    #[error("no application has this id")]
    UnknownApplication,
    /// The store cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub(super) async fn set(
    store: &dyn Store,
    application: ApplicationId,
    policy: Policy,
) -> Result<(), SetPolicyError> {
    policy
        .check()
        .map_err(|problems| SetPolicyError::Refused(PolicyProblems(problems)))?;
    match store.set_policy(application, Some(policy)).await? {
        true => Ok(()),
        false => Err(SetPolicyError::UnknownApplication),
    }
}

/// The store of this process as the gateway's policy store.
pub(super) struct LocalPolicies {
    store: Arc<dyn Store>,
    written: watch::Receiver<()>,
    seen: Option<i64>,
}

impl LocalPolicies {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        let written = store.policy_written();
        Self {
            store,
            written,
            seen: None,
        }
    }

    async fn read_now(&mut self) -> Result<Content, StoreError> {
        // The count first: a change between the two reads is found by the next one.
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
    fn name(&self) -> &'static str {
        "sqlite"
    }

    async fn read(&mut self) -> Result<Content, PolicyStoreError> {
        match self.read_now().await {
            // The process ends; what is in force stays so.
            Err(StoreError::Closed) => Ok(Content::Unchanged),
            other => other.map_err(|error| PolicyStoreError(error.to_string())),
        }
    }

    async fn changed(&mut self) {
        // Over early only when the store is gone, which is no change either.
        if let Ok(Err(_)) = tokio::time::timeout(LOOK, self.written.changed()).await {
            tokio::time::sleep(LOOK).await;
        }
    }
}
