//! Policies of the applications as the analysis server stores them (§2.5, CONTRACT 16).

use crate::error::StoreError;
use async_trait::async_trait;
use monitor_model::{ApplicationId, CountedBudgets, Policy, StoredPolicy};
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

    /// Hands gateways of other processes what was counted of the budgets of these applications. A store that no other
    /// process reads keeps nothing of it.
    async fn publish_budgets(
        &self,
        counted: &[(ApplicationId, CountedBudgets)],
    ) -> Result<(), StoreError>;

    /// Takes back what gateways of other processes were handed, of all applications but these.
    async fn withdraw_budgets(&self, but: &[ApplicationId]) -> Result<(), StoreError>;

    /// Signals every policy that this process sets.
    fn policy_written(&self) -> watch::Receiver<()>;
}
