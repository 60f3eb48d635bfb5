//! The SQL of policies (CONTRACT 16).

use crate::error::StoreError;
use crate::postgres::store::PostgresStore;
use crate::settings::policies::ApplicationPolicyStore;
use crate::sql::columns::Columns as _;
use crate::sql::settings::stored_policy;
use async_trait::async_trait;
use monitor_model::{ApplicationId, CountedBudgets, Policy, StoredPolicy};
use tokio::sync::watch;

const LIST: &str = "SELECT application_id, name, policy::text AS policy FROM gateway_policies";

/// Nothing of an application that was removed meanwhile. Servers that publish at once take the rows in one order.
const PUBLISH: &str = "
    INSERT INTO spent_budgets (application_id, states)
    SELECT known.id, counted.states FROM unnest($1::uuid[], $2::text[]) AS counted (id, states)
        JOIN applications AS known ON known.id = counted.id ORDER BY known.id
    ON CONFLICT (application_id) DO UPDATE SET states = excluded.states
        WHERE spent_budgets.states <> excluded.states
    RETURNING application_id";
const WITHDRAW_OTHERS: &str =
    "DELETE FROM spent_budgets WHERE application_id <> ALL ($1) RETURNING application_id";

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

    async fn publish_budgets(
        &self,
        counted: &[(ApplicationId, CountedBudgets)],
    ) -> Result<(), StoreError> {
        let ids: Vec<_> = counted.iter().map(|(id, _)| id.0).collect();
        // Names and numbers only: serialization has no failing case.
        let texts = counted
            .iter()
            .map(|(_, counted)| serde_json::to_string(counted));
        let texts: Vec<_> = texts.map(Result::unwrap_or_default).collect();
        self.all(sqlx::query(PUBLISH).bind(ids).bind(texts)).await?;
        Ok(())
    }

    async fn withdraw_budgets(&self, but: &[ApplicationId]) -> Result<(), StoreError> {
        let but: Vec<_> = but.iter().map(|id| id.0).collect();
        self.all(sqlx::query(WITHDRAW_OTHERS).bind(but)).await?;
        Ok(())
    }

    fn policy_written(&self) -> watch::Receiver<()> {
        self.policy_written.subscribe()
    }
}
