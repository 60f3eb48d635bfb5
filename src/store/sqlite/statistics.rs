//! Statistics per day, application and stage, from the tables that the writer keeps beside the records.

use super::rows::{bytes, count, from_word, uuid};
use crate::model::{ApplicationId, TypeCount};
use crate::store::{DayStatistics, StoreError};
use sqlx::sqlite::{SqlitePool, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};
use std::collections::BTreeMap;

/// Day, application and stage; the stage's words sort as its values would.
type Key = (i64, ApplicationId, String);

/// By day, then application, then stage.
pub(super) async fn days(
    readers: &SqlitePool,
    application: Option<ApplicationId>,
    first: i64,
    last: i64,
) -> Result<Vec<DayStatistics>, StoreError> {
    let read = |table| {
        sqlx::query(AssertSqlSafe(select(table, application.is_some())))
            .bind(first)
            .bind(last)
            .bind(application.map(|id| bytes(id.0)))
    };
    let mut days = BTreeMap::new();
    for row in read("statistics").fetch_all(readers).await? {
        days.insert(key(&row)?, day(&row)?);
    }
    for row in read("statistics_types").fetch_all(readers).await? {
        if let Some(day) = days.get_mut(&key(&row)?) {
            day.types.push(TypeCount {
                kind: row.try_get("kind")?,
                count: count(&row, "finds")?,
            });
        }
    }
    for day in days.values_mut() {
        day.types.sort_by(|one, next| one.kind.cmp(&next.kind));
    }
    Ok(days.into_values().collect())
}

/// The rows of a span of days, of one application or of all; the ends and the application are bound.
pub(super) fn select(table: &str, one_application: bool) -> String {
    let days = "day BETWEEN ?1 AND ?2";
    match one_application {
        true => format!("SELECT * FROM {table} WHERE application_id = ?3 AND {days}"),
        false => format!("SELECT * FROM {table} INDEXED BY {table}_by_day WHERE {days}"),
    }
}

fn key(row: &SqliteRow) -> Result<Key, StoreError> {
    let application = ApplicationId(uuid(row.try_get("application_id")?)?);
    Ok((row.try_get("day")?, application, row.try_get("stage")?))
}

fn day(row: &SqliteRow) -> Result<DayStatistics, StoreError> {
    Ok(DayStatistics {
        day: row.try_get("day")?,
        application_id: ApplicationId(uuid(row.try_get("application_id")?)?),
        stage: from_word(row.try_get("stage")?)?,
        messages: count(row, "messages")?,
        flagged_guardrails: count(row, "flagged_guardrails")?,
        flagged_custom_policy: count(row, "flagged_custom_policy")?,
        flagged_dataclean: count(row, "flagged_dataclean")?,
        blocked: count(row, "blocked")?,
        failed: count(row, "failed")?,
        tokens: count(row, "tokens")?,
        total_us: count(row, "total_us")?,
        max_us: count(row, "max_us")?,
        types: Vec::new(),
    })
}
