//! What a test changes in the embedded database beside the program.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use std::path::Path;

/// Executes SQL in a database that may be in use.
///
/// # Panics
/// Where SQLite refuses it.
pub async fn execute(file: &Path, sql: &str) {
    let options = SqliteConnectOptions::new().filename(file);
    let mut connection = options.connect().await.unwrap();
    let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection);
    done.await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    connection.close().await.unwrap();
}

/// As [`execute`], for a test without a runtime.
pub fn execute_now(file: &Path, sql: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(execute(file, sql));
}
