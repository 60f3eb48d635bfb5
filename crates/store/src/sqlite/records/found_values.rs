//! What was found in records, as hashes: written with the records, and the records that have the same.

use crate::error::StoreError;
use crate::found_values::{
    FoundValue, MOST_COUNTED, MOST_KINDS, MOST_SAME, SameValues, ValueFilter, ValueHash,
};
use crate::records::{PageInProgress, RecordPage};
use crate::sql::columns::Columns as _;
use crate::sql::found_values::found_value;
use crate::sql::records::{EncodedRecord, summary};
use crate::sqlite::values::json_list;
use serde_json::{Value, json};
use sqlx::SqliteConnection;
use sqlx::sqlite::{SqlitePool, SqliteRow};
use std::fmt::Write as _;

/// Values in one statement.
const ROWS: usize = 1_000;

/// Rows as a JSON list of lists. A value that a record has twice stands once.
const INSERT: &str = "
    INSERT OR IGNORE INTO found_values (hash, seq, application_id, kind, key_id)
    SELECT unhex(value ->> '$[0]'), value ->> '$[1]', unhex(value ->> '$[2]'), value ->> '$[3]', value ->> '$[4]'
    FROM json_each(?1)";

/// The newest records before position ?2 with any of these hashes (a JSON list), at most ?3. Of each hash no more than
/// these are read.
const PAGE: &str = "
    SELECT DISTINCT found.seq FROM (SELECT unhex(value) AS hash FROM json_each(?1)) AS wanted
    CROSS JOIN found_values AS found ON found.hash = wanted.hash AND found.seq < ?2
        AND found.seq >= coalesce((SELECT last.seq FROM found_values AS last
            WHERE last.hash = wanted.hash AND last.seq < ?2 ORDER BY last.seq DESC LIMIT 1 OFFSET ?3 - 1), 0)
    ORDER BY found.seq DESC LIMIT ?3";
const SUMMARIES: &str = "
    SELECT * FROM records WHERE seq IN (SELECT value FROM json_each(?1))
        AND application_id NOT IN (SELECT id FROM removed_applications) ORDER BY seq DESC";

const OF_RECORD: &str = "SELECT * FROM found_values WHERE seq = ?1 ORDER BY hash";

/// Of each value the newest records (?3 and one more) are looked at.
const SAME: &str = "
    SELECT own.kind AS kind, count(DISTINCT other.seq) AS records, count(DISTINCT r.user_id) AS users
    FROM (SELECT kind, hash FROM found_values WHERE seq = ?1 ORDER BY hash LIMIT ?2) AS own
    CROSS JOIN found_values AS other ON other.hash = own.hash
        AND other.seq >= coalesce((SELECT last.seq FROM found_values AS last
            WHERE last.hash = own.hash ORDER BY last.seq DESC LIMIT 1 OFFSET ?3 + 1), 0)
    CROSS JOIN records AS r ON r.seq = other.seq
    WHERE other.seq <> ?1 GROUP BY own.kind ORDER BY records DESC, own.kind LIMIT ?4";

/// A record and its position.
pub(super) struct StoredAt<'r> {
    pub(super) seq: i64,
    pub(super) row: &'r EncodedRecord,
}

/// Inserts what was found in these records, within the caller's transaction.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    stored: Vec<StoredAt<'_>>,
) -> Result<(), StoreError> {
    let mut rows = Vec::new();
    for one in &stored {
        rows.extend(rows_of(one));
        if rows.len() >= ROWS {
            write(connection, std::mem::take(&mut rows)).await?;
        }
    }
    match rows.is_empty() {
        true => Ok(()),
        false => write(connection, rows).await,
    }
}

fn rows_of(stored: &StoredAt<'_>) -> Vec<Value> {
    let application = stored.row.record.application_id.0.simple().to_string();
    let row = |found: &FoundValue| {
        // The JSON functions of some versions of SQLite end a text at this character.
        let kind = found.kind.replace('\0', "\u{fffd}");
        json!([
            hexadecimal(&found.hash),
            stored.seq,
            application,
            kind,
            found.key_id
        ])
    };
    stored.row.record.found_values.iter().map(row).collect()
}

async fn write(connection: &mut SqliteConnection, rows: Vec<Value>) -> Result<(), StoreError> {
    let query = sqlx::query(INSERT).bind(Value::Array(rows).to_string());
    query.execute(connection).await?;
    Ok(())
}

fn hexadecimal(hash: &ValueHash) -> String {
    let mut digits = String::with_capacity(2 * hash.0.len());
    for byte in hash.0 {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// One page of the records that have one of these values.
pub(super) async fn page(
    readers: &SqlitePool,
    filter: &ValueFilter,
) -> Result<RecordPage, StoreError> {
    let seqs: Vec<i64> = sqlx::query_scalar(PAGE)
        .bind(json_list(filter.hashes.iter().map(hexadecimal)))
        .bind(filter.before.unwrap_or(i64::MAX))
        .bind(i64::from(filter.limit) + 1)
        .fetch_all(readers)
        .await?;
    let rows = sqlx::query(SUMMARIES).bind(json_list(seqs));
    let mut page = PageInProgress::new(filter.limit);
    for row in rows.fetch_all(readers).await? {
        if !page.push(summary(&row)?) {
            break;
        }
    }
    Ok(page.finish())
}

/// The values of a record.
pub(super) async fn of_record(
    readers: &SqlitePool,
    seq: i64,
) -> Result<Vec<FoundValue>, StoreError> {
    let rows = sqlx::query(OF_RECORD).bind(seq).fetch_all(readers).await?;
    rows.iter().map(found_value).collect()
}

/// In how many other records the values of a record are.
pub(super) async fn same(readers: &SqlitePool, seq: i64) -> Result<Vec<SameValues>, StoreError> {
    let rows = sqlx::query(SAME)
        .bind(seq)
        .bind(MOST_COUNTED)
        .bind(MOST_SAME as i64)
        .bind(MOST_KINDS)
        .fetch_all(readers)
        .await?;
    let same = |row: &SqliteRow| {
        Ok(SameValues {
            kind: row.text("kind")?,
            records: row.count("records")?,
            users: row.count("users")?,
        })
    };
    rows.iter().map(same).collect()
}
