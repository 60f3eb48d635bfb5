//! Costs by the day: reads what inserting counts (`records/insert_derived.sql`), and deletes old days.

use crate::costs::{CostFilter, CostSum, first_kept_day};
use crate::error::StoreError;
use crate::sql::costs::{select, sum};
use sqlx::sqlite::SqlitePool;
use sqlx::{AssertSqlSafe, SqliteConnection};

const NARROWED: &str =
    "by_user = ?7 AND day BETWEEN ?1 AND ?2 AND (?3 IS NULL OR application_id = ?3)
    AND (?4 IS NULL OR user_id = ?4) AND (?5 IS NULL OR model = ?5)";
/// The most rows that one transaction deletes.
const STEP: i64 = 1_000;
const FORGET: &str = "
    DELETE FROM costs WHERE (by_user, day, application_id, user_id, model, currency, priced) IN
        (SELECT by_user, day, application_id, user_id, model, currency, priced FROM costs
         WHERE by_user = 1 AND day < ?1 LIMIT ?2)";

pub(super) async fn sums(
    readers: &SqlitePool,
    filter: &CostFilter,
) -> Result<Vec<CostSum>, StoreError> {
    // Composed of constants.
    let sql = AssertSqlSafe(select(filter.groups, NARROWED, "?6", "INTEGER"));
    let rows = sqlx::query(sql)
        .bind(filter.days.0)
        .bind(filter.days.1)
        .bind(filter.application_id.map(|id| id.0))
        .bind(filter.user_id.as_deref())
        .bind(filter.model.as_deref())
        .bind(i64::from(filter.limit))
        .bind(filter.is_by_user())
        .fetch_all(readers)
        .await?;
    rows.iter().map(|row| sum(row, filter.groups)).collect()
}

/// Deletes sums of users from days older than those that are kept, at most one step; returns their number.
pub(in crate::sqlite) async fn forget(
    connection: &mut SqliteConnection,
    now_ms: i64,
    days: Option<u32>,
) -> Result<u64, StoreError> {
    let query = sqlx::query(FORGET).bind(first_kept_day(now_ms, days));
    let done = query.bind(STEP).execute(connection).await?;
    Ok(done.rows_affected())
}
