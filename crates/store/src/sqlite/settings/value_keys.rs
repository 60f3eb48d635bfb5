//! The SQL of the keys of found values.

use super::audit;
use crate::error::StoreError;
use crate::settings::audit::AuditEntry;
use crate::settings::value_keys::{MOST_VALUE_KEYS, ValueKey, ValueKeyStore};
use crate::sql::found_values::{KEYS, value_key};
use crate::sqlite::store::SqliteStore;
use async_trait::async_trait;
use sqlx::SqliteConnection;

const ADD: &str = "
    INSERT INTO value_keys (id, secret, created_at_ms)
    SELECT coalesce(max(id), 0) + 1, ?1, ?2 FROM value_keys RETURNING id";
const FORGET: &str = "DELETE FROM value_keys WHERE id <= ?1";

/// A key with the entry of its making.
struct NewKey {
    secret: [u8; 32],
    created_at_ms: i64,
    audit: Option<AuditEntry>,
}

#[async_trait]
impl ValueKeyStore for SqliteStore {
    async fn value_keys(&self) -> Result<Vec<ValueKey>, StoreError> {
        let rows = sqlx::query(KEYS).fetch_all(&self.lookups).await?;
        rows.iter().map(value_key).collect()
    }

    async fn add_value_key(
        &self,
        secret: [u8; 32],
        created_at_ms: i64,
        audit: Option<AuditEntry>,
    ) -> Result<i64, StoreError> {
        let new = NewKey {
            secret,
            created_at_ms,
            audit,
        };
        self.writer
            .write(move |connection| Box::pin(add(connection, new)))
            .await
    }
}

async fn add(connection: &mut SqliteConnection, new: NewKey) -> Result<i64, StoreError> {
    let id: i64 = sqlx::query_scalar(ADD)
        .bind(new.secret.to_vec())
        .bind(new.created_at_ms)
        .fetch_one(&mut *connection)
        .await?;
    let forget = sqlx::query(FORGET).bind(id - MOST_VALUE_KEYS);
    forget.execute(&mut *connection).await?;
    audit::append(connection, new.audit).await?;
    Ok(id)
}
