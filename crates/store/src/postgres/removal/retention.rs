//! Removes the oldest records (CONTRACT 38): whole days by dropping their partitions, the rest in bounded steps.
//! Of what is beyond the rows or bytes of the whole store, only applications above their part lose records (see
//! `fair_parts`).
//! The statistics tell how many records there are and what they take, so that nothing has to be counted.
//!
//! A limit in days is exact to the day (UTC) for records in partitions, and to the millisecond in the default
//! partition and for one application.

use super::cleanup;
use super::delete::{Removable, delete_all, delete_excess, delete_of_day};
use super::exchange;
use super::totals::Amount;
use crate::error::StoreError;
use crate::fair_parts::{Part, beyond_parts};
use crate::postgres::partitions::{self, DayDrop};
use crate::postgres::seq::{DAY_MS, Day, first_seq_at};
use crate::postgres::statistics::{costs, traffic, user_days};
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

/// Removes what exceeds the limits, unless another server is doing it. `removed` counts each step.
pub(super) async fn enforce(
    connection: &mut PgConnection,
    scope: RetentionScope,
    removed: &mut Removed,
) -> Result<(), StoreError> {
    let is_locked: bool = sqlx::query_scalar(LOCK).fetch_one(&mut *connection).await?;
    if !is_locked {
        return Ok(());
    }
    // A failure closes the connection, which releases the lock.
    match scope.application {
        Some(id) => {
            let gone = &mut removed.by_own_limits;
            by_own_age(connection, id, scope, gone).await?;
            by_own_amount(connection, id, scope.limits, gone).await?;
        }
        None => {
            // First: what is about to go takes no part of the limits from other applications.
            let gone = &mut removed.of_removed_applications;
            cleanup::clear_removed(connection, gone).await?;
            by_age(connection, scope, &mut removed.by_age).await?;
            by_parts(connection, scope, removed).await?;
            cleanup::clear_before_records(connection).await?;
            traffic::forget(connection, scope.now_ms).await?;
            costs::forget(connection, scope.now_ms, scope.limits.cost_days).await?;
            user_days::forget(connection, scope.now_ms, scope.limits.cost_days).await?;
            exchange::forget(connection, scope.now_ms).await?;
        }
    }
    sqlx::raw_sql(UNLOCK).execute(connection).await?;
    Ok(())
}

/// What the whole store has, from the row of [`STORED_IN_ALL`].
pub(super) fn stored_amount(row: &PgRow) -> Result<StoredAmount, sqlx::Error> {
    Ok(StoredAmount {
        records: row.count("records")?,
        bytes: row.count("bytes")?,
    })
}

/// The time before which records are too old; None without such a limit.
fn oldest_ms(scope: RetentionScope) -> Option<i64> {
    let days = i64::from(scope.limits.days?);
    Some(scope.now_ms.saturating_sub(days.saturating_mul(DAY_MS)))
}

/// Drops the days that are too old. While something reads them for long, their records are deleted instead.
async fn by_age(
    connection: &mut PgConnection,
    scope: RetentionScope,
    removed: &mut u64,
) -> Result<(), StoreError> {
    let Some(oldest_ms) = oldest_ms(scope) else {
        return Ok(());
    };
    let mut days = partitions::days(connection).await?;
    days.retain(|day| day.next().start_ms() <= oldest_ms);
    let mut is_busy = false;
    for day in &days {
        let stored = sqlx::query(STORED_ON_DAY).bind(day.0);
        let stored = stored.fetch_one(&mut *connection).await?;
        match partitions::drop_day(connection, *day).await? {
            DayDrop::Done => *removed += stored.count("records")?,
            DayDrop::NoPartition => {}
            DayDrop::Busy => {
                is_busy = true;
                break;
            }
        }
        delete_of_day(connection, *day).await?;
    }
    if let Some(last) = days.last().filter(|_| is_busy) {
        let left = Removable {
            below: Some(last.next().first()),
            ..ANY
        };
        delete_all(connection, left, removed).await?;
    }
    let in_default = Removable {
        below: Some(first_seq_at(oldest_ms)),
        only_default: true,
        ..ANY
    };
    delete_all(connection, in_default, removed).await
}

async fn by_own_age(
    connection: &mut PgConnection,
    application: ApplicationId,
    scope: RetentionScope,
    removed: &mut u64,
) -> Result<(), StoreError> {
    let Some(oldest_ms) = oldest_ms(scope) else {
        return Ok(());
    };
    let old = Removable {
        below: Some(first_seq_at(oldest_ms)),
        ..of_one(application.0)
    };
    delete_all(connection, old, removed).await
}

/// What one application has beyond its limits.
async fn by_own_amount(
    connection: &mut PgConnection,
    application: ApplicationId,
    limits: RetentionLimits,
    removed: &mut u64,
) -> Result<(), StoreError> {
    let RetentionLimits { rows, bytes, .. } = limits;
    if rows.is_none() && bytes.is_none() {
        return Ok(());
    }
    let stored = stored(connection, Some(application)).await?;
    let stored = || stored.values().flat_map(BTreeMap::values);
    let total = |of: fn(&Amount) -> u64| stored().map(of).sum::<u64>();
    let over = |total: u64, limit: Option<u64>| limit.map_or(0, |most| total.saturating_sub(most));
    let excess = Amount {
        records: over(total(|day| day.records), rows),
        bytes: over(total(|day| day.bytes), bytes),
    };
    delete_excess(connection, of_one(application.0), excess, removed).await
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
        let before = removed.above_parts();
        let result = remove_excess(connection, today, excess, removed).await;
        removed.by_rows += removed.above_parts() - before;
        result?;
    }
    if let Some(bytes) = scope.limits.bytes {
        let days = stored(connection, None).await?;
        let excess = excess(days, bytes, |amount| &mut amount.bytes);
        let before = removed.above_parts();
        let result = remove_excess(connection, today, excess, removed).await;
        removed.by_bytes += removed.above_parts() - before;
        result?;
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

/// Whole days as long as every record of the day is in excess and nothing reads it for long, then the oldest records
/// of each application.
async fn remove_excess(
    connection: &mut PgConnection,
    today: Day,
    excess: Excess,
    removed: &mut Removed,
) -> Result<(), StoreError> {
    let Excess {
        days,
        applications: mut excess,
    } = excess;
    // Never today's partition: it is being written.
    for (day, applications) in days.into_iter().take_while(|(day, _)| *day < today) {
        let is_due = applications.iter().all(|(id, stored)| {
            let excess = excess.get(id).copied().unwrap_or_default();
            stored.records <= excess.records || stored.bytes <= excess.bytes
        });
        if !is_due || partitions::drop_day(connection, day).await? != DayDrop::Done {
            break;
        }
        for (id, stored) in applications {
            removed.count_above_part(ApplicationId(id), stored.records);
            if let Some(excess) = excess.get_mut(&id) {
                *excess = excess.without(stored);
            }
        }
        delete_of_day(connection, day).await?;
    }
    for (id, excess) in excess {
        let mut records = 0;
        let result = delete_excess(connection, of_one(id), excess, &mut records).await;
        removed.count_above_part(ApplicationId(id), records);
        result?;
    }
    Ok(())
}

const ANY: Removable = Removable {
    application: None,
    below: None,
    only_default: false,
};

fn of_one(application: Uuid) -> Removable {
    Removable {
        application: Some(application),
        ..ANY
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
