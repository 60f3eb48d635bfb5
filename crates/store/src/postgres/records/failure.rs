//! Why a batch of records was not stored, as far as it matters for what to do next.

use crate::error::StoreError;

/// Why a batch was not stored.
pub(in crate::postgres) enum Failure {
    /// Nothing is stored; the error of the database tells what to do.
    Before(sqlx::Error),
    /// It is not known whether the batch is stored.
    AtCommit(sqlx::Error),
    /// A concurrent transaction interfered; another attempt is likely to succeed.
    Again,
    /// What is stored cannot be read, or no connection could be opened.
    Store(StoreError),
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Before(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
