//! Portable rows out of the file and into a new one.

mod bind;
mod connect;
mod findings;
mod read;
mod select;
mod write;

use super::migrate;
use super::store::SqliteStore;
use crate::error::StoreError;
use crate::transfer::{RELEASE_4_1_SCHEMA, StoreReader, StoreWriter};
use std::path::Path;

impl SqliteStore {
    /// The latest version of the schema.
    pub const SCHEMA: i64 = migrate::MIGRATIONS.len() as i64;

    /// The oldest version that a writer makes: that of the last release, 4.1.0.
    pub const OLDEST_SCHEMA: i64 = RELEASE_4_1_SCHEMA;

    /// A snapshot of the file, whether a server uses it or not. A server goes on meanwhile; its write-ahead log
    /// grows until the snapshot is closed.
    ///
    /// # Errors
    /// [`StoreError::File`] when it cannot be opened, [`StoreError::OtherSchema`] when its schema is not ours.
    pub async fn reader(path: &Path) -> Result<Box<dyn StoreReader>, StoreError> {
        Ok(Box::new(read::Reader::open(path).await?))
    }

    /// A new file with a schema of this version, from [`SqliteStore::OLDEST_SCHEMA`] on. It is a store only once it was
    /// finished, and has no business under a store's name before.
    ///
    /// # Errors
    /// [`StoreError::File`] when there is a file or it cannot be created.
    pub async fn writer(path: &Path, schema: i64) -> Result<Box<dyn StoreWriter>, StoreError> {
        Ok(Box::new(write::Writer::create(path, schema).await?))
    }
}
