//! Opens connections to the database; each has its time limits set before its first statement. Locks and the listener
//! have connections of their own.

pub(super) mod advisory_lock;
pub(super) mod listener;

use crate::error::StoreError;
use monitor_model::{StoreSettings, StoreSsl};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgSslMode};
use sqlx::{ConnectOptions as _, Connection as _};
use std::time::Duration;
use tokio::time::timeout;

/// Time to open or to close a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// The server cancels a statement of a read or a change after this time; the client waits a little longer.
const STATEMENT: &str = "10s";
/// The same for a statement of maintenance, which reads more.
const LONG_STATEMENT: &str = "60s";
/// The same for a statement of a migration, and how long it waits for the migration of another server.
const MIGRATION: &str = "30min";
const MIGRATION_LOCK: &str = "60s";
/// PostgreSQL takes zero for a statement that may run without a limit.
const UNLIMITED: &str = "0";
/// How long a statement waits for a lock that another transaction holds.
const LOCK: &str = "5s";
/// The same for a lock that blocks everybody else while it is waited for.
const SHORT_LOCK: &str = "300ms";

/// Opens connections with the settings of one database.
#[derive(Clone)]
pub(super) struct Connector(PgConnectOptions);

impl Connector {
    pub(super) fn new(settings: &StoreSettings) -> Self {
        // Whatever the default of the role or the database is: what is acknowledged is on disk.
        let fixed = [("synchronous_commit", "on"), ("timezone", "UTC")];
        Self(postgres_options(settings, "monitor-analysis").options(fixed))
    }

    /// A connection for reads and changes.
    pub(super) async fn connect(&self) -> Result<PgConnection, StoreError> {
        open(&self.limited(STATEMENT, LOCK)).await
    }

    /// A connection for long work that gives way to everybody else.
    pub(super) async fn connect_for_maintenance(&self) -> Result<PgConnection, StoreError> {
        open(&self.limited(LONG_STATEMENT, SHORT_LOCK)).await
    }

    /// A connection whose statements may take as long as a change of the schema.
    pub(super) async fn connect_for_migration(&self) -> Result<PgConnection, StoreError> {
        open(&self.limited(MIGRATION, MIGRATION_LOCK)).await
    }

    /// A connection without limits of a statement and of the pause after it: to hold a lock of other servers while it
    /// does nothing, or to read or fill a whole database at the pace of its other end.
    pub(super) async fn connect_unlimited(&self) -> Result<PgConnection, StoreError> {
        let patient = [("idle_in_transaction_session_timeout", "0")];
        open(&self.limited(UNLIMITED, MIGRATION_LOCK).options(patient)).await
    }

    /// The connection of a listener, as the pool of one that sqlx requires.
    pub(super) fn listener_pool(&self) -> PgPool {
        PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(CONNECT)
            .max_lifetime(None)
            .idle_timeout(None)
            .connect_lazy_with(self.0.clone())
    }

    fn limited(&self, statement: &str, lock: &str) -> PgConnectOptions {
        let limits = [("statement_timeout", statement), ("lock_timeout", lock)];
        self.0.clone().options(limits).disable_statement_logging()
    }
}

async fn open(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    let why = match timeout(CONNECT, options.connect()).await {
        Ok(Ok(connection)) => return Ok(connection),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no connection within {CONNECT:?}"),
    };
    let (host, port) = (options.get_host(), options.get_port());
    Err(StoreError::Unavailable(format!(
        "PostgreSQL at {host}:{port} (store.host, STORE_HOST): {why}"
    )))
}

/// Closes a connection gracefully if that is possible in time.
pub(super) async fn close(connection: PgConnection) {
    let _ = timeout(CONNECT, connection.close()).await;
}

/// Connection options for these settings; `name` is the application name that the server shows.
pub fn postgres_options(settings: &StoreSettings, name: &str) -> PgConnectOptions {
    let mut options = PgConnectOptions::new_without_pgpass()
        .port(settings.port)
        .database(&settings.db)
        .username(&settings.user)
        // Set even if there is none: PGPASSWORD was meant for another program.
        .password(
            settings
                .password
                .as_ref()
                .map_or("", |password| password.expose()),
        )
        .application_name(name)
        .ssl_mode(match settings.ssl {
            StoreSsl::Off => PgSslMode::Disable,
            StoreSsl::Auto => PgSslMode::Prefer,
            StoreSsl::On => PgSslMode::VerifyFull,
        });
    options = match settings.host.starts_with('/') {
        true => options.socket(&settings.host),
        false => options.host(&settings.host),
    };
    if let Some(ca) = &settings.ca {
        options = options.ssl_root_cert(ca);
    }
    options
}
