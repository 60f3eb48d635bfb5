//! Found values of records.

use crate::error::StoreError;
use crate::postgres::seq::{DAY_MS, first_seq_at};
use crate::postgres::values::escaped;
use crate::transfer::Row;
use sqlx::PgConnection;

/// The bounds let the planner leave out partitions.
const INSERT: &str = "
    INSERT INTO found_values (hash, seq, application_id, kind, key_id)
    SELECT u.hash, r.seq, r.application_id, u.kind, u.key_id
    FROM unnest($1::uuid[], $2::bytea[], $3::text[], $4::bigint[]) AS u (record_id, hash, kind, key_id)
    JOIN records r ON r.id = u.record_id AND r.seq >= $5 AND r.seq < $6";

/// Writes what was found in records that are written.
pub(super) async fn insert(connection: &mut PgConnection, rows: &[Row]) -> Result<(), StoreError> {
    let received: Vec<i64> = rows
        .iter()
        .map(|row| row.required("created_at_ms"))
        .collect::<Result<_, _>>()?;
    let (Some(first), Some(last)) = (received.iter().min(), received.iter().max()) else {
        return Ok(());
    };
    let kind = |row: &Row| escaped(row.text("kind").unwrap_or_default()).into_owned();
    sqlx::query(INSERT)
        .bind(
            rows.iter()
                .map(|row| row.id("record_id"))
                .collect::<Vec<_>>(),
        )
        .bind(rows.iter().map(|row| row.bytes("hash")).collect::<Vec<_>>())
        .bind(rows.iter().map(kind).collect::<Vec<_>>())
        .bind(
            rows.iter()
                .map(|row| row.number("key_id"))
                .collect::<Vec<_>>(),
        )
        .bind(first_seq_at(*first))
        // Of a full millisecond the rest is in the next ones.
        .bind(first_seq_at(last.saturating_add(DAY_MS)))
        .persistent(false)
        .execute(connection)
        .await?;
    Ok(())
}
