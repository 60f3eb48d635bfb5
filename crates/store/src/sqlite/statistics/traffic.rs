//! Traffic per hour: reads what inserting counts (`records/insert_derived.sql`), and deletes old hours.

use crate::error::StoreError;
use crate::sql::columns::type_count;
use crate::sql::statistics::hour;
use crate::statistics::{HourTraffic, counted_as, first_kept_hour};
use monitor_model::{ApplicationId, TypeCount};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqlitePool;

/// The most rows of each table that one transaction deletes.
const STEP: i64 = 20_000;

pub(in crate::sqlite) const HOURS: &str = "
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
        .bind(counted_as(application))
        .bind(first)
        .bind(last)
        .fetch_all(readers)
        .await?;
    rows.iter().map(hour).collect()
}

pub(super) async fn types(
    readers: &SqlitePool,
    application: Option<ApplicationId>,
    (first, last): (i64, i64),
    limit: u32,
) -> Result<Vec<TypeCount>, StoreError> {
    let rows = sqlx::query(TYPES)
        .bind(counted_as(application))
        .bind(first)
        .bind(last)
        .bind(i64::from(limit))
        .fetch_all(readers)
        .await?;
    rows.iter().map(type_count).collect()
}

/// Deletes hours older than those that are kept.
pub(in crate::sqlite) async fn forget(
    connection: &mut SqliteConnection,
    now_ms: i64,
) -> Result<(), StoreError> {
    sqlx::query(FORGET)
        .bind(first_kept_hour(now_ms))
        .bind(STEP)
        .execute(connection)
        .await?;
    Ok(())
}
