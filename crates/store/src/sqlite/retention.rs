//! Removing records that are older or more than the limits allow, and those of removed applications:
//! a bounded number in each transaction, with other writes in between. A file made by this version
//! gives room back that stays free; an older one uses it again.

use super::rows::bytes;
use super::write::Write;
use super::writer::{Writer, Written};
use super::{chain, traffic};
use crate::{RetentionLimits, StoreError};
use monitor_model::ApplicationId;
use sqlx::{Row as _, SqliteConnection};

/// Records that one transaction removes, at most.
const STEP: i64 = 500;
/// Bytes that one transaction removes before it takes no further record.
const STEP_BYTES: i64 = 16 * 1024 * 1024;
/// Pages that one transaction gives back, at most: 4 MiB.
const STEP_PAGES: &str = "PRAGMA incremental_vacuum(1024)";
/// Free pages that are kept for new records, as a part of all pages.
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

const REMOVE: &str = include_str!("remove.sql");

/// What is to be kept of which records.
#[derive(Clone, Copy)]
pub(super) struct Due {
    pub(super) application: Option<ApplicationId>,
    pub(super) limits: RetentionLimits,
    pub(super) now_ms: i64,
}

/// A record that may go, and its bytes.
type Candidate = (i64, i64);

/// Step by step until nothing is left to do; gives how many records went.
pub(super) async fn enforce(writer: &Writer, due: Due) -> Result<u64, StoreError> {
    let mut gone = 0;
    while let Written::Removed(records @ 1..) = writer.write(Write::Retention(due)).await? {
        gone += records;
    }
    while let Written::Removed(1..) = writer.write(Write::GiveBack).await? {}
    Ok(gone)
}

/// One step: removes what is first in line, and says how many records that were.
pub(super) async fn step(connection: &mut SqliteConnection, due: Due) -> Result<u64, StoreError> {
    if due.application.is_none() {
        traffic::forget(connection, due.now_ms).await?;
    }
    let line = first_in_line(connection, due).await?;
    if line.is_empty() {
        return Ok(0);
    }
    let places: Vec<i64> = line.iter().map(|(seq, _)| *seq).collect();
    remove(connection, serde_json::Value::from(places).to_string()).await?;
    Ok(line.len() as u64)
}

/// Removes the records at these places (a JSON list) with all that belongs to them.
pub(super) async fn remove(
    connection: &mut SqliteConnection,
    places: String,
) -> Result<(), StoreError> {
    chain::leave_stubs(connection, &places).await?;
    sqlx::query(REMOVE).bind(places).execute(connection).await?;
    Ok(())
}

/// Gives free pages back to the file system; says how many.
pub(super) async fn give_back(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    let free = number(connection, "PRAGMA freelist_count").await?;
    if free * KEPT_FREE <= number(connection, "PRAGMA page_count").await? {
        return Ok(0);
    }
    sqlx::raw_sql(STEP_PAGES).execute(&mut *connection).await?;
    let left = number(connection, "PRAGMA freelist_count").await?;
    Ok((free - left).max(0).unsigned_abs())
}

async fn first_in_line(
    connection: &mut SqliteConnection,
    due: Due,
) -> Result<Vec<Candidate>, StoreError> {
    if due.application.is_none() {
        while number(connection, "SELECT count(*) FROM removed_applications").await? > 0 {
            let line = candidates(connection, REMOVED, None, None).await?;
            if !line.is_empty() {
                return Ok(line);
            }
            sqlx::query(FORGET_REMOVED)
                .execute(&mut *connection)
                .await?;
        }
    }
    if let Some(days) = due.limits.days {
        let before = due.now_ms.saturating_sub(i64::from(days) * DAY_MS);
        let sql = due.application.map_or(OLD, |_| OLD_OF_ONE);
        let line = candidates(connection, sql, Some(before), due.application).await?;
        if !line.is_empty() {
            return Ok(line);
        }
    }
    too_many(connection, due).await
}

/// The oldest ones, as many as there are too many of.
async fn too_many(
    connection: &mut SqliteConnection,
    due: Due,
) -> Result<Vec<Candidate>, StoreError> {
    let totals = sqlx::query(TOTALS)
        .bind(due.application.map(|id| bytes(id.0)))
        .fetch_one(&mut *connection)
        .await?;
    let over = |total: i64, limit: Option<u64>| match limit {
        Some(limit) => total - i64::try_from(limit).unwrap_or(i64::MAX),
        None => 0,
    };
    let mut records = over(totals.try_get(0)?, due.limits.rows);
    let mut bytes = over(totals.try_get(1)?, due.limits.bytes);
    if records <= 0 && bytes <= 0 {
        return Ok(Vec::new());
    }
    let sql = due.application.map_or(OLDEST, |_| OLDEST_OF_ONE);
    let mut line = candidates(connection, sql, None, due.application).await?;
    line.retain(|(_, length)| {
        let goes = records > 0 || bytes > 0;
        records -= 1;
        bytes -= length;
        goes
    });
    Ok(line)
}

async fn candidates(
    connection: &mut SqliteConnection,
    sql: &'static str,
    before: Option<i64>,
    application: Option<ApplicationId>,
) -> Result<Vec<Candidate>, StoreError> {
    let mut query = sqlx::query_as(sql).bind(STEP);
    if let Some(before) = before {
        query = query.bind(before);
    }
    if let Some(id) = application {
        query = query.bind(bytes(id.0));
    }
    let mut line: Vec<Candidate> = query.fetch_all(connection).await?;
    let mut sum = 0;
    line.retain(|(_, length)| {
        let fits = sum <= STEP_BYTES;
        sum += length;
        fits
    });
    Ok(line)
}

async fn number(connection: &mut SqliteConnection, sql: &'static str) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar(sql).fetch_one(connection).await?)
}
