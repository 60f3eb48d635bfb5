//! Reads a database table by table in one snapshot. Records are read by pages, day by day, so that no statement
//! sorts or holds more than a page.

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

/// Days are not dropped while the snapshot is read: what is dropped is gone for older snapshots too.
const BEGIN: &str = "
    BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    LOCK TABLE records, record_bodies IN ACCESS SHARE MODE";
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
        borders.extend([i64::MIN, i64::MAX]);
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
                 - octet_length(coalesce(r.user_id, '')) - octet_length(coalesce(r.session_id, '')), 0) AS bytes,
             r.chain_gateway, r.chain_sequence, b.message, b.cleaned_text, b.entities, b.additional_parameters,
             b.answer, b.inline_rules
         FROM records r JOIN record_bodies b ON b.seq = r.seq AND b.seq >= {start} AND b.seq < {end}
         WHERE r.seq >= {start} AND r.seq < {end} AND {NOT_REMOVED}
         ORDER BY r.seq LIMIT {PAGE}"
    )
}

/// Records of removed applications are about to be deleted: only their numbers are read.
const NOT_REMOVED: &str = "NOT EXISTS (SELECT FROM removed_applications gone
    WHERE gone.application_id = r.application_id AND r.seq < gone.below)";

/// Times are milliseconds; what is counted in lanes is summed up.
fn select(table: Table) -> &'static str {
    match table {
        Table::State => {
            "SELECT EXISTS (SELECT FROM tokens) OR EXISTS (SELECT FROM tokens_removed) AS tokens_made"
        }
        Table::Tombstones => "SELECT * FROM erased_users ORDER BY at_ms, id",
        Table::Applications => {
            "SELECT id, name, description, rules_version, rules::text AS rules, policy::text AS policy,
                 policy_version, updated_by AS changed_by,
                 floor(extract(epoch FROM created_at) * 1000)::bigint AS created_at_ms,
                 floor(extract(epoch FROM updated_at) * 1000)::bigint AS updated_at_ms,
                 floor(extract(epoch FROM policy_updated_at) * 1000)::bigint AS policy_updated_at_ms
             FROM applications ORDER BY seq"
        }
        Table::ApplicationVersions => {
            "SELECT application_id, version, name, description, rules::text AS rules,
                 policy::text AS policy, changed_by,
                 floor(extract(epoch FROM changed_at) * 1000)::bigint AS changed_at_ms
             FROM application_versions ORDER BY application_id, version"
        }
        Table::Tokens => "SELECT * FROM tokens ORDER BY created_at_ms, id",
        Table::Accounts => "SELECT * FROM accounts ORDER BY created_at_ms, id",
        Table::Identities => "SELECT * FROM identities ORDER BY issuer, subject",
        Table::SavedFilters => "SELECT * FROM saved_filters ORDER BY created_at_ms, id",
        Table::Audit => "SELECT * FROM audit_log ORDER BY seq",
        // By pages.
        Table::Records => "SELECT FROM records WHERE false",
        Table::Sessions => {
            "SELECT s.* FROM sessions s WHERE NOT EXISTS (SELECT FROM removed_applications gone
                 WHERE gone.application_id = s.application_id AND s.last_ms <= gone.removed_at_ms)
             ORDER BY application_id, session_key"
        }
        Table::Statistics => {
            "SELECT application_id, day, stage, sum(messages)::bigint AS messages,
                 sum(flagged_guardrails)::bigint AS flagged_guardrails,
                 sum(flagged_custom_policy)::bigint AS flagged_custom_policy,
                 sum(flagged_dataclean)::bigint AS flagged_dataclean, sum(blocked)::bigint AS blocked,
                 sum(failed)::bigint AS failed, sum(tokens)::bigint AS tokens,
                 sum(total_us)::bigint AS total_us, max(max_us) AS max_us
             FROM statistics WHERE application_id IN (SELECT id FROM applications)
             GROUP BY application_id, day, stage HAVING sum(messages) > 0
             ORDER BY application_id, day, stage"
        }
        Table::StatisticsTypes => {
            "SELECT application_id, day, stage, min(kind) AS kind, sum(finds)::bigint AS finds
             FROM statistics_types WHERE application_id IN (SELECT id FROM applications)
             GROUP BY application_id, day, stage, kind_key ORDER BY application_id, day, stage, kind_key"
        }
        Table::Traffic => {
            "SELECT application_id, hour, sum(prompts)::bigint AS prompts, sum(answers)::bigint AS answers,
                 sum(flagged_guardrails)::bigint AS flagged_guardrails,
                 sum(flagged_custom_policy)::bigint AS flagged_custom_policy,
                 sum(flagged_dataclean)::bigint AS flagged_dataclean, sum(blocked)::bigint AS blocked,
                 sum(failed)::bigint AS failed, sum(tokens)::bigint AS tokens,
                 sum(total_us)::bigint AS total_us, max(max_us) AS max_us
             FROM traffic WHERE application_id = '00000000-0000-0000-0000-000000000000'
                 OR application_id IN (SELECT id FROM applications)
             GROUP BY application_id, hour ORDER BY application_id, hour"
        }
        Table::TrafficTypes => {
            "SELECT application_id, hour, min(kind) AS kind, sum(finds)::bigint AS finds
             FROM traffic_types WHERE application_id = '00000000-0000-0000-0000-000000000000'
                 OR application_id IN (SELECT id FROM applications)
             GROUP BY application_id, hour, kind_key ORDER BY application_id, hour, kind_key"
        }
        Table::ChainGateways => "SELECT * FROM chain_gateways ORDER BY gateway",
        Table::ChainRuns => "SELECT * FROM chain_runs ORDER BY gateway, first",
        Table::ChainCuts => "SELECT * FROM chain_cuts ORDER BY gateway, first",
        Table::ChainStubs => "SELECT * FROM chain_stubs ORDER BY gateway, first",
        Table::RemovedNumbers => {
            "SELECT chain_gateway AS gateway, chain_sequence AS first, chain_sequence AS last
             FROM records r JOIN removed_applications gone
                 ON gone.application_id = r.application_id AND r.seq < gone.below
             WHERE chain_sequence IS NOT NULL ORDER BY 1, 2"
        }
        Table::Blobs => {
            "SELECT sha256, size FROM blobs WHERE sha256 IN (
                 SELECT a.sha256 FROM attachments a JOIN records r ON r.seq = a.seq
                 WHERE a.kept AND NOT EXISTS (SELECT FROM removed_applications gone
                     WHERE gone.application_id = r.application_id AND r.seq < gone.below))
             ORDER BY sha256"
        }
        Table::Attachments => {
            "SELECT r.id AS record_id, a.sha256, a.name, a.type, a.size, a.kept, a.findings, a.attached_at_ms
             FROM attachments a JOIN records r ON r.seq = a.seq
             WHERE NOT EXISTS (SELECT FROM removed_applications gone
                 WHERE gone.application_id = r.application_id AND r.seq < gone.below)
             ORDER BY a.seq, a.sha256, a.name"
        }
    }
}
