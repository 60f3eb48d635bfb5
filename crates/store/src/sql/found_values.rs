//! Found values and their keys, from the columns of both engines.

use super::columns::Columns;
use crate::error::StoreError;
use crate::found_values::{FoundValue, ValueHash};
use crate::settings::value_keys::ValueKey;

/// The keys, the newest first.
pub(crate) const KEYS: &str = "SELECT * FROM value_keys ORDER BY id DESC";

/// A row of `value_keys`.
pub(crate) fn value_key(row: &impl Columns) -> Result<ValueKey, StoreError> {
    let secret = <[u8; 32]>::try_from(row.bytes("secret")?);
    Ok(ValueKey {
        id: row.number("id")?,
        secret: secret.map_err(|_| StoreError::Unreadable("key of found values"))?,
        created_at_ms: row.number("created_at_ms")?,
    })
}

/// A row of `found_values`.
pub(crate) fn found_value(row: &impl Columns) -> Result<FoundValue, StoreError> {
    let hash = <[u8; 16]>::try_from(row.bytes("hash")?);
    let hash = hash.map_err(|_| StoreError::Unreadable("found value"))?;
    Ok(FoundValue {
        kind: row.text("kind")?.into(),
        hash: ValueHash(hash),
        key_id: row.number("key_id")?,
    })
}
