//! The findings of a batch: one for each flagged record.

use crate::error::StoreError;
use crate::findings::Flagged;
use crate::records::{Insertion, NewRecord};
use crate::sql::records::EncodedRecord;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

const INSERT: &str = "
    INSERT OR IGNORE INTO findings
        (seq, record_id, application_id, user_id, created_at_ms, cluster, labels, state, changed_at_ms)
    SELECT records.seq, records.id, records.application_id, records.user_id, records.created_at_ms,
        unhex(flagged.value ->> '$.cluster'), flagged.value ->> '$.labels', 'open', records.created_at_ms
    FROM json_each(?1) AS flagged CROSS JOIN records ON records.seq = flagged.value ->> '$.seq'";

/// Adds the findings of records that were inserted from position `first` on; those that are stored apart have the
/// positions behind them.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    first: i64,
    rows: &[&EncodedRecord],
    outcomes: &[Result<Insertion, StoreError>],
) -> Result<(), StoreError> {
    let mut apart = first + rows.len() as i64;
    let mut flagged = Vec::new();
    for ((seq, row), outcome) in (first..).zip(rows).zip(outcomes) {
        match outcome {
            Ok(Insertion::New) => flagged.extend(entry(&row.record, seq)),
            Ok(Insertion::Apart(_)) => {
                flagged.extend(entry(&row.record, apart));
                apart += 1;
            }
            Ok(Insertion::Earlier(_)) | Err(_) => {}
        }
    }
    if flagged.is_empty() {
        return Ok(());
    }
    let query = sqlx::query(INSERT).bind(Value::Array(flagged).to_string());
    query.execute(connection).await?;
    Ok(())
}

fn entry(record: &NewRecord, seq: i64) -> Option<Value> {
    let Flagged { labels, cluster } = Flagged::of(record)?;
    Some(json!({"seq": seq, "cluster": cluster.simple().to_string(), "labels": labels}))
}
