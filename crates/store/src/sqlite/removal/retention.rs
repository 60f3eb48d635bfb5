//! Removes records that are older or more than the limits allow, and those of removed applications: a bounded
//! number per transaction, with other writes in between. A file created by this version returns free space to
//! the file system; an older file only reuses it.

use super::delete;
use crate::error::StoreError;
use crate::removal::RetentionScope;
use crate::sql::columns::Columns as _;
use crate::sqlite::statistics::traffic;
use crate::sqlite::writer::Writer;
use monitor_model::ApplicationId;
use sqlx::{Row as _, SqliteConnection};

/// The most records that one transaction removes.
const STEP: i64 = 500;
/// Bytes after which one transaction removes no further record.
const STEP_BYTES: i64 = 16 * 1024 * 1024;
/// The most pages that one transaction returns: 4 MiB.
const STEP_PAGES: &str = "PRAGMA incremental_vacuum(1024)";
/// One page in this many stays free for new records.
const KEPT_FREE: i64 = 10;
const DAY_MS: i64 = 86_400_000;

const REMOVED: &str = "
    SELECT seq, bytes FROM records INDEXED BY records_by_application
    WHERE application_id = (SELECT id FROM removed_applications LIMIT 1) ORDER BY seq LIMIT ?1";
const FORGET_REMOVED: &str = "
    DELETE FROM record_totals WHERE application_id IN (SELECT id FROM removed_applications LIMIT 1);
    DELETE FROM removed_applications WHERE id IN (SELECT id FROM removed_applications LIMIT 1)";
const OLD: &str = "
    SELECT seq, bytes FROM records NOT INDEXED
    WHERE seq < (SELECT max(block) * 1024 + 1024 FROM record_blocks WHERE first_ms < ?2)
        AND created_at_ms < ?2 ORDER BY seq LIMIT ?1";
const OLD_OF_ONE: &str = "
    SELECT seq, bytes FROM records INDEXED BY records_by_application
    WHERE seq < (SELECT max(block) * 1024 + 1024 FROM record_blocks WHERE first_ms < ?2)
        AND created_at_ms < ?2 AND application_id = ?3 ORDER BY seq LIMIT ?1";
const OLDEST: &str = "SELECT seq, bytes FROM records NOT INDEXED ORDER BY seq LIMIT ?1";
const OLDEST_OF_ONE: &str = "
    SELECT seq, bytes FROM records INDEXED BY records_by_application
    WHERE application_id = ?2 ORDER BY seq LIMIT ?1";
const TOTALS: &str = "
    SELECT coalesce(sum(messages), 0), coalesce(sum(bytes), 0) FROM record_totals
    WHERE ?1 IS NULL OR application_id = ?1";

/// A record that may be removed.
struct Candidate {
    seq: i64,
    bytes: i64,
}

/// Works in steps until nothing is left to do; returns the number of removed records.
pub(super) async fn enforce(writer: &Writer, scope: RetentionScope) -> Result<u64, StoreError> {
    let mut removed = 0;
    loop {
        let step = writer.write(move |connection| Box::pin(step(connection, scope)));
        match step.await? {
            0 => break,
            records => removed += records,
        }
    }
    while writer
        .write(|connection| Box::pin(vacuum(connection)))
        .await?
        > 0
    {}
    Ok(removed)
}

/// One step: removes the records that are due first; returns their number.
async fn step(connection: &mut SqliteConnection, scope: RetentionScope) -> Result<u64, StoreError> {
    if scope.application.is_none() {
        traffic::forget(connection, scope.now_ms).await?;
    }
    let due = due(connection, scope).await?;
    if due.is_empty() {
        return Ok(0);
    }
    let seqs: Vec<i64> = due.iter().map(|candidate| candidate.seq).collect();
    delete(connection, &seqs).await?;
    Ok(seqs.len() as u64)
}

/// Returns free pages to the file system; returns their number.
async fn vacuum(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    let free = number(connection, "PRAGMA freelist_count").await?;
    if free * KEPT_FREE <= number(connection, "PRAGMA page_count").await? {
        return Ok(0);
    }
    sqlx::raw_sql(STEP_PAGES).execute(&mut *connection).await?;
    let left = number(connection, "PRAGMA freelist_count").await?;
    Ok((free - left).max(0).unsigned_abs())
}

/// Records of removed applications first, then those that are too old, then those that are too many.
async fn due(
    connection: &mut SqliteConnection,
    scope: RetentionScope,
) -> Result<Vec<Candidate>, StoreError> {
    if scope.application.is_none() {
        while number(connection, "SELECT count(*) FROM removed_applications").await? > 0 {
            let due = candidates(connection, REMOVED, None, None).await?;
            if !due.is_empty() {
                return Ok(due);
            }
            sqlx::query(FORGET_REMOVED)
                .execute(&mut *connection)
                .await?;
        }
    }
    if let Some(days) = scope.limits.days {
        let before = scope.now_ms.saturating_sub(i64::from(days) * DAY_MS);
        let sql = scope.application.map_or(OLD, |_| OLD_OF_ONE);
        let due = candidates(connection, sql, Some(before), scope.application).await?;
        if !due.is_empty() {
            return Ok(due);
        }
    }
    too_many(connection, scope).await
}

/// The oldest records, as many as exceed the limits.
async fn too_many(
    connection: &mut SqliteConnection,
    scope: RetentionScope,
) -> Result<Vec<Candidate>, StoreError> {
    let totals = sqlx::query(TOTALS)
        .bind(scope.application.map(|id| id.0))
        .fetch_one(&mut *connection)
        .await?;
    let over = |total: i64, limit: Option<u64>| match limit {
        Some(limit) => total - i64::try_from(limit).unwrap_or(i64::MAX),
        None => 0,
    };
    let mut records = over(totals.try_get(0)?, scope.limits.rows);
    let mut bytes = over(totals.try_get(1)?, scope.limits.bytes);
    if records <= 0 && bytes <= 0 {
        return Ok(Vec::new());
    }
    let sql = scope.application.map_or(OLDEST, |_| OLDEST_OF_ONE);
    let mut due = candidates(connection, sql, None, scope.application).await?;
    due.retain(|candidate| {
        let is_over = records > 0 || bytes > 0;
        records -= 1;
        bytes -= candidate.bytes;
        is_over
    });
    Ok(due)
}

async fn candidates(
    connection: &mut SqliteConnection,
    sql: &'static str,
    before: Option<i64>,
    application: Option<ApplicationId>,
) -> Result<Vec<Candidate>, StoreError> {
    let mut query = sqlx::query(sql).bind(STEP);
    if let Some(before) = before {
        query = query.bind(before);
    }
    if let Some(id) = application {
        query = query.bind(id.0);
    }
    let (mut candidates, mut sum) = (Vec::new(), 0);
    for row in query.fetch_all(connection).await? {
        if sum > STEP_BYTES {
            break;
        }
        let candidate = Candidate {
            seq: row.number("seq")?,
            bytes: row.number("bytes")?,
        };
        sum += candidate.bytes;
        candidates.push(candidate);
    }
    Ok(candidates)
}

async fn number(connection: &mut SqliteConnection, sql: &'static str) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar(sql).fetch_one(connection).await?)
}
