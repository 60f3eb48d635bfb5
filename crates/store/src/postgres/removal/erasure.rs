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
/// A session that also has records of other users stays, without the name.
const SESSIONS: &str = "
    UPDATE sessions SET user_id = NULL, user_key = NULL WHERE user_key = $1 AND user_id = $2
        AND ($3::uuid IS NULL OR application_id = $3)";

/// Removes some records of the user.
pub(in crate::postgres) async fn step(
    connection: &mut PgConnection,
    erasure: &Erasure,
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
    let query = sqlx::query_scalar("SELECT count(*) FROM attachments WHERE seq = ANY ($1)");
    let attached: i64 = query.bind(&seqs).fetch_one(&mut *connection).await?;
    let removed = delete(connection, &seqs).await?;
    Ok(Erased {
        records: removed.records,
        attachments: attached.unsigned_abs(),
    })
}
