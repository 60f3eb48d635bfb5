//! Deletes the oldest records in bounded steps, each a short transaction that no insert waits for.

use super::totals::{Amount, RemovedTotals};
use crate::error::StoreError;
use crate::postgres::pool::Attempts;
use crate::postgres::seq::Day;
use crate::sql::columns::Columns as _;
use crate::transfer::{FINDINGS_SCHEMA, VALUES_SCHEMA};
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{Connection as _, PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

/// The most records that one transaction removes, and the most transactions in one run; what remains is left to
/// the next run.
const STEP: i64 = 1_000;
const STEPS: u32 = 2_000;

const RECORDS: &str = "
    DELETE FROM records WHERE seq = ANY ($1) AND seq BETWEEN $2 AND $3
    RETURNING application_id, stage, created_at_ms, bytes, session_key, flagged, token_count,
        chain_gateway, chain_sequence";
/// Changes of links lock the bytes: in one order, as `waiting` does for the files that a batch takes over.
const LOCK_BLOBS: &str = "
    SELECT FROM blobs WHERE sha256 IN (SELECT sha256 FROM attachments
        WHERE seq = ANY ($1) AND seq BETWEEN $2 AND $3 AND kept)
    ORDER BY sha256 FOR UPDATE";
const BELONGING: [&str; 4] = [
    "DELETE FROM attachments WHERE seq = ANY ($1) AND seq BETWEEN $2 AND $3",
    "DELETE FROM record_bodies WHERE seq = ANY ($1) AND seq BETWEEN $2 AND $3",
    "DELETE FROM record_types WHERE seq = ANY ($1) AND seq BETWEEN $2 AND $3",
    "DELETE FROM record_ledger WHERE seq = ANY ($1) AND seq BETWEEN $2 AND $3",
];
/// What schemas from these on have. The history of findings goes with them.
const LATER: [(i64, &str); 2] = [
    (
        VALUES_SCHEMA,
        "DELETE FROM found_values WHERE seq = ANY ($1) AND seq BETWEEN $2 AND $3",
    ),
    (
        FINDINGS_SCHEMA,
        "DELETE FROM findings WHERE seq = ANY ($1) AND seq BETWEEN $2 AND $3",
    ),
];
const OF_DAY: [&str; 3] = [
    "DELETE FROM attachments WHERE (seq, sha256, name) IN (SELECT seq, sha256, name FROM attachments
        WHERE seq >= $1 AND seq < $2 LIMIT $3)",
    "DELETE FROM found_values WHERE (hash, seq) IN (SELECT hash, seq FROM found_values
        WHERE seq >= $1 AND seq < $2 LIMIT $3)",
    "DELETE FROM findings WHERE seq IN (SELECT seq FROM findings WHERE seq >= $1 AND seq < $2 LIMIT $3)",
];

/// Which records may be removed.
#[derive(Clone, Copy)]
pub(super) struct Removable {
    pub(super) application: Option<Uuid>,
    /// Only records before this position.
    pub(super) below: Option<i64>,
    /// Only records outside the partitions of days.
    pub(super) only_default: bool,
}

impl Amount {
    /// What has to go to meet a limit is reached once both are zero.
    pub(super) fn is_zero(self) -> bool {
        self.records == 0 && self.bytes == 0
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self {
            records: self.records.saturating_sub(other.records),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }
}

/// Removes all records that may be removed; counts them.
pub(super) async fn delete_all(
    connection: &mut PgConnection,
    removable: Removable,
    removed: &mut u64,
) -> Result<(), StoreError> {
    let everything = Amount {
        records: u64::MAX,
        bytes: 0,
    };
    delete_excess(connection, removable, everything, removed).await
}

/// Removes the oldest records until both the records and the bytes of `excess` are gone; counts them.
pub(super) async fn delete_excess(
    connection: &mut PgConnection,
    removable: Removable,
    mut excess: Amount,
    removed: &mut u64,
) -> Result<(), StoreError> {
    for _ in 0..STEPS {
        if excess.is_zero() {
            break;
        }
        let mut attempts = Attempts::default();
        let step = loop {
            let done = step(connection, removable, excess).await;
            if !attempts.again(&done) {
                break done?;
            }
        };
        if step.records == 0 {
            break;
        }
        *removed += step.records;
        excess = excess.without(step);
    }
    Ok(())
}

/// Removes the oldest records, at most one step; returns how much was removed.
async fn step(
    connection: &mut PgConnection,
    removable: Removable,
    excess: Amount,
) -> Result<Amount, StoreError> {
    let mut transaction = connection.begin().await?;
    let mut oldest = oldest(removable);
    let oldest = oldest.build().persistent(false);
    let oldest = oldest.fetch_all(&mut *transaction).await?;
    let (mut seqs, mut chosen) = (Vec::new(), Amount::default());
    for row in &oldest {
        if excess.without(chosen).is_zero() {
            break;
        }
        seqs.push(row.number("seq")?);
        chosen.records += 1;
        chosen.bytes += row.count("bytes")?;
    }
    let removed = delete(&mut transaction, &seqs).await?;
    transaction.commit().await?;
    Ok(removed)
}

fn oldest(removable: Removable) -> QueryBuilder<Postgres> {
    let table = match removable.only_default {
        true => "records_default",
        false => "records",
    };
    let mut query = QueryBuilder::new("SELECT seq, bytes FROM ");
    query.push(table).push(" WHERE true");
    if let Some(application) = removable.application {
        query.push(" AND application_id = ").push_bind(application);
    }
    if let Some(below) = removable.below {
        query.push(" AND seq < ").push_bind(below);
    }
    query.push(" ORDER BY seq LIMIT ").push_bind(STEP);
    query
}

/// Deletes the records at these positions with everything that belongs to them.
pub(super) async fn delete(
    connection: &mut PgConnection,
    seqs: &[i64],
) -> Result<Amount, StoreError> {
    delete_in_schema(connection, seqs, FINDINGS_SCHEMA).await
}

/// The same in an older schema, which may have no found values and no findings.
pub(super) async fn delete_in_schema(
    connection: &mut PgConnection,
    seqs: &[i64],
    schema: i64,
) -> Result<Amount, StoreError> {
    if seqs.is_empty() {
        return Ok(Amount::default());
    }
    let rows = at(RECORDS, seqs).fetch_all(&mut *connection).await?;
    for (_, statement) in LATER.into_iter().filter(|(since, _)| schema >= *since) {
        at(statement, seqs).execute(&mut *connection).await?;
    }
    for statement in [LOCK_BLOBS].into_iter().chain(BELONGING) {
        at(statement, seqs).execute(&mut *connection).await?;
    }
    let mut removed = RemovedTotals::default();
    for row in &rows {
        removed.add(row)?;
    }
    Ok(removed.write(connection).await?)
}

/// A statement on these positions. The bounds let the planner leave out partitions.
fn at(statement: &'static str, seqs: &[i64]) -> Query<'static, Postgres, PgArguments> {
    let query = sqlx::query(statement).bind(seqs);
    let query = query.bind(seqs.iter().min()).bind(seqs.iter().max());
    query.persistent(false)
}

/// Deletes, in steps, the links, found values and findings of a day whose partition was dropped.
pub(super) async fn delete_of_day(
    connection: &mut PgConnection,
    day: Day,
) -> Result<(), StoreError> {
    for statement in OF_DAY {
        while delete_step_of_day(connection, statement, day).await? > 0 {}
    }
    Ok(())
}

async fn delete_step_of_day(
    connection: &mut PgConnection,
    statement: &'static str,
    day: Day,
) -> Result<u64, StoreError> {
    let mut attempts = Attempts::default();
    loop {
        let query = sqlx::query(statement).bind(day.first());
        let query = query.bind(day.next().first()).bind(STEP);
        let deleted = query.execute(&mut *connection).await;
        let deleted = deleted.map_err(StoreError::from);
        if !attempts.again(&deleted) {
            return Ok(deleted?.rows_affected());
        }
    }
}
