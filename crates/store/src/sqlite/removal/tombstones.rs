//! Adds and removes tombstones of erased users. Inserting refuses their records (`records::erased_users`).

use crate::error::StoreError;
use crate::removal::{Erasure, TombstoneStore};
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
    async fn add_tombstone(&self, erasure: &Erasure) -> Result<Uuid, StoreError> {
        let erasure = erasure.clone();
        self.writer
            .write(move |connection| Box::pin(add(connection, erasure)))
            .await
    }

    async fn remove_tombstone(&self, id: Uuid) -> Result<bool, StoreError> {
        self.writer
            .write(move |connection| Box::pin(remove(connection, id)))
            .await
    }
}

async fn add(connection: &mut SqliteConnection, erasure: Erasure) -> Result<Uuid, StoreError> {
    let id = sqlx::query_scalar(ADD)
        .bind(erasure.id)
        .bind(Erasure::user_hash(&erasure.user_id).to_vec())
        .bind(erasure.application_id.map(|id| id.0))
        .bind(erasure.at_ms)
        .fetch_one(connection)
        .await?;
    Ok(id)
}

async fn remove(connection: &mut SqliteConnection, id: Uuid) -> Result<bool, StoreError> {
    let query = sqlx::query("DELETE FROM erased_users WHERE id = ?1").bind(id);
    Ok(query.execute(connection).await?.rows_affected() > 0)
}
