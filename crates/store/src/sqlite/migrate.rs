//! The versions of this engine's schema. How they are applied is `sql::migrations`.

use crate::engine::Migrated;
use crate::error::StoreError;
use crate::sql::migrations::{Schema, apply_missing};
use async_trait::async_trait;
use sqlx::{Connection, SqliteConnection};

/// The schema's versions in order: the first one creates version 1 in an empty file.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_policies.sql"),
    include_str!("migrations/0003_local_patterns.sql"),
    include_str!("migrations/0004_analysis.sql"),
    include_str!("migrations/0005_attachments.sql"),
    include_str!("migrations/0006_accounts.sql"),
    include_str!("migrations/0007_chain.sql"),
    include_str!("migrations/0008_people.sql"),
    include_str!("migrations/0009_traffic.sql"),
    include_str!("migrations/0010_call_limits.sql"),
    include_str!("migrations/0011_lookups.sql"),
    include_str!("migrations/0012_user_turn.sql"),
    include_str!("migrations/0013_streams.sql"),
    include_str!("migrations/0014_attachment_names.sql"),
    include_str!("migrations/0015_exchanges.sql"),
];

const VERSIONS: &str =
    "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL) STRICT";

#[async_trait]
impl Schema for SqliteConnection {
    async fn latest_version(&mut self) -> Result<Option<i64>, sqlx::Error> {
        sqlx::raw_sql(VERSIONS).execute(&mut *self).await?;
        sqlx::query_scalar("SELECT max(version) FROM schema_version")
            .fetch_one(self)
            .await
    }

    async fn apply(&mut self, version: i64, sql: &'static str) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(sql).execute(&mut *self).await?;
        let query = sqlx::query("INSERT INTO schema_version (version) VALUES (?1)");
        query.bind(version).execute(self).await.map(drop)
    }
}

/// Applies what is missing, as a whole or not at all. The connection must not enforce foreign keys, so that a
/// migration can recreate a table; it enforces them afterwards.
pub(super) async fn migrate(connection: &mut SqliteConnection) -> Result<Migrated, StoreError> {
    let migrated = apply(connection, MIGRATIONS).await?;
    sqlx::raw_sql("PRAGMA foreign_keys = ON")
        .execute(connection)
        .await?;
    Ok(migrated)
}

/// Applies what is missing of these versions.
pub(super) async fn apply(
    connection: &mut SqliteConnection,
    migrations: &[&'static str],
) -> Result<Migrated, StoreError> {
    // Locks the file at once, so that of two processes that start together only one migrates.
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let migrated = apply_missing(&mut *transaction, migrations).await?;
    transaction.commit().await?;
    Ok(migrated)
}
