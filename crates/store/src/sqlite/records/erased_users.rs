//! Which users of a batch were erased: their records are refused.

use crate::attachments::BlobHash;
use crate::error::StoreError;
use crate::removal::Erasure;
use crate::sql::attachments::ErasedUsers;
use crate::sqlite::values::json_list;
use sqlx::SqliteConnection;

/// The hashes as a JSON list, in hexadecimal.
const ERASED: &str = "
    SELECT user_hash, application_id FROM erased_users
    WHERE user_hash IN (SELECT unhex(value) FROM json_each(?1))";

/// Which of these users were erased.
pub(super) async fn erased(
    connection: &mut SqliteConnection,
    users: impl Iterator<Item = &str>,
) -> Result<ErasedUsers, StoreError> {
    let any: Option<i64> = sqlx::query_scalar("SELECT 1 FROM erased_users LIMIT 1")
        .fetch_optional(&mut *connection)
        .await?;
    if any.is_none() {
        return Ok(ErasedUsers::default());
    }
    let hashes = users.map(|user| BlobHash(Erasure::user_hash(user)).to_string());
    let found = sqlx::query(ERASED)
        .bind(json_list(hashes))
        .fetch_all(connection)
        .await?;
    Ok(ErasedUsers::from_rows(&found)?)
}
