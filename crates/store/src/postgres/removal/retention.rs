//! Removes the oldest records (CONTRACT 38): whole days by dropping their partitions, the rest in bounded steps.
//! The statistics tell how many records there are and what they take, so that nothing has to be counted.
//!
//! A limit in days is exact to the day (UTC) for records in partitions, and to the millisecond in the default
//! partition and for one application.

use super::cleanup;
use super::delete::{Removable, delete_all, delete_attachments, delete_excess};
use super::totals::Amount;
use crate::error::StoreError;
use crate::postgres::partitions;
use crate::postgres::seq::{DAY_MS, Day, first_seq_at};
use crate::postgres::statistics::traffic;
use crate::removal::{RetentionLimits, RetentionScope};
use crate::sql::columns::Columns as _;
use monitor_model::ApplicationId;
use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use std::collections::BTreeMap;

/// The lock under which one server removes records at a time: "monkeep" in ASCII.
const LOCK: &str = "SELECT pg_try_advisory_lock(30804237641770352)";
const UNLOCK: &str = "SELECT pg_advisory_unlock(30804237641770352)";

const STORED: &str = "
    SELECT day, sum(kept_rows)::bigint AS records, sum(kept_bytes)::bigint AS bytes FROM statistics
    WHERE $1::uuid IS NULL OR application_id = $1 GROUP BY day HAVING sum(kept_rows) > 0";
const STORED_ON_DAY: &str = "
    SELECT coalesce(sum(kept_rows), 0)::bigint AS records FROM statistics WHERE day = $1";

/// Removes what exceeds the limits, unless another server is doing it; returns the number of removed records.
pub(super) async fn enforce(
    connection: &mut PgConnection,
    scope: RetentionScope,
) -> Result<u64, StoreError> {
    let is_locked: bool = sqlx::query_scalar(LOCK).fetch_one(&mut *connection).await?;
    if !is_locked {
        return Ok(0);
    }
    // A failure closes the connection, which releases the lock.
    let removed = by_age(connection, scope).await? + by_amount(connection, scope).await?;
    if scope.application.is_none() {
        cleanup::clear_removed(connection).await?;
        cleanup::clear_ledger(connection).await?;
        traffic::forget(connection, scope.now_ms).await?;
    }
    sqlx::raw_sql(UNLOCK).execute(connection).await?;
    Ok(removed)
}

async fn by_age(connection: &mut PgConnection, scope: RetentionScope) -> Result<u64, StoreError> {
    let Some(days) = scope.limits.days else {
        return Ok(0);
    };
    let oldest_ms = scope
        .now_ms
        .saturating_sub(i64::from(days).saturating_mul(DAY_MS));
    let mut removed = 0;
    if scope.application.is_none() {
        for day in partitions::days(connection).await? {
            if day.next().start_ms() <= oldest_ms {
                removed += drop_day(connection, day).await?.unwrap_or(0);
            }
        }
    }
    let removable = Removable {
        application: scope.application.map(|id| id.0),
        below: Some(first_seq_at(oldest_ms)),
        only_default: scope.application.is_none(),
    };
    Ok(removed + delete_all(connection, removable).await?)
}

async fn by_amount(
    connection: &mut PgConnection,
    scope: RetentionScope,
) -> Result<u64, StoreError> {
    let RetentionLimits { rows, bytes, .. } = scope.limits;
    if rows.is_none() && bytes.is_none() {
        return Ok(0);
    }
    let stored = stored(connection, scope.application).await?;
    let total = |of: fn(&Amount) -> u64| stored.values().map(of).sum::<u64>();
    let over = |total: u64, limit: Option<u64>| limit.map_or(0, |most| total.saturating_sub(most));
    let mut excess = Amount {
        records: over(total(|day| day.records), rows),
        bytes: over(total(|day| day.bytes), bytes),
    };
    let mut removed = 0;
    if scope.application.is_none() {
        // Never today's partition: it is being written.
        let today = Day::of(scope.now_ms);
        for (day, stored) in stored.into_iter().take_while(|(day, _)| *day < today) {
            let is_due = stored.records <= excess.records || stored.bytes <= excess.bytes;
            let dropped = match is_due {
                true => drop_day(connection, day).await?,
                false => None,
            };
            let Some(dropped) = dropped else { break };
            removed += dropped;
            excess = excess.without(stored);
        }
    }
    let removable = Removable {
        application: scope.application.map(|id| id.0),
        below: None,
        only_default: false,
    };
    Ok(removed + delete_excess(connection, removable, excess).await?)
}

/// What is stored of each day.
async fn stored(
    connection: &mut PgConnection,
    application: Option<ApplicationId>,
) -> Result<BTreeMap<Day, Amount>, StoreError> {
    let rows = sqlx::query(STORED)
        .bind(application.map(|id| id.0))
        .fetch_all(connection)
        .await?;
    let day = |row: &PgRow| {
        let amount = Amount {
            records: row.count("records")?,
            bytes: row.count("bytes")?,
        };
        Ok((Day(row.number("day")?), amount))
    };
    rows.iter().map(day).collect()
}

/// Drops a day; returns how many records it had, None if it has no partition.
async fn drop_day(connection: &mut PgConnection, day: Day) -> Result<Option<u64>, StoreError> {
    let stored = sqlx::query(STORED_ON_DAY).bind(day.0);
    let stored = stored.fetch_one(&mut *connection).await?;
    if !partitions::drop_day(connection, day).await? {
        return Ok(None);
    }
    delete_attachments(connection, day).await?;
    Ok(Some(stored.count("records")?))
}
