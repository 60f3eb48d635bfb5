//! Adds and removes tombstones of erased users. Inserting refuses their records (`records::erased_users`).

use crate::error::StoreError;
use crate::removal::{Erasure, TombstoneStore};
use crate::settings::audit::AuditEntry;
use crate::sqlite::settings::audit;
use crate::sqlite::store::SqliteStore;
use async_trait::async_trait;
use sqlx::SqliteConnection;
use uuid::Uuid;

const ADD: &str = "
    INSERT INTO erased_users (id, user_hash, application_id, at_ms) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (user_hash, coalesce(application_id, x'')) DO UPDATE SET at_ms = excluded.at_ms
    RETURNING id";

#[async_trait]
impl TombstoneStore for SqliteStore {
    async fn add_tombstone(
        &self,
        erasure: &Erasure,
        audit: Option<AuditEntry>,
    ) -> Result<Uuid, StoreError> {
        let erasure = erasure.clone();
        self.writer
            .write(move |connection| Box::pin(add(connection, erasure, audit)))
            .await
    }

    async fn remove_tombstone(
        &self,
        id: Uuid,
        audit: Option<AuditEntry>,
    ) -> Result<bool, StoreError> {
        self.writer
            .write(move |connection| Box::pin(remove(connection, id, audit)))
            .await
    }
}

async fn add(
    connection: &mut SqliteConnection,
    erasure: Erasure,
    audit: Option<AuditEntry>,
) -> Result<Uuid, StoreError> {
    let id: Uuid = sqlx::query_scalar(ADD)
        .bind(erasure.id)
        .bind(Erasure::user_hash(&erasure.user_id).to_vec())
        .bind(erasure.application_id.map(|id| id.0))
        .bind(erasure.at_ms)
        .fetch_one(&mut *connection)
        .await?;
    let audit = audit.map(|entry| entry.about(id));
    audit::append(connection, audit).await?;
    Ok(id)
}

async fn remove(
    connection: &mut SqliteConnection,
    id: Uuid,
    audit: Option<AuditEntry>,
) -> Result<bool, StoreError> {
    let query = sqlx::query("DELETE FROM erased_users WHERE id = ?1").bind(id);
    let is_removed = query.execute(&mut *connection).await?.rows_affected() > 0;
    if is_removed {
        audit::append(connection, audit).await?;
    }
    Ok(is_removed)
}
