//! Removes the oldest records (CONTRACT 38): whole days by dropping their partitions, the rest in
//! bounded steps, each a short transaction that no insert waits for. How many records there are and
//! what they take is known from the statistics, so that nothing is counted.
//!
//! A bound in days is kept to the day (UTC) where a partition holds it, and to the millisecond in the
//! default partition and for one application.

use super::order::{DAY_MS, Day, place};
use super::removed::Removed;
use super::{attachments, leftovers, partitions, traffic};
use crate::{RetentionLimits, StoreError};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, Postgres, QueryBuilder, Row as _};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Records removed in one transaction, and transactions in one run at most; the rest waits for the
/// next run.
const STEP: i64 = 1_000;
const STEPS: u32 = 2_000;
/// Names the lock under which one server removes records at a time: "monkeep" in ASCII.
const LOCK: &str = "SELECT pg_try_advisory_lock(30804237641770352)";
const UNLOCK: &str = "SELECT pg_advisory_unlock(30804237641770352)";

const RECORDS: &str = "
    DELETE FROM records WHERE seq = ANY ($1) AND seq BETWEEN $2 AND $3
    RETURNING application_id, stage, created_at_ms, bytes, session_key, flagged, token_count,
        chain_gateway, chain_sequence";

/// What is bounded, and how.
#[derive(Clone, Copy)]
pub(super) struct Scope {
    /// One application, or all of them.
    pub(super) application: Option<Uuid>,
    pub(super) limits: RetentionLimits,
    pub(super) now_ms: i64,
}

/// Removes what is beyond the limits; gives how many records went. Nothing while another server does.
pub(super) async fn enforce(
    connection: &mut PgConnection,
    scope: Scope,
) -> Result<u64, StoreError> {
    let mine: bool = sqlx::query_scalar(LOCK).fetch_one(&mut *connection).await?;
    if !mine {
        return Ok(0);
    }
    // A failure ends the connection, and the lock with it.
    let gone = by_age(connection, scope).await? + by_amount(connection, scope).await?;
    if scope.application.is_none() {
        leftovers::clear_removed(connection).await?;
        leftovers::clear_ledger(connection).await?;
        traffic::forget(connection, scope.now_ms).await?;
    }
    sqlx::raw_sql(UNLOCK).execute(connection).await?;
    Ok(gone)
}

async fn by_age(connection: &mut PgConnection, scope: Scope) -> Result<u64, StoreError> {
    let Some(days) = scope.limits.days else {
        return Ok(0);
    };
    let oldest_ms = scope
        .now_ms
        .saturating_sub(i64::from(days).saturating_mul(DAY_MS));
    let mut gone = 0;
    let mut narrow = Narrow {
        application: scope.application,
        below: Some(place(oldest_ms)),
        only_default: false,
    };
    if scope.application.is_none() {
        for day in partitions::days(connection).await? {
            if day.next().start_ms() <= oldest_ms {
                gone += drop_day(connection, day).await?.unwrap_or(0);
            }
        }
        narrow.only_default = true;
    }
    Ok(gone + remove_all(connection, narrow).await?)
}

/// Removes everything narrowed down to, in steps; gives how many records went.
pub(super) async fn remove_all(
    connection: &mut PgConnection,
    narrow: Narrow,
) -> Result<u64, StoreError> {
    let everything = Excess {
        rows: u64::MAX,
        bytes: 0,
    };
    remove_excess(connection, narrow, everything).await
}

/// What is to go, in records and in bytes; whichever asks for more.
#[derive(Clone, Copy)]
struct Excess {
    rows: u64,
    bytes: u64,
}

impl Excess {
    fn is_none(self) -> bool {
        self.rows == 0 && self.bytes == 0
    }

    fn without(self, (rows, bytes): (u64, u64)) -> Self {
        Self {
            rows: self.rows.saturating_sub(rows),
            bytes: self.bytes.saturating_sub(bytes),
        }
    }
}

async fn by_amount(connection: &mut PgConnection, scope: Scope) -> Result<u64, StoreError> {
    let RetentionLimits { rows, bytes, .. } = scope.limits;
    if rows.is_none() && bytes.is_none() {
        return Ok(0);
    }
    let kept = kept_days(connection, scope.application).await?;
    let total = kept.values().fold((0, 0), |sum: (u64, u64), day| {
        (sum.0 + day.0, sum.1 + day.1)
    });
    let mut excess = Excess {
        rows: rows.map_or(0, |limit| total.0.saturating_sub(limit)),
        bytes: bytes.map_or(0, |limit| total.1.saturating_sub(limit)),
    };
    let mut gone = 0;
    if scope.application.is_none() {
        // Never today's: it is being written.
        let today = Day::of(scope.now_ms);
        for (day, kept) in kept.into_iter().take_while(|(day, _)| *day < today) {
            let whole = kept.0 <= excess.rows || kept.1 <= excess.bytes;
            let dropped = match whole {
                true => drop_day(connection, day).await?,
                false => None,
            };
            let Some(dropped) = dropped else { break };
            gone += dropped;
            excess = excess.without(kept);
        }
    }
    let narrow = Narrow {
        application: scope.application,
        below: None,
        only_default: false,
    };
    Ok(gone + remove_excess(connection, narrow, excess).await?)
}

/// Removes the oldest until no more are to go, in steps; gives how many records went.
async fn remove_excess(
    connection: &mut PgConnection,
    narrow: Narrow,
    mut excess: Excess,
) -> Result<u64, StoreError> {
    let mut gone = 0;
    for _ in 0..STEPS {
        if excess.is_none() {
            break;
        }
        let went = step(connection, narrow, excess).await?;
        if went.0 == 0 {
            break;
        }
        gone += went.0;
        excess = excess.without(went);
    }
    Ok(gone)
}

/// Records and bytes there are of each day.
async fn kept_days(
    connection: &mut PgConnection,
    application: Option<Uuid>,
) -> Result<BTreeMap<Day, (u64, u64)>, StoreError> {
    let rows = sqlx::query(
        "SELECT day, sum(kept_rows)::bigint, sum(kept_bytes)::bigint FROM statistics
         WHERE $1::uuid IS NULL OR application_id = $1 GROUP BY day HAVING sum(kept_rows) > 0",
    )
    .bind(application)
    .fetch_all(connection)
    .await?;
    let count = |row: &PgRow, index| {
        let count: i64 = row.try_get(index)?;
        Ok::<_, sqlx::Error>(u64::try_from(count).unwrap_or(0))
    };
    let one = |row: &PgRow| Ok((Day(row.try_get(0)?), (count(row, 1)?, count(row, 2)?)));
    rows.iter().map(one).collect()
}

/// Drops a day; gives how many records it had, None where it has no partition.
async fn drop_day(connection: &mut PgConnection, day: Day) -> Result<Option<u64>, StoreError> {
    let kept: i64 = sqlx::query_scalar(
        "SELECT coalesce(sum(kept_rows), 0)::bigint FROM statistics WHERE day = $1",
    )
    .bind(day.0)
    .fetch_one(&mut *connection)
    .await?;
    let dropped = partitions::drop_day(connection, day).await?;
    if dropped {
        attachments::clear_day(connection, day).await?;
    }
    Ok(dropped.then(|| u64::try_from(kept).unwrap_or(0)))
}

/// Which records a step may remove.
#[derive(Clone, Copy)]
pub(super) struct Narrow {
    pub(super) application: Option<Uuid>,
    /// Only those before this place.
    pub(super) below: Option<i64>,
    pub(super) only_default: bool,
}

/// Removes the oldest records, one step's worth of them at most; gives how many and their bytes.
async fn step(
    connection: &mut PgConnection,
    narrow: Narrow,
    excess: Excess,
) -> Result<(u64, u64), StoreError> {
    let mut transaction = connection.begin().await?;
    let mut oldest = oldest(narrow);
    let oldest = oldest.build().persistent(false);
    let oldest = oldest.fetch_all(&mut *transaction).await?;
    let (mut seqs, mut went) = (Vec::new(), (0, 0));
    for row in &oldest {
        if excess.without(went).is_none() {
            break;
        }
        let bytes: i64 = row.try_get("bytes")?;
        seqs.push(row.try_get::<i64, _>("seq")?);
        went = (went.0 + 1, went.1 + u64::try_from(bytes).unwrap_or(0));
    }
    let gone = delete(&mut transaction, &seqs).await?;
    transaction.commit().await?;
    Ok(gone)
}

fn oldest(narrow: Narrow) -> QueryBuilder<Postgres> {
    let table = match narrow.only_default {
        true => "records_default",
        false => "records",
    };
    let mut query = QueryBuilder::new("SELECT seq, bytes FROM ");
    query.push(table).push(" WHERE true");
    if let Some(application) = narrow.application {
        query.push(" AND application_id = ").push_bind(application);
    }
    if let Some(below) = narrow.below {
        query.push(" AND seq < ").push_bind(below);
    }
    query.push(" ORDER BY seq LIMIT ").push_bind(STEP);
    query
}

/// Deletes records with all that belongs to them; gives how many there were, and their bytes.
pub(super) async fn delete(
    connection: &mut PgConnection,
    seqs: &[i64],
) -> Result<(u64, u64), StoreError> {
    let (Some(first), Some(last)) = (seqs.iter().min(), seqs.iter().max()) else {
        return Ok((0, 0));
    };
    let rows = within(RECORDS, seqs, (*first, *last));
    let rows = rows.fetch_all(&mut *connection).await?;
    for statement in [
        "DELETE FROM attachments WHERE seq = ANY ($1) AND seq BETWEEN $2 AND $3",
        "DELETE FROM record_bodies WHERE seq = ANY ($1) AND seq BETWEEN $2 AND $3",
        "DELETE FROM record_types WHERE seq = ANY ($1) AND seq BETWEEN $2 AND $3",
        "DELETE FROM record_ledger WHERE seq = ANY ($1) AND seq BETWEEN $2 AND $3",
    ] {
        let query = within(statement, seqs, (*first, *last));
        query.execute(&mut *connection).await?;
    }
    let mut gone = Removed::default();
    for row in &rows {
        gone.add(row)?;
    }
    Ok(gone.write(connection).await?)
}

fn within(
    statement: &'static str,
    seqs: &[i64],
    (first, last): (i64, i64),
) -> sqlx::query::Query<'static, Postgres, sqlx::postgres::PgArguments> {
    let query = sqlx::query(statement).bind(seqs);
    query.bind(first).bind(last).persistent(false)
}
