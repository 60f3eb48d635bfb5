//! Erasing the records of a user.

use super::delete;
use crate::error::StoreError;
use crate::removal::{Erased, Erasure};
use crate::sqlite::values::json_list;
use sqlx::SqliteConnection;

/// The most records that one step removes.
const STEP: i64 = 500;

const RECORDS: &str = "
    SELECT seq FROM records INDEXED BY records_by_user
    WHERE user_id = ?1 AND (?2 IS NULL OR application_id = ?2) ORDER BY seq LIMIT ?3";
const ATTACHED: &str = "
    SELECT count(*) FROM attachments WHERE seq IN (SELECT value FROM json_each(?1))";
/// A session that also has records of other users stays, without the name.
const SESSIONS: &str = "
    UPDATE sessions SET user_id = NULL
    WHERE user_id = ?1 AND (?2 IS NULL OR application_id = ?2)";

/// Removes some records of the user, and overwrites their space in the file.
pub(in crate::sqlite) async fn step(
    connection: &mut SqliteConnection,
    erasure: &Erasure,
) -> Result<Erased, StoreError> {
    let application = erasure.application_id.map(|id| id.0);
    let seqs: Vec<i64> = sqlx::query_scalar(RECORDS)
        .bind(&*erasure.user_id)
        .bind(application)
        .bind(STEP)
        .fetch_all(&mut *connection)
        .await?;
    if seqs.is_empty() {
        let sessions = sqlx::query(SESSIONS).bind(&*erasure.user_id);
        sessions.bind(application).execute(connection).await?;
        return Ok(Erased::default());
    }
    let attached: i64 = sqlx::query_scalar(ATTACHED)
        .bind(json_list(seqs.iter().copied()))
        .fetch_one(&mut *connection)
        .await?;
    // Retention leaves overwriting to later records.
    set_overwriting(connection, "PRAGMA secure_delete = ON").await?;
    delete(connection, &seqs).await?;
    set_overwriting(connection, "PRAGMA secure_delete = OFF").await?;
    Ok(Erased {
        records: seqs.len() as u64,
        attachments: attached.unsigned_abs(),
    })
}

async fn set_overwriting(
    connection: &mut SqliteConnection,
    pragma: &'static str,
) -> Result<(), StoreError> {
    sqlx::query(pragma).fetch_all(connection).await?;
    Ok(())
}
