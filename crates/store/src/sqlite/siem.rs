//! The SQL of events for other systems.

use super::store::SqliteStore;
use super::values::json_list;
use crate::error::StoreError;
use crate::siem::{QueuedEvent, SiemDestination, SiemLag, SiemStore};
use crate::sql::siem::{lag, queued_event};
use async_trait::async_trait;
use sqlx::SqliteConnection;
use std::time::Duration;
use uuid::Uuid;

const REMOVE: &str = "
    DELETE FROM siem_destinations WHERE name NOT IN (SELECT value FROM json_each(?1))";
const FORGET: &str = "
    DELETE FROM siem_outbox WHERE destination NOT IN (SELECT name FROM siem_destinations)
        OR (SELECT CASE WHEN record_id IS NULL THEN audit ELSE verdicts END
            FROM siem_destinations WHERE name = destination) = 0";
const SET: &str = "
    INSERT INTO siem_destinations (name, verdicts, audit) VALUES (?1, ?2, ?3)
    ON CONFLICT (name) DO UPDATE SET verdicts = excluded.verdicts, audit = excluded.audit";
/// A lease that ends later than any could is one of a clock that was ahead.
const LEASE: &str = "
    UPDATE siem_destinations SET holder = ?2, held_until_ms = clock.now_ms + ?3
    FROM (SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) AS now_ms) AS clock
    WHERE name = ?1 AND (holder = ?2 OR held_until_ms NOT BETWEEN clock.now_ms + 1 AND clock.now_ms + ?3)";
const RELEASE: &str =
    "UPDATE siem_destinations SET holder = NULL, held_until_ms = 0 WHERE holder = ?1";
const QUEUE: &str = "
    SELECT id, record_id, audit_seq FROM siem_outbox WHERE destination = ?1 ORDER BY id LIMIT ?2";
const FINISH: &str = "DELETE FROM siem_outbox WHERE id IN (SELECT value FROM json_each(?1))";
const DROP: &str = "
    DELETE FROM siem_outbox WHERE destination = ?1 AND id <= (
        SELECT id FROM siem_outbox WHERE destination = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)";
const IS_OVER: &str = "
    SELECT EXISTS (SELECT id FROM siem_outbox WHERE destination = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)";
const NOTE: &str = "
    UPDATE siem_destinations SET error = ?2,
        error_ms = CASE WHEN ?2 IS NULL THEN NULL
            ELSE CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) END
    WHERE name = ?1";
const LAG: &str = "
    SELECT name, error, error_ms,
        (SELECT count(*) FROM siem_outbox WHERE destination = name) AS waiting,
        (SELECT at_ms FROM siem_outbox WHERE destination = name ORDER BY id LIMIT 1) AS oldest_ms
    FROM siem_destinations ORDER BY name";

#[async_trait]
impl SiemStore for SqliteStore {
    async fn set_siem_destinations(
        &self,
        destinations: &[SiemDestination],
    ) -> Result<(), StoreError> {
        let destinations = destinations.to_vec();
        self.writer
            .write(move |connection| Box::pin(set(connection, destinations)))
            .await
    }

    async fn lease_siem(
        &self,
        name: &str,
        holder: Uuid,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let (name, lease_ms) = (name.to_owned(), millis(lease));
        self.writer
            .write(move |connection| {
                Box::pin(async move {
                    let leased = sqlx::query(LEASE).bind(name).bind(holder).bind(lease_ms);
                    Ok(leased.execute(connection).await?.rows_affected() > 0)
                })
            })
            .await
    }

    async fn release_siem(&self, holder: Uuid) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| {
                Box::pin(async move {
                    let released = sqlx::query(RELEASE).bind(holder);
                    released.execute(connection).await?;
                    Ok(())
                })
            })
            .await
    }

    async fn siem_queue(&self, name: &str, limit: u32) -> Result<Vec<QueuedEvent>, StoreError> {
        let rows = sqlx::query(QUEUE)
            .bind(name)
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(queued_event).collect()
    }

    async fn finish_siem(&self, ids: &[i64]) -> Result<(), StoreError> {
        let ids = json_list(ids.iter().copied());
        self.writer
            .write(move |connection| {
                Box::pin(async move {
                    sqlx::query(FINISH).bind(ids).execute(connection).await?;
                    Ok(())
                })
            })
            .await
    }

    async fn drop_siem(&self, name: &str, most: u32) -> Result<u64, StoreError> {
        // Looked at first, without the writer.
        let is_over: bool = sqlx::query_scalar(IS_OVER)
            .bind(name)
            .bind(i64::from(most))
            .fetch_one(&self.readers)
            .await?;
        if !is_over {
            return Ok(0);
        }
        let name = name.to_owned();
        self.writer
            .write(move |connection| {
                Box::pin(async move {
                    let dropped = sqlx::query(DROP).bind(name).bind(i64::from(most));
                    Ok(dropped.execute(connection).await?.rows_affected())
                })
            })
            .await
    }

    async fn note_siem_error(&self, name: &str, error: Option<&str>) -> Result<(), StoreError> {
        let (name, error) = (name.to_owned(), error.map(str::to_owned));
        self.writer
            .write(move |connection| {
                Box::pin(async move {
                    let noted = sqlx::query(NOTE).bind(name).bind(error);
                    noted.execute(connection).await?;
                    Ok(())
                })
            })
            .await
    }

    async fn siem_lag(&self) -> Result<Vec<SiemLag>, StoreError> {
        let rows = sqlx::query(LAG).fetch_all(&self.readers).await?;
        rows.iter().map(lag).collect()
    }
}

async fn set(
    connection: &mut SqliteConnection,
    destinations: Vec<SiemDestination>,
) -> Result<(), StoreError> {
    let names = json_list(destinations.iter().map(|one| one.name.clone()));
    sqlx::query(REMOVE)
        .bind(names)
        .execute(&mut *connection)
        .await?;
    for destination in destinations {
        sqlx::query(SET)
            .bind(destination.name)
            .bind(destination.verdicts)
            .bind(destination.audit)
            .execute(&mut *connection)
            .await?;
    }
    sqlx::query(FORGET).execute(connection).await?;
    Ok(())
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
