//! Exchanges of erased users: their tombstones, and what came before their messages without a name.

use super::delete::{delete, delete_findings};
use crate::error::StoreError;
use crate::postgres::records::erased_users::LOCK;
use crate::postgres::values::{escaped, text_key};
use crate::removal::{ErasedExchange, Erasure};
use crate::sql::columns::Columns as _;
use monitor_model::ApplicationId;
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection};

/// The most records of one step; those that an erasure looks at are at least those that it removes.
const STEP: i64 = 1_000;

const KNOWN: &str =
    "SELECT EXISTS (SELECT FROM erased_users WHERE user_hash = $1 AND application_id = $2)";
const ADD: &str = "
    INSERT INTO erased_users AS e (id, user_hash, application_id, at_ms)
    SELECT * FROM unnest($1::uuid[], $2::bytea[], $3::uuid[], $4::bigint[])
    ON CONFLICT (user_hash, coalesce(application_id, '00000000-0000-0000-0000-000000000000'))
    DO UPDATE SET at_ms = excluded.at_ms WHERE e.at_ms < excluded.at_ms";
/// Exchanges of the next records of a user that an erasure removes.
const OF_USER: &str = "
    SELECT DISTINCT application_id, exchange_id FROM (
        SELECT application_id, exchange_id, created_at_ms FROM records WHERE user_key = $1 AND user_id = $2
            AND ($3::uuid IS NULL OR application_id = $3) ORDER BY seq LIMIT $4) AS next
    WHERE exchange_id IS NOT NULL AND created_at_ms >= $5";
const FORGET_WAITING: &str =
    "DELETE FROM waiting_attachments WHERE application_id = $1 AND exchange_id = $2";
const NAMELESS_CALLS: &str = "
    SELECT seq FROM records WHERE application_id = $1 AND exchange_id = $2
        AND tool_name IS NOT NULL AND user_id IS NULL ORDER BY seq LIMIT $3";
const FORGET: &str = "DELETE FROM erased_users WHERE substr(id::text, 15, 1) = '8' AND at_ms < $1";

/// Refuses what comes without a name into the exchanges of a user whose records are about to be removed.
pub(super) async fn refuse_of_user(
    connection: &mut PgConnection,
    erasure: &Erasure,
) -> Result<(), StoreError> {
    let user = escaped(&erasure.user_id).into_owned();
    let rows = sqlx::query(OF_USER)
        .bind(text_key(&user))
        .bind(&user)
        .bind(erasure.application_id.map(|id| id.0))
        .bind(STEP)
        .bind(erasure.at_ms.saturating_sub(ErasedExchange::KEPT_MS))
        .persistent(false)
        .fetch_all(&mut *connection)
        .await?;
    let exchange = |row: &PgRow| {
        Ok::<_, sqlx::Error>(ErasedExchange {
            application_id: ApplicationId(row.id("application_id")?),
            id: row.text("exchange_id")?,
            at_ms: erasure.at_ms,
        })
    };
    let exchanges: Vec<_> = rows.iter().map(exchange).collect::<Result<_, _>>()?;
    refuse(connection, &exchanges).await
}

/// Removes what an exchange has without a name, and refuses more of it.
pub(super) async fn erase(
    connection: &mut PgConnection,
    exchange: &ErasedExchange,
) -> Result<(), StoreError> {
    let known = sqlx::query_scalar(KNOWN)
        .bind(ErasedExchange::hash(&exchange.id).to_vec())
        .bind(exchange.application_id.0);
    let is_known: bool = known.fetch_one(&mut *connection).await?;
    if !is_known {
        refuse(connection, std::slice::from_ref(exchange)).await?;
    }
    let stored_id = escaped(&exchange.id);
    let forget = sqlx::query(FORGET_WAITING).bind(exchange.application_id.0);
    let forget = forget.bind(&*stored_id);
    forget.execute(&mut *connection).await?;
    loop {
        let mut transaction = connection.begin().await?;
        let seqs = sqlx::query_scalar(NAMELESS_CALLS)
            .bind(exchange.application_id.0)
            .bind(&*stored_id)
            .bind(STEP)
            .persistent(false);
        let seqs: Vec<i64> = seqs.fetch_all(&mut *transaction).await?;
        if seqs.is_empty() {
            return Ok(());
        }
        delete_findings(&mut transaction, &seqs).await?;
        delete(&mut transaction, &seqs).await?;
        transaction.commit().await?;
    }
}

/// Adds tombstones. Behind them nothing arrives, and what arrived before is committed: batches and files share the lock.
async fn refuse(
    connection: &mut PgConnection,
    exchanges: &[ErasedExchange],
) -> Result<(), StoreError> {
    if exchanges.is_empty() {
        return Ok(());
    }
    let all = || exchanges.iter();
    let mut transaction = connection.begin().await?;
    sqlx::raw_sql(LOCK).execute(&mut *transaction).await?;
    sqlx::query(ADD)
        .bind(all().map(ErasedExchange::tombstone_id).collect::<Vec<_>>())
        .bind(
            all()
                .map(|one| ErasedExchange::hash(&one.id).to_vec())
                .collect::<Vec<_>>(),
        )
        .bind(all().map(|one| one.application_id.0).collect::<Vec<_>>())
        .bind(all().map(|one| one.at_ms).collect::<Vec<_>>())
        .execute(&mut *transaction)
        .await?;
    Ok(transaction.commit().await?)
}

/// Removes tombstones of exchanges that nothing is expected to come for.
pub(super) async fn forget(connection: &mut PgConnection, now_ms: i64) -> Result<(), StoreError> {
    let before = now_ms.saturating_sub(ErasedExchange::KEPT_MS);
    let query = sqlx::query(FORGET).bind(before);
    query.execute(connection).await?;
    Ok(())
}
