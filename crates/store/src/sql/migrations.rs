//! Brings a schema up to date: applies the missing migrations within the caller's transaction. Forward only.
//!
//! Each applied version is noted with the oldest schema whose programs can still read and write the database after it
//! ("Migrations" in docs/development.md), so that servers of two versions can run over one database. A program that is
//! older than that is refused.
//!
//! Why not `sqlx::migrate!`: released databases record their version in `schema_version`, and released
//! programs read that table to refuse a newer schema, so it has to be kept in any case. sqlx would need a
//! second table beside it, seeded with checksums for the migrations applied before, and runs each migration
//! in a transaction of its own, whereas here an upgrade over several versions takes effect as a whole or not
//! at all.

use crate::engine::Migrated;
use crate::error::StoreError;
use async_trait::async_trait;

/// How a migration states the oldest schema whose programs can use the database after it: a line of its own. Without
/// one these are the programs of its own version.
const STATED: &str = "-- readable from: ";

/// The version of a schema, and the oldest one whose programs can use the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SchemaVersion {
    pub(crate) version: i64,
    pub(crate) readable_from: i64,
}

impl SchemaVersion {
    /// As the table of versions holds it; programs that state nothing leave the second column empty.
    pub(crate) fn new(version: i64, readable_from: Option<i64>) -> Self {
        Self {
            version,
            readable_from: readable_from.unwrap_or(version),
        }
    }

    /// # Errors
    /// [`StoreError::NewerSchema`] if programs that know this version cannot use the database.
    pub(crate) fn require_readable(self, known: i64) -> Result<(), StoreError> {
        match self.readable_from > known {
            true => Err(StoreError::other_schema(self.version, known)),
            false => Ok(()),
        }
    }
}

/// A connection, within a transaction, whose schema can be migrated.
#[async_trait]
pub(crate) trait Schema: Send {
    /// The latest applied version; None for an empty database. Creates the table of versions if needed.
    async fn latest_version(&mut self) -> Result<Option<SchemaVersion>, sqlx::Error>;

    /// Runs one migration and records its version.
    async fn apply(&mut self, version: SchemaVersion, sql: &'static str)
    -> Result<(), sqlx::Error>;
}

/// Applies the missing migrations; the first one creates version 1 in an empty database. A later version that this
/// program can use stays as it is.
///
/// # Errors
/// [`StoreError::NewerSchema`] for a database that only later programs can use, [`StoreError::Unavailable`].
pub(crate) async fn apply_missing(
    schema: &mut impl Schema,
    migrations: &[&'static str],
) -> Result<Migrated, StoreError> {
    let known = migrations.len() as i64;
    let latest = schema.latest_version().await?;
    if let Some(latest) = latest {
        latest.require_readable(known)?;
    }
    let found = latest.map_or(0, |latest| latest.version);
    for (version, sql) in versions(migrations) {
        if version.version > found {
            schema.apply(version, sql).await?;
        }
    }
    Ok(Migrated {
        from: found,
        to: found.max(known),
    })
}

/// Every migration with its version. What a later one states never lifts what an earlier one requires.
fn versions(migrations: &[&'static str]) -> impl Iterator<Item = (SchemaVersion, &'static str)> {
    let mut readable_from = 0;
    (1_i64..).zip(migrations).map(move |(version, sql)| {
        readable_from = stated(sql).unwrap_or(version).max(readable_from);
        let version = SchemaVersion {
            version,
            readable_from,
        };
        (version, *sql)
    })
}

fn stated(sql: &str) -> Option<i64> {
    let mut lines = sql.lines();
    lines
        .find_map(|line| line.strip_prefix(STATED))?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_migration_that_states_nothing_is_for_programs_of_its_own_version_and_later() {
        let sql = [
            "CREATE TABLE a ();",
            "-- readable from: 1\nALTER TABLE a ADD b text;",
            "-- A word changes.\nUPDATE a SET b = 'c';",
            "-- readable from: 2\nCREATE TABLE b ();",
            "-- readable from: soon\nCREATE TABLE c ();",
        ];
        let read = versions(&sql).map(|(version, _)| (version.version, version.readable_from));
        let read: Vec<_> = read.collect();
        assert_eq!(read, [(1, 1), (2, 1), (3, 3), (4, 3), (5, 5)]);
    }

    #[test]
    fn a_later_schema_is_used_as_far_as_it_says_so() {
        let later = SchemaVersion::new(9, Some(7));
        assert!(later.require_readable(7).is_ok());
        assert!(later.require_readable(6).is_err());
        let silent = SchemaVersion::new(9, None);
        assert!(silent.require_readable(8).is_err());
        assert!(silent.require_readable(9).is_ok());
    }
}
