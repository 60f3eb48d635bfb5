//! Reads a file table by table in one transaction: the snapshot that SQLite's own online backup would copy, without
//! a second file on the disk.

use super::connect::connect;
use super::select::select;
use crate::error::StoreError;
use crate::sql::transfer::portable;
use crate::sqlite::store::{SCHEMA, SqliteStore};
use crate::transfer::{RowBatch, RowSink, StoreReader, Table, TransferError};
use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection as _, SqliteConnection};
use std::path::Path;
use std::time::Duration;

/// How long a statement waits for a lock that another process holds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// Rows that the connection reads ahead; each may hold a long text.
const READ_AHEAD: usize = 4;

pub(super) struct Reader {
    connection: SqliteConnection,
    schema: i64,
}

impl Reader {
    pub(super) async fn open(path: &Path) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .create_if_missing(false)
            .busy_timeout(BUSY_TIMEOUT)
            .row_buffer_size(READ_AHEAD)
            // Not opened read-only: a log that a killed server left has to be read as well.
            .pragma("query_only", "ON");
        let mut connection = connect(path, options).await?;
        sqlx::raw_sql("BEGIN").execute(&mut connection).await?;
        // The first statement takes the snapshot.
        let found = sqlx::query_scalar(SCHEMA).fetch_one(&mut connection).await;
        let found: Option<i64> = found.map_err(|error| StoreError::File {
            path: path.into(),
            reason: format!("it is no store of this program: {error}"),
        })?;
        let (schema, known) = (found.unwrap_or(0), SqliteStore::SCHEMA);
        match schema == known {
            true => Ok(Self { connection, schema }),
            false => Err(StoreError::other_schema(schema, known)),
        }
    }
}

#[async_trait]
impl StoreReader for Reader {
    fn kind(&self) -> &'static str {
        "SQLite"
    }

    fn schema(&self) -> i64 {
        self.schema
    }

    async fn records(&mut self) -> Result<u64, StoreError> {
        let sql = "SELECT CAST(coalesce(sum(messages), 0) AS INTEGER) FROM record_totals";
        let count: i64 = sqlx::query_scalar(sql)
            .fetch_one(&mut self.connection)
            .await?;
        Ok(count.unsigned_abs())
    }

    async fn read(&mut self, table: Table, sink: &mut dyn RowSink) -> Result<(), TransferError> {
        let mut batch = RowBatch::default();
        let mut rows = sqlx::query(select(table)).fetch(&mut self.connection);
        while let Some(row) = rows.try_next().await.map_err(StoreError::from)? {
            if let Some(full) = batch.push(portable(table, &row)?) {
                sink.take(table, full).await?;
            }
        }
        let rest = batch.take();
        match rest.is_empty() {
            true => Ok(()),
            false => sink.take(table, rest).await,
        }
    }

    async fn close(self: Box<Self>) {
        // Nothing was changed: a failure costs nothing.
        let _ = self.connection.close().await;
    }
}
