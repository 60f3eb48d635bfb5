//! Opening and closing the database.

use super::connect::advisory_lock::{AdvisoryLock, LockKey};
use super::connect::listener::Listener;
use super::connect::{self, Connector};
use super::maintenance::Maintenance;
use super::pool::{ConnectionPool, with_timeout};
use super::seq::Day;
use super::statistics::counter_lanes::{CounterLanes, GIVE_BACK};
use super::writer::Writer;
use super::{indexes, migrate, partitions};
use crate::engine::{Migrated, PoolFigures, StoreEngine, StoreFacts};
use crate::error::StoreError;
use crate::sql::columns::Columns as _;
use crate::sql::migrations::SchemaVersion;
use crate::start_lock::StartLock;
use async_trait::async_trait;
use monitor_model::StoreSettings;
use sqlx::Postgres;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

/// The server's own version, without what its packager appends.
const FACTS: &str = "
    SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
        pg_database_size(current_database()) AS bytes,
        (SELECT max(version) FROM schema_version) AS schema";

/// Connections for reads and changes; with those for look-ups eight, beside the writer, the listener and maintenance.
const CONNECTIONS: usize = 6;
const LOOKUPS: usize = 2;

/// How long the end of the process waits for the lanes to be given back.
const GIVING_BACK: Duration = Duration::from_millis(500);

/// While every connection is at work, the database is not asked again for so long after it completed something.
const RECENTLY: Duration = Duration::from_secs(1);

/// Everything that the analysis servers store, in one PostgreSQL database.
pub struct PostgresStore {
    pub(super) connector: Connector,
    pub(super) pool: ConnectionPool,
    /// For what a call or a check waits for.
    pub(super) lookups: ConnectionPool,
    pub(super) writer: Writer,
    lanes: Arc<CounterLanes>,
    pub(super) listener: Listener,
    pub(super) maintenance: Maintenance,
    /// The days that have a partition, as this process last read them.
    pub(super) days: Arc<watch::Sender<Vec<Day>>>,
    pub(super) policy_written: watch::Sender<()>,
    /// The version that the schema had when the store was opened.
    schema: i64,
    /// Held by the one that asks the database over a connection of its own.
    probing: Mutex<()>,
}

impl PostgresStore {
    /// Opens the database that the settings name, brings its schema up to date and creates the partitions
    /// of the next days. Its tasks run on the calling runtime, which has to outlive the store.
    ///
    /// # Errors
    /// [`StoreError::NewerSchema`], or [`StoreError::Unavailable`] within seconds.
    pub async fn open(settings: &StoreSettings) -> Result<Self, StoreError> {
        let connector = Connector::new(settings);
        let mut connection = connector.connect_for_migration().await?;
        let schema = migrate::migrate(&mut connection).await?.to;
        connect::close(connection).await;
        if let Err(error) = indexes::build_missing(&connector, schema).await {
            log::warn!(
                "an index is missing, and pages may be slow; the next start builds it: {error}"
            );
        }
        let mut connection = connector.connect_for_maintenance().await?;
        let days = partitions::create_ahead(&mut connection).await?;
        let lanes = Arc::new(CounterLanes::new());
        if let Err(error) = lanes.lease(&mut connection).await {
            log::debug!("no lanes are leased yet; maintenance tries again: {error}");
        }
        connect::close(connection).await;
        let days = Arc::new(watch::Sender::new(days));
        Ok(Self {
            pool: ConnectionPool::new(connector.clone(), CONNECTIONS),
            lookups: ConnectionPool::new(connector.clone(), LOOKUPS),
            writer: Writer::start(&connector, &lanes),
            listener: Listener::start(&connector),
            maintenance: Maintenance::start(connector.clone(), days.clone(), lanes.clone()),
            lanes,
            days,
            policy_written: watch::Sender::new(()),
            schema,
            probing: Mutex::default(),
            connector,
        })
    }

    /// Brings the schema of a database up to date and does nothing else.
    ///
    /// # Errors
    /// The same errors as [`PostgresStore::open`].
    pub async fn migrate(settings: &StoreSettings) -> Result<Migrated, StoreError> {
        let connector = Connector::new(settings);
        let mut connection = connector.connect_for_migration().await?;
        let migrated = migrate::migrate(&mut connection).await?;
        connect::close(connection).await;
        if let Err(error) = indexes::build_missing(&connector, migrated.to).await {
            log::warn!(
                "the schema is migrated; an index is missing, which the next start builds: {error}"
            );
        }
        Ok(migrated)
    }

    /// All rows that a statement returns.
    pub(super) async fn all(
        &self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> Result<Vec<PgRow>, StoreError> {
        rows(&self.pool, query).await
    }

    /// The rows of a look-up by a key, such as a token's, which waits for no long read.
    pub(super) async fn look_up(
        &self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> Result<Vec<PgRow>, StoreError> {
        rows(&self.lookups, query).await
    }
}

async fn rows(
    pool: &ConnectionPool,
    query: Query<'_, Postgres, PgArguments>,
) -> Result<Vec<PgRow>, StoreError> {
    let mut pooled = pool.acquire().await?;
    let rows = with_timeout(query.fetch_all(pooled.connection())).await?;
    pooled.release();
    Ok(rows)
}

/// The version, unless another server has migrated the database to one that this program cannot use.
fn usable(schema: Option<SchemaVersion>) -> Result<i64, StoreError> {
    let schema = schema.ok_or(StoreError::Unreadable("version"))?;
    schema.require_readable(PostgresStore::SCHEMA)?;
    Ok(schema.version)
}

#[async_trait]
impl StoreEngine for PostgresStore {
    fn kind(&self) -> &'static str {
        "PostgreSQL"
    }

    async fn ping(&self) -> Result<i64, StoreError> {
        if let Some(mut pooled) = self.pool.try_acquire().await? {
            let schema = with_timeout(migrate::latest(pooled.connection())).await?;
            pooled.release();
            return usable(schema);
        }
        if self.pool.has_completed_within(RECENTLY) {
            return Ok(self.schema);
        }
        // All connections are at work: on long searches, or on a database that no longer answers.
        let _one_at_a_time = self.probing.lock().await;
        let mut connection = self.connector.connect().await?;
        let schema = with_timeout(migrate::latest(&mut connection)).await?;
        connect::close(connection).await;
        usable(schema)
    }

    fn pool(&self) -> PoolFigures {
        self.pool.figures()
    }

    async fn facts(&self) -> Result<StoreFacts, StoreError> {
        let rows = self.all(sqlx::query(FACTS)).await?;
        let row = rows.first().ok_or(StoreError::Unreadable("version"))?;
        Ok(StoreFacts {
            kind: self.kind(),
            version: row.raw("version")?.to_owned(),
            schema: row.number("schema")?,
            bytes: row.count("bytes")?,
        })
    }

    async fn lock_first_start(&self) -> Result<Box<dyn StartLock>, StoreError> {
        let lock = AdvisoryLock::acquire(&self.connector, LockKey::FirstStart).await?;
        Ok(Box::new(lock))
    }

    async fn close(&self) {
        self.writer.stop().await;
        self.listener.stop().await;
        self.maintenance.stop().await;
        // Otherwise the lease ends by itself.
        let give_back = self.all(sqlx::query(GIVE_BACK).bind(self.lanes.server()));
        let _ = timeout(GIVING_BACK, give_back).await;
        self.pool.close().await;
        self.lookups.close().await;
    }
}
