//! Which users of a batch were erased: their records are refused.

use crate::attachments::BlobHash;
use crate::error::StoreError;
use crate::records::NewRecord;
use crate::removal::refusing_hash;
use crate::sql::attachments::ErasedUsers;
use crate::sqlite::values::json_list;
use sqlx::SqliteConnection;

/// The hashes as a JSON list, in hexadecimal.
const ERASED: &str = "
    SELECT user_hash, application_id FROM erased_users
    WHERE user_hash IN (SELECT unhex(value) FROM json_each(?1))";

/// Which users and exchanges of these records were erased.
pub(super) async fn erased<'r>(
    connection: &mut SqliteConnection,
    records: impl Iterator<Item = &'r NewRecord>,
) -> Result<ErasedUsers, StoreError> {
    let any: Option<i64> = sqlx::query_scalar("SELECT 1 FROM erased_users LIMIT 1")
        .fetch_optional(&mut *connection)
        .await?;
    if any.is_none() {
        return Ok(ErasedUsers::default());
    }
    let hashes = records.filter_map(refusing_hash);
    let hashes = hashes.map(|hash| BlobHash(hash).to_string());
    let found = sqlx::query(ERASED)
        .bind(json_list(hashes))
        .fetch_all(connection)
        .await?;
    Ok(ErasedUsers::from_rows(&found)?)
}
