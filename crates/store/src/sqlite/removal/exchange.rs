//! Exchanges of erased users: their tombstones, and what came before their messages without a name.

use super::delete;
use crate::error::StoreError;
use crate::removal::{ErasedExchange, Erasure};
use crate::sql::columns::Columns as _;
use monitor_model::ApplicationId;
use sqlx::SqliteConnection;

/// The most records that an erasure removes in one step.
const STEP: i64 = 500;

const ADD: &str = "
    INSERT INTO erased_users (id, user_hash, application_id, at_ms) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (user_hash, coalesce(application_id, x'')) DO UPDATE SET at_ms = max(at_ms, excluded.at_ms)";
/// Exchanges of the next records of a user that an erasure removes.
const OF_USER: &str = "
    SELECT DISTINCT application_id, exchange_id FROM (
        SELECT application_id, exchange_id, created_at_ms FROM records INDEXED BY records_by_user
        WHERE user_id = ?1 AND (?2 IS NULL OR application_id = ?2) ORDER BY seq LIMIT ?3)
    WHERE exchange_id IS NOT NULL AND created_at_ms >= ?4";
const FORGET_WAITING: &str =
    "DELETE FROM waiting_attachments WHERE application_id = ?1 AND exchange_id = ?2";
const NAMELESS_CALLS: &str = "
    SELECT seq FROM records INDEXED BY records_by_exchange
    WHERE application_id = ?1 AND exchange_id = ?2 AND tool_name IS NOT NULL AND user_id IS NULL";
const FORGET: &str = "DELETE FROM erased_users WHERE substr(hex(id), 13, 1) = '8' AND at_ms < ?1";

/// Refuses what comes without a name into the exchanges of a user whose records are about to be removed.
pub(super) async fn refuse_of_user(
    connection: &mut SqliteConnection,
    erasure: &Erasure,
) -> Result<(), StoreError> {
    let rows = sqlx::query(OF_USER)
        .bind(&*erasure.user_id)
        .bind(erasure.application_id.map(|id| id.0))
        .bind(STEP)
        .bind(erasure.at_ms.saturating_sub(ErasedExchange::KEPT_MS))
        .fetch_all(&mut *connection)
        .await?;
    for row in &rows {
        let exchange = ErasedExchange {
            application_id: ApplicationId(row.id("application_id")?),
            id: row.text("exchange_id")?,
            at_ms: erasure.at_ms,
        };
        refuse(connection, &exchange).await?;
    }
    Ok(())
}

/// Removes what an exchange has without a name, and refuses more of it. Whether records were removed.
pub(super) async fn erase(
    connection: &mut SqliteConnection,
    exchange: &ErasedExchange,
) -> Result<bool, StoreError> {
    refuse(connection, exchange).await?;
    let forget = sqlx::query(FORGET_WAITING).bind(exchange.application_id.0);
    let forget = forget.bind(&*exchange.id);
    forget.execute(&mut *connection).await?;
    let seqs = sqlx::query_scalar(NAMELESS_CALLS).bind(exchange.application_id.0);
    let seqs: Vec<i64> = seqs.bind(&*exchange.id).fetch_all(&mut *connection).await?;
    if seqs.is_empty() {
        return Ok(false);
    }
    delete(connection, &seqs).await?;
    Ok(true)
}

async fn refuse(
    connection: &mut SqliteConnection,
    exchange: &ErasedExchange,
) -> Result<(), StoreError> {
    sqlx::query(ADD)
        .bind(exchange.tombstone_id())
        .bind(ErasedExchange::hash(&exchange.id).to_vec())
        .bind(exchange.application_id.0)
        .bind(exchange.at_ms)
        .execute(connection)
        .await?;
    Ok(())
}

/// Removes tombstones of exchanges that nothing is expected to come for.
pub(super) async fn forget(
    connection: &mut SqliteConnection,
    now_ms: i64,
) -> Result<(), StoreError> {
    let before = now_ms.saturating_sub(ErasedExchange::KEPT_MS);
    let query = sqlx::query(FORGET).bind(before);
    query.execute(connection).await?;
    Ok(())
}
