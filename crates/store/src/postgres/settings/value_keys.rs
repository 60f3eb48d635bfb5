//! The SQL of the keys of found values.

use super::audit;
use crate::error::StoreError;
use crate::postgres::pool::with_timeout;
use crate::postgres::store::PostgresStore;
use crate::settings::audit::AuditEntry;
use crate::settings::value_keys::{MOST_VALUE_KEYS, ValueKey, ValueKeyStore};
use crate::sql::found_values::{KEYS, value_key};
use async_trait::async_trait;
use sqlx::Connection as _;

/// One key is made at a time.
const LOCK: &str = "LOCK TABLE value_keys IN SHARE ROW EXCLUSIVE MODE";
const ADD: &str = "
    INSERT INTO value_keys (id, secret, created_at_ms)
    SELECT coalesce(max(id), 0) + 1, $1, $2 FROM value_keys RETURNING id";
const FORGET: &str = "DELETE FROM value_keys WHERE id <= $1";

#[async_trait]
impl ValueKeyStore for PostgresStore {
    async fn value_keys(&self) -> Result<Vec<ValueKey>, StoreError> {
        let rows = self.look_up(sqlx::query(KEYS)).await?;
        rows.iter().map(value_key).collect()
    }

    async fn add_value_key(
        &self,
        secret: [u8; 32],
        created_at_ms: i64,
        audit: Option<AuditEntry>,
    ) -> Result<i64, StoreError> {
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        let id = with_timeout(async {
            let mut transaction = connection.begin().await?;
            sqlx::raw_sql(LOCK).execute(&mut *transaction).await?;
            let id: i64 = sqlx::query_scalar(ADD)
                .bind(secret.to_vec())
                .bind(created_at_ms)
                .fetch_one(&mut *transaction)
                .await?;
            let forget = sqlx::query(FORGET).bind(id - MOST_VALUE_KEYS);
            forget.execute(&mut *transaction).await?;
            audit::append(&mut transaction, audit).await?;
            transaction.commit().await?;
            Ok(id)
        })
        .await?;
        pooled.release();
        Ok(id)
    }
}
