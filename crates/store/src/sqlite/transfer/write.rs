//! Builds a new file from portable rows. The file is no store before it has its name, so nothing in it has to
//! outlive a crash until then: one sync at the end is enough.

use super::bind::bind;
use super::connect::connect;
use super::findings;
use crate::attachments::BlobHash;
use crate::error::StoreError;
use crate::removal::{Erased, Erasure};
use crate::sql::alerts::FORGET_ERASED;
use crate::sql::chain;
use crate::sql::transfer::refused_application;
use crate::sqlite::migrate::{self, MIGRATIONS};
use crate::sqlite::removal::{self, erasure};
use crate::sqlite::store::{SqliteStore, private_file};
use crate::transfer::{
    ALERTS_SCHEMA, BODY, CALL, COST, EXCHANGES_SCHEMA, NamelessCalls, PARTS, Row, StoreWriter,
    TOOL, Table, UNCHECKED, Value, fit,
};
use async_trait::async_trait;
use sqlx::sqlite::{SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Page cache in KiB; SQLite takes a negative number for KiB. Indexes are built with it.
const CACHE: &str = "-65536";
/// What is derived from the records from position ?1 to before position ?2.
const DERIVED: &str = include_str!("../records/derived.sql");
/// What of it older schemas do not know.
const UNCHECKED_MARK: &str = " + 64 * unchecked";
const LINKS: &str = "SELECT links FROM blobs WHERE sha256 = ?1";

pub(super) struct Writer {
    path: PathBuf,
    connection: SqliteConnection,
    /// The position of the next record.
    next_seq: i64,
    has_erased: bool,
    schema: i64,
    /// Whether the schema has tool calls and files that wait.
    has_exchanges: bool,
    nameless_calls: NamelessCalls,
}

impl Writer {
    pub(super) async fn create(path: &Path, schema: i64) -> Result<Self, StoreError> {
        let failed = |reason: String| StoreError::File {
            path: path.into(),
            reason,
        };
        if path.exists() {
            return Err(failed("it exists already".to_owned()));
        }
        private_file(path).map_err(|error| failed(error.to_string()))?;
        let options = SqliteConnectOptions::new()
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Off)
            .auto_vacuum(SqliteAutoVacuum::Incremental)
            .foreign_keys(false)
            .pragma("cache_size", CACHE);
        let mut connection = connect(path, options).await?;
        let count = usize::try_from(schema).unwrap_or(0).min(MIGRATIONS.len());
        migrate::apply(&mut connection, &MIGRATIONS[..count]).await?;
        // A policy that was accepted once and is a contradiction now comes back as it was.
        let settings = "PRAGMA foreign_keys = ON; PRAGMA ignore_check_constraints = ON";
        sqlx::raw_sql(settings).execute(&mut connection).await?;
        Ok(Self {
            path: path.into(),
            connection,
            next_seq: 1,
            has_erased: false,
            schema,
            has_exchanges: schema >= EXCHANGES_SCHEMA,
            nameless_calls: NamelessCalls::default(),
        })
    }
}

#[async_trait]
impl StoreWriter for Writer {
    async fn write(&mut self, table: Table, mut rows: Vec<Row>) -> Result<(), StoreError> {
        if table == Table::Records && !self.has_exchanges {
            self.nameless_calls.become_messages(&mut rows)?;
        }
        fit(table, &mut rows, self.schema);
        let schema = self.schema;
        let mut transaction = self.connection.begin().await?;
        match table {
            Table::State => set_state(&mut transaction, &rows).await?,
            Table::Applications => insert_applications(&mut transaction, &rows).await?,
            Table::Records => {
                let first = self.next_seq;
                self.next_seq += rows.len() as i64;
                insert_records(&mut transaction, &rows, first).await?;
            }
            Table::RemovedNumbers => {
                let removed = rows.iter().filter_map(Row::numbers).collect();
                chain::leave_stubs(&mut *transaction, removed).await?;
            }
            Table::Attachments => insert_attachments(&mut transaction, &rows).await?,
            unknown if !unknown.is_in(schema) => {}
            Table::FoundValues => insert_found_values(&mut transaction, &rows).await?,
            Table::Findings | Table::FindingChanges => {
                findings::insert(&mut transaction, table, &rows).await?;
            }
            plain => {
                let sql = insert_sql(plain, schema);
                for row in &rows {
                    let own = plain.columns().iter().zip(row.values());
                    let own = own.filter(|(column, _)| plain.has(column.name, schema));
                    let values: Vec<Value> = own.map(|(_, value)| value.clone()).collect();
                    let query = sqlx::query(AssertSqlSafe(sql.clone()));
                    bind(query, &values).execute(&mut *transaction).await?;
                }
            }
        }
        Ok(transaction.commit().await?)
    }

    async fn count(&mut self, table: Table) -> Result<Option<u64>, StoreError> {
        if !table.is_in(self.schema) {
            return Ok(None);
        }
        let sql = format!("SELECT count(*) FROM {}", name(table));
        // Composed of constants.
        let query = sqlx::query_scalar(AssertSqlSafe(sql));
        let count: i64 = query.fetch_one(&mut self.connection).await?;
        Ok(Some(count.unsigned_abs()))
    }

    async fn remove_nameless_calls(&mut self) -> Result<u64, StoreError> {
        let mut removed = 0;
        loop {
            let ids = self.nameless_calls.take();
            if ids.is_empty() {
                self.has_erased |= removed > 0;
                return Ok(removed);
            }
            removed += ids.len() as u64;
            let mut transaction = self.connection.begin().await?;
            let mut seqs = Vec::with_capacity(ids.len());
            for id in ids {
                let query = sqlx::query_scalar("SELECT seq FROM records WHERE id = ?1");
                let seq: i64 = query.bind(id).fetch_one(&mut *transaction).await?;
                seqs.push(seq);
            }
            removal::delete(&mut transaction, &seqs).await?;
            transaction.commit().await?;
        }
    }

    async fn erase(&mut self, erasures: &[Erasure]) -> Result<Erased, StoreError> {
        let mut sum = Erased::default();
        self.has_erased |= !erasures.is_empty();
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
                let forgotten = forget.execute(&mut self.connection).await?;
                self.has_erased |= forgotten.rows_affected() > 0;
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
        let sql = "DELETE FROM blobs WHERE links = 0";
        sqlx::raw_sql(sql).execute(&mut self.connection).await?;
        if self.has_erased {
            // Pages that were split while they were filled have copies of what was deleted from them.
            let vacuum = sqlx::raw_sql("VACUUM");
            vacuum.execute(&mut self.connection).await?;
        }
        let checked: String = sqlx::query_scalar("PRAGMA quick_check(1)")
            .fetch_one(&mut self.connection)
            .await?;
        if checked != "ok" {
            return Err(self.failed("it was not written whole".to_owned()));
        }
        // Leaves the log empty, and the connection that closes last removes it.
        let sql = "PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)";
        sqlx::raw_sql(sql).execute(&mut self.connection).await?;
        let synced = File::open(&self.path).and_then(|file| file.sync_all());
        synced.map_err(|error| self.failed(error.to_string()))
    }

    async fn finish(self: Box<Self>) -> Result<(), StoreError> {
        // Its caller gives it its name.
        Ok(self.connection.close().await?)
    }

    async fn abort(self: Box<Self>) {
        // Its caller removes the file.
        let _ = self.connection.close().await;
    }
}

impl Writer {
    fn failed(&self, reason: String) -> StoreError {
        StoreError::File {
            path: self.path.clone(),
            reason,
        }
    }
}

/// The database's table of a portable one.
fn name(table: Table) -> &'static str {
    match table {
        Table::Tombstones => "erased_users",
        Table::State => "settings_changes",
        Table::RemovedNumbers => "chain_stubs",
        same => same.name(),
    }
}

/// Inserts a row whose columns are those of the portable one.
fn insert_sql(table: Table, schema: i64) -> String {
    let columns = table.columns().iter().map(|column| column.name);
    let mut columns: Vec<&str> = columns.filter(|it| table.has(it, schema)).collect();
    let mut places = vec!["?"; columns.len()];
    if table == Table::Blobs {
        // Nobody holds a ticket: these bytes have their links.
        columns.push("ticket");
        places.push("0");
    }
    format!(
        "INSERT INTO {} ({}) VALUES ({})",
        name(table),
        columns.join(", "),
        places.join(", ")
    )
}

async fn set_state(connection: &mut SqliteConnection, rows: &[Row]) -> Result<(), StoreError> {
    for row in rows {
        let query = sqlx::query("UPDATE settings_changes SET tokens_made = max(tokens_made, ?1)");
        let query = query.bind(row.flag("tokens_made"));
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Triggers count the policy's first version; the counts of before replace them.
async fn insert_applications(
    connection: &mut SqliteConnection,
    rows: &[Row],
) -> Result<(), StoreError> {
    let sql = insert_sql(Table::Applications, SqliteStore::SCHEMA);
    for row in rows {
        let query = bind(sqlx::query(AssertSqlSafe(sql.clone())), row.values());
        let inserted = query.execute(&mut *connection).await;
        inserted.map_err(|error| refused_application(row, error.into()))?;
        let counts =
            "UPDATE applications SET policy_version = ?2, policy_updated_at_ms = ?3 WHERE id = ?1";
        sqlx::query(counts)
            .bind(row.required_id("id")?)
            .bind(row.required("policy_version")?)
            .bind(row.required("policy_updated_at_ms")?)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

async fn insert_records(
    connection: &mut SqliteConnection,
    rows: &[Row],
    first: i64,
) -> Result<(), StoreError> {
    let columns: Vec<&str> = Table::Records.columns().iter().map(|it| it.name).collect();
    // A schema without tool calls gets none, and one without parts, costs, marks or calls none of those.
    let has = |column: &str| rows.iter().any(|row| row.text(column).is_some());
    let (has_tools, has_parts, has_costs) = (has("tool_name"), has(PARTS[0]), has("priced"));
    let has_calls = CALL.into_iter().any(has);
    let has_unchecked = rows.iter().any(|row| row.flag(UNCHECKED));
    let record: Vec<&str> = columns
        .iter()
        .copied()
        .filter(|it| !BODY.contains(it) && !PARTS.contains(it))
        .filter(|it| has_tools || !TOOL.contains(it))
        .filter(|it| has_costs || !COST.contains(it))
        .filter(|it| has_unchecked || *it != UNCHECKED)
        .filter(|it| has_calls || !CALL.contains(it))
        .chain(has_parts.then_some(PARTS[0]))
        .collect();
    let body = [BODY.as_slice(), if has_parts { &PARTS[1..] } else { &[] }].concat();
    let records = seq_insert("records", &record);
    let texts = seq_insert("record_bodies", &body);
    for (seq, row) in (first..).zip(rows) {
        for (sql, names) in [(&records, &record[..]), (&texts, &body)] {
            let values: Vec<Value> = names.iter().map(|name| stored(row, name)).collect();
            let query = sqlx::query(AssertSqlSafe(sql.clone())).bind(seq);
            bind(query, &values).execute(&mut *connection).await?;
        }
    }
    // A cached statement holds what was bound to it last.
    connection.clear_cached_statements().await?;
    let derived = match has_unchecked {
        true => DERIVED.to_owned(),
        false => DERIVED.replace(UNCHECKED_MARK, ""),
    };
    // Composed of constants.
    let derived = sqlx::query(AssertSqlSafe(derived))
        .bind(first)
        .bind(first + rows.len() as i64);
    derived.execute(connection).await?;
    Ok(())
}

/// A value as its column holds it: the identifier of a tool call is empty for a message, and an archive of an earlier
/// release marks no record as unchecked.
fn stored(row: &Row, column: &str) -> Value {
    match (column, row.value(column)) {
        ("tool_call_id", Value::Null) => Value::Text(String::new()),
        (UNCHECKED, Value::Null) => Value::Flag(false),
        (_, value) => value.clone(),
    }
}

fn seq_insert(table: &str, columns: &[&str]) -> String {
    format!(
        "INSERT INTO {table} (seq, {}) VALUES (?{})",
        columns.join(", "),
        ", ?".repeat(columns.len())
    )
}

/// A schema that knows one name of a file in a record keeps the first one.
async fn insert_attachments(
    connection: &mut SqliteConnection,
    rows: &[Row],
) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO attachments (seq, sha256, name, type, size, kept, findings, attached_at_ms)
        SELECT seq, ?2, ?3, ?4, ?5, ?6, ?7, ?8 FROM records WHERE id = ?1
        ON CONFLICT DO NOTHING";
    for row in rows {
        let query = bind(sqlx::query(INSERT), row.values());
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

async fn insert_found_values(
    connection: &mut SqliteConnection,
    rows: &[Row],
) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO found_values (hash, seq, application_id, kind, key_id)
        SELECT ?2, seq, application_id, ?3, ?4 FROM records WHERE id = ?1 AND created_at_ms = ?5";
    for row in rows {
        let query = bind(sqlx::query(INSERT), row.values());
        query.execute(&mut *connection).await?;
    }
    Ok(())
}
