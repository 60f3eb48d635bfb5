//! Reads a database table by table in one snapshot. Records are read by pages, day by day, so that no statement
//! sorts or holds more than a page.

use super::select::select;
use crate::error::StoreError;
use crate::postgres::connect;
use crate::postgres::partitions;
use crate::postgres::records::row::ROWS_BYTES;
use crate::postgres::seq::Day;
use crate::postgres::store::PostgresStore;
use crate::sql::columns::Columns as _;
use crate::sql::transfer::portable;
use crate::transfer::{RowBatch, RowSink, StoreReader, Table, TransferError};
use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use sqlx::{AssertSqlSafe, PgConnection};
use std::ops::Range;

/// Records of one statement.
const PAGE: usize = 2_000;

/// Days are not dropped while the snapshot is read: what is dropped is gone for older snapshots too. The snapshot is that
/// of the first SELECT; a lock takes none.
const BEGIN: &str = "
    BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    LOCK TABLE records, record_bodies IN ACCESS SHARE MODE;
    SELECT 1";
const SCHEMA: &str = "SELECT max(version)::bigint FROM schema_version";

pub(super) struct Reader {
    connection: PgConnection,
    schema: i64,
}

impl Reader {
    pub(super) async fn open(mut connection: PgConnection) -> Result<Self, StoreError> {
        let known = PostgresStore::SCHEMA;
        let is_store: bool = sqlx::query_scalar("SELECT to_regclass('schema_version') IS NOT NULL")
            .fetch_one(&mut connection)
            .await?;
        if !is_store {
            return Err(StoreError::other_schema(0, known));
        }
        let found = sqlx::query_scalar(SCHEMA).fetch_one(&mut connection);
        let found: Option<i64> = found.await?;
        match found.unwrap_or(0) {
            schema if schema == known => {
                sqlx::raw_sql(BEGIN).execute(&mut connection).await?;
                Ok(Self { connection, schema })
            }
            other => Err(StoreError::other_schema(other, known)),
        }
    }

    /// The positions of each day's partition, and those before, between and behind them.
    async fn windows(&mut self) -> Result<Vec<Range<i64>>, StoreError> {
        let days = partitions::days(&mut self.connection).await?;
        let mut borders: Vec<i64> = days.iter().flat_map(|day| borders(*day)).collect();
        // One more: the lowest of all is no bigint where it is written down.
        borders.extend([i64::MIN + 1, i64::MAX]);
        borders.sort_unstable();
        borders.dedup();
        let windows = borders.windows(2);
        Ok(windows.map(|pair| pair[0]..pair[1]).collect())
    }

    /// Reads the rows of one statement; gives their number and the position of the last record.
    async fn read_rows(
        &mut self,
        table: Table,
        sql: String,
        sink: &mut dyn RowSink,
    ) -> Result<(usize, Option<i64>), TransferError> {
        let (mut batch, mut count, mut last) = (RowBatch::default(), 0, None);
        // Composed of constants and numbers.
        let query = sqlx::query(AssertSqlSafe(sql)).persistent(false);
        let mut rows = query.fetch(&mut self.connection);
        while let Some(row) = rows.try_next().await.map_err(StoreError::from)? {
            count += 1;
            if table == Table::Records {
                last = Some(row.number("seq").map_err(StoreError::from)?);
            }
            if let Some(full) = batch.push(portable(table, &row)?) {
                sink.take(table, full).await?;
            }
        }
        let rest = batch.take();
        if !rest.is_empty() {
            sink.take(table, rest).await?;
        }
        Ok((count, last))
    }
}

fn borders(day: Day) -> [i64; 2] {
    [day.first(), day.next().first()]
}

#[async_trait]
impl StoreReader for Reader {
    fn kind(&self) -> &'static str {
        "PostgreSQL"
    }

    fn schema(&self) -> i64 {
        self.schema
    }

    async fn records(&mut self) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce(sum(kept_rows), 0)::bigint FROM statistics";
        let count: i64 = sqlx::query_scalar(sql)
            .fetch_one(&mut self.connection)
            .await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    async fn read(&mut self, table: Table, sink: &mut dyn RowSink) -> Result<(), TransferError> {
        if table != Table::Records {
            self.read_rows(table, select(table).to_owned(), sink)
                .await?;
            return Ok(());
        }
        for window in self.windows().await? {
            let mut from = window.start;
            loop {
                let (count, last) = self.read_rows(table, page(from..window.end), sink).await?;
                match last {
                    Some(last) if count == PAGE => from = last + 1,
                    _ => break,
                }
            }
        }
        Ok(())
    }

    async fn close(self: Box<Self>) {
        connect::close(self.connection).await;
    }
}

/// Records from a position to before another, in order.
fn page(seqs: Range<i64>) -> String {
    let Range { start, end } = seqs;
    format!(
        "SELECT r.seq, r.id, r.application_id, r.stage, r.exchange_id, r.user_id, r.session_id, r.created_at_ms,
             r.rules_version, r.status, r.flagged_guardrails, r.flagged_custom_policy, r.flagged_dataclean,
             r.token_count, r.severity, r.types, r.failed, r.incomplete, r.blocked, r.total_us,
             greatest(r.bytes - {ROWS_BYTES} - octet_length(coalesce(r.exchange_id, ''))
                 - octet_length(coalesce(r.user_id, '')) - octet_length(coalesce(r.session_id, ''))
                 - octet_length(coalesce(r.tool_name, '')) - octet_length(coalesce(r.tool_call_id, '')), 0) AS bytes,
             r.chain_gateway, r.chain_sequence, r.tool_name, r.tool_call_id, r.part_keys, r.model, r.usage, r.priced, r.cost,
             r.currency, r.unchecked, r.call_facts, r.token_name, b.message, b.cleaned_text, b.entities, b.additional_parameters, b.answer, b.inline_rules, b.tool_parts
         FROM records r JOIN record_bodies b ON b.seq = r.seq AND b.seq >= {start} AND b.seq < {end}
         WHERE r.seq >= {start} AND r.seq < {end} AND {NOT_REMOVED}
         ORDER BY r.seq LIMIT {PAGE}"
    )
}

/// Records of removed applications are about to be deleted: only their numbers are read.
const NOT_REMOVED: &str = "NOT EXISTS (SELECT FROM removed_applications gone
    WHERE gone.application_id = r.application_id AND r.seq < gone.below)";
