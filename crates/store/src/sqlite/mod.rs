//! The embedded store: one SQLite file in WAL mode with synchronous=FULL, one writer connection
//! driven by one task with group commit, and a few read-only connections beside it.

mod accounts;
mod applications;
mod attachments;
mod audit;
mod chain;
mod changes;
mod erasure;
mod filters;
mod insert;
mod migrate;
mod policies;
mod priority;
mod records;
mod retention;
mod rows;
mod saved;
mod sessions;
mod settings;
mod statistics;
#[cfg(test)]
mod tests;
mod text;
mod tokens;
mod traffic;
mod write;
mod writer;

use super::{Migrated, StoreError};
use changes::Changes;
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
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
/// Page cache of the writer and of each reader, in KiB (negative: SQLite's way to say so).
const WRITER_CACHE: &str = "-32768";
const READER_CACHE: &str = "-4096";
/// Pages of the log after which it is taken into the file: 16 MiB.
const CHECKPOINT: &str = "4096";
/// Rows that a reader is ahead of whoever takes them: each may hold a long text.
const AHEAD: usize = 16;
/// Prepared statements that a connection keeps.
const STATEMENTS: usize = 128;

/// Records, applications with their policies, and tokens in one SQLite file.
pub struct SqliteStore {
    readers: SqlitePool,
    writer: Writer,
    policy_written: watch::Sender<()>,
    changes: Changes,
    migrated: Migrated,
}

impl SqliteStore {
    /// What opening it did to its schema.
    pub fn migrated(&self) -> Migrated {
        self.migrated
    }

    /// Opens the file, making it (mode 0600) and bringing its schema up to date where needed.
    /// Its writer task runs on the calling runtime, which has to outlive the store.
    ///
    /// # Errors
    /// [`StoreError::File`], [`StoreError::NewerSchema`] or [`StoreError::Unavailable`].
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let failed = |reason: String| StoreError::File {
            path: path.into(),
            reason,
        };
        private_file(path).map_err(|error| failed(error.to_string()))?;
        let options = options(path);
        let writing = options
            .clone()
            // Migrations make tables anew; the writer turns it on after them.
            .foreign_keys(false)
            // Of a new file only: one made without it uses the room of removed records again, but
            // does not give it back.
            .auto_vacuum(SqliteAutoVacuum::Incremental)
            .pragma("cache_size", WRITER_CACHE)
            .pragma("wal_autocheckpoint", CHECKPOINT)
            .thread_name(|_| priority::WRITER_THREAD.into());
        let mut connection = writing
            .connect()
            .await
            .map_err(|error| failed(error.to_string()))?;
        let migrated = match migrate::migrate(&mut connection).await {
            Ok(migrated) => migrated,
            Err(error) => {
                // The first error is the one to report.
                let _ = connection.close().await;
                return Err(error);
            }
        };
        priority::stand_back();
        let reading = options
            .read_only(true)
            .row_buffer_size(AHEAD)
            .pragma("cache_size", READER_CACHE);
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(BUSY_TIMEOUT)
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with(reading);
        Ok(Self {
            readers,
            migrated,
            writer: Writer::start(connection),
            policy_written: watch::Sender::new(()),
            changes: Changes::new(),
        })
    }

    async fn close_all(&self) {
        // The writer last: the connection that closes last takes the log into the file.
        self.readers.close().await;
        self.writer.stop().await;
    }
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .statement_cache_capacity(STATEMENTS)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging()
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
