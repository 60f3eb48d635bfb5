//! Removes the oldest records (CONTRACT 38): whole days by dropping their partitions, the rest in bounded steps.
//! Of what is beyond the rows or bytes of the whole store, only applications above their part lose records (see
//! `fair_parts`).
//! The statistics tell how many records there are and what they take, so that nothing has to be counted.
//!
//! A limit in days is exact to the day (UTC) for records in partitions, and to the millisecond in the default
//! partition and for one application.

use super::cleanup;
use super::delete::{Removable, delete_all, delete_attachments, delete_excess};
use super::totals::Amount;
use crate::error::StoreError;
use crate::fair_parts::{Part, beyond_parts};
use crate::postgres::partitions;
use crate::postgres::seq::{DAY_MS, Day, first_seq_at};
use crate::postgres::statistics::traffic;
use crate::removal::{Removed, RetentionLimits, RetentionScope, StoredAmount};
use crate::sql::columns::Columns as _;
use monitor_model::ApplicationId;
use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use std::collections::BTreeMap;
use uuid::Uuid;

/// The lock under which one server removes records at a time: "monkeep" in ASCII.
const LOCK: &str = "SELECT pg_try_advisory_lock(30804237641770352)";
const UNLOCK: &str = "SELECT pg_advisory_unlock(30804237641770352)";

const STORED: &str = "
    SELECT day, application_id, sum(kept_rows)::bigint AS records, sum(kept_bytes)::bigint AS bytes
    FROM statistics WHERE $1::uuid IS NULL OR application_id = $1
    GROUP BY day, application_id HAVING sum(kept_rows) > 0";
pub(super) const STORED_IN_ALL: &str = "
    SELECT greatest(coalesce(sum(kept_rows), 0), 0)::bigint AS records,
        greatest(coalesce(sum(kept_bytes), 0), 0)::bigint AS bytes
    FROM statistics WHERE kept_rows <> 0 OR kept_bytes <> 0";
const STORED_ON_DAY: &str = "
    SELECT coalesce(sum(kept_rows), 0)::bigint AS records FROM statistics WHERE day = $1";

/// The amounts of each application, by day.
type Days = BTreeMap<Day, BTreeMap<Uuid, Amount>>;

/// What applications have above their part of a limit.
struct Excess {
    /// All that is stored.
    days: Days,
    applications: BTreeMap<Uuid, Amount>,
}

/// Removes what exceeds the limits, unless another server is doing it.
pub(super) async fn enforce(
    connection: &mut PgConnection,
    scope: RetentionScope,
) -> Result<Removed, StoreError> {
    let mut removed = Removed::default();
    let is_locked: bool = sqlx::query_scalar(LOCK).fetch_one(&mut *connection).await?;
    if !is_locked {
        return Ok(removed);
    }
    // A failure closes the connection, which releases the lock.
    let by_age = by_age(connection, scope).await?;
    match scope.application {
        Some(id) => {
            removed.by_own_limits = by_age + by_own_amount(connection, id, scope.limits).await?;
        }
        None => {
            removed.by_age = by_age;
            by_parts(connection, scope, &mut removed).await?;
            cleanup::clear_removed(connection).await?;
            cleanup::clear_ledger(connection).await?;
            traffic::forget(connection, scope.now_ms).await?;
        }
    }
    sqlx::raw_sql(UNLOCK).execute(connection).await?;
    Ok(removed)
}

/// What the whole store has, from the row of [`STORED_IN_ALL`].
pub(super) fn stored_amount(row: &PgRow) -> Result<StoredAmount, sqlx::Error> {
    Ok(StoredAmount {
        records: row.count("records")?,
        bytes: row.count("bytes")?,
    })
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

/// What one application has beyond its limits.
async fn by_own_amount(
    connection: &mut PgConnection,
    application: ApplicationId,
    limits: RetentionLimits,
) -> Result<u64, StoreError> {
    let RetentionLimits { rows, bytes, .. } = limits;
    if rows.is_none() && bytes.is_none() {
        return Ok(0);
    }
    let stored = stored(connection, Some(application)).await?;
    let stored = || stored.values().flat_map(BTreeMap::values);
    let total = |of: fn(&Amount) -> u64| stored().map(of).sum::<u64>();
    let over = |total: u64, limit: Option<u64>| limit.map_or(0, |most| total.saturating_sub(most));
    let excess = Amount {
        records: over(total(|day| day.records), rows),
        bytes: over(total(|day| day.bytes), bytes),
    };
    delete_excess(connection, of_one(application.0), excess).await
}

/// What applications have above their part of the rows, then of the bytes.
async fn by_parts(
    connection: &mut PgConnection,
    scope: RetentionScope,
    removed: &mut Removed,
) -> Result<(), StoreError> {
    let today = Day::of(scope.now_ms);
    if let Some(rows) = scope.limits.rows {
        let days = stored(connection, None).await?;
        let excess = excess(days, rows, |amount| &mut amount.records);
        removed.by_rows += remove_excess(connection, today, excess, removed).await?;
    }
    if let Some(bytes) = scope.limits.bytes {
        let days = stored(connection, None).await?;
        let excess = excess(days, bytes, |amount| &mut amount.bytes);
        removed.by_bytes += remove_excess(connection, today, excess, removed).await?;
    }
    Ok(())
}

/// What each application has beyond its part of a limit, which is one of the fields of an amount.
fn excess(days: Days, limit: u64, field: fn(&mut Amount) -> &mut u64) -> Excess {
    let mut stored = BTreeMap::<Uuid, u64>::new();
    for (id, amount) in days.values().flatten() {
        let mut amount = *amount;
        *stored.entry(*id).or_default() += *field(&mut amount);
    }
    let part = |(id, amount): (&Uuid, &u64)| Part {
        application: ApplicationId(*id),
        amount: *amount,
    };
    let beyond = beyond_parts(limit, stored.iter().map(part).collect());
    let excess = |part: Part| {
        let id = part.application.0;
        let mut excess = Amount::default();
        *field(&mut excess) = stored.get(&id).map_or(0, |stored| stored - part.amount);
        (id, excess)
    };
    Excess {
        applications: beyond.into_iter().map(excess).collect(),
        days,
    }
}

/// Whole days as long as every record of the day is in excess, then the oldest records of each application.
async fn remove_excess(
    connection: &mut PgConnection,
    today: Day,
    excess: Excess,
    removed: &mut Removed,
) -> Result<u64, StoreError> {
    let Excess {
        days,
        applications: mut excess,
    } = excess;
    let mut gone = 0;
    // Never today's partition: it is being written.
    for (day, applications) in days.into_iter().take_while(|(day, _)| *day < today) {
        let is_due = applications.iter().all(|(id, stored)| {
            let excess = excess.get(id).copied().unwrap_or_default();
            stored.records <= excess.records || stored.bytes <= excess.bytes
        });
        let dropped = match is_due {
            true => drop_day(connection, day).await?,
            false => None,
        };
        let Some(dropped) = dropped else { break };
        gone += dropped;
        for (id, stored) in applications {
            removed.count_above_part(ApplicationId(id), stored.records);
            if let Some(excess) = excess.get_mut(&id) {
                *excess = excess.without(stored);
            }
        }
    }
    for (id, excess) in excess {
        let records = delete_excess(connection, of_one(id), excess).await?;
        gone += records;
        removed.count_above_part(ApplicationId(id), records);
    }
    Ok(gone)
}

fn of_one(application: Uuid) -> Removable {
    Removable {
        application: Some(application),
        below: None,
        only_default: false,
    }
}

/// What is stored of each day and application.
async fn stored(
    connection: &mut PgConnection,
    application: Option<ApplicationId>,
) -> Result<Days, StoreError> {
    let rows = sqlx::query(STORED)
        .bind(application.map(|id| id.0))
        .fetch_all(connection)
        .await?;
    let mut days = Days::new();
    for row in &rows {
        let amount = Amount {
            records: row.count("records")?,
            bytes: row.count("bytes")?,
        };
        let day = days.entry(Day(row.number("day")?)).or_default();
        day.insert(row.id("application_id")?, amount);
    }
    Ok(days)
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
