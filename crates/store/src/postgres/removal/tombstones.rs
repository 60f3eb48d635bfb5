//! Adds and removes tombstones of erased users. Inserting refuses their records (`records::erased_users`).

use crate::error::StoreError;
use crate::postgres::pool::with_timeout;
use crate::postgres::records::erased_users::LOCK;
use crate::postgres::settings::audit;
use crate::postgres::store::PostgresStore;
use crate::removal::{Erasure, TombstoneStore};
use crate::settings::audit::AuditEntry;
use async_trait::async_trait;
use sqlx::Connection as _;
use uuid::Uuid;

const ADD: &str = "
    INSERT INTO erased_users (id, user_hash, application_id, at_ms) VALUES ($1, $2, $3, $4)
    ON CONFLICT (user_hash, coalesce(application_id, '00000000-0000-0000-0000-000000000000'))
    DO UPDATE SET at_ms = excluded.at_ms RETURNING id";

#[async_trait]
impl TombstoneStore for PostgresStore {
    async fn add_tombstone(
        &self,
        erasure: &Erasure,
        audit: Option<AuditEntry>,
    ) -> Result<Uuid, StoreError> {
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        let id = with_timeout(async {
            let mut transaction = connection.begin().await?;
            sqlx::raw_sql(LOCK).execute(&mut *transaction).await?;
            let query = sqlx::query_scalar(ADD)
                .bind(erasure.id)
                .bind(Erasure::user_hash(&erasure.user_id).to_vec())
                .bind(erasure.application_id.map(|id| id.0))
                .bind(erasure.at_ms);
            let id: Uuid = query.fetch_one(&mut *transaction).await?;
            let audit = audit.map(|entry| entry.about(id));
            audit::append(&mut transaction, audit).await?;
            transaction.commit().await?;
            Ok(id)
        })
        .await?;
        pooled.release();
        Ok(id)
    }

    async fn remove_tombstone(
        &self,
        id: Uuid,
        audit: Option<AuditEntry>,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query("DELETE FROM erased_users WHERE id = $1 RETURNING id").bind(id);
        Ok(!self.change(query, audit).await?.is_empty())
    }
}
