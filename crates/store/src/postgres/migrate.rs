//! The versions of this engine's schema. How they are applied is `sql::migrations`.

use crate::engine::Migrated;
use crate::error::StoreError;
use crate::sql::migrations::{Schema, apply_missing};
use async_trait::async_trait;
use sqlx::Connection;
use sqlx::postgres::PgConnection;

/// The schema's versions in order: the first one creates version 1 in an empty database.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_local_patterns.sql"),
    include_str!("migrations/0003_analysis.sql"),
    include_str!("migrations/0004_attachments.sql"),
    include_str!("migrations/0005_accounts.sql"),
    include_str!("migrations/0006_chain.sql"),
    include_str!("migrations/0007_people.sql"),
    include_str!("migrations/0008_traffic.sql"),
    include_str!("migrations/0009_call_limits.sql"),
    include_str!("migrations/0010_lookups.sql"),
    include_str!("migrations/0011_one_identity.sql"),
    include_str!("migrations/0012_user_turn.sql"),
    include_str!("migrations/0013_streams.sql"),
    include_str!("migrations/0014_attachment_names.sql"),
    include_str!("migrations/0015_exchanges.sql"),
];

/// The lock under which one process migrates at a time: "monitor" in ASCII.
const LOCK: &str = "SELECT pg_advisory_xact_lock(30804237440446322)";
const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS schema_version (
    version bigint PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())";

#[async_trait]
impl Schema for PgConnection {
    async fn latest_version(&mut self) -> Result<Option<i64>, sqlx::Error> {
        sqlx::raw_sql(VERSIONS).execute(&mut *self).await?;
        sqlx::query_scalar("SELECT max(version) FROM schema_version")
            .fetch_one(self)
            .await
    }

    async fn apply(&mut self, version: i64, sql: &'static str) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(sql).execute(&mut *self).await?;
        let query = sqlx::query("INSERT INTO schema_version (version) VALUES ($1)");
        query.bind(version).execute(self).await.map(drop)
    }
}

/// Applies what is missing, as a whole or not at all. Processes that migrate the same database wait for each
/// other. Needs the right to create tables in the connection's schema.
///
/// # Errors
/// [`StoreError::NewerSchema`] for a database of a later version, [`StoreError::Unavailable`].
pub(super) async fn migrate(connection: &mut PgConnection) -> Result<Migrated, StoreError> {
    apply(connection, MIGRATIONS).await
}

/// Applies what is missing of these versions.
pub(super) async fn apply(
    connection: &mut PgConnection,
    migrations: &[&'static str],
) -> Result<Migrated, StoreError> {
    let mut transaction = connection.begin().await?;
    sqlx::raw_sql(LOCK).execute(&mut *transaction).await?;
    let migrated = apply_missing(&mut *transaction, migrations).await?;
    transaction.commit().await?;
    Ok(migrated)
}
