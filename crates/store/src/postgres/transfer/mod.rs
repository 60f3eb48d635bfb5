//! Portable rows out of the database and into a new one.

mod copy;
mod findings;
mod positions;
mod read;
mod records;
mod select;
mod settings;
mod values;
mod write;

use super::connect::Connector;
use super::store::PostgresStore;
use super::{indexes, migrate};
use crate::error::StoreError;
use crate::transfer::{RELEASE_4_1_SCHEMA, StoreReader, StoreWriter};
use monitor_model::StoreSettings;

impl PostgresStore {
    /// The latest version of the schema.
    pub const SCHEMA: i64 = migrate::MIGRATIONS.len() as i64;

    /// The oldest version that a writer makes: that of the last release, 4.1.0.
    pub const OLDEST_SCHEMA: i64 = RELEASE_4_1_SCHEMA;

    /// A snapshot of the database, whether servers use it or not. They go on meanwhile; days that retention is to
    /// drop stay until the snapshot is closed.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it cannot be reached, [`StoreError::OtherSchema`] when it has another schema
    /// than this program's.
    pub async fn reader(settings: &StoreSettings) -> Result<Box<dyn StoreReader>, StoreError> {
        let connection = Connector::new(settings).connect_unlimited().await?;
        Ok(Box::new(read::Reader::open(connection).await?))
    }

    /// Fills an empty database, with a schema of this version, from [`PostgresStore::OLDEST_SCHEMA`] on. Until the
    /// writer has finished, every version of this program refuses to open the database.
    ///
    /// # Errors
    /// [`StoreError::NotEmpty`], [`StoreError::Unfinished`], or [`StoreError::Unavailable`].
    pub async fn writer(
        settings: &StoreSettings,
        schema: i64,
    ) -> Result<Box<dyn StoreWriter>, StoreError> {
        let connector = Connector::new(settings);
        let connection = connector.connect_unlimited().await?;
        let place = format!(
            "the database {} of PostgreSQL at {}:{}",
            settings.db, settings.host, settings.port
        );
        let writer = write::Writer::create(connection, schema, place).await?;
        // While there are no rows it takes no time; days get theirs with their partitions.
        indexes::build_missing(&connector, schema).await?;
        Ok(Box::new(writer))
    }
}
