//! Reads a file table by table in one transaction: the snapshot that SQLite's own online backup would copy, without
//! a second file on the disk.

use super::connect::connect;
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

/// Records of removed applications are about to be deleted: only their numbers are read.
fn select(table: Table) -> &'static str {
    match table {
        Table::State => "SELECT tokens_made FROM settings_changes",
        Table::Tombstones => "SELECT * FROM erased_users ORDER BY at_ms, id",
        Table::Applications => "SELECT * FROM applications ORDER BY seq",
        Table::ApplicationVersions => {
            "SELECT * FROM application_versions
             WHERE application_id IN (SELECT id FROM applications) ORDER BY application_id, version"
        }
        Table::Tokens => "SELECT * FROM tokens ORDER BY created_at_ms, id",
        Table::Accounts => "SELECT * FROM accounts ORDER BY created_at_ms, id",
        Table::Identities => "SELECT * FROM identities ORDER BY issuer, subject",
        Table::SavedFilters => "SELECT * FROM saved_filters ORDER BY created_at_ms, id",
        Table::Audit => "SELECT * FROM audit ORDER BY seq",
        Table::Records => {
            "SELECT records.*, message, cleaned_text, entities, additional_parameters, answer, inline_rules
             FROM records NOT INDEXED JOIN record_bodies USING (seq)
             WHERE application_id NOT IN (SELECT id FROM removed_applications) ORDER BY seq"
        }
        Table::Sessions => {
            "SELECT * FROM sessions WHERE application_id NOT IN (SELECT id FROM removed_applications)
             ORDER BY application_id, session_id"
        }
        Table::Statistics => "SELECT * FROM statistics ORDER BY application_id, day, stage",
        Table::StatisticsTypes => {
            "SELECT * FROM statistics_types ORDER BY application_id, day, stage, kind"
        }
        Table::Traffic => "SELECT * FROM traffic ORDER BY application_id, hour",
        Table::TrafficTypes => "SELECT * FROM traffic_types ORDER BY application_id, hour, kind",
        Table::ChainGateways => "SELECT * FROM chain_gateways ORDER BY gateway",
        Table::ChainRuns => "SELECT * FROM chain_runs ORDER BY gateway, first",
        Table::ChainCuts => "SELECT * FROM chain_cuts ORDER BY gateway, first",
        Table::ChainStubs => "SELECT * FROM chain_stubs ORDER BY gateway, first",
        Table::RemovedNumbers => {
            "SELECT chain_gateway AS gateway, chain_sequence AS first, chain_sequence AS last FROM records
             WHERE application_id IN (SELECT id FROM removed_applications) AND chain_sequence IS NOT NULL
             ORDER BY 1, 2"
        }
        Table::Blobs => {
            "SELECT sha256, size FROM blobs WHERE links > 0 AND sha256 IN (
                 SELECT sha256 FROM attachments JOIN records USING (seq) WHERE kept
                     AND application_id NOT IN (SELECT id FROM removed_applications))
             ORDER BY sha256"
        }
        Table::Attachments => {
            "SELECT records.id AS record_id, sha256, name, type, size, kept, findings, attached_at_ms
             FROM attachments JOIN records USING (seq)
             WHERE application_id NOT IN (SELECT id FROM removed_applications)
             ORDER BY seq, sha256, name"
        }
    }
}
