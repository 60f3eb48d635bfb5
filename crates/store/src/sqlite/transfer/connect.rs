//! Opens a file for a transfer.

use crate::error::StoreError;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};
use std::path::Path;

pub(super) async fn connect(
    path: &Path,
    options: SqliteConnectOptions,
) -> Result<SqliteConnection, StoreError> {
    let options = options.filename(path).disable_statement_logging();
    options.connect().await.map_err(|error| StoreError::File {
        path: path.into(),
        reason: error.to_string(),
    })
}
