//! Why a store operation failed. No message contains the content of a record.

use sqlx::error::DatabaseError;
use std::path::PathBuf;
use thiserror::Error;

/// `SQLITE_CONSTRAINT_TRIGGER`: a trigger refused the change.
const SQLITE_TRIGGER: &str = "1811";

/// The schema version of a database that is being filled: a later one than any program knows, so that no version of
/// it takes half a store for a whole one.
pub(crate) const UNFINISHED: i64 = 1_000_000;

/// The failure of a store operation.
#[derive(Clone, Debug, Error)]
pub enum StoreError {
    /// The database was written by a later version of this program.
    #[error(
        "the database has schema version {found}, this program knows up to {known}: start the newer program again, \
         or go back with it: `monitor backup FILE`, then `monitor restore FILE --schema {known}` into a new database \
         (\"Roll back\" in docs/operations.md, also for a backup made before the upgrade)"
    )]
    NewerSchema {
        /// The version found in the database.
        found: i64,
        /// The latest version this program knows.
        known: i64,
    },
    /// A backup, restore or copy needs the schema of this very program.
    #[error(
        "the database has schema version {found}, this program reads {known}: use the program that serves it, or \
         update it first (`monitor migrate`)"
    )]
    OtherSchema {
        /// The version found in the database.
        found: i64,
        /// The version that this program reads.
        known: i64,
    },
    /// A restore or a copy into this database was begun and not completed.
    #[error(
        "a restore or copy into this database did not complete: drop the database, create it again, and restore or \
         copy again"
    )]
    Unfinished,
    /// A restore or a copy has no empty database to fill.
    #[error(
        "{place} is not empty (it has {what}): nothing is written over; restore into an empty database, and name it in \
         the configuration ({setting})"
    )]
    NotEmpty {
        /// The database that was to be filled: its folder or its address.
        place: String,
        /// What was found in it.
        what: &'static str,
        /// The setting that names the database.
        setting: &'static str,
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
    /// Changes of the same rows by others were in the way, and the database undid this one. It may be tried again.
    #[error("the database undid the change: others changed the same rows")]
    Conflict,
    /// The bytes of attached files cannot be removed; the database is not at fault.
    #[error("{0}")]
    Files(String),
    /// A constraint of the schema does not allow the change; sending it again would not help.
    #[error("the database refuses the change: {0}")]
    Refused(String),
    /// A stored value cannot be read as this type.
    #[error("the database holds a {0} that cannot be read")]
    Unreadable(&'static str),
    /// The record belongs to a user whose records were erased; it is not stored.
    #[error("records of this user were erased")]
    Erased,
    /// The application was removed; what belongs to it is not stored.
    #[error("the application is not there")]
    NoApplication,
    /// The store is closing or closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// For a reader that found another schema than this program's.
    pub(crate) fn other_schema(found: i64, known: i64) -> Self {
        match found > known {
            true if found == UNFINISHED => Self::Unfinished,
            true => Self::NewerSchema { found, known },
            false => Self::OtherSchema { found, known },
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::PoolClosed => Self::Closed,
            error if is_conflict(&error) => Self::Conflict,
            sqlx::Error::Database(error) if is_refused(&*error) => Self::Refused(error.to_string()),
            other => Self::Unavailable(other.to_string()),
        }
    }
}

/// Of a statement that names an application and nothing else that must exist.
pub(crate) fn of_application(error: sqlx::Error) -> StoreError {
    let database = error.as_database_error();
    match database.is_some_and(|error| error.is_foreign_key_violation()) {
        true => StoreError::NoApplication,
        false => error.into(),
    }
}

/// Whether PostgreSQL ended the transaction: a deadlock, a serialization failure, or too long a wait for a lock.
pub(crate) fn is_conflict(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| ["40001", "40P01", "55P03"].contains(&&*code))
}

/// Whether a check of the schema failed, which in SQLite may be a trigger.
fn is_refused(error: &dyn DatabaseError) -> bool {
    error.is_check_violation() || error.code().is_some_and(|code| code == SQLITE_TRIGGER)
}
