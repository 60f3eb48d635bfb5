//! What stays behind when records go: entries of the ledger, and all that a removed application leaves.

use super::order::place;
use super::retention::{self, Narrow};
use super::versions::now_ms;
use crate::StoreError;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

/// Rows removed by one statement, and statements in one run at most.
const STEP: i64 = 10_000;
const STEPS: u32 = 1_000;
/// What is younger than this may belong to a record that is just being kept.
const SETTLED_MS: i64 = 60_000;
/// How long a removed application is looked at again.
const WATCHED_MS: i64 = 3_600_000;

const OLDEST: &str = "SELECT created_at_ms FROM records ORDER BY seq LIMIT 1";
const LEDGER: &str = "DELETE FROM record_ledger WHERE key IN
    (SELECT key FROM record_ledger WHERE seq < $1 LIMIT $2)";
const SESSIONS: &str = "DELETE FROM sessions WHERE (application_id, session_key) IN
    (SELECT application_id, session_key FROM sessions
     WHERE application_id = $1 AND last_ms <= $2 LIMIT $3)";

/// Removes entries of the ledger that are older than the oldest record there is.
pub(super) async fn clear_ledger(connection: &mut PgConnection) -> Result<(), StoreError> {
    let oldest: Option<i64> = sqlx::query_scalar(OLDEST)
        .fetch_optional(&mut *connection)
        .await?;
    let oldest = oldest.unwrap_or_else(now_ms).saturating_sub(SETTLED_MS);
    for _ in 0..STEPS {
        let query = sqlx::query(LEDGER).bind(place(oldest)).bind(STEP);
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
            .bind(application)
            .bind(removed_at_ms)
            .bind(STEP);
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
        "DELETE FROM traffic WHERE application_id = $1
            AND NOT EXISTS (SELECT FROM applications WHERE id = $1)",
        "DELETE FROM traffic_types WHERE application_id = $1
            AND NOT EXISTS (SELECT FROM applications WHERE id = $1)",
    ] {
        let query = sqlx::query(statement).bind(application);
        query.execute(&mut *connection).await?;
    }
    Ok(())
}
