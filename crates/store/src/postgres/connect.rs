//! Connections to the database, each with its limits set before its first statement.

use crate::StoreError;
use monitor_model::{StoreSettings, StoreSsl};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgSslMode};
use sqlx::{ConnectOptions as _, Connection as _};
use std::time::Duration;
use tokio::time::timeout;

/// Time to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// One statement of a read or a change, at the server; the client waits a little longer.
const STATEMENT: &str = "10s";
/// One statement of housekeeping, which looks at more.
const LONG_STATEMENT: &str = "60s";
/// One statement of a migration, and the wait for another server's.
const MIGRATION: &str = "30min";
const MIGRATION_LOCK: &str = "60s";
/// A lock that another transaction holds.
const LOCK: &str = "5s";
/// A lock that stands in the way of everybody while it is waited for.
const SHORT_LOCK: &str = "300ms";

/// Makes connections.
#[derive(Clone)]
pub(super) struct Connector(PgConnectOptions);

impl Connector {
    pub(super) fn new(settings: &StoreSettings) -> Self {
        // Whatever the role's or the database's default: what is acknowledged is on disk.
        let fixed = [("synchronous_commit", "on"), ("timezone", "UTC")];
        Self(postgres_options(settings, "monitor-analysis").options(fixed))
    }

    /// A connection for one task.
    pub(super) async fn connect(&self) -> Result<PgConnection, StoreError> {
        open(&self.limited(STATEMENT, LOCK)).await
    }

    /// A connection for work that takes its time and gets out of everybody's way.
    pub(super) async fn connect_patient(&self) -> Result<PgConnection, StoreError> {
        open(&self.limited(LONG_STATEMENT, SHORT_LOCK)).await
    }

    /// A connection that may take as long as a change of the schema does.
    pub(super) async fn connect_to_migrate(&self) -> Result<PgConnection, StoreError> {
        open(&self.limited(MIGRATION, MIGRATION_LOCK)).await
    }

    /// The one connection of a listener, which wants a pool.
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
    match timeout(CONNECT, options.connect()).await {
        Ok(connection) => Ok(connection?),
        Err(_) => Err(StoreError::Unavailable(format!(
            "no connection within {CONNECT:?}"
        ))),
    }
}

/// Ends a connection in order, or not at all.
pub(super) async fn close(connection: PgConnection) {
    let _ = timeout(CONNECT, connection.close()).await;
}

/// How the settings reach a PostgreSQL; `name` is what the server shows of the connection.
pub fn postgres_options(settings: &StoreSettings, name: &str) -> PgConnectOptions {
    let mut options = PgConnectOptions::new_without_pgpass()
        .port(settings.port)
        .database(&settings.db)
        .username(&settings.user)
        // Also where there is none: what PGPASSWORD says was meant for something else.
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
