//! Fills an empty database from portable rows, in short transactions. Until it is whole its schema has a version that
//! no program knows.

use super::copy::CopyText;
use super::findings;
use super::records::{DayKey, Kept, RecordsWriter, waits_for};
use super::settings;
use super::values;
use crate::attachments::BlobHash;
use crate::error::{StoreError, UNFINISHED};
use crate::postgres::connect;
use crate::postgres::migrate::{self, MIGRATIONS};
use crate::postgres::removal::{self, erasure};
use crate::postgres::values::{escaped, session_key, text_key};
use crate::removal::{Erased, Erasure};
use crate::sql::alerts::FORGET_ERASED;
use crate::sql::chain;
use crate::transfer::{
    ALERTS_SCHEMA, EXCHANGES_SCHEMA, NamelessCalls, Row, StoreWriter, Table, fit,
};
use async_trait::async_trait;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// The lane of the counters in which nobody counts what comes in.
const LANE: i64 = -1;

/// One transfer into a database at a time: "moncopy" in ASCII. Held until the connection ends.
const LOCK: &str = "SELECT pg_try_advisory_lock(30803292366794873)";
const IS_STORE: &str = "SELECT to_regclass('schema_version') IS NOT NULL";
const VERSION: &str = "SELECT coalesce(max(version), 0)::bigint FROM schema_version";
const FOUND: &str = "
    SELECT CASE WHEN EXISTS (SELECT FROM applications) THEN 1 WHEN EXISTS (SELECT FROM tokens) THEN 2
        WHEN EXISTS (SELECT FROM records) THEN 3 WHEN EXISTS (SELECT FROM accounts) THEN 4
        WHEN EXISTS (SELECT FROM audit_log) THEN 5 WHEN EXISTS (SELECT FROM erased_users) THEN 6
        WHEN EXISTS (SELECT FROM chain_gateways) THEN 7 ELSE 0 END";
/// What the numbers of `FOUND` stand for, from 1 on.
const CONTENTS: [&str; 7] = [
    "applications",
    "access keys",
    "records",
    "accounts",
    "an audit log",
    "erased users",
    "gateways",
];
const BEGIN: &str = "INSERT INTO schema_version (version) VALUES ($1)";
const END: &str = "DELETE FROM schema_version WHERE version = $1";
const NUMBERS: &str = "
    SELECT setval(pg_get_serial_sequence('audit_log', 'seq'), greatest(max(seq), 1), max(seq) IS NOT NULL)
    FROM audit_log";
const LINKS: &str = "SELECT links FROM blobs WHERE sha256 = $1";
/// A schema that knows one name of a file in a record keeps the first one.
const ATTACHMENTS: &str = "
    INSERT INTO attachments (seq, sha256, name, type, size, kept, findings, attached_at_ms)
    SELECT r.seq, u.sha256, u.name, u.type, u.size, u.kept, u.findings, u.attached_at_ms
    FROM unnest($1::uuid[], $2::bytea[], $3::text[], $4::text[], $5::bigint[], $6::boolean[], $7::text[],
        $8::bigint[]) AS u (record_id, sha256, name, type, size, kept, findings, attached_at_ms)
    JOIN records r ON r.id = u.record_id ON CONFLICT DO NOTHING";
const MORE_KEPT: &str = "
    INSERT INTO statistics AS s VALUES ($1, $2, $3, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, $4, $5)
    ON CONFLICT (day, application_id, stage, lane) DO UPDATE SET
        kept_rows = s.kept_rows + excluded.kept_rows, kept_bytes = s.kept_bytes + excluded.kept_bytes";

pub(super) struct Writer {
    connection: PgConnection,
    records: RecordsWriter,
    schema: i64,
    /// Whether the schema has tool calls and files that wait.
    has_exchanges: bool,
    nameless_calls: NamelessCalls,
}

impl Writer {
    pub(super) async fn create(
        mut connection: PgConnection,
        schema: i64,
        place: String,
    ) -> Result<Self, StoreError> {
        check_target(&mut connection, schema, place).await?;
        let begin = sqlx::query(BEGIN).bind(UNFINISHED);
        begin.execute(&mut connection).await?;
        Ok(Self {
            connection,
            records: RecordsWriter::new(),
            schema,
            has_exchanges: schema >= EXCHANGES_SCHEMA,
            nameless_calls: NamelessCalls::default(),
        })
    }

    async fn write_plain(&mut self, table: Table, rows: &[Row]) -> Result<(), StoreError> {
        let schema = self.schema;
        let mut copy = CopyText::new(name(table), &columns(table, schema));
        for row in rows {
            copy.row(row, schema);
            match table {
                Table::Sessions => {
                    let stored = |column| row.text(column).map(escaped);
                    copy.optional_id(stored("session_id").as_deref().map(session_key));
                    copy.optional_number(stored("user_id").as_deref().map(text_key));
                }
                Table::Statistics => {
                    let kept = self.records.take_kept(DayKey::of(row)?);
                    copy.number(LANE);
                    copy.number(kept.rows);
                    copy.number(kept.bytes);
                }
                Table::Traffic | Table::Costs | Table::UserDays => copy.number(LANE),
                Table::StatisticsTypes | Table::TrafficTypes => {
                    copy.number(LANE);
                    copy.number(text_key(row.text("kind").unwrap_or_default()));
                }
                Table::WaitingAttachments => copy.id(waits_for(row)?),
                // Nobody holds a ticket: these bytes have their links.
                Table::Blobs => copy.number(0),
                _ => {}
            }
            copy.end_row();
        }
        copy.send(&mut self.connection).await
    }

    async fn write_attachments(&mut self, rows: &[Row]) -> Result<(), StoreError> {
        let texts = |column| {
            let texts = rows
                .iter()
                .map(|row| escaped(row.text(column).unwrap_or_default()));
            texts.map(|text| text.into_owned()).collect::<Vec<_>>()
        };
        let numbers = |column| {
            rows.iter()
                .map(|row| row.number(column))
                .collect::<Vec<_>>()
        };
        let findings = rows.iter().map(|row| row.text("findings"));
        sqlx::query(ATTACHMENTS)
            .bind(
                rows.iter()
                    .map(|row| row.id("record_id"))
                    .collect::<Vec<_>>(),
            )
            .bind(
                rows.iter()
                    .map(|row| row.bytes("sha256"))
                    .collect::<Vec<_>>(),
            )
            .bind(texts("name"))
            .bind(texts("type"))
            .bind(numbers("size"))
            .bind(rows.iter().map(|row| row.flag("kept")).collect::<Vec<_>>())
            .bind(findings.collect::<Vec<_>>())
            .bind(numbers("attached_at_ms"))
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }

    /// Days of which only records are known, and no statistics.
    async fn write_more_kept(&mut self) -> Result<(), StoreError> {
        for (key, Kept { rows, bytes }) in self.records.take_all_kept() {
            sqlx::query(MORE_KEPT)
                .bind(key.day)
                .bind(key.application)
                .bind(i16::from(key.is_answer))
                .bind(rows)
                .bind(bytes)
                .execute(&mut self.connection)
                .await?;
        }
        Ok(())
    }
}

#[async_trait]
impl StoreWriter for Writer {
    async fn write(&mut self, table: Table, mut rows: Vec<Row>) -> Result<(), StoreError> {
        if table == Table::Records && !self.has_exchanges {
            self.nameless_calls.become_messages(&mut rows)?;
        }
        fit(table, &mut rows, self.schema);
        match table {
            Table::State => {
                let sql = "INSERT INTO tokens_removed VALUES (true) ON CONFLICT DO NOTHING";
                if rows.iter().any(|row| row.flag("tokens_made")) {
                    sqlx::raw_sql(sql).execute(&mut self.connection).await?;
                }
                Ok(())
            }
            Table::Applications => {
                let mut transaction = self.connection.begin().await?;
                settings::insert_applications(&mut transaction, &rows).await?;
                Ok(transaction.commit().await?)
            }
            Table::ApplicationVersions => {
                let mut transaction = self.connection.begin().await?;
                settings::insert_versions(&mut transaction, &rows).await?;
                Ok(transaction.commit().await?)
            }
            Table::Records => self.records.write(&mut self.connection, &rows).await,
            Table::RemovedNumbers => {
                let mut transaction = self.connection.begin().await?;
                let removed = rows.iter().filter_map(Row::numbers).collect();
                chain::leave_stubs(&mut *transaction, removed).await?;
                Ok(transaction.commit().await?)
            }
            Table::Attachments => self.write_attachments(&rows).await,
            unknown if !unknown.is_in(self.schema) => Ok(()),
            Table::FoundValues => values::insert(&mut self.connection, &rows).await,
            Table::Findings | Table::FindingChanges => {
                findings::insert(&mut self.connection, table, &rows).await
            }
            plain => self.write_plain(plain, &rows).await,
        }
    }

    async fn count(&mut self, table: Table) -> Result<Option<u64>, StoreError> {
        if !table.is_in(self.schema) {
            return Ok(None);
        }
        let sql = format!("SELECT count(*) FROM {}", name(table));
        // Composed of constants.
        let count = sqlx::query_scalar(AssertSqlSafe(sql));
        let count: i64 = count.fetch_one(&mut self.connection).await?;
        Ok(Some(count.unsigned_abs()))
    }

    async fn remove_nameless_calls(&mut self) -> Result<u64, StoreError> {
        self.write_more_kept().await?;
        let mut removed = 0;
        loop {
            let ids = self.nameless_calls.take();
            if ids.is_empty() {
                return Ok(removed);
            }
            let mut transaction = self.connection.begin().await?;
            let query = sqlx::query_scalar("SELECT seq FROM records WHERE id = ANY ($1)");
            let seqs: Vec<i64> = query.bind(ids).fetch_all(&mut *transaction).await?;
            removal::delete(&mut transaction, &seqs, self.schema).await?;
            removed += seqs.len() as u64;
            transaction.commit().await?;
        }
    }

    async fn erase(&mut self, erasures: &[Erasure]) -> Result<Erased, StoreError> {
        self.write_more_kept().await?;
        let mut sum = Erased::default();
        for erasure in erasures {
            loop {
                let mut transaction = self.connection.begin().await?;
                let step = erasure::step_in_schema(&mut transaction, erasure, self.schema);
                let step = step.await?;
                transaction.commit().await?;
                sum.records += step.records;
                sum.attachments += step.attachments;
                if step.records == 0 {
                    break;
                }
            }
        }
        if self.schema >= ALERTS_SCHEMA {
            for statement in FORGET_ERASED {
                let forget = sqlx::raw_sql(statement);
                forget.execute(&mut self.connection).await?;
            }
        }
        Ok(sum)
    }

    async fn links(&mut self, hash: BlobHash) -> Result<u64, StoreError> {
        let query = sqlx::query_scalar(LINKS).bind(hash.0.to_vec());
        let links: Option<i64> = query.fetch_optional(&mut self.connection).await?;
        Ok(links.unwrap_or(0).unsigned_abs())
    }

    async fn complete(&mut self) -> Result<(), StoreError> {
        self.write_more_kept().await?;
        sqlx::raw_sql("DELETE FROM blobs WHERE links = 0")
            .execute(&mut self.connection)
            .await?;
        sqlx::query(NUMBERS).execute(&mut self.connection).await?;
        sqlx::raw_sql("ANALYZE")
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<(), StoreError> {
        let end = sqlx::query(END).bind(UNFINISHED);
        end.execute(&mut self.connection).await?;
        connect::close(self.connection).await;
        Ok(())
    }

    async fn abort(self: Box<Self>) {
        connect::close(self.connection).await;
    }
}

/// Brings the database to this schema, if it has nothing in it and nobody else fills it.
async fn check_target(
    connection: &mut PgConnection,
    schema: i64,
    place: String,
) -> Result<(), StoreError> {
    let refused = |what| StoreError::NotEmpty {
        place,
        what,
        setting: "store.db, STORE_DB",
    };
    let is_alone: bool = sqlx::query_scalar(LOCK).fetch_one(&mut *connection).await?;
    if !is_alone {
        return Err(refused("another restore or copy at work"));
    }
    let is_store: bool = sqlx::query_scalar(IS_STORE)
        .fetch_one(&mut *connection)
        .await?;
    let found: i64 = match is_store {
        true => {
            sqlx::query_scalar(VERSION)
                .fetch_one(&mut *connection)
                .await?
        }
        false => 0,
    };
    if found == UNFINISHED {
        return Err(StoreError::Unfinished);
    }
    if found > schema {
        return Err(refused("a schema of a later version"));
    }
    let count = usize::try_from(schema).unwrap_or(0).min(MIGRATIONS.len());
    migrate::apply(connection, &MIGRATIONS[..count]).await?;
    let found: i32 = sqlx::query_scalar(FOUND).fetch_one(connection).await?;
    match usize::try_from(found - 1)
        .ok()
        .and_then(|at| CONTENTS.get(at))
    {
        Some(what) => Err(refused(what)),
        None => Ok(()),
    }
}

/// The database's table of a portable one.
fn name(table: Table) -> &'static str {
    match table {
        Table::Tombstones => "erased_users",
        Table::Audit => "audit_log",
        Table::State => "tokens_removed",
        Table::RemovedNumbers => "chain_stubs",
        same => same.name(),
    }
}

/// The columns of a portable row, and those that are derived from it.
fn columns(table: Table, schema: i64) -> String {
    let own = table.columns().iter().map(|column| column.name);
    let own = own.filter(|column| table.has(column, schema));
    let derived: &[&str] = match table {
        Table::Sessions => &["session_key", "user_key"],
        Table::Statistics => &["lane", "kept_rows", "kept_bytes"],
        Table::Traffic | Table::Costs | Table::UserDays => &["lane"],
        Table::StatisticsTypes | Table::TrafficTypes => &["lane", "kind_key"],
        Table::Blobs => &["ticket"],
        Table::WaitingAttachments => &["key"],
        _ => &[],
    };
    own.chain(derived.iter().copied())
        .collect::<Vec<_>>()
        .join(", ")
}
