//! Statistics per day, application and stage, from the tables that the writer keeps beside the records.

use super::rows::{bytes, count, from_word, stage_word, uuid};
use crate::{DayStatistics, StatisticsFilter, StoreError};
use monitor_model::{ApplicationId, TypeCount};
use sqlx::sqlite::{SqlitePool, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};
use std::collections::BTreeMap;

/// Day, application and stage; the stage's words sort as its values would.
type Key = (i64, ApplicationId, String);

/// By day, then application, then stage.
pub(super) async fn days(
    readers: &SqlitePool,
    filter: &StatisticsFilter,
) -> Result<Vec<DayStatistics>, StoreError> {
    let is_one = filter.application_id.is_some();
    let read = |table, (first, last): (i64, i64), limit: i64| {
        let (day, application, stage) = match filter.after {
            Some((day, application, stage)) => (day, bytes(application.0), stage_word(stage)),
            None => (i64::MIN, Vec::new(), ""),
        };
        sqlx::query(AssertSqlSafe(select(table, is_one)))
            .bind(first.max(day))
            .bind(last)
            .bind(filter.application_id.map(|id| bytes(id.0)))
            .bind(day)
            .bind(application)
            .bind(stage)
            .bind(limit)
    };
    let mut days = BTreeMap::new();
    let page = read("statistics", filter.days, i64::from(filter.limit));
    for row in page.fetch_all(readers).await? {
        days.insert(key(&row)?, day(&row)?);
    }
    let Some(((first, ..), (last, ..))) = days.keys().next().zip(days.keys().next_back()) else {
        return Ok(Vec::new());
    };
    // Those of the last day's later applications are read in vain.
    let types = read("statistics_types", (*first, *last), i64::MAX);
    for row in types.fetch_all(readers).await? {
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

/// A page of a span of days, of one application or of all, behind the page before.
pub(super) fn select(table: &str, one_application: bool) -> String {
    let rest = "day BETWEEN ?1 AND ?2 AND (day, application_id, stage) > (?4, ?5, ?6)
        ORDER BY day, application_id, stage LIMIT ?7";
    match one_application {
        true => format!("SELECT * FROM {table} WHERE application_id = ?3 AND {rest}"),
        false => format!("SELECT * FROM {table} INDEXED BY {table}_by_day WHERE {rest}"),
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
