//! The versions of this engine's schema. How they are applied is `sql::migrations`.

use crate::engine::Migrated;
use crate::error::StoreError;
use crate::sql::migrations::{Schema, SchemaVersion, apply_missing};
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

/// The lock under which one process migrates at a time: "monitor" in ASCII.
const LOCK: &str = "SELECT pg_advisory_xact_lock(30804237440446322)";
const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS schema_version (
    version bigint PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now(), readable_from bigint)";
/// The table of earlier programs has no such column. Only then it is locked: others read it all the time.
const LACKS_READABLE_FROM: &str = "SELECT NOT EXISTS (SELECT FROM pg_attribute
    WHERE attrelid = 'schema_version'::regclass AND attname = 'readable_from' AND NOT attisdropped)";
const ADD_READABLE_FROM: &str = "ALTER TABLE schema_version ADD COLUMN readable_from bigint";
const LATEST: &str =
    "SELECT version, readable_from FROM schema_version ORDER BY version DESC LIMIT 1";
const NOTE: &str = "INSERT INTO schema_version (version, readable_from) VALUES ($1, $2)";

#[async_trait]
impl Schema for PgConnection {
    async fn latest_version(&mut self) -> Result<Option<SchemaVersion>, sqlx::Error> {
        sqlx::raw_sql(VERSIONS).execute(&mut *self).await?;
        let is_earlier: bool = sqlx::query_scalar(LACKS_READABLE_FROM)
            .fetch_one(&mut *self)
            .await?;
        if is_earlier {
            sqlx::raw_sql(ADD_READABLE_FROM).execute(&mut *self).await?;
        }
        latest(self).await
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

/// The version of a migrated database.
pub(super) async fn latest(
    connection: &mut PgConnection,
) -> Result<Option<SchemaVersion>, sqlx::Error> {
    let row = sqlx::query_as::<_, (i64, Option<i64>)>(LATEST)
        .fetch_optional(connection)
        .await?;
    Ok(row.map(|(version, readable_from)| SchemaVersion::new(version, readable_from)))
}

/// Applies what is missing, as a whole or not at all. Processes that migrate the same database wait for each
/// other. Needs the right to create tables in the connection's schema.
///
/// # Errors
/// [`StoreError::NewerSchema`] for a database that only later programs can use, [`StoreError::Unavailable`].
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
