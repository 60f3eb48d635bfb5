//! Which users of a batch were erased: their records are refused.

use crate::removal::Erasure;
use crate::sql::attachments::ErasedUsers;
use sqlx::PgConnection;

/// Begins a batch of records. Batches share this lock and adding a tombstone takes it exclusively, so that
/// every batch after a tombstone sees it: "monerase" without its last letter, in ASCII.
pub(super) const BEGIN_SHARED: &str =
    "BEGIN; SELECT pg_advisory_xact_lock_shared(30804237540716915)";
/// The exclusive form of the same lock.
pub(in crate::postgres) const LOCK: &str = "SELECT pg_advisory_xact_lock(30804237540716915)";

/// Which of these users were erased.
pub(super) async fn erased(
    connection: &mut PgConnection,
    users: impl Iterator<Item = &str>,
) -> Result<ErasedUsers, sqlx::Error> {
    let hashes: Vec<_> = users
        .map(|user| Erasure::user_hash(user).to_vec())
        .collect();
    let query = "SELECT user_hash, application_id FROM erased_users WHERE user_hash = ANY ($1)";
    let rows = sqlx::query(query)
        .bind(hashes)
        .fetch_all(connection)
        .await?;
    ErasedUsers::from_rows(&rows)
}
