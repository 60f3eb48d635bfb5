//! Brings a database to the schema this program writes. Forward only; a newer schema is refused.

use crate::{Migrated, StoreError};
use sqlx::Connection;
use sqlx::postgres::PgConnection;

/// The schema's versions in order: the first one makes version 1 out of an empty database.
const MIGRATIONS: &[&str] = &[
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
];

/// Names the lock under which one process migrates at a time: "monitor" in ASCII.
const LOCK: &str = "SELECT pg_advisory_xact_lock(30804237440446322)";
const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS schema_version (
    version bigint PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())";

/// Applies what is missing, all of it or nothing. Other processes that migrate the same database
/// wait for each other. Needs the right to create tables in the connection's schema.
///
/// # Errors
/// [`StoreError::NewerSchema`] for a database of a later version, [`StoreError::Unavailable`].
pub(super) async fn migrate(connection: &mut PgConnection) -> Result<Migrated, StoreError> {
    let mut transaction = connection.begin().await?;
    sqlx::raw_sql(LOCK).execute(&mut *transaction).await?;
    sqlx::raw_sql(VERSIONS).execute(&mut *transaction).await?;
    let found: Option<i64> = sqlx::query_scalar("SELECT max(version) FROM schema_version")
        .fetch_one(&mut *transaction)
        .await?;
    let found = found.unwrap_or(0);
    let known = MIGRATIONS.len() as i64;
    if found > known {
        return Err(StoreError::NewerSchema { found, known });
    }
    for (version, sql) in (1_i64..)
        .zip(MIGRATIONS)
        .filter(|(version, _)| *version > found)
    {
        sqlx::raw_sql(*sql).execute(&mut *transaction).await?;
        sqlx::query("INSERT INTO schema_version (version) VALUES ($1)")
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
