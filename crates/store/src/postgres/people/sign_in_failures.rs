//! The SQL of counted failures. Whoever counts holds the rows of all counters, taken in the order of their keys.

use crate::error::StoreError;
use crate::people::sign_in_failures::{
    CountedFailures, FORGOTTEN_AFTER_MS, FailureCounter, SignInFailureStore, longest_wait,
};
use crate::postgres::pool::with_timeout;
use crate::postgres::store::PostgresStore;
use crate::sql::sign_in_failures::counted_failures;
use async_trait::async_trait;
use sqlx::Connection as _;
use sqlx::postgres::PgRow;
use std::time::Duration;

const FIND: &str =
    "SELECT counter, failures, at_ms FROM sign_in_failures WHERE counter = ANY ($1::bytea[])";
/// A counter that is not there yet is one of no failures.
const HOLD: &str = "
    INSERT INTO sign_in_failures AS kept (counter, failures, at_ms)
    SELECT counter, 0, 0 FROM unnest($1::bytea[]) AS held (counter) ORDER BY counter
    ON CONFLICT (counter) DO UPDATE SET failures = kept.failures
    RETURNING counter, failures, at_ms";
const COUNT: &str = "
    UPDATE sign_in_failures SET failures = CASE WHEN at_ms <= $3 THEN 1 ELSE failures + 1 END, at_ms = $2
    WHERE counter = ANY ($1::bytea[])";
const FORGIVE: &str = "
    WITH held AS (
        SELECT counter FROM sign_in_failures
        WHERE counter = ANY ($1::bytea[]) OR counter = $2 ORDER BY counter FOR UPDATE)
    UPDATE sign_in_failures AS kept
    SET failures = CASE WHEN kept.counter = $2 THEN greatest(kept.failures - 1, 0) ELSE 0 END
    FROM held WHERE kept.counter = held.counter RETURNING kept.counter";
/// What is counted at this moment is not old.
const FORGET: &str = "
    DELETE FROM sign_in_failures WHERE counter IN (
        SELECT counter FROM sign_in_failures
        WHERE at_ms < greatest($1, (SELECT at_ms FROM sign_in_failures ORDER BY at_ms DESC OFFSET $2 - 1 LIMIT 1))
        FOR UPDATE SKIP LOCKED)
    RETURNING counter";

#[async_trait]
impl SignInFailureStore for PostgresStore {
    async fn failure_wait(
        &self,
        counters: &[FailureCounter],
        now_ms: i64,
    ) -> Result<Option<Duration>, StoreError> {
        let rows = self.all(sqlx::query(FIND).bind(keys(counters))).await?;
        Ok(longest_wait(counters, &counted(&rows)?, now_ms))
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
        let keys = keys(counters);
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        let wait = with_timeout(async {
            let mut transaction = connection.begin().await?;
            let hold = sqlx::query(HOLD).bind(&keys);
            let rows = hold.fetch_all(&mut *transaction).await?;
            let counted = match counted(&rows) {
                Ok(counted) => counted,
                Err(error) => return Ok(Err(error)),
            };
            if let Some(wait) = longest_wait(counters, &counted, now_ms) {
                transaction.rollback().await?;
                return Ok(Ok(Some(wait)));
            }
            let count = sqlx::query(COUNT).bind(&keys).bind(now_ms);
            let count = count.bind(now_ms - FORGOTTEN_AFTER_MS);
            count.execute(&mut *transaction).await?;
            transaction.commit().await?;
            Ok(Ok(None))
        })
        .await??;
        pooled.release();
        Ok(wait)
    }

    async fn forgive_failures(
        &self,
        cleared: &[FailureCounter],
        reduced: FailureCounter,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(FORGIVE)
            .bind(keys(cleared))
            .bind(reduced.key.to_vec());
        self.all(query).await.map(drop)
    }

    async fn forget_failures(&self, now_ms: i64, most: u32) -> Result<(), StoreError> {
        let query = sqlx::query(FORGET)
            .bind(now_ms - FORGOTTEN_AFTER_MS)
            .bind(i64::from(most.max(1)));
        self.all(query).await.map(drop)
    }
}

fn keys(counters: &[FailureCounter]) -> Vec<Vec<u8>> {
    counters.iter().map(|one| one.key.to_vec()).collect()
}

fn counted(rows: &[PgRow]) -> Result<Vec<CountedFailures>, StoreError> {
    rows.iter().map(counted_failures).collect()
}
