//! Brings a schema up to date: applies the missing migrations within the caller's transaction. Forward only; a
//! newer schema is refused.
//!
//! Why not `sqlx::migrate!`: released databases record their version in `schema_version`, and released
//! programs read that table to refuse a newer schema, so it has to be kept in any case. sqlx would need a
//! second table beside it, seeded with checksums for the migrations applied before, and runs each migration
//! in a transaction of its own, whereas here an upgrade over several versions takes effect as a whole or not
//! at all.

use crate::engine::Migrated;
use crate::error::StoreError;
use async_trait::async_trait;

/// A connection, within a transaction, whose schema can be migrated.
#[async_trait]
pub(crate) trait Schema: Send {
    /// The latest applied version; None for an empty database. Creates the table of versions if needed.
    async fn latest_version(&mut self) -> Result<Option<i64>, sqlx::Error>;

    /// Runs one migration and records its version.
    async fn apply(&mut self, version: i64, sql: &'static str) -> Result<(), sqlx::Error>;
}

/// Applies the missing migrations; the first one creates version 1 in an empty database.
///
/// # Errors
/// [`StoreError::NewerSchema`] for a database of a later version, [`StoreError::Unavailable`].
pub(crate) async fn apply_missing(
    schema: &mut impl Schema,
    migrations: &[&'static str],
) -> Result<Migrated, StoreError> {
    let found = schema.latest_version().await?.unwrap_or(0);
    let known = migrations.len() as i64;
    if found > known {
        return Err(StoreError::other_schema(found, known));
    }
    let numbered = (1_i64..).zip(migrations);
    for (version, sql) in numbered.filter(|(version, _)| *version > found) {
        schema.apply(version, sql).await?;
    }
    Ok(Migrated {
        from: found,
        to: known,
    })
}
