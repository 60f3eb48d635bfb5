//! The ledger of exchanges: its unique key makes sure that an exchange and stage is stored once, although the
//! tables of records are partitioned (CONTRACT 23).

use super::bodies::{at, bodies, by_seq};
use super::failure::Failure;
use super::row::RecordRow;
use crate::records::EarlierRecord;
use crate::sql::columns::Columns as _;
use crate::sql::records::answer;
use sqlx::{PgConnection, Row as _};
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

/// Waits while another transaction inserts the same exchange; sorted keys prevent deadlocks.
const LEDGER: &str = "
    INSERT INTO record_ledger (key, seq) SELECT * FROM unnest($1::uuid[], $2::bigint[])
    ON CONFLICT (key) DO NOTHING RETURNING key";

/// A key whose record was removed by retention is free for a new record.
const TAKE_OVER: &str = "UPDATE record_ledger SET seq = $2 WHERE key = $1 AND seq = $3";

const BLOCKED: &str =
    "SELECT seq, blocked FROM records WHERE seq = ANY ($1) AND seq >= $2 AND seq <= $3";

/// A new record and its position.
pub(super) struct Positioned<'r> {
    pub(super) seq: i64,
    pub(super) row: &'r RecordRow,
}

/// The key of a record in `record_ledger`, and the position to enter there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LedgerEntry {
    key: Uuid,
    seq: i64,
}

/// Enters the new records into the ledger. Removes from `new` those that were stored before, and returns
/// these by key.
pub(super) async fn enter_ledger(
    connection: &mut PgConnection,
    new: &mut Vec<Positioned<'_>>,
) -> Result<HashMap<Uuid, Box<EarlierRecord>>, Failure> {
    let entry = |one: &Positioned<'_>| LedgerEntry {
        key: one.row.key,
        seq: one.seq,
    };
    let mut entries: Vec<LedgerEntry> = new.iter().map(entry).collect();
    if entries.is_empty() {
        return Ok(HashMap::new());
    }
    entries.sort_unstable();
    let entered: HashSet<Uuid> = sqlx::query_scalar(LEDGER)
        .bind(entries.iter().map(|entry| entry.key).collect::<Vec<_>>())
        .bind(entries.iter().map(|entry| entry.seq).collect::<Vec<_>>())
        .fetch_all(&mut *connection)
        .await?
        .into_iter()
        .collect();
    entries.retain(|entry| !entered.contains(&entry.key));
    let records = earlier(connection, &entries).await?;
    new.retain(|one| !records.contains_key(&one.row.key));
    Ok(records)
}

/// The records that the ledger holds under these keys.
async fn earlier(
    connection: &mut PgConnection,
    entries: &[LedgerEntry],
) -> Result<HashMap<Uuid, Box<EarlierRecord>>, Failure> {
    let mut records = HashMap::new();
    if entries.is_empty() {
        return Ok(records);
    }
    let known = sqlx::query("SELECT key, seq FROM record_ledger WHERE key = ANY ($1)")
        .bind(entries.iter().map(|entry| entry.key).collect::<Vec<_>>())
        .fetch_all(&mut *connection)
        .await?;
    let mut seqs = HashMap::new();
    for row in &known {
        seqs.insert(row.try_get::<Uuid, _>(0)?, row.try_get::<i64, _>(1)?);
    }
    let all: Vec<i64> = seqs.values().copied().collect();
    let bodies = bodies(&all).fetch_all(&mut *connection).await?;
    let bodies = by_seq(bodies)?;
    let verdicts = at(BLOCKED, &all).fetch_all(&mut *connection).await?;
    let verdicts = by_seq(verdicts)?;
    for entry in entries {
        let Some(found) = seqs.get(&entry.key) else {
            return Err(Failure::Again);
        };
        match (bodies.get(found), verdicts.get(found)) {
            (Some(body), Some(verdict)) => {
                let record = EarlierRecord {
                    answer: answer(body).map_err(Failure::Store)?,
                    blocked: verdict.flag("blocked")?,
                };
                records.insert(entry.key, Box::new(record));
            }
            _ => take_over(connection, *entry, *found).await?,
        }
    }
    Ok(records)
}

/// Replaces the entry of a removed record.
async fn take_over(
    connection: &mut PgConnection,
    entry: LedgerEntry,
    removed_seq: i64,
) -> Result<(), Failure> {
    let query = sqlx::query(TAKE_OVER).bind(entry.key).bind(entry.seq);
    let query = query.bind(removed_seq);
    match query.execute(connection).await?.rows_affected() {
        0 => Err(Failure::Again),
        _ => Ok(()),
    }
}
