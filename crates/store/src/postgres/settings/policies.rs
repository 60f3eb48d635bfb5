//! The SQL of policies (CONTRACT 16).

use crate::error::StoreError;
use crate::policies::ApplicationPolicyStore;
use crate::postgres::store::PostgresStore;
use crate::sql::columns::Columns as _;
use crate::sql::settings::stored_policy;
use async_trait::async_trait;
use monitor_model::{ApplicationId, Policy, StoredPolicy};
use tokio::sync::watch;

const LIST: &str = "SELECT application_id, name, policy::text AS policy FROM gateway_policies";

#[async_trait]
impl ApplicationPolicyStore for PostgresStore {
    async fn policies(&self) -> Result<Vec<StoredPolicy>, StoreError> {
        let rows = self.look_up(sqlx::query(LIST)).await?;
        rows.iter().map(stored_policy).collect()
    }

    async fn policy_changes(&self) -> Result<i64, StoreError> {
        let query = sqlx::query("SELECT count FROM policy_changes");
        let rows = self.look_up(query).await?;
        let count = rows.first().map(|row| row.number("count")).transpose()?;
        Ok(count.unwrap_or_default())
    }

    async fn set_policy(
        &self,
        id: ApplicationId,
        policy: Option<Policy>,
    ) -> Result<bool, StoreError> {
        let query =
            sqlx::query("UPDATE applications SET policy = $2::jsonb WHERE id = $1 RETURNING id")
                .bind(id.0)
                .bind(policy.map(|policy| policy.to_json()));
        let changed = self.all(query).await?;
        self.policy_written.send_replace(());
        Ok(!changed.is_empty())
    }

    fn policy_written(&self) -> watch::Receiver<()> {
        self.policy_written.subscribe()
    }
}
