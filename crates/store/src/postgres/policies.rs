//! The SQL of policies (CONTRACT 16).

use super::PostgresStore;
use super::text::unshield;
use crate::{PolicyTable, StoreError};
use async_trait::async_trait;
use monitor_model::{ApplicationId, Policy, PolicyProblem, PolicyProblems, StoredPolicy};
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use tokio::sync::watch;

#[async_trait]
impl PolicyTable for PostgresStore {
    async fn policies(&self) -> Result<Vec<StoredPolicy>, StoreError> {
        let query = "SELECT application_id, name, policy::text FROM gateway_policies";
        let rows = self.all(sqlx::query(query)).await?;
        rows.iter().map(stored_policy).collect()
    }

    async fn policy_changes(&self) -> Result<i64, StoreError> {
        let query = sqlx::query("SELECT count FROM policy_changes");
        let rows = self.all(query).await?;
        let count = rows.first().map(|row| row.try_get(0)).transpose()?;
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

fn stored_policy(row: &PgRow) -> Result<StoredPolicy, StoreError> {
    let policy: Option<&str> = row.try_get(2)?;
    let empty = || PolicyProblems(vec![PolicyProblem::new("", "is empty")]);
    Ok(StoredPolicy {
        id: ApplicationId(row.try_get(0)?),
        name: unshield(row.try_get(1)?),
        policy: policy.ok_or_else(empty).and_then(Policy::from_json),
    })
}
