//! Erasing the records of a user.

use super::delete::delete;
use crate::error::StoreError;
use crate::postgres::values::{escaped, text_key};
use crate::removal::{Erased, Erasure};
use sqlx::PgConnection;

/// The most records that one step removes.
const STEP: i64 = 1_000;

const RECORDS: &str = "
    SELECT seq FROM records WHERE user_key = $1 AND user_id = $2
        AND ($3::uuid IS NULL OR application_id = $3) ORDER BY seq LIMIT $4";
/// What tools were given and gave in the exchanges of these records, where the caller named no user.
const TOOL_CALLS: &str = "
    SELECT DISTINCT t.seq FROM records r JOIN records t
        ON t.application_id = r.application_id AND t.exchange_id = r.exchange_id
    WHERE r.seq = ANY ($1) AND r.seq BETWEEN $2 AND $3
        AND t.tool_name IS NOT NULL AND t.user_id IS NULL LIMIT $4";
/// Files that wait for another record of these exchanges.
const FORGET_WAITING: &str = "
    DELETE FROM waiting_attachments w USING records r
    WHERE r.seq = ANY ($1) AND r.seq BETWEEN $2 AND $3
        AND w.application_id = r.application_id AND w.exchange_id = r.exchange_id";
/// A session that also has records of other users stays, without the name.
const SESSIONS: &str = "
    UPDATE sessions SET user_id = NULL, user_key = NULL WHERE user_key = $1 AND user_id = $2
        AND ($3::uuid IS NULL OR application_id = $3)";

/// Removes some records of the user.
pub(in crate::postgres) async fn step(
    connection: &mut PgConnection,
    erasure: &Erasure,
) -> Result<Erased, StoreError> {
    step_in_schema(connection, erasure, true).await
}

/// The same in a schema that may have no tool calls and no files that wait.
pub(in crate::postgres) async fn step_in_schema(
    connection: &mut PgConnection,
    erasure: &Erasure,
    has_exchanges: bool,
) -> Result<Erased, StoreError> {
    let user = escaped(&erasure.user_id).into_owned();
    let application = erasure.application_id.map(|id| id.0);
    let seqs: Vec<i64> = sqlx::query_scalar(RECORDS)
        .bind(text_key(&user))
        .bind(&user)
        .bind(application)
        .bind(STEP)
        .persistent(false)
        .fetch_all(&mut *connection)
        .await?;
    if seqs.is_empty() {
        let query = sqlx::query(SESSIONS).bind(text_key(&user)).bind(&user);
        query.bind(application).execute(connection).await?;
        return Ok(Erased::default());
    }
    let seqs = match has_exchanges {
        true => beside(connection, seqs).await?,
        false => seqs,
    };
    let query = sqlx::query_scalar("SELECT count(*) FROM attachments WHERE seq = ANY ($1)");
    let attached: i64 = query.bind(&seqs).fetch_one(&mut *connection).await?;
    let removed = delete(connection, &seqs).await?;
    Ok(Erased {
        records: removed.records,
        attachments: attached.unsigned_abs(),
    })
}

/// The parts of tool calls in the exchanges of these records, or the records themselves if there are none. Removes
/// the files that wait for other records of these exchanges.
async fn beside(connection: &mut PgConnection, seqs: Vec<i64>) -> Result<Vec<i64>, StoreError> {
    let (first, last) = (seqs.iter().min(), seqs.iter().max());
    sqlx::query(FORGET_WAITING)
        .bind(&seqs)
        .bind(first)
        .bind(last)
        .persistent(false)
        .execute(&mut *connection)
        .await?;
    let found = sqlx::query_scalar(TOOL_CALLS)
        .bind(&seqs)
        .bind(first)
        .bind(last)
        .bind(STEP)
        .persistent(false);
    let found: Vec<i64> = found.fetch_all(connection).await?;
    // Their exchanges are only known as long as the other records are there.
    Ok(if found.is_empty() { seqs } else { found })
}
