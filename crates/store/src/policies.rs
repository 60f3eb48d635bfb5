//! Policies of the applications as the analysis server stores them (§2.5, CONTRACT 16).

use crate::error::StoreError;
use async_trait::async_trait;
use monitor_model::{ApplicationId, Policy, StoredPolicy};
use tokio::sync::watch;

/// The policy of each application.
#[async_trait]
pub trait ApplicationPolicyStore: Send + Sync {
    /// Every application that has a policy. A policy that cannot be read is an entry too.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read; the same holds for every method here.
    async fn policies(&self) -> Result<Vec<StoredPolicy>, StoreError>;

    /// A counter that grows with every change of a policy, whichever process makes the change.
    async fn policy_changes(&self) -> Result<i64, StoreError>;

    /// Sets the policy of an application, or removes it; false if the application does not exist.
    /// The constraints of the store refuse what [`Policy::check`] refuses.
    async fn set_policy(
        &self,
        id: ApplicationId,
        policy: Option<Policy>,
    ) -> Result<bool, StoreError>;

    /// Signals every policy that this process sets.
    fn policy_written(&self) -> watch::Receiver<()>;
}
