//! Erasing a user's records, and refusing those that come after (issue: erasure).

use super::retention;
use super::rows::{NewRow, bytes, uuid};
use super::write::Write;
use super::writer::{Writer, Written};
use crate::{Erased, Erasure, StoreError};
use sqlx::{Row as _, SqliteConnection};
use std::collections::HashSet;
use uuid::Uuid;

/// Records that one step removes, at most.
const STEP: i64 = 500;

const TOMBSTONE: &str = "
    INSERT INTO erased_users (id, user_hash, application_id, at_ms) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (user_hash, coalesce(application_id, x'')) DO UPDATE SET at_ms = excluded.at_ms
    RETURNING id";
const CHOSEN: &str = "
    SELECT seq FROM records INDEXED BY records_by_user
    WHERE user_id = ?1 AND (?2 IS NULL OR application_id = ?2) ORDER BY seq LIMIT ?3";
const ATTACHED: &str = "
    SELECT count(*) FROM attachments WHERE seq IN (SELECT value FROM json_each(?1))";
/// A session that has records of others too stays, without the name.
const SESSIONS: &str = "
    UPDATE sessions SET user_id = NULL
    WHERE user_id = ?1 AND (?2 IS NULL OR application_id = ?2)";
/// The hashes as a JSON list, in hexadecimal.
const REFUSED: &str = "
    SELECT user_hash, application_id FROM erased_users
    WHERE user_hash IN (SELECT unhex(value) FROM json_each(?1))";

/// Users whose records are refused, with the application, or none for every one.
pub(super) type Refused = HashSet<(Vec<u8>, Option<Uuid>)>;

pub(super) async fn step_through(writer: &Writer, erasure: &Erasure) -> Result<Erased, StoreError> {
    match writer
        .write(Write::Erase(Box::new(erasure.clone())))
        .await?
    {
        Written::Erased(erased) => Ok(erased),
        _ => Ok(Erased::default()),
    }
}

pub(super) async fn add_tombstone(
    connection: &mut SqliteConnection,
    erasure: &Erasure,
) -> Result<Uuid, StoreError> {
    let row = sqlx::query(TOMBSTONE)
        .bind(bytes(erasure.id))
        .bind(Erasure::user_hash(&erasure.user_id).to_vec())
        .bind(erasure.application_id.map(|id| bytes(id.0)))
        .bind(erasure.at_ms)
        .fetch_one(connection)
        .await?;
    uuid(row.try_get(0)?)
}

pub(super) async fn step(
    connection: &mut SqliteConnection,
    erasure: &Erasure,
) -> Result<Erased, StoreError> {
    let application = erasure.application_id.map(|id| bytes(id.0));
    let places: Vec<i64> = sqlx::query_scalar(CHOSEN)
        .bind(&*erasure.user_id)
        .bind(application.clone())
        .bind(STEP)
        .fetch_all(&mut *connection)
        .await?;
    if places.is_empty() {
        let sessions = sqlx::query(SESSIONS).bind(&*erasure.user_id);
        sessions.bind(application).execute(connection).await?;
        return Ok(Erased::default());
    }
    let records = places.len() as u64;
    let list = serde_json::Value::from(places).to_string();
    let attached: i64 = sqlx::query_scalar(ATTACHED)
        .bind(&*list)
        .fetch_one(&mut *connection)
        .await?;
    overwrite(connection, true).await?;
    retention::remove(connection, list).await?;
    overwrite(connection, false).await?;
    Ok(Erased {
        records,
        attachments: attached.unsigned_abs(),
    })
}

/// Whether the room of what is removed is overwritten. Retention leaves that to later records.
async fn overwrite(connection: &mut SqliteConnection, is_on: bool) -> Result<(), StoreError> {
    let pragma = match is_on {
        true => "PRAGMA secure_delete = ON",
        false => "PRAGMA secure_delete = OFF",
    };
    sqlx::query(pragma).fetch_all(connection).await?;
    Ok(())
}

/// Takes the log into the file and empties it: it holds what was removed. Best effort: a reader may
/// stand in the way, then later records overwrite it.
pub(super) async fn empty_log(connection: &mut SqliteConnection) {
    let emptied = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)");
    let _ = emptied.fetch_all(connection).await;
}

/// Those of the rows' users whose records are refused.
pub(super) async fn refused(
    connection: &mut SqliteConnection,
    rows: &[NewRow],
) -> Result<Refused, StoreError> {
    let any: Option<i64> = sqlx::query_scalar("SELECT 1 FROM erased_users LIMIT 1")
        .fetch_optional(&mut *connection)
        .await?;
    if any.is_none() {
        return Ok(Refused::new());
    }
    let users = rows.iter().filter_map(|row| row.record.user_id.as_deref());
    let hex = |user| crate::BlobHash(Erasure::user_hash(user)).to_string();
    let hashes: Vec<String> = users.map(hex).collect();
    let found = sqlx::query(REFUSED)
        .bind(serde_json::Value::from(hashes).to_string())
        .fetch_all(connection)
        .await?;
    let mut refused = Refused::new();
    for row in &found {
        let application: Option<&[u8]> = row.try_get(1)?;
        refused.insert((row.try_get(0)?, application.map(uuid).transpose()?));
    }
    Ok(refused)
}

/// Whether a row is one of those.
pub(super) fn is_refused(refused: &Refused, row: &NewRow) -> bool {
    let Some(user) = row
        .record
        .user_id
        .as_deref()
        .filter(|_| !refused.is_empty())
    else {
        return false;
    };
    let hash = Erasure::user_hash(user).to_vec();
    let of = |application| refused.contains(&(hash.clone(), application));
    of(None) || of(Some(row.record.application_id.0))
}
