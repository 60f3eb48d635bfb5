//! The ledger of exchanges: its unique key makes sure that an exchange and stage is stored once, although the
//! tables of records are partitioned (CONTRACT 23).

use super::bodies::{at, bodies, by_seq};
use super::failure::Failure;
use super::row::RecordRow;
use crate::records::EarlierRecord;
use crate::sql::columns::Columns as _;
use crate::sql::records::answer;
use crate::sql::reused_id::Fingerprint;
use sqlx::{PgConnection, Row as _};
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

/// Waits while another transaction inserts the same exchange; sorted keys prevent deadlocks.
const LEDGER: &str = "
    INSERT INTO record_ledger (key, seq) SELECT * FROM unnest($1::uuid[], $2::bigint[])
    ON CONFLICT (key) DO NOTHING RETURNING key";

/// A key whose record was removed by retention is free for a new record.
const TAKE_OVER: &str = "UPDATE record_ledger SET seq = $2 WHERE key = $1 AND seq = $3";

const SUMMARIES: &str = "
    SELECT seq, blocked, rules_version FROM records
    WHERE seq = ANY ($1) AND seq >= $2 AND seq <= $3";

/// A record of a batch that is to be inserted.
#[derive(Clone, Copy)]
pub(super) struct Positioned<'r> {
    /// Its place in the batch.
    pub(super) place: usize,
    /// Its position in the store.
    pub(super) seq: i64,
    pub(super) row: &'r RecordRow,
}

/// A record that another one of its key met.
#[derive(Clone)]
pub(super) struct Earlier {
    pub(super) record: EarlierRecord,
    pub(super) fingerprint: Fingerprint,
}

/// What a record of a batch is in the ledger.
pub(super) enum Entry {
    /// The first one of its key.
    New,
    /// This record was stored before, or comes first in the batch.
    Met(Box<Earlier>),
}

/// The key of a record in `record_ledger`, and the position to enter there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LedgerEntry {
    key: Uuid,
    seq: i64,
}

/// Enters records into the ledger, the first one of each key; tells what each is.
pub(super) async fn enter_ledger(
    connection: &mut PgConnection,
    rows: &[Positioned<'_>],
) -> Result<Vec<Entry>, Failure> {
    let mut first = HashMap::with_capacity(rows.len());
    for one in rows {
        first.entry(one.row.key).or_insert(one);
    }
    let entry = |one: &&Positioned<'_>| LedgerEntry {
        key: one.row.key,
        seq: one.seq,
    };
    let earlier = enter(connection, first.values().map(entry).collect()).await?;
    let mut entries = Vec::with_capacity(rows.len());
    for one in rows {
        let twin = first.get(&one.row.key).map(|first| first.row);
        let twin = twin.filter(|twin| !std::ptr::eq(*twin, one.row));
        entries.push(match (earlier.get(&one.row.key), twin) {
            (Some(earlier), _) => Entry::Met(Box::new(earlier.clone())),
            (None, Some(twin)) => Entry::Met(Box::new(Earlier {
                record: twin.as_earlier()?,
                fingerprint: Fingerprint::of(&twin.encoded),
            })),
            (None, None) => Entry::New,
        });
    }
    Ok(entries)
}

/// Makes these entries, of one key each; gives the records that were stored before, by key.
async fn enter(
    connection: &mut PgConnection,
    mut entries: Vec<LedgerEntry>,
) -> Result<HashMap<Uuid, Earlier>, Failure> {
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
    earlier(connection, &entries).await
}

/// The records that the ledger holds under these keys.
async fn earlier(
    connection: &mut PgConnection,
    entries: &[LedgerEntry],
) -> Result<HashMap<Uuid, Earlier>, Failure> {
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
    let summaries = at(SUMMARIES, &all).fetch_all(&mut *connection).await?;
    let summaries = by_seq(summaries)?;
    for entry in entries {
        let Some(found) = seqs.get(&entry.key) else {
            return Err(Failure::Again);
        };
        match (bodies.get(found), summaries.get(found)) {
            (Some(body), Some(summary)) => {
                let record = EarlierRecord {
                    answer: answer(body)?,
                    blocked: summary.flag("blocked")?,
                    has_other_text: false,
                };
                let fingerprint = Fingerprint::stored(summary, body)?;
                let earlier = Earlier {
                    record,
                    fingerprint,
                };
                records.insert(entry.key, earlier);
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
