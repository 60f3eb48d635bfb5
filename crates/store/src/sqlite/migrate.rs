//! Brings a database to the schema this program writes. Forward only; a newer schema is refused.

use crate::{Migrated, StoreError};
use sqlx::{Connection, SqliteConnection};

/// The schema's versions in order: the first one makes version 1 out of an empty file.
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
];

/// Applies what is missing, all of it or nothing. The connection must not enforce foreign keys, so
/// that a table can be made anew; it does afterwards.
pub(super) async fn migrate(connection: &mut SqliteConnection) -> Result<Migrated, StoreError> {
    let migrated = apply(connection, MIGRATIONS).await?;
    sqlx::raw_sql("PRAGMA foreign_keys = ON")
        .execute(connection)
        .await?;
    Ok(migrated)
}

/// Applies what is missing of these.
pub(super) async fn apply(
    connection: &mut SqliteConnection,
    migrations: &[&'static str],
) -> Result<Migrated, StoreError> {
    // Taken at once, so that two processes starting together do not both migrate.
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::raw_sql("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL) STRICT")
        .execute(&mut *transaction)
        .await?;
    let found: Option<i64> = sqlx::query_scalar("SELECT max(version) FROM schema_version")
        .fetch_one(&mut *transaction)
        .await?;
    let found = found.unwrap_or(0);
    let known = migrations.len() as i64;
    if found > known {
        return Err(StoreError::NewerSchema { found, known });
    }
    for (version, sql) in (1..)
        .zip(migrations)
        .filter(|(version, _)| *version > found)
    {
        sqlx::raw_sql(*sql).execute(&mut *transaction).await?;
        sqlx::query("INSERT INTO schema_version (version) VALUES (?1)")
            .bind(version)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    Ok(Migrated {
        from: found,
        to: known,
    })
}
