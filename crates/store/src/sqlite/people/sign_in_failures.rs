//! The SQL of counted failures. One connection writes, so that attempts come one after the other.

use crate::error::StoreError;
use crate::people::sign_in_failures::{
    CountedFailures, FORGOTTEN_AFTER_MS, FailureCounter, SignInFailureStore, longest_wait,
};
use crate::sql::sign_in_failures::counted_failures;
use crate::sqlite::store::SqliteStore;
use async_trait::async_trait;
use sqlx::SqliteConnection;
use std::time::Duration;

const FIND: &str = "SELECT counter, failures, at_ms FROM sign_in_failures WHERE counter = ?1";
const COUNT: &str = "
    INSERT INTO sign_in_failures (counter, failures, at_ms) VALUES (?1, 1, ?2)
    ON CONFLICT (counter) DO UPDATE SET at_ms = excluded.at_ms,
        failures = CASE WHEN sign_in_failures.at_ms <= ?3 THEN 1 ELSE sign_in_failures.failures + 1 END";
const CLEAR: &str = "UPDATE sign_in_failures SET failures = 0 WHERE counter = ?1";
const REDUCE: &str =
    "UPDATE sign_in_failures SET failures = max(failures - 1, 0) WHERE counter = ?1";
const FORGET: &str = "
    DELETE FROM sign_in_failures WHERE at_ms < max(?1, coalesce(
        (SELECT at_ms FROM sign_in_failures ORDER BY at_ms DESC LIMIT 1 OFFSET ?2 - 1), ?1))";

#[async_trait]
impl SignInFailureStore for SqliteStore {
    async fn failure_wait(
        &self,
        counters: &[FailureCounter],
        now_ms: i64,
    ) -> Result<Option<Duration>, StoreError> {
        let mut connection = self.lookups.acquire().await?;
        let counted = find_all(&mut connection, counters).await?;
        Ok(longest_wait(counters, &counted, now_ms))
    }

    async fn count_failure(
        &self,
        counters: &[FailureCounter],
        now_ms: i64,
    ) -> Result<Option<Duration>, StoreError> {
        // Whoever has to wait writes nothing.
        if let Some(wait) = self.failure_wait(counters, now_ms).await? {
            return Ok(Some(wait));
        }
        let counters = counters.to_vec();
        self.writer
            .write(move |connection| Box::pin(count(connection, counters, now_ms)))
            .await
    }

    async fn forgive_failures(
        &self,
        cleared: &[FailureCounter],
        reduced: FailureCounter,
    ) -> Result<(), StoreError> {
        let cleared = cleared.to_vec();
        self.writer
            .write(move |connection| Box::pin(forgive(connection, cleared, reduced)))
            .await
    }

    async fn forget_failures(&self, now_ms: i64, most: u32) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| Box::pin(forget(connection, now_ms, most)))
            .await
    }
}

async fn find_all(
    connection: &mut SqliteConnection,
    counters: &[FailureCounter],
) -> Result<Vec<CountedFailures>, StoreError> {
    let mut counted = Vec::with_capacity(counters.len());
    for counter in counters {
        let row = sqlx::query(FIND).bind(counter.key.to_vec());
        let row = row.fetch_optional(&mut *connection).await?;
        counted.extend(row.as_ref().map(counted_failures).transpose()?);
    }
    Ok(counted)
}

async fn count(
    connection: &mut SqliteConnection,
    counters: Vec<FailureCounter>,
    now_ms: i64,
) -> Result<Option<Duration>, StoreError> {
    let counted = find_all(connection, &counters).await?;
    if let Some(wait) = longest_wait(&counters, &counted, now_ms) {
        return Ok(Some(wait));
    }
    for counter in &counters {
        sqlx::query(COUNT)
            .bind(counter.key.to_vec())
            .bind(now_ms)
            .bind(now_ms - FORGOTTEN_AFTER_MS)
            .execute(&mut *connection)
            .await?;
    }
    Ok(None)
}

async fn forgive(
    connection: &mut SqliteConnection,
    cleared: Vec<FailureCounter>,
    reduced: FailureCounter,
) -> Result<(), StoreError> {
    for counter in cleared {
        let clear = sqlx::query(CLEAR).bind(counter.key.to_vec());
        clear.execute(&mut *connection).await?;
    }
    let reduce = sqlx::query(REDUCE).bind(reduced.key.to_vec());
    reduce.execute(connection).await?;
    Ok(())
}

async fn forget(
    connection: &mut SqliteConnection,
    now_ms: i64,
    most: u32,
) -> Result<(), StoreError> {
    sqlx::query(FORGET)
        .bind(now_ms - FORGOTTEN_AFTER_MS)
        .bind(i64::from(most.max(1)))
        .execute(connection)
        .await?;
    Ok(())
}
