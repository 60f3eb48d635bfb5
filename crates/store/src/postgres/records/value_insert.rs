//! Writes what was found in records, as hashes, with the records.

use super::ledger::Positioned;
use crate::postgres::values::escaped;
use sqlx::PgConnection;

/// A value that a record has twice stands once.
const INSERT: &str = "
    INSERT INTO found_values (hash, seq, application_id, kind, key_id)
    SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::uuid[], $4::text[], $5::bigint[])
    ON CONFLICT DO NOTHING";

/// Inserts what was found in these records, within the caller's transaction.
pub(super) async fn insert(
    connection: &mut PgConnection,
    new: &[Positioned<'_>],
) -> Result<(), sqlx::Error> {
    let (mut hashes, mut seqs, mut applications) = (Vec::new(), Vec::new(), Vec::new());
    let (mut kinds, mut keys) = (Vec::new(), Vec::new());
    for one in new {
        let record = one.row.record();
        for found in &record.found_values {
            hashes.push(&found.hash.0[..]);
            seqs.push(one.seq);
            applications.push(record.application_id.0);
            kinds.push(escaped(&found.kind).into_owned());
            keys.push(found.key_id);
        }
    }
    if hashes.is_empty() {
        return Ok(());
    }
    sqlx::query(INSERT)
        .bind(hashes)
        .bind(seqs)
        .bind(applications)
        .bind(kinds)
        .bind(keys)
        .execute(connection)
        .await
        .map(drop)
}
