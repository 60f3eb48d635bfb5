//! Statistics per day, application and stage.

use crate::error::StoreError;
use crate::sql::columns::{Columns as _, type_count};
use crate::sql::statistics::day;
use crate::sqlite::values::{shared_kinds, stage_word};
use crate::statistics::{DayStatistics, MOST_OWN_KINDS, OTHER_FINDS, StatisticsFilter};
use futures_util::TryStreamExt as _;
use sqlx::AssertSqlSafe;
use sqlx::sqlite::{SqlitePool, SqliteRow};
use std::collections::BTreeMap;
use uuid::Uuid;

/// The primary key of both tables; the words of the stages sort as the stages do.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    day: i64,
    application: Uuid,
    stage: String,
}

/// Ordered by day, application and stage.
pub(super) async fn page(
    readers: &SqlitePool,
    filter: &StatisticsFilter,
) -> Result<Vec<DayStatistics>, StoreError> {
    let is_one = filter.application_id.is_some();
    let read = |sql: &str, (first, last): (i64, i64), limit: i64| {
        let (day, application, stage) = behind(filter);
        sqlx::query(AssertSqlSafe(sql.to_owned()))
            .bind(first.max(day))
            .bind(last)
            .bind(filter.application_id.map(|id| id.0))
            .bind(day)
            .bind(application)
            .bind(stage)
            .bind(limit)
    };
    let mut days = BTreeMap::new();
    let page = read(&days_of(is_one), filter.days, i64::from(filter.limit));
    for row in page.fetch_all(readers).await? {
        days.insert(key(&row)?, day(&row)?);
    }
    let Some((first, last)) = days.keys().next().zip(days.keys().next_back()) else {
        return Ok(Vec::new());
    };
    // Types of the last day's later applications are read too, and ignored.
    let types = types(is_one);
    let types = read(&types, (first.day, last.day), MOST_OWN_KINDS).bind(shared_kinds());
    let mut types = types.fetch(readers);
    while let Some(row) = types.try_next().await? {
        if let Some(day) = days.get_mut(&key(&row)?) {
            day.types.push(type_count(&row)?);
        }
    }
    let mut days: Vec<_> = days.into_values().collect();
    for day in &mut days {
        day.types.sort_by(|one, next| one.kind.cmp(&next.kind));
    }
    Ok(days)
}

/// The key of the last entry of the previous page, or one that sorts before all others.
fn behind(filter: &StatisticsFilter) -> (i64, Vec<u8>, &'static str) {
    match filter.after {
        Some((day, application, stage)) => {
            (day, application.0.as_bytes().to_vec(), stage_word(stage))
        }
        None => (i64::MIN, Vec::new(), ""),
    }
}

/// A page of a range of days after the previous page, of one application or of all.
pub(in crate::sqlite) fn days_of(one_application: bool) -> String {
    let rest = "ORDER BY day, application_id, stage LIMIT ?7";
    format!("{} {rest}", select("statistics", one_application))
}

/// The finds of these days, of an application's own names the ?7 most frequent ones; ?8 are the names of all.
pub(in crate::sqlite) fn types(one_application: bool) -> String {
    let all = select("statistics_types", one_application);
    format!(
        "SELECT application_id, day, stage,
            CASE WHEN is_shared OR place <= ?7 THEN kind ELSE '{OTHER_FINDS}' END AS kind, sum(finds) AS finds
        FROM (
            SELECT *, row_number() OVER (
                PARTITION BY day, application_id, stage, is_shared ORDER BY finds DESC, kind) AS place
            FROM (SELECT *, kind IN (SELECT value FROM json_each(?8)) AS is_shared FROM ({all})))
        GROUP BY 1, 2, 3, 4"
    )
}

fn select(table: &str, one_application: bool) -> String {
    let after = "day BETWEEN ?1 AND ?2 AND (day, application_id, stage) > (?4, ?5, ?6)";
    match one_application {
        true => format!("SELECT * FROM {table} WHERE application_id = ?3 AND {after}"),
        false => format!("SELECT * FROM {table} INDEXED BY {table}_by_day WHERE {after}"),
    }
}

fn key(row: &SqliteRow) -> Result<Key, StoreError> {
    Ok(Key {
        day: row.number("day")?,
        application: row.id("application_id")?,
        stage: row.text("stage")?,
    })
}
