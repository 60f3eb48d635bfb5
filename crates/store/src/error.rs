//! Why a store operation failed. No message contains the content of a record.

use std::path::PathBuf;
use thiserror::Error;

/// The failure of a store operation.
#[derive(Clone, Debug, Error)]
pub enum StoreError {
    /// The database was written by a later version of this program.
    #[error(
        "the database has schema version {found}, this program knows up to {known}: \
         start the newer program again, or restore a backup made before the upgrade"
    )]
    NewerSchema {
        /// The version found in the database.
        found: i64,
        /// The latest version this program knows.
        known: i64,
    },
    /// The database file cannot be created or opened.
    #[error("cannot open {path}: {reason}")]
    File {
        /// Path of the database file.
        path: PathBuf,
        /// The error message of the operating system or of SQLite.
        reason: String,
    },
    /// The database refused or failed: busy for too long, disk full, input/output error.
    #[error("the database failed: {0}")]
    Unavailable(String),
    /// A stored value cannot be read as this type.
    #[error("the database holds a {0} that cannot be read")]
    Unreadable(&'static str),
    /// The record belongs to a user whose records were erased; it is not stored.
    #[error("records of this user were erased")]
    Erased,
    /// The store is closing or closed.
    #[error("the store is closed")]
    Closed,
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::PoolClosed => Self::Closed,
            other => Self::Unavailable(other.to_string()),
        }
    }
}
