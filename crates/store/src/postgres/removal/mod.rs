//! Removing records: retention, erasure of users, and removed applications.

pub(super) mod cleanup;
mod delete;
pub(super) mod erasure;
mod exchange;
mod retention;
mod tombstones;
pub(super) mod totals;

use super::connect;
use super::partitions;
use super::pool::with_timeout;
use super::store::PostgresStore;
use crate::error::StoreError;
use crate::removal::{
    Erased, ErasedExchange, Erasure, RecordRemoval, Removed, RetentionLimits, RetentionRun,
    RetentionScope, StoredAmount,
};
use async_trait::async_trait;
use monitor_model::ApplicationId;
use sqlx::{Connection as _, PgConnection};

#[async_trait]
impl RecordRemoval for PostgresStore {
    async fn enforce_retention(
        &self,
        application: Option<ApplicationId>,
        limits: RetentionLimits,
        now_ms: i64,
    ) -> RetentionRun {
        let scope = RetentionScope {
            application,
            limits,
            now_ms,
        };
        let mut removed = Removed::default();
        if application.is_none() {
            removed.of_removed_applications = self.maintenance.take_cleared();
        }
        let result = self.enforce(scope, &mut removed).await;
        RetentionRun::ended(removed, result)
    }

    async fn stored_amount(&self) -> Result<StoredAmount, StoreError> {
        let rows = self.all(sqlx::query(retention::STORED_IN_ALL)).await?;
        let [row] = &rows[..] else {
            return Ok(StoredAmount::default());
        };
        Ok(retention::stored_amount(row)?)
    }

    async fn erase_step(&self, erasure: &Erasure) -> Result<Erased, StoreError> {
        if self.pool.is_closed() {
            return Err(StoreError::Closed);
        }
        let mut connection = self.connector.connect_for_maintenance().await?;
        exchange::refuse_of_user(&mut connection, erasure).await?;
        let mut transaction = connection.begin().await?;
        let erased = erasure::step(&mut transaction, erasure).await?;
        transaction.commit().await?;
        connect::close(connection).await;
        Ok(erased)
    }

    async fn erase_exchange(&self, exchange: &ErasedExchange) -> Result<(), StoreError> {
        let mut pooled = self.pool.acquire().await?;
        let erased = exchange::erase(pooled.connection(), exchange);
        with_timeout(async { Ok(erased.await) }).await??;
        pooled.release();
        Ok(())
    }
}

/// Deletes the records at these positions, in a database of this schema, with everything that belongs to them.
pub(super) async fn delete(
    connection: &mut PgConnection,
    seqs: &[i64],
    schema: i64,
) -> Result<(), StoreError> {
    let deleted = delete::delete_in_schema(connection, seqs, schema);
    deleted.await.map(drop)
}

impl PostgresStore {
    async fn enforce(
        &self,
        scope: RetentionScope,
        removed: &mut Removed,
    ) -> Result<(), StoreError> {
        if self.pool.is_closed() {
            return Err(StoreError::Closed);
        }
        let mut connection = self.connector.connect_for_maintenance().await?;
        retention::enforce(&mut connection, scope, removed).await?;
        if removed.records() > 0 {
            let days = partitions::days(&mut connection).await?;
            self.days.send_replace(days);
        }
        connect::close(connection).await;
        Ok(())
    }
}
