//! Removing records: retention, erasure of users, and removed applications.

pub(super) mod erasure;
mod exchange;
pub(super) mod retention;
pub(super) mod tombstones;

use super::records::chain;
use super::store::SqliteStore;
use super::values::json_list;
use crate::error::StoreError;
use crate::removal::{
    Erased, ErasedExchange, Erasure, RecordRemoval, Removed, RetentionLimits, RetentionRun,
    RetentionScope, StoredAmount,
};
use async_trait::async_trait;
use monitor_model::ApplicationId;
use sqlx::SqliteConnection;

const DELETE: &str = include_str!("delete_records.sql");

#[async_trait]
impl RecordRemoval for SqliteStore {
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
        let result = retention::enforce(&self.writer, scope, &mut removed).await;
        RetentionRun::ended(removed, result)
    }

    async fn stored_amount(&self) -> Result<StoredAmount, StoreError> {
        retention::stored_amount(&self.readers).await
    }

    async fn erase_step(&self, erasure: &Erasure) -> Result<Erased, StoreError> {
        let erasure = erasure.clone();
        self.writer
            .write_and_empty_log(move |connection| {
                Box::pin(async move {
                    exchange::refuse_of_user(connection, &erasure).await?;
                    erasure::step(connection, &erasure).await
                })
            })
            .await
    }

    async fn erase_exchange(&self, exchange: &ErasedExchange) -> Result<(), StoreError> {
        let exchange = exchange.clone();
        let erase = self.writer.write(move |connection| {
            Box::pin(async move { exchange::erase(connection, &exchange).await })
        });
        if erase.await? {
            let empty = self
                .writer
                .write_and_empty_log(|_| Box::pin(async { Ok(()) }));
            empty.await?;
        }
        Ok(())
    }
}

/// Deletes the records at these positions with everything that belongs to them.
pub(super) async fn delete(
    connection: &mut SqliteConnection,
    seqs: &[i64],
) -> Result<(), StoreError> {
    let seqs = json_list(seqs.iter().copied());
    chain::leave_stubs(connection, &seqs).await?;
    sqlx::query(DELETE).bind(seqs).execute(connection).await?;
    Ok(())
}
