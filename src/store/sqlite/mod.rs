//! The embedded store: one SQLite file in WAL mode with synchronous=FULL, one writer connection
//! driven by one task with group commit, and a few read-only connections beside it.

mod migrate;
mod policies;
mod records;
mod settings;
#[cfg(test)]
mod tests;
mod writer;

use super::StoreError;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection};
use std::fs::{OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;
use tokio::sync::watch;
use writer::Writer;

/// Readers of the file at once.
const READERS: u32 = 4;
/// How long a lock of another process is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Records, applications with their policies, and tokens in one SQLite file.
pub struct SqliteStore {
    readers: SqlitePool,
    writer: Writer,
    policy_written: watch::Sender<()>,
}

impl SqliteStore {
    /// Opens the file, making it (mode 0600) and bringing its schema up to date where needed.
    /// Its writer task runs on the calling runtime, which has to outlive the store.
    ///
    /// # Errors
    /// [`StoreError::File`], [`StoreError::NewerSchema`] or [`StoreError::Unavailable`].
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        private_file(path).map_err(|error| StoreError::File {
            path: path.into(),
            reason: error.to_string(),
        })?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT)
            .disable_statement_logging();
        let mut connection = options.connect().await.map_err(|error| StoreError::File {
            path: path.into(),
            reason: error.to_string(),
        })?;
        if let Err(error) = migrate::migrate(&mut connection).await {
            // The first error is the one to report.
            let _ = connection.close().await;
            return Err(error);
        }
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(BUSY_TIMEOUT)
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with(options.read_only(true));
        Ok(Self {
            readers,
            writer: Writer::start(connection),
            policy_written: watch::Sender::new(()),
        })
    }

    async fn close_all(&self) {
        // The writer last: the connection that closes last takes the log into the file.
        self.readers.close().await;
        self.writer.stop().await;
    }
}

/// Makes the file when it is missing, and in any case readable by its owner only; SQLite gives the
/// files beside it the same mode.
fn private_file(path: &Path) -> std::io::Result<()> {
    const OWNER_ONLY: u32 = 0o600;
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(OWNER_ONLY)
        .open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(OWNER_ONLY))?;
    }
    Ok(())
}
