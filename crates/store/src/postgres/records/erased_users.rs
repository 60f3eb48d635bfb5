//! Which users of a batch were erased: their records are refused.

use crate::records::NewRecord;
use crate::removal::refusing_hash;
use crate::sql::attachments::ErasedUsers;
use sqlx::PgConnection;

/// Begins a batch of records, or lets a file wait for one. They share this lock and adding a tombstone takes it
/// exclusively, so that each of them after a tombstone sees it: "monerase" without its last letter, in ASCII.
pub(in crate::postgres) const BEGIN_SHARED: &str =
    "BEGIN; SELECT pg_advisory_xact_lock_shared(30804237540716915)";
/// The exclusive form of the same lock.
pub(in crate::postgres) const LOCK: &str = "SELECT pg_advisory_xact_lock(30804237540716915)";

/// Which users and exchanges of these records were erased.
pub(super) async fn erased<'r>(
    connection: &mut PgConnection,
    records: impl Iterator<Item = &'r NewRecord>,
) -> Result<ErasedUsers, sqlx::Error> {
    let hashes = records.filter_map(refusing_hash);
    let hashes: Vec<_> = hashes.map(|hash| hash.to_vec()).collect();
    let query = "SELECT user_hash, application_id FROM erased_users WHERE user_hash = ANY ($1)";
    let rows = sqlx::query(query)
        .bind(hashes)
        .fetch_all(connection)
        .await?;
    ErasedUsers::from_rows(&rows)
}
