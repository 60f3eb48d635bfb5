//! End users by the day: reads what inserting counts (`records/insert_derived.sql`), and deletes old days.

use crate::costs::first_kept_day;
use crate::error::StoreError;
use crate::sql::user_days::{day, order, total};
use crate::sqlite::values::json_list;
use crate::user_days::{MOST_USER_DAYS, UserDay, UserDayFilter, UserFilter, UserTotal};
use sqlx::sqlite::SqlitePool;
use sqlx::{AssertSqlSafe, SqliteConnection};

/// The days from ?2 are those that are asked for, those before are the ones to compare with.
const TOTALS: &str = "
    SELECT * FROM (
        SELECT application_id, user_id,
            sum(CASE WHEN day >= ?2 THEN messages ELSE 0 END) AS messages,
            sum(CASE WHEN day >= ?2 THEN flagged ELSE 0 END) AS flagged,
            sum(CASE WHEN day >= ?2 THEN blocked ELSE 0 END) AS blocked,
            sum(CASE WHEN day < ?2 THEN messages ELSE 0 END) AS messages_before,
            sum(CASE WHEN day < ?2 THEN flagged ELSE 0 END) AS flagged_before,
            sum(CASE WHEN day < ?2 THEN blocked ELSE 0 END) AS blocked_before,
            max(last_ms) AS last_ms
        FROM user_days
        WHERE day BETWEEN ?1 AND ?3 AND kind = '' AND (?4 IS NULL OR application_id = ?4)
            AND (?5 IS NULL OR instr(lower(user_id), lower(?5)) > 0)
        GROUP BY application_id, user_id)
    WHERE messages > 0";
const DAYS: &str = "
    SELECT day, application_id, user_id, kind, messages, flagged, blocked, finds, last_ms FROM user_days
    WHERE user_id IN (SELECT value FROM json_each(?1)) AND day BETWEEN ?2 AND ?3
        AND (?4 IS NULL OR application_id = ?4)
    ORDER BY day DESC, application_id, user_id, kind LIMIT ?5";
/// The most rows that one transaction deletes.
const STEP: i64 = 1_000;
const FORGET: &str = "
    DELETE FROM user_days WHERE (day, application_id, user_id, kind) IN
        (SELECT day, application_id, user_id, kind FROM user_days WHERE day < ?1 LIMIT ?2)";

pub(super) async fn totals(
    readers: &SqlitePool,
    filter: &UserFilter,
) -> Result<Vec<UserTotal>, StoreError> {
    let by = order(filter.order);
    // Composed of constants.
    let sql = AssertSqlSafe(format!(
        "{TOTALS} ORDER BY {by}, user_id, application_id LIMIT ?6 OFFSET ?7"
    ));
    let rows = sqlx::query(sql)
        .bind(filter.first_day_before())
        .bind(filter.days.0)
        .bind(filter.days.1)
        .bind(filter.application_id.map(|id| id.0))
        .bind(filter.name_part.as_deref())
        .bind(i64::from(filter.limit))
        .bind(i64::from(filter.skipped))
        .fetch_all(readers)
        .await?;
    rows.iter().map(total).collect()
}

pub(super) async fn days(
    readers: &SqlitePool,
    filter: &UserDayFilter,
) -> Result<Vec<UserDay>, StoreError> {
    let rows = sqlx::query(DAYS)
        .bind(json_list(filter.user_ids.iter().cloned()))
        .bind(filter.days.0)
        .bind(filter.days.1)
        .bind(filter.application_id.map(|id| id.0))
        .bind(MOST_USER_DAYS)
        .fetch_all(readers)
        .await?;
    rows.iter().map(day).collect()
}

/// Deletes days older than those that are kept, at most one step; returns the number of sums.
pub(in crate::sqlite) async fn forget(
    connection: &mut SqliteConnection,
    now_ms: i64,
    days: Option<u32>,
) -> Result<u64, StoreError> {
    let query = sqlx::query(FORGET).bind(first_kept_day(now_ms, days));
    let done = query.bind(STEP).execute(connection).await?;
    Ok(done.rows_affected())
}
