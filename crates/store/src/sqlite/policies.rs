//! The SQL of policies (CONTRACT 16).

use super::SqliteStore;
use super::rows::{bytes, uuid};
use super::write::Write;
use super::writer::Written;
use crate::{PolicyTable, StoreError};
use async_trait::async_trait;
use monitor_model::{ApplicationId, Policy, StoredPolicy};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};
use tokio::sync::watch;

#[async_trait]
impl PolicyTable for SqliteStore {
    async fn policies(&self) -> Result<Vec<StoredPolicy>, StoreError> {
        let rows = sqlx::query("SELECT application_id, name, policy FROM gateway_policies")
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(stored_policy).collect()
    }

    async fn policy_changes(&self) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar("SELECT count FROM policy_changes")
            .fetch_one(&self.readers)
            .await?)
    }

    async fn set_policy(
        &self,
        id: ApplicationId,
        policy: Option<Policy>,
    ) -> Result<bool, StoreError> {
        let text = policy.map(|policy| policy.to_json());
        let written = self.writer.write(Write::Policy(id, text)).await?;
        self.policy_written.send_replace(());
        self.changes.written();
        Ok(!matches!(written, Written::Nothing))
    }

    fn policy_written(&self) -> watch::Receiver<()> {
        self.policy_written.subscribe()
    }
}

pub(super) async fn set(
    connection: &mut SqliteConnection,
    id: ApplicationId,
    policy: Option<String>,
) -> Result<Written, StoreError> {
    let done = sqlx::query("UPDATE applications SET policy = ?2 WHERE id = ?1")
        .bind(bytes(id.0))
        .bind(policy)
        .execute(connection)
        .await?;
    match done.rows_affected() {
        0 => Ok(Written::Nothing),
        _ => Ok(Written::New),
    }
}

fn stored_policy(row: &SqliteRow) -> Result<StoredPolicy, StoreError> {
    Ok(StoredPolicy {
        id: ApplicationId(uuid(row.try_get(0)?)?),
        name: row.try_get(1)?,
        policy: Policy::from_json(row.try_get(2)?),
    })
}
