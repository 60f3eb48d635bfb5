//! The versions of this engine's schema. How they are applied is `sql::migrations`.

use crate::engine::Migrated;
use crate::error::StoreError;
use crate::sql::migrations::{Schema, SchemaVersion, apply_missing};
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
    include_str!("migrations/0016_embeddings.sql"),
    include_str!("migrations/0017_tool_parts.sql"),
    include_str!("migrations/0018_costs.sql"),
    include_str!("migrations/0019_budgets.sql"),
    include_str!("migrations/0020_tool_arguments.sql"),
    include_str!("migrations/0021_fleet.sql"),
    include_str!("migrations/0022_unchecked.sql"),
    include_str!("migrations/0023_reviewers.sql"),
    include_str!("migrations/0024_spent.sql"),
    include_str!("migrations/0025_calls.sql"),
    include_str!("migrations/0026_found_values.sql"),
    include_str!("migrations/0027_findings.sql"),
    include_str!("migrations/0028_alerts.sql"),
    include_str!("migrations/0029_user_days.sql"),
    include_str!("migrations/0030_siem.sql"),
    include_str!("migrations/0031_second_factor.sql"),
];

const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS schema_version (
    version INTEGER NOT NULL, readable_from INTEGER) STRICT";
/// The table of earlier programs has no such column.
const HAS_READABLE_FROM: &str =
    "SELECT count(*) FROM pragma_table_info('schema_version') WHERE name = 'readable_from'";
const ADD_READABLE_FROM: &str = "ALTER TABLE schema_version ADD COLUMN readable_from INTEGER";
const LATEST: &str =
    "SELECT version, readable_from FROM schema_version ORDER BY version DESC LIMIT 1";
const NOTE: &str = "INSERT INTO schema_version (version, readable_from) VALUES (?1, ?2)";

#[async_trait]
impl Schema for SqliteConnection {
    async fn latest_version(&mut self) -> Result<Option<SchemaVersion>, sqlx::Error> {
        sqlx::raw_sql(VERSIONS).execute(&mut *self).await?;
        let columns: i64 = sqlx::query_scalar(HAS_READABLE_FROM)
            .fetch_one(&mut *self)
            .await?;
        if columns == 0 {
            sqlx::raw_sql(ADD_READABLE_FROM).execute(&mut *self).await?;
        }
        let row = sqlx::query_as::<_, (i64, Option<i64>)>(LATEST)
            .fetch_optional(self)
            .await?;
        Ok(row.map(|(version, readable_from)| SchemaVersion::new(version, readable_from)))
    }

    async fn apply(
        &mut self,
        version: SchemaVersion,
        sql: &'static str,
    ) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(sql).execute(&mut *self).await?;
        sqlx::query(NOTE)
            .bind(version.version)
            .bind(version.readable_from)
            .execute(self)
            .await
            .map(drop)
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
