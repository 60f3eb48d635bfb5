//! What stays behind when records go: entries of the ledger, sessions without a record, and all that an
//! application leaves that was removed.

use super::order::place;
use super::retention::{self, Narrow};
use super::versions::now_ms;
use crate::store::StoreError;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

/// Rows removed by one statement, and statements in one run at most.
const STEP: i64 = 10_000;
const STEPS: u32 = 1_000;
/// What is younger than this may belong to a record that is just being kept.
const SETTLED_MS: i64 = 60_000;
/// How long a removed application is looked at again.
const WATCHED_MS: i64 = 3_600_000;

const OLDEST: &str =
    "SELECT created_at_ms FROM records WHERE $1::uuid IS NULL ORDER BY seq LIMIT 1";
const OLDEST_OF_ONE: &str =
    "SELECT created_at_ms FROM records WHERE application_id = $1 ORDER BY seq LIMIT 1";
const LEDGER: &str = "DELETE FROM record_ledger WHERE key IN
    (SELECT key FROM record_ledger WHERE seq < $1 LIMIT $2)";
const SESSIONS: &str = "DELETE FROM sessions WHERE key IN (SELECT key FROM sessions
    WHERE last_ms < $1 AND ($3::uuid IS NULL OR application_id = $3) LIMIT $2)";

/// Removes entries and sessions that are older than the oldest record there is.
pub(super) async fn forget(
    connection: &mut PgConnection,
    application: Option<Uuid>,
) -> Result<(), StoreError> {
    let sql = if application.is_some() {
        OLDEST_OF_ONE
    } else {
        OLDEST
    };
    let oldest: Option<i64> = sqlx::query_scalar(sql)
        .bind(application)
        .fetch_optional(&mut *connection)
        .await?;
    let oldest = oldest.unwrap_or_else(|| now_ms() - SETTLED_MS);
    for _ in 0..STEPS {
        let query = sqlx::query(SESSIONS)
            .bind(oldest)
            .bind(STEP)
            .bind(application);
        if query.execute(&mut *connection).await?.rows_affected() == 0 {
            break;
        }
    }
    if application.is_some() {
        return Ok(());
    }
    for _ in 0..STEPS {
        let query = sqlx::query(LEDGER)
            .bind(place(oldest.saturating_sub(SETTLED_MS)))
            .bind(STEP);
        if query.execute(&mut *connection).await?.rows_affected() == 0 {
            break;
        }
    }
    Ok(())
}

/// Removes what removed applications have left.
pub(super) async fn clear_removed(connection: &mut PgConnection) -> Result<(), StoreError> {
    let removed =
        sqlx::query("SELECT application_id, below, removed_at_ms FROM removed_applications")
            .fetch_all(&mut *connection)
            .await?;
    for row in &removed {
        let application: Uuid = row.try_get(0)?;
        let below: i64 = row.try_get(1)?;
        let removed_at_ms: i64 = row.try_get(2)?;
        let narrow = Narrow {
            application: Some(application),
            below: Some(below),
            only_default: false,
        };
        let gone = retention::remove_all(connection, narrow).await?;
        clear(connection, application, removed_at_ms).await?;
        if gone == 0 && now_ms() - removed_at_ms > WATCHED_MS {
            sqlx::query(
                "DELETE FROM removed_applications WHERE application_id = $1 AND below = $2",
            )
            .bind(application)
            .bind(below)
            .execute(&mut *connection)
            .await?;
        }
    }
    Ok(())
}

async fn clear(
    connection: &mut PgConnection,
    application: Uuid,
    removed_at_ms: i64,
) -> Result<(), StoreError> {
    for _ in 0..STEPS {
        let query = sqlx::query(SESSIONS)
            .bind(removed_at_ms + 1)
            .bind(STEP)
            .bind(application);
        if query.execute(&mut *connection).await?.rows_affected() == 0 {
            break;
        }
    }
    // Under the same name there may be a new one by now, which counts on.
    for statement in [
        "DELETE FROM statistics WHERE application_id = $1
            AND NOT EXISTS (SELECT FROM applications WHERE id = $1)",
        "DELETE FROM statistics_types WHERE application_id = $1
            AND NOT EXISTS (SELECT FROM applications WHERE id = $1)",
    ] {
        let query = sqlx::query(statement).bind(application);
        query.execute(&mut *connection).await?;
    }
    Ok(())
}
