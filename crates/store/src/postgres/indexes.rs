//! Indexes of the table of records. A migration that created one would make every writer wait until it has read all
//! records; therefore they are built after the migrations, `CONCURRENTLY`, while this and other servers go on. What was
//! interrupted goes on with the next start: an index that is not valid is dropped and built again.
//!
//! The table is partitioned, so that an index is one of the parent, which holds nothing, and one of each partition that
//! is attached to it. The parent's is valid once every partition has its own.

use super::connect::advisory_lock::{AdvisoryLock, LockKey};
use super::connect::{self, Connector};
use super::migrate::MIGRATIONS;
use crate::error::{StoreError, is_conflict};
use sqlx::{AssertSqlSafe, PgConnection};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::sleep;

/// An index that a schema has.
#[derive(Clone, Copy)]
struct RecordIndex {
    /// The first schema with it.
    since: i64,
    /// Its name behind that of the table.
    suffix: &'static str,
    /// What it covers. It has no entry for rows that lack the column.
    covers: &'static str,
}

const INDEXES: [RecordIndex; 5] = [
    RecordIndex {
        since: 15,
        suffix: "of_tools",
        covers: "(application_id, exchange_id) WHERE tool_name IS NOT NULL",
    },
    RecordIndex {
        since: 19,
        suffix: "by_cost",
        covers: "(application_id, created_at_ms) WHERE priced IS NOT NULL",
    },
    RecordIndex {
        since: 22,
        suffix: "unchecked",
        covers: "(seq, application_id, stage) WHERE unchecked",
    },
    // Names may be longer than an index takes.
    RecordIndex {
        since: 25,
        suffix: "by_model",
        covers: "(hashtextextended(model, 0), seq) WHERE model IS NOT NULL",
    },
    RecordIndex {
        since: 25,
        suffix: "by_token",
        covers: "(hashtextextended(token_name, 0), seq) WHERE token_name IS NOT NULL",
    },
];

/// Attempts of a statement that may not wait for others for long, and the wait after the first one; it grows with each.
const ATTEMPTS: u32 = 10;
const WAIT: Duration = Duration::from_millis(200);

/// NULL for an index that there is not.
const IS_VALID: &str =
    "SELECT (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1))";
/// The last partition, by name, without an index that is attached to this one.
const NEXT: &str = "
    SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'records'::regclass AND NOT EXISTS (
        SELECT FROM pg_inherits attached JOIN pg_index x ON x.indexrelid = attached.inhrelid
        WHERE attached.inhparent = to_regclass($1) AND x.indrelid = c.oid)
    ORDER BY c.relname DESC LIMIT 1";

impl RecordIndex {
    fn of(self, table: &str) -> String {
        format!("{table}_{}", self.suffix)
    }

    fn name(self) -> String {
        self.of("records")
    }
}

/// Builds the indexes that a database of this schema lacks, unless another server is building them. Of a later schema
/// its own program knows what it has.
pub(super) async fn build_missing(connector: &Connector, schema: i64) -> Result<(), StoreError> {
    if schema > MIGRATIONS.len() as i64 {
        return Ok(());
    }
    let mut short = connector.connect_for_maintenance().await?;
    let mut missing = Vec::new();
    for index in INDEXES {
        if index.since <= schema && is_valid(&mut short, &index.name()).await? != Some(true) {
            missing.push(index);
        }
    }
    let built = match missing.is_empty() {
        true => Ok(()),
        false => build_alone(connector, &mut short, &missing).await,
    };
    connect::close(short).await;
    built
}

async fn build_alone(
    connector: &Connector,
    short: &mut PgConnection,
    missing: &[RecordIndex],
) -> Result<(), StoreError> {
    let Some(lock) = AdvisoryLock::try_acquire(connector, LockKey::Indexes).await? else {
        return Ok(());
    };
    let mut long = connector.connect_for_migration().await?;
    let mut built = Ok(());
    for index in missing {
        built = build(short, &mut long, *index).await;
        if built.is_err() {
            break;
        }
    }
    connect::close(long).await;
    lock.release().await;
    built
}

/// Statements over `short` wait only briefly for a lock, because others would queue behind them; those over `long`
/// block neither reads nor writes.
async fn build(
    short: &mut PgConnection,
    long: &mut PgConnection,
    index: RecordIndex,
) -> Result<(), StoreError> {
    let (name, covers) = (index.name(), index.covers);
    let parent = format!("CREATE INDEX IF NOT EXISTS {name} ON ONLY records {covers}");
    patiently(short, parent).await?;
    let mut done = BTreeSet::new();
    while let Some(partition) = next(short, &name).await? {
        let child = index.of(&partition);
        let state = is_valid(short, &child).await?;
        if state == Some(false) {
            run(long, format!("DROP INDEX CONCURRENTLY {child}")).await?;
        }
        if state != Some(true) {
            let create = format!("CREATE INDEX CONCURRENTLY {child} ON {partition} {covers}");
            run(long, create).await?;
        }
        patiently(
            short,
            format!("ALTER INDEX {name} ATTACH PARTITION {child}"),
        )
        .await?;
        if !done.insert(partition) {
            return Err(StoreError::Unreadable("index"));
        }
    }
    Ok(())
}

async fn is_valid(connection: &mut PgConnection, name: &str) -> Result<Option<bool>, StoreError> {
    let query = sqlx::query_scalar(IS_VALID).bind(name);
    Ok(query.fetch_one(connection).await?)
}

async fn next(connection: &mut PgConnection, name: &str) -> Result<Option<String>, StoreError> {
    let query = sqlx::query_scalar(NEXT).bind(name);
    Ok(query.fetch_optional(connection).await?)
}

async fn patiently(connection: &mut PgConnection, sql: String) -> Result<(), StoreError> {
    let mut attempt = 1;
    loop {
        // Composed of constants and the names of tables of this program.
        let statement = sqlx::raw_sql(AssertSqlSafe(sql.clone()));
        match statement.execute(&mut *connection).await {
            Ok(_) => return Ok(()),
            Err(error) if attempt == ATTEMPTS || !is_conflict(&error) => return Err(error.into()),
            Err(_) => sleep(WAIT * attempt).await,
        }
        attempt += 1;
    }
}

/// No transaction may be open.
async fn run(connection: &mut PgConnection, sql: String) -> Result<(), StoreError> {
    // Composed of constants and the names of tables of this program.
    let statement = sqlx::raw_sql(AssertSqlSafe(sql));
    statement.execute(connection).await?;
    Ok(())
}
