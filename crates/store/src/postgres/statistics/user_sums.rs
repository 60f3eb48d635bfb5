//! Reads the sums of end users.

use crate::error::StoreError;
use crate::postgres::store::PostgresStore;
use crate::postgres::values::escaped;
use crate::sql::user_days::{day, order, total};
use crate::user_days::{MOST_USER_DAYS, UserDay, UserDayFilter, UserFilter, UserTotal};
use sqlx::AssertSqlSafe;

/// The days from $2 are those that are asked for, those before are the ones to compare with.
const TOTALS: &str = r#"
    SELECT * FROM (
        SELECT application_id, user_id,
            (coalesce(sum(messages) FILTER (WHERE day >= $2), 0))::bigint AS messages,
            (coalesce(sum(flagged) FILTER (WHERE day >= $2), 0))::bigint AS flagged,
            (coalesce(sum(blocked) FILTER (WHERE day >= $2), 0))::bigint AS blocked,
            (coalesce(sum(messages) FILTER (WHERE day < $2), 0))::bigint AS messages_before,
            (coalesce(sum(flagged) FILTER (WHERE day < $2), 0))::bigint AS flagged_before,
            (coalesce(sum(blocked) FILTER (WHERE day < $2), 0))::bigint AS blocked_before,
            max(last_ms) AS last_ms
        FROM user_days
        WHERE day BETWEEN $1 AND $3 AND kind = '' AND ($4::uuid IS NULL OR application_id = $4)
            AND ($5::text IS NULL OR strpos(lower(user_id COLLATE "C"), lower($5::text COLLATE "C")) > 0)
            AND application_id IN (SELECT id FROM applications)
        GROUP BY application_id, user_id) AS summed
    WHERE messages > 0"#;
const DAYS: &str = r#"
    SELECT day, application_id, user_id, kind, sum(messages)::bigint AS messages, sum(flagged)::bigint AS flagged,
        sum(blocked)::bigint AS blocked, sum(finds)::bigint AS finds, max(last_ms) AS last_ms
    FROM user_days
    WHERE user_id = ANY ($1) AND day BETWEEN $2 AND $3 AND ($4::uuid IS NULL OR application_id = $4)
        AND application_id IN (SELECT id FROM applications)
    GROUP BY day, application_id, user_id, kind
    ORDER BY day DESC, application_id, user_id COLLATE "C", kind COLLATE "C" LIMIT $5"#;

pub(super) async fn totals(
    store: &PostgresStore,
    filter: &UserFilter,
) -> Result<Vec<UserTotal>, StoreError> {
    let by = order(filter.order);
    // Composed of constants.
    let sql = AssertSqlSafe(format!(
        r#"{TOTALS} ORDER BY {by}, user_id COLLATE "C", application_id LIMIT $6 OFFSET $7"#
    ));
    let part = filter.name_part.as_deref().map(escaped);
    let query = sqlx::query(sql)
        .bind(filter.first_day_before())
        .bind(filter.days.0)
        .bind(filter.days.1)
        .bind(filter.application_id.map(|id| id.0))
        .bind(part)
        .bind(i64::from(filter.limit))
        .bind(i64::from(filter.skipped))
        .persistent(false);
    store.all(query).await?.iter().map(total).collect()
}

pub(super) async fn days(
    store: &PostgresStore,
    filter: &UserDayFilter,
) -> Result<Vec<UserDay>, StoreError> {
    let users = filter
        .user_ids
        .iter()
        .map(|user| escaped(user).into_owned());
    let query = sqlx::query(DAYS)
        .bind(users.collect::<Vec<_>>())
        .bind(filter.days.0)
        .bind(filter.days.1)
        .bind(filter.application_id.map(|id| id.0))
        .bind(MOST_USER_DAYS)
        .persistent(false);
    store.all(query).await?.iter().map(day).collect()
}
