//! The SQL of events for other systems. Leases go by the clock of the database.

use super::pool::with_timeout;
use super::store::PostgresStore;
use crate::error::StoreError;
use crate::siem::{QueuedEvent, SiemDestination, SiemLag, SiemStore};
use crate::sql::columns::Columns as _;
use crate::sql::siem::{lag, queued_event};
use async_trait::async_trait;
use sqlx::Connection as _;
use std::time::Duration;
use uuid::Uuid;

/// Of servers that start at once, one sets the destinations after the other.
const LOCK: &str = "LOCK TABLE siem_destinations IN SHARE ROW EXCLUSIVE MODE";
const REMOVE: &str = "DELETE FROM siem_destinations WHERE name <> ALL ($1::text[])";
const FORGET: &str = "
    DELETE FROM siem_outbox o WHERE NOT EXISTS (
        SELECT FROM siem_destinations d
        WHERE d.name = o.destination AND CASE WHEN o.record_id IS NULL THEN d.audit ELSE d.verdicts END)";
const SET: &str = "
    INSERT INTO siem_destinations (name, verdicts, audit)
    SELECT name, verdicts, audit FROM unnest($1::text[], $2::boolean[], $3::boolean[]) AS wanted (name, verdicts, audit)
    ON CONFLICT (name) DO UPDATE SET verdicts = excluded.verdicts, audit = excluded.audit";
/// A lease that ends later than any could is one of a clock that was ahead.
const LEASE: &str = "
    UPDATE siem_destinations SET holder = $2, held_until_ms = clock.now_ms + $3
    FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms) AS clock
    WHERE name = $1 AND (holder = $2 OR held_until_ms NOT BETWEEN clock.now_ms + 1 AND clock.now_ms + $3)
    RETURNING name";
const RELEASE: &str = "
    UPDATE siem_destinations SET holder = NULL, held_until_ms = 0 WHERE holder = $1 RETURNING name";
const QUEUE: &str = "
    SELECT id, record_id, audit_seq FROM siem_outbox WHERE destination = $1 ORDER BY id LIMIT $2";
const FINISH: &str = "DELETE FROM siem_outbox WHERE id = ANY ($1::bigint[])";
const DROP: &str = "
    WITH dropped AS (
        DELETE FROM siem_outbox WHERE destination = $1 AND id <= (
            SELECT id FROM siem_outbox WHERE destination = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)
        RETURNING id)
    SELECT count(*) AS dropped FROM dropped";
const NOTE: &str = "
    UPDATE siem_destinations SET error = $2::text,
        error_ms = CASE WHEN $2::text IS NULL THEN NULL ELSE (extract(epoch FROM clock_timestamp()) * 1000)::bigint END
    WHERE name = $1";
const LAG: &str = "
    SELECT d.name, d.error, d.error_ms,
        (SELECT count(*) FROM siem_outbox o WHERE o.destination = d.name) AS waiting,
        (SELECT o.at_ms FROM siem_outbox o WHERE o.destination = d.name ORDER BY o.id LIMIT 1) AS oldest_ms
    FROM siem_destinations d ORDER BY d.name";

#[async_trait]
impl SiemStore for PostgresStore {
    async fn set_siem_destinations(
        &self,
        destinations: &[SiemDestination],
    ) -> Result<(), StoreError> {
        let names: Vec<String> = destinations.iter().map(|one| one.name.clone()).collect();
        let verdicts: Vec<bool> = destinations.iter().map(|one| one.verdicts).collect();
        let audit: Vec<bool> = destinations.iter().map(|one| one.audit).collect();
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        with_timeout(async {
            let mut transaction = connection.begin().await?;
            sqlx::query(LOCK).execute(&mut *transaction).await?;
            let remove = sqlx::query(REMOVE).bind(&names);
            remove.execute(&mut *transaction).await?;
            let set = sqlx::query(SET).bind(&names).bind(&verdicts).bind(&audit);
            set.execute(&mut *transaction).await?;
            sqlx::query(FORGET).execute(&mut *transaction).await?;
            transaction.commit().await?;
            Ok(())
        })
        .await?;
        pooled.release();
        Ok(())
    }

    async fn lease_siem(
        &self,
        name: &str,
        holder: Uuid,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let lease_ms = i64::try_from(lease.as_millis()).unwrap_or(i64::MAX);
        let leased = sqlx::query(LEASE).bind(name).bind(holder).bind(lease_ms);
        Ok(!self.all(leased).await?.is_empty())
    }

    async fn release_siem(&self, holder: Uuid) -> Result<(), StoreError> {
        self.all(sqlx::query(RELEASE).bind(holder)).await.map(drop)
    }

    async fn siem_queue(&self, name: &str, limit: u32) -> Result<Vec<QueuedEvent>, StoreError> {
        let queue = sqlx::query(QUEUE).bind(name).bind(i64::from(limit));
        let rows = self.all(queue).await?;
        rows.iter().map(queued_event).collect()
    }

    async fn finish_siem(&self, ids: &[i64]) -> Result<(), StoreError> {
        let finish = sqlx::query(FINISH).bind(ids.to_vec());
        self.all(finish).await.map(drop)
    }

    async fn drop_siem(&self, name: &str, most: u32) -> Result<u64, StoreError> {
        let dropped = sqlx::query(DROP).bind(name).bind(i64::from(most));
        let rows = self.all(dropped).await?;
        let row = rows.first().ok_or(StoreError::Unreadable("count"))?;
        Ok(row.count("dropped")?)
    }

    async fn note_siem_error(&self, name: &str, error: Option<&str>) -> Result<(), StoreError> {
        let note = sqlx::query(NOTE).bind(name).bind(error);
        self.all(note).await.map(drop)
    }

    async fn siem_lag(&self) -> Result<Vec<SiemLag>, StoreError> {
        let rows = self.all(sqlx::query(LAG)).await?;
        rows.iter().map(lag).collect()
    }
}
