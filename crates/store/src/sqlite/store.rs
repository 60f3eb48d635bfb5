//! Opening and closing the file.

use super::migrate;
use super::priority;
use super::settings::SettingsWatch;
use super::writer::Writer;
use super::writing_connection::WritingConnection;
use crate::engine::{Migrated, PoolFigures, StoreEngine, StoreFacts};
use crate::error::StoreError;
use crate::start_lock::StartLock;
use async_trait::async_trait;
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use std::fs::{OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;
use tokio::sync::watch;

/// Connections for reads of records and lists, however long they take.
const READERS: u32 = 4;
/// Connections for what a call or a check waits for: a token, an application, the policies. Each is a look-up by a key,
/// and waits for none of the long reads.
const LOOKUPS: u32 = 2;
/// How long a statement waits for a lock that another process holds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Page cache of the writer and of each reader, in KiB; SQLite takes a negative number for KiB.
const WRITER_CACHE: &str = "-32768";
const READER_CACHE: &str = "-4096";
/// Pages in the write-ahead log after which it is copied into the file: 16 MiB.
const CHECKPOINT: &str = "4096";
/// Rows that a connection reads ahead of their consumer; each may hold a long text.
const READ_AHEAD: usize = 16;
/// Prepared statements that a connection caches.
const STATEMENTS: usize = 128;

const FACTS: &str = "
    SELECT sqlite_version(), page_count * page_size FROM pragma_page_count(), pragma_page_size()";

pub(super) const SCHEMA: &str = "SELECT max(version) FROM schema_version";

/// Where a statement of several rows keeps what it would undo after an error; by default each makes a file. Not while a
/// migration sorts whole tables.
const TEMP_STORE: &str = "PRAGMA temp_store = MEMORY";

/// Everything that the analysis server stores, in one SQLite file.
pub struct SqliteStore {
    pub(super) readers: SqlitePool,
    pub(super) lookups: SqlitePool,
    pub(super) writer: Writer,
    pub(super) policy_written: watch::Sender<()>,
    pub(super) settings_watch: SettingsWatch,
    migrated: Migrated,
}

impl SqliteStore {
    /// Which migrations opening it applied.
    pub fn migrated(&self) -> Migrated {
        self.migrated
    }

    /// Opens the file. Creates it (mode 0600) if it does not exist, and brings its schema up to date. Its
    /// writer task runs on the calling runtime, which has to outlive the store.
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
        let writing = writing(options.clone());
        let connection = writing.connect().await;
        let connection = connection.map_err(|error| failed(error.to_string()))?;
        let (mut connection, migrated) = migrated(connection).await?;
        sqlx::raw_sql(TEMP_STORE).execute(&mut connection).await?;
        priority::lower_writer_priority();
        let writing = writing.foreign_keys(true).pragma("temp_store", "MEMORY");
        let writing = WritingConnection::new(connection, writing).await?;
        Ok(Self {
            readers: readers(options.clone(), READERS),
            lookups: readers(options, LOOKUPS),
            migrated,
            writer: Writer::start(writing),
            policy_written: watch::Sender::new(()),
            settings_watch: SettingsWatch::new(),
        })
    }
}

#[async_trait]
impl StoreEngine for SqliteStore {
    fn kind(&self) -> &'static str {
        "SQLite"
    }

    async fn ping(&self) -> Result<i64, StoreError> {
        let schema = sqlx::query_scalar(SCHEMA).fetch_one(&self.readers);
        let is_busy = self.readers.num_idle() == 0 && self.readers.size() == READERS;
        match is_busy {
            true => Ok(self.migrated.to),
            false => Ok(schema.await?),
        }
    }

    fn pool(&self) -> PoolFigures {
        let (open, idle) = (self.readers.size(), self.readers.num_idle() as u64);
        PoolFigures {
            limit: READERS.into(),
            in_use: u64::from(open).saturating_sub(idle),
            idle,
            waited: Duration::ZERO,
        }
    }

    async fn facts(&self) -> Result<StoreFacts, StoreError> {
        let (version, bytes) = sqlx::query_as::<_, (String, i64)>(FACTS)
            .fetch_one(&self.readers)
            .await?;
        Ok(StoreFacts {
            kind: self.kind(),
            version,
            schema: self.migrated.to,
            bytes: bytes.unsigned_abs(),
        })
    }

    async fn lock_first_start(&self) -> Result<Box<dyn StartLock>, StoreError> {
        Ok(Box::new(Unshared))
    }

    async fn close(&self) {
        // The writer last: the connection that closes last copies the log into the file.
        self.readers.close().await;
        self.lookups.close().await;
        self.writer.stop().await;
    }
}

/// One server has the file.
struct Unshared;

#[async_trait]
impl StartLock for Unshared {
    async fn release(self: Box<Self>) {}
}

async fn migrated(
    mut connection: SqliteConnection,
) -> Result<(SqliteConnection, Migrated), StoreError> {
    match migrate::migrate(&mut connection).await {
        Ok(migrated) => Ok((connection, migrated)),
        Err(error) => {
            // The first error is the one to report.
            let _ = connection.close().await;
            Err(error)
        }
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

fn writing(options: SqliteConnectOptions) -> SqliteConnectOptions {
    options
        // Migrations recreate tables; `migrate` turns foreign keys on after them.
        .foreign_keys(false)
        // Takes effect in a new file only. A file created without it reuses the space of removed records,
        // but does not return it to the file system.
        .auto_vacuum(SqliteAutoVacuum::Incremental)
        // A row that grows moves, within its page or to another one; erasing it later would leave the copy.
        .pragma("secure_delete", "ON")
        .pragma("cache_size", WRITER_CACHE)
        .pragma("wal_autocheckpoint", CHECKPOINT)
        .thread_name(|_| priority::WRITER_THREAD.into())
}

fn readers(options: SqliteConnectOptions, connections: u32) -> SqlitePool {
    let reading = options
        .read_only(true)
        .row_buffer_size(READ_AHEAD)
        .pragma("cache_size", READER_CACHE);
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(BUSY_TIMEOUT)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(reading)
}

/// Creates the file if it does not exist, and makes it readable by its owner only; SQLite gives the same
/// mode to the files beside it.
pub(super) fn private_file(path: &Path) -> std::io::Result<()> {
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
