//! Why a store could not do what it was asked. No text here carries a record's content.

use std::path::PathBuf;
use thiserror::Error;

/// A store's failure.
#[derive(Clone, Debug, Error)]
pub enum StoreError {
    /// The database was written by a later version of this program.
    #[error(
        "the database has schema version {found}, this program knows up to {known}: \
         start the newer program again, or restore a backup made before the upgrade"
    )]
    NewerSchema {
        /// Version found in the database.
        found: i64,
        /// Latest version this program can write.
        known: i64,
    },
    /// The database file cannot be made or opened.
    #[error("cannot open {path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The database refused or failed: busy for too long, disk full, input/output error.
    #[error("the database failed: {0}")]
    Unavailable(String),
    /// What is stored does not read back as this type.
    #[error("the database holds a {0} that cannot be read")]
    Unreadable(&'static str),
    /// The record is of a user whose records were erased: it is not kept.
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
