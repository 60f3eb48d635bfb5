//! Traffic by the hour: reading what the writer counts (`besides.sql`), and forgetting what is old.

use super::rows::{bytes, count};
use crate::traffic::{counted_as, first_kept};
use crate::{HourTraffic, StoreError};
use monitor_model::{ApplicationId, TypeCount};
use sqlx::sqlite::{SqlitePool, SqliteRow};
use sqlx::{Row as _, SqliteConnection};

/// Rows that one transaction forgets, at most, of each table.
const STEP: i64 = 20_000;

pub(super) const HOURS: &str = "
    SELECT * FROM traffic WHERE application_id = ?1 AND hour BETWEEN ?2 AND ?3 ORDER BY hour";
const TYPES: &str = "
    SELECT kind, sum(finds) AS finds FROM traffic_types
    WHERE application_id = ?1 AND hour BETWEEN ?2 AND ?3 GROUP BY kind ORDER BY 2 DESC, kind LIMIT ?4";
const FORGET: &str = "
    DELETE FROM traffic WHERE (application_id, hour) IN
        (SELECT application_id, hour FROM traffic INDEXED BY traffic_by_hour WHERE hour < ?1 LIMIT ?2);
    DELETE FROM traffic_types WHERE (application_id, hour, kind) IN
        (SELECT application_id, hour, kind FROM traffic_types INDEXED BY traffic_types_by_hour
         WHERE hour < ?1 LIMIT ?2)";

pub(super) async fn hours(
    readers: &SqlitePool,
    application: Option<ApplicationId>,
    (first, last): (i64, i64),
) -> Result<Vec<HourTraffic>, StoreError> {
    let rows = sqlx::query(HOURS)
        .bind(bytes(counted_as(application)))
        .bind(first)
        .bind(last)
        .fetch_all(readers)
        .await?;
    rows.iter().map(hour).collect()
}

pub(super) async fn types(
    readers: &SqlitePool,
    application: Option<ApplicationId>,
    ((first, last), limit): ((i64, i64), u32),
) -> Result<Vec<TypeCount>, StoreError> {
    let rows = sqlx::query(TYPES)
        .bind(bytes(counted_as(application)))
        .bind(first)
        .bind(last)
        .bind(i64::from(limit))
        .fetch_all(readers)
        .await?;
    let found = |row: &SqliteRow| {
        Ok(TypeCount {
            kind: row.try_get("kind")?,
            count: count(row, "finds")?,
        })
    };
    rows.iter().map(found).collect()
}

/// Forgets the hours that are older than those that are kept.
pub(super) async fn forget(
    connection: &mut SqliteConnection,
    now_ms: i64,
) -> Result<(), StoreError> {
    sqlx::query(FORGET)
        .bind(first_kept(now_ms))
        .bind(STEP)
        .execute(connection)
        .await?;
    Ok(())
}

fn hour(row: &SqliteRow) -> Result<HourTraffic, StoreError> {
    Ok(HourTraffic {
        hour: row.try_get("hour")?,
        prompts: count(row, "prompts")?,
        answers: count(row, "answers")?,
        flagged_guardrails: count(row, "flagged_guardrails")?,
        flagged_custom_policy: count(row, "flagged_custom_policy")?,
        flagged_dataclean: count(row, "flagged_dataclean")?,
        blocked: count(row, "blocked")?,
        failed: count(row, "failed")?,
        tokens: count(row, "tokens")?,
        total_us: count(row, "total_us")?,
        max_us: count(row, "max_us")?,
    })
}
