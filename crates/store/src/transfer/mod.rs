//! A store as portable rows: what a backup holds, and what a copy moves from one engine to the other. A
//! [`StoreReader`] gives one snapshot of a store table by table while its server goes on; a [`StoreWriter`] builds a
//! new store from such rows. Both hold a few rows at a time. Which tables and columns there are is [`Table`]; how an
//! archive writes them down is [`row`]. The files' bytes are `blobs`.
//!
//! Rows and not a copy of the database's own pages, so that one archive restores into either engine, and into the
//! schemas of the versions before, down to that of the last release. The price is that a restore builds the indexes again.
//!
//! Not among the tables: what is derived from others (each engine derives it again), records of applications that
//! were removed (their numbers go on as stubs), and sign-ins and one-time links, which a restore must not revive.

mod erased;
mod older;
mod row;
mod table;

pub use erased::ErasureReplay;
pub(crate) use older::{RELEASE_4_1_SCHEMA, fit};
pub use row::{Row, RowError, Value};
pub(crate) use table::{
    ALERTS_SCHEMA, BODY, BUDGETS_SCHEMA, CALL, COST, COSTS_SCHEMA, EXCHANGES_SCHEMA,
    FINDINGS_SCHEMA, PARTS, TOOL, UNCHECKED, USER_DAYS_SCHEMA, VALUES_SCHEMA,
};
pub use table::{Column, ColumnKind, Table};

use crate::attachments::BlobHash;
use crate::error::StoreError;
use crate::removal::{Erased, Erasure};
use async_trait::async_trait;
use std::error::Error;
use thiserror::Error;
use uuid::Uuid;

/// The most rows that are read or written at once, and the bytes of their texts after which there are no more.
pub(crate) const MOST_ROWS: usize = 500;
pub(crate) const MOST_BYTES: usize = 1 << 20;

/// Why reading a store came to no end.
#[derive(Debug, Error)]
pub enum TransferError {
    /// The store that is read failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Whoever takes the rows failed.
    #[error(transparent)]
    Sink(Box<dyn Error + Send + Sync>),
}

/// Takes the rows of a table as they are read.
#[async_trait]
pub trait RowSink: Send {
    /// Takes the next rows of a table.
    ///
    /// # Errors
    /// Any error ends the reading.
    async fn take(&mut self, table: Table, rows: Vec<Row>) -> Result<(), TransferError>;
}

/// One snapshot of a store: changes that are made after it was opened do not show.
#[async_trait]
pub trait StoreReader: Send {
    /// `SQLite` or `PostgreSQL`.
    fn kind(&self) -> &'static str;

    /// The version of the schema.
    fn schema(&self) -> i64;

    /// How many records the snapshot has, roughly: for the progress that is shown.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn records(&mut self) -> Result<u64, StoreError>;

    /// Reads a table from its first row to its last.
    ///
    /// # Errors
    /// [`TransferError`] when the store cannot be read, or the error of the sink.
    async fn read(&mut self, table: Table, sink: &mut dyn RowSink) -> Result<(), TransferError>;

    /// Ends the snapshot.
    async fn close(self: Box<Self>);
}

/// Builds a new store from rows. Until [`StoreWriter::finish`] no program takes it for one.
#[async_trait]
pub trait StoreWriter: Send {
    /// Writes rows. Tables come in the order of [`Table::ALL`], their rows in the order in which they were read.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses a row or fails; the same holds for every method here.
    async fn write(&mut self, table: Table, rows: Vec<Row>) -> Result<(), StoreError>;

    /// How many rows of a table are in the database; None of one that its schema does not have.
    async fn count(&mut self, table: Table) -> Result<Option<u64>, StoreError>;

    /// After the last table, where the schema has no tool calls: removes their parts that name no user, and gives their
    /// number. An erasure finds such a part by its exchange, which the schema does not have either.
    async fn remove_nameless_calls(&mut self) -> Result<u64, StoreError>;

    /// After that: removes the records of these users with everything that belongs to them.
    async fn erase(&mut self, erasures: &[Erasure]) -> Result<Erased, StoreError>;

    /// How many records link to these bytes.
    async fn links(&mut self, hash: BlobHash) -> Result<u64, StoreError>;

    /// Does everything that is left and can fail, a full disk included, and checks the store: it is on disk when this
    /// returns. What belongs to the store, such as its files, gets its place between this and [`StoreWriter::finish`].
    async fn complete(&mut self) -> Result<(), StoreError>;

    /// Makes it a store that a server opens.
    async fn finish(self: Box<Self>) -> Result<(), StoreError>;

    /// Gives up. What was written stays unfinished.
    async fn abort(self: Box<Self>);
}

/// Parts of tool calls that were written into a schema without tool calls and name no user.
#[derive(Default)]
pub(crate) struct NamelessCalls {
    ids: Vec<Uuid>,
}

impl NamelessCalls {
    /// Changes records into those of a schema without tool calls, and notes the parts that name no user.
    pub(crate) fn become_messages(&mut self, rows: &mut [Row]) -> Result<(), StoreError> {
        for row in rows {
            if row.text("tool_name").is_some() && row.text("user_id").is_none() {
                self.ids.push(row.required_id("id")?);
            }
            row.become_message();
        }
        Ok(())
    }

    /// The next ones to remove; none at the end.
    pub(crate) fn take(&mut self) -> Vec<Uuid> {
        self.ids.split_off(self.ids.len().saturating_sub(MOST_ROWS))
    }
}

/// Rows on their way from a reader to a sink.
#[derive(Default)]
pub(crate) struct RowBatch {
    rows: Vec<Row>,
    bytes: usize,
}

impl RowBatch {
    /// Adds a row; gives the rows so far if they are enough.
    pub(crate) fn push(&mut self, row: Row) -> Option<Vec<Row>> {
        self.bytes += row.text_bytes();
        self.rows.push(row);
        let is_full = self.rows.len() >= MOST_ROWS || self.bytes >= MOST_BYTES;
        is_full.then(|| self.take())
    }

    /// The rows that are left.
    pub(crate) fn take(&mut self) -> Vec<Row> {
        self.bytes = 0;
        std::mem::take(&mut self.rows)
    }
}
