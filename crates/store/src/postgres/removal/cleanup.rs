//! Removes what removed records leave behind: entries of `record_ledger`, links of files, and everything of a removed
//! application.

use super::delete::{Removable, delete_all};
use crate::error::StoreError;
use crate::postgres::seq::{Day, first_seq_at, now_ms};
use crate::sql::columns::Columns as _;
use sqlx::PgConnection;
use uuid::Uuid;

/// The most rows that one statement removes, and the most statements in one run.
const STEP: i64 = 10_000;
const STEPS: u32 = 1_000;
/// What is younger than this may belong to a record that is being inserted.
const SETTLED_MS: i64 = 60_000;
/// How long a removed application is checked for late records.
const WATCHED_MS: i64 = 3_600_000;

const OLDEST: &str = "SELECT created_at_ms FROM records ORDER BY seq LIMIT 1";
const LEDGER: &str = "DELETE FROM record_ledger WHERE key IN
    (SELECT key FROM record_ledger WHERE seq < $1 LIMIT $2)";
/// Before the oldest record nothing is stored, whatever an earlier release left counted.
const AMOUNTS: &str = "UPDATE statistics SET kept_rows = 0, kept_bytes = 0
    WHERE day < $1 AND (kept_rows <> 0 OR kept_bytes <> 0)";
/// Left over if a run stopped between dropping a day and deleting its links.
const LINKS: &str = "DELETE FROM attachments WHERE (seq, sha256, name) IN
    (SELECT seq, sha256, name FROM attachments WHERE seq < $1 LIMIT $2)";
/// The same of found values.
const VALUES: &str = "DELETE FROM found_values WHERE (hash, seq) IN
    (SELECT hash, seq FROM found_values WHERE seq < $1 LIMIT $2)";
const FINDINGS: &str =
    "DELETE FROM findings WHERE seq IN (SELECT seq FROM findings WHERE seq < $1 LIMIT $2)";
const SESSIONS: &str = "DELETE FROM sessions WHERE (application_id, session_key) IN
    (SELECT application_id, session_key FROM sessions
     WHERE application_id = $1 AND last_ms <= $2 LIMIT $3)";

/// Removes entries of the ledger, links of files, found values, findings and amounts that are older than
/// the oldest record.
pub(super) async fn clear_before_records(connection: &mut PgConnection) -> Result<(), StoreError> {
    let oldest: Option<i64> = sqlx::query_scalar(OLDEST)
        .fetch_optional(&mut *connection)
        .await?;
    let oldest = oldest.unwrap_or_else(now_ms).saturating_sub(SETTLED_MS);
    let query = sqlx::query(AMOUNTS).bind(Day::of(oldest).0);
    query.execute(&mut *connection).await?;
    for statement in [LEDGER, LINKS, VALUES, FINDINGS] {
        for _ in 0..STEPS {
            let query = sqlx::query(statement).bind(first_seq_at(oldest)).bind(STEP);
            if query.execute(&mut *connection).await?.rows_affected() == 0 {
                break;
            }
        }
    }
    Ok(())
}

/// Removes what removed applications left behind; counts their records.
pub(in crate::postgres) async fn clear_removed(
    connection: &mut PgConnection,
    records: &mut u64,
) -> Result<(), StoreError> {
    let removed =
        sqlx::query("SELECT application_id, below, removed_at_ms FROM removed_applications")
            .fetch_all(&mut *connection)
            .await?;
    for row in &removed {
        let application: Uuid = row.id("application_id")?;
        let below: i64 = row.number("below")?;
        let removed_at_ms: i64 = row.number("removed_at_ms")?;
        let removable = Removable {
            application: Some(application),
            below: Some(below),
            only_default: false,
        };
        let before = *records;
        delete_all(connection, removable, records).await?;
        clear(connection, application, removed_at_ms).await?;
        if *records == before && now_ms() - removed_at_ms > WATCHED_MS {
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
    // A new application may have taken the same id, and continues these counts.
    for statement in [
        "DELETE FROM statistics WHERE application_id = $1
            AND NOT EXISTS (SELECT FROM applications WHERE id = $1)",
        "DELETE FROM statistics_types WHERE application_id = $1
            AND NOT EXISTS (SELECT FROM applications WHERE id = $1)",
        "DELETE FROM traffic WHERE application_id = $1
            AND NOT EXISTS (SELECT FROM applications WHERE id = $1)",
        "DELETE FROM traffic_types WHERE application_id = $1
            AND NOT EXISTS (SELECT FROM applications WHERE id = $1)",
        "DELETE FROM costs WHERE application_id = $1
            AND NOT EXISTS (SELECT FROM applications WHERE id = $1)",
        "DELETE FROM user_days WHERE application_id = $1
            AND NOT EXISTS (SELECT FROM applications WHERE id = $1)",
    ] {
        let query = sqlx::query(statement).bind(application);
        query.execute(&mut *connection).await?;
    }
    Ok(())
}
