//! Removes records that are older or more than the limits allow, and those of removed applications: a bounded number
//! per transaction, with other writes in between. Of what is beyond the rows or bytes of the whole store, only
//! applications above their part lose records (see `fair_parts`). A file created by this version returns free space to
//! the file system; an older file only reuses it.

use super::{delete, exchange};
use crate::error::StoreError;
use crate::fair_parts::{Part, beyond_parts};
use crate::removal::{Removed, RetentionLimits, RetentionScope, StoredAmount};
use crate::sql::columns::Columns as _;
use crate::sqlite::statistics::{costs, traffic, user_days};
use crate::sqlite::writer::Writer;
use monitor_model::ApplicationId;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, SqlitePool};

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
const OLDEST_OF_ONE: &str = "
    SELECT seq, bytes FROM records INDEXED BY records_by_application
    WHERE application_id = ?2 ORDER BY seq LIMIT ?1";
const TOTALS: &str = "
    SELECT coalesce(sum(messages), 0) AS records, coalesce(sum(bytes), 0) AS bytes FROM record_totals
    WHERE ?1 IS NULL OR application_id = ?1";
const TOTALS_OF_EACH: &str = "
    SELECT application_id, messages AS records, bytes FROM record_totals WHERE messages > 0";

/// A record that may be removed.
struct Candidate {
    seq: i64,
    bytes: i64,
}

/// Why records are due.
#[derive(Clone, Copy)]
enum Cause {
    ApplicationRemoved,
    Age,
    Amount,
}

/// Records that have to go, and why.
struct Due {
    cause: Cause,
    candidates: Vec<Candidate>,
}

/// What one step removed.
struct Step {
    cause: Cause,
    records: u64,
}

/// Works in steps until nothing is left to do. `removed` counts each step.
pub(super) async fn enforce(
    writer: &Writer,
    scope: RetentionScope,
    removed: &mut Removed,
) -> Result<(), StoreError> {
    match scope.application {
        Some(_) => enforce_own(writer, scope, &mut removed.by_own_limits).await?,
        None => {
            enforce_whole(writer, scope, removed).await?;
            while writer
                .write(move |connection| Box::pin(forget_user_sums(connection, scope)))
                .await?
                > 0
            {}
            let forget = writer.write(move |connection| {
                Box::pin(async move { exchange::forget(connection, scope.now_ms).await })
            });
            forget.await?;
        }
    }
    while writer
        .write(|connection| Box::pin(vacuum(connection)))
        .await?
        > 0
    {}
    Ok(())
}

/// The limits of one application.
async fn enforce_own(
    writer: &Writer,
    scope: RetentionScope,
    removed: &mut u64,
) -> Result<(), StoreError> {
    while let Some(step) = write_step(writer, scope).await? {
        *removed += step.records;
    }
    Ok(())
}

/// The limits of the whole store: age first, then rows and bytes, each shared among the applications.
async fn enforce_whole(
    writer: &Writer,
    scope: RetentionScope,
    removed: &mut Removed,
) -> Result<(), StoreError> {
    while let Some(step) = write_step(writer, scope).await? {
        match step.cause {
            Cause::ApplicationRemoved => removed.of_removed_applications += step.records,
            Cause::Age | Cause::Amount => removed.by_age += step.records,
        }
    }
    if let Some(rows) = scope.limits.rows {
        let stored = stored_of_each(writer, |row| row.count("records")).await?;
        for part in beyond_parts(rows, stored) {
            let scope = scope.of_one(part.application, RetentionLimits::only_rows(part.amount));
            let mut gone = 0;
            let result = enforce_own(writer, scope, &mut gone).await;
            removed.by_rows += gone;
            removed.count_above_part(part.application, gone);
            result?;
        }
    }
    if let Some(bytes) = scope.limits.bytes {
        let stored = stored_of_each(writer, |row| row.count("bytes")).await?;
        for part in beyond_parts(bytes, stored) {
            let scope = scope.of_one(part.application, RetentionLimits::only_bytes(part.amount));
            let mut gone = 0;
            let result = enforce_own(writer, scope, &mut gone).await;
            removed.by_bytes += gone;
            removed.count_above_part(part.application, gone);
            result?;
        }
    }
    Ok(())
}

/// What each application has of something.
async fn stored_of_each(
    writer: &Writer,
    amount: fn(&SqliteRow) -> Result<u64, sqlx::Error>,
) -> Result<Vec<Part>, StoreError> {
    let read = writer.write(move |connection| {
        Box::pin(async move {
            let rows = sqlx::query(TOTALS_OF_EACH).fetch_all(connection).await?;
            let part = |row: &SqliteRow| {
                Ok(Part {
                    application: ApplicationId(row.id("application_id")?),
                    amount: amount(row)?,
                })
            };
            rows.iter().map(part).collect()
        })
    });
    read.await
}

/// What the whole store has.
pub(super) async fn stored_amount(readers: &SqlitePool) -> Result<StoredAmount, StoreError> {
    let totals = sqlx::query(TOTALS).bind(None::<Vec<u8>>);
    let totals = totals.fetch_one(readers).await?;
    Ok(StoredAmount {
        records: totals.count("records")?,
        bytes: totals.count("bytes")?,
    })
}

async fn write_step(writer: &Writer, scope: RetentionScope) -> Result<Option<Step>, StoreError> {
    let step = writer.write(move |connection| Box::pin(step(connection, scope)));
    step.await
}

/// Retention leaves overwriting whole pages to later records.
const LEAVE_PAGES: &str = "PRAGMA secure_delete = FAST";
/// The writer's own setting. A connection on which a step failed is replaced by one that has it.
const OVERWRITE: &str = "PRAGMA secure_delete = ON";

async fn set_overwriting(
    connection: &mut SqliteConnection,
    pragma: &'static str,
) -> Result<(), StoreError> {
    sqlx::query(pragma).fetch_all(connection).await?;
    Ok(())
}

/// One step: removes the records that are due first; None if there are none.
async fn step(
    connection: &mut SqliteConnection,
    scope: RetentionScope,
) -> Result<Option<Step>, StoreError> {
    if scope.application.is_none() {
        traffic::forget(connection, scope.now_ms).await?;
    }
    let due = due(connection, scope).await?;
    if due.candidates.is_empty() {
        return Ok(None);
    }
    let seqs = due.candidates.iter().map(|candidate| candidate.seq);
    let seqs: Vec<i64> = seqs.collect();
    set_overwriting(connection, LEAVE_PAGES).await?;
    delete(connection, &seqs).await?;
    set_overwriting(connection, OVERWRITE).await?;
    Ok(Some(Step {
        cause: due.cause,
        records: seqs.len() as u64,
    }))
}

/// One step: sums of users that are too old; returns their number.
async fn forget_user_sums(
    connection: &mut SqliteConnection,
    scope: RetentionScope,
) -> Result<u64, StoreError> {
    set_overwriting(connection, LEAVE_PAGES).await?;
    let (now_ms, days) = (scope.now_ms, scope.limits.cost_days);
    let forgotten = costs::forget(connection, now_ms, days).await?
        + user_days::forget(connection, now_ms, days).await?;
    set_overwriting(connection, OVERWRITE).await?;
    Ok(forgotten)
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

/// Records of removed applications first, then those that are too old, then those of an application with too many.
async fn due(connection: &mut SqliteConnection, scope: RetentionScope) -> Result<Due, StoreError> {
    if scope.application.is_none() {
        while number(connection, "SELECT count(*) FROM removed_applications").await? > 0 {
            let due = candidates(connection, REMOVED, None, None).await?;
            if !due.is_empty() {
                return Ok(Due {
                    cause: Cause::ApplicationRemoved,
                    candidates: due,
                });
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
            return Ok(Due {
                cause: Cause::Age,
                candidates: due,
            });
        }
    }
    let candidates = match scope.application {
        Some(id) => too_many(connection, id, scope.limits).await?,
        None => Vec::new(),
    };
    Ok(Due {
        cause: Cause::Amount,
        candidates,
    })
}

/// The oldest records of an application, as many as exceed the limits.
async fn too_many(
    connection: &mut SqliteConnection,
    application: ApplicationId,
    limits: RetentionLimits,
) -> Result<Vec<Candidate>, StoreError> {
    let totals = sqlx::query(TOTALS)
        .bind(application.0)
        .fetch_one(&mut *connection)
        .await?;
    let over = |total: i64, limit: Option<u64>| match limit {
        Some(limit) => total - i64::try_from(limit).unwrap_or(i64::MAX),
        None => 0,
    };
    let mut records = over(totals.try_get("records")?, limits.rows);
    let mut bytes = over(totals.try_get("bytes")?, limits.bytes);
    if records <= 0 && bytes <= 0 {
        return Ok(Vec::new());
    }
    let mut due = candidates(connection, OLDEST_OF_ONE, None, Some(application)).await?;
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
