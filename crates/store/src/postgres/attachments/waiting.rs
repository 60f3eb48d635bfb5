//! Files that wait for the record of their exchange (CONTRACT 48).
//!
//! Whoever inserts a record enters its key into `record_ledger` first, and so does whoever lets a file wait for
//! it. One of the two waits for the other to commit: either the file finds the record, or the record the file.

use crate::attachments::{Attached, Attachment, MOST_FILES, WaitingLimits};
use crate::error::{StoreError, of_application};
use crate::exchanges::Exchange;
use crate::postgres::removal::totals::{DayKey, count_more_bytes};
use crate::postgres::values::{bounded, escaped, exchange_key, stage_number};
use crate::removal::ErasedExchange;
use crate::sql::attachments::{attachment, findings_json};
use crate::sql::columns::Columns as _;
use monitor_model::ApplicationId;
use sqlx::PgConnection;
use std::collections::{BTreeMap, HashMap};
use uuid::Uuid;

const WAIT: &str = "
    INSERT INTO waiting_attachments (key, application_id, exchange_id, stage,
        sha256, name, type, size, kept, findings, attached_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    ON CONFLICT (key, sha256, name) DO NOTHING";
const WAITS: &str =
    "SELECT * FROM waiting_attachments WHERE key = $1 AND sha256 = $2 AND name = $3";
const IS_ERASED: &str =
    "SELECT EXISTS (SELECT FROM erased_users WHERE user_hash = $1 AND application_id = $2)";
/// Held to the end of the transaction, so that uploads at once do not each see the room that is left for one of them:
/// "monw" in ASCII, and the application.
const LOCK_APPLICATION: &str = "SELECT pg_advisory_xact_lock(1836019319, hashtext($1::text))";
const IS_FULL: &str = "SELECT count(*) >= $2 FROM waiting_attachments WHERE key = $1";
const ALL_WAITING: &str = "
    SELECT count(*) AS files, coalesce(sum(size) FILTER (WHERE kept), 0)::bigint AS bytes
    FROM waiting_attachments WHERE application_id = $1";
const ADOPT: &str = "
    WITH adopted AS (
        DELETE FROM waiting_attachments w USING unnest($1::uuid[], $2::bigint[]) AS new (key, seq)
        WHERE w.key = new.key RETURNING new.seq, w.*)
    INSERT INTO attachments (seq, sha256, name, type, size, kept, findings, attached_at_ms)
    SELECT seq, sha256, name, type, size, kept, findings, attached_at_ms FROM adopted
    RETURNING seq, sha256, size, kept";
/// Their bytes, which changes of links lock: in one order, so that two batches whose records have the same files do
/// not wait for each other.
const LOCK_BLOBS: &str = "
    SELECT FROM blobs WHERE sha256 IN (SELECT sha256 FROM waiting_attachments WHERE key = ANY ($1) AND kept)
    ORDER BY sha256 FOR UPDATE";
const ANY_WAITS: &str = "SELECT EXISTS (SELECT FROM waiting_attachments WHERE key = ANY ($1))";
const FORGET: &str =
    "DELETE FROM waiting_attachments WHERE application_id = $1 AND exchange_id = $2";
pub(super) const EXPIRE: &str = "
    WITH expired AS (DELETE FROM waiting_attachments WHERE attached_at_ms < $1 RETURNING 1)
    SELECT count(*) AS files FROM expired";
const RECORD: &str = "
    SELECT application_id, stage, created_at_ms FROM records WHERE seq = $1 FOR UPDATE";

/// Lets a file wait for a record that is not there; the caller has the record's key locked.
pub(super) async fn wait(
    connection: &mut PgConnection,
    exchange: &Exchange,
    limits: WaitingLimits,
    file: &Attachment,
) -> Result<Attached, StoreError> {
    let key = exchange_key(exchange.application_id, exchange.stage, &exchange.id);
    let hash = file.hash.0.to_vec();
    let earlier = sqlx::query(WAITS)
        .bind(key)
        .bind(&hash)
        .bind(escaped(&file.name));
    if let Some(row) = earlier.fetch_optional(&mut *connection).await? {
        let file = Box::new(attachment(&row)?);
        return Ok(Attached::Before { file, waits: true });
    }
    let is_erased: bool = sqlx::query_scalar(IS_ERASED)
        .bind(ErasedExchange::hash(&exchange.id).to_vec())
        .bind(exchange.application_id.0)
        .fetch_one(&mut *connection)
        .await?;
    if is_erased {
        return Ok(Attached::Erased);
    }
    let lock = sqlx::query(LOCK_APPLICATION).bind(exchange.application_id.0);
    lock.execute(&mut *connection).await?;
    let is_full = sqlx::query_scalar(IS_FULL)
        .bind(key)
        .bind(i64::from(MOST_FILES));
    if is_full.fetch_one(&mut *connection).await? {
        return Ok(Attached::TooMany);
    }
    let all = sqlx::query(ALL_WAITING).bind(exchange.application_id.0);
    let all = all.fetch_one(&mut *connection).await?;
    if !limits.allow(all.count("files")?, all.count("bytes")?, file) {
        return Ok(Attached::TooManyWaiting);
    }
    sqlx::query(WAIT)
        .bind(key)
        .bind(exchange.application_id.0)
        .bind(escaped(&exchange.id))
        .bind(stage_number(exchange.stage))
        .bind(hash)
        .bind(escaped(&file.name))
        .bind(escaped(&file.kind))
        .bind(bounded(file.size))
        .bind(file.kept)
        .bind(findings_json(&file.findings)?)
        .bind(file.attached_at_ms)
        .execute(connection)
        .await
        .map_err(of_application)?;
    Ok(Attached::Waiting)
}

/// Gives new records, by their keys in the ledger and their positions, the files that waited for them.
pub(in crate::postgres) async fn adopt(
    connection: &mut PgConnection,
    keys: &[Uuid],
    seqs: &[i64],
) -> Result<(), sqlx::Error> {
    let any_waits = sqlx::query_scalar(ANY_WAITS).bind(keys);
    if !any_waits.fetch_one(&mut *connection).await? {
        return Ok(());
    }
    let lock = sqlx::query(LOCK_BLOBS).bind(keys);
    lock.execute(&mut *connection).await?;
    let adopted = sqlx::query(ADOPT)
        .bind(keys)
        .bind(seqs)
        .fetch_all(&mut *connection)
        .await?;
    // The same bytes under several names count once.
    let mut sizes: HashMap<i64, HashMap<Vec<u8>, i64>> = HashMap::new();
    for row in &adopted {
        if row.flag("kept")? {
            let of_record = sizes.entry(row.number("seq")?).or_default();
            of_record.insert(row.bytes("sha256")?.to_vec(), row.number("size")?);
        }
    }
    // In the order of the counters, as removals do.
    let mut counted: BTreeMap<DayKey, i64> = BTreeMap::new();
    for (seq, sizes) in sizes {
        let size: i64 = sizes.values().sum();
        if let Some(key) = add_bytes(connection, seq, size).await? {
            *counted.entry(key).or_default() += size;
        }
    }
    for (key, size) in counted {
        count_more_bytes(connection, key, size).await?;
    }
    Ok(())
}

/// Removes the files that wait for records of an exchange.
pub(in crate::postgres) async fn forget(
    connection: &mut PgConnection,
    application: ApplicationId,
    stored_exchange: &str,
) -> Result<(), sqlx::Error> {
    let query = sqlx::query(FORGET).bind(application.0);
    let query = query.bind(stored_exchange);
    query.execute(connection).await.map(drop)
}

/// Counts the bytes of files as those of their record, so that retention limits them.
pub(super) async fn count_bytes(
    connection: &mut PgConnection,
    seq: i64,
    size: i64,
) -> Result<(), sqlx::Error> {
    match add_bytes(connection, seq, size).await? {
        Some(key) => count_more_bytes(connection, key, size).await,
        None => Ok(()),
    }
}

/// Adds the bytes to those of the record; the counter that they belong to, unless the record is gone.
async fn add_bytes(
    connection: &mut PgConnection,
    seq: i64,
    size: i64,
) -> Result<Option<DayKey>, sqlx::Error> {
    let record = sqlx::query(RECORD).bind(seq).persistent(false);
    let Some(record) = record.fetch_optional(&mut *connection).await? else {
        return Ok(None);
    };
    let query = sqlx::query("UPDATE records SET bytes = bytes + $2 WHERE seq = $1").bind(seq);
    let query = query.bind(size).persistent(false);
    query.execute(connection).await?;
    DayKey::of(&record).map(Some)
}
