//! The SQL of policies (CONTRACT 16).

use crate::error::StoreError;
use crate::settings::policies::ApplicationPolicyStore;
use crate::sql::settings::stored_policy;
use crate::sqlite::store::SqliteStore;
use async_trait::async_trait;
use monitor_model::{ApplicationId, CountedBudgets, Policy, StoredPolicy};
use sqlx::SqliteConnection;
use tokio::sync::watch;

#[async_trait]
impl ApplicationPolicyStore for SqliteStore {
    async fn policies(&self) -> Result<Vec<StoredPolicy>, StoreError> {
        let rows = sqlx::query("SELECT application_id, name, policy FROM gateway_policies")
            .fetch_all(&self.lookups)
            .await?;
        rows.iter().map(stored_policy).collect()
    }

    async fn policy_changes(&self) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar("SELECT count FROM policy_changes")
            .fetch_one(&self.lookups)
            .await?)
    }

    async fn set_policy(
        &self,
        id: ApplicationId,
        policy: Option<Policy>,
    ) -> Result<bool, StoreError> {
        let policy = policy.map(|policy| policy.to_json());
        self.write_setting(move |connection| Box::pin(set(connection, id, policy)))
            .await
    }

    async fn publish_budgets(
        &self,
        _counted: &[(ApplicationId, CountedBudgets)],
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn withdraw_budgets(&self, _but: &[ApplicationId]) -> Result<(), StoreError> {
        Ok(())
    }

    fn policy_written(&self) -> watch::Receiver<()> {
        self.policy_written.subscribe()
    }
}

/// False if there is no such application.
async fn set(
    connection: &mut SqliteConnection,
    id: ApplicationId,
    policy: Option<String>,
) -> Result<bool, StoreError> {
    let done = sqlx::query("UPDATE applications SET policy = ?2 WHERE id = ?1")
        .bind(id.0)
        .bind(policy)
        .execute(connection)
        .await?;
    Ok(done.rows_affected() > 0)
}
