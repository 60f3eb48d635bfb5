//! Fills a new store with rows, in the same steps for a restore and a copy: the rows, a look at their number, the
//! erasures.

use super::erasures;
use super::progress::Progress;
use anyhow::{Result, ensure};
use monitor_store::{Erased, ErasureReplay, Row, StoreError, StoreWriter, Table};
use std::collections::BTreeMap;

/// A store that is being filled.
pub(super) struct Filling {
    writer: Box<dyn StoreWriter>,
    replay: ErasureReplay,
    /// Tombstones that come from elsewhere than the rows.
    extra_tombstones: Vec<Row>,
    written: BTreeMap<Table, u64>,
    table: Option<(Table, Progress)>,
    /// Rows of a file under a second name, or of one that waits, which an older schema cannot hold.
    merges_names: bool,
}

/// What was filled in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filled {
    pub(super) records: u64,
    /// What the erasures took of it.
    pub(super) erased: Erased,
    pub(super) tombstones: u64,
    /// Parts of tool calls that an erasure in the older schema would not find.
    pub(super) left_out: u64,
}

impl Filling {
    pub(super) fn new(
        writer: Box<dyn StoreWriter>,
        extra_tombstones: Vec<Row>,
        merges_names: bool,
    ) -> Self {
        Self {
            writer,
            replay: ErasureReplay::default(),
            extra_tombstones,
            written: BTreeMap::new(),
            table: None,
            merges_names,
        }
    }

    /// Writes rows of a table.
    pub(super) async fn write(&mut self, table: Table, rows: Vec<Row>) -> Result<(), StoreError> {
        self.write_extra_tombstones(table).await?;
        if self
            .table
            .as_ref()
            .is_none_or(|(before, _)| *before != table)
        {
            self.end_table();
            let name = table.name().replace('_', " ");
            self.table = Some((table, Progress::begin(&name, 0)));
        }
        self.replay.look_at(&rows);
        let count = rows.len() as u64;
        self.writer.write(table, rows).await?;
        *self.written.entry(table).or_default() += count;
        if let Some((_, progress)) = &mut self.table {
            progress.add(count);
        }
        Ok(())
    }

    /// After the last row: looks whether everything is there, and erases who was erased.
    pub(super) async fn settle(&mut self) -> Result<Filled> {
        self.write_extra_tombstones(Table::Attachments).await?;
        self.end_table();
        for (table, written) in self.written.iter().filter(|(table, _)| table.is_counted()) {
            // What an older schema has no table for is left out.
            let Some(found) = self.writer.count(*table).await? else {
                continue;
            };
            let files = [Table::Attachments, Table::WaitingAttachments];
            let may_be_fewer = self.merges_names && files.contains(table);
            ensure!(
                found == *written || may_be_fewer && found < *written,
                "{written} rows of {} were written and {found} are in the database: it was changed meanwhile; \
                 start again with an empty one",
                table.name()
            );
        }
        let left_out = self.writer.remove_nameless_calls().await?;
        let erased = self.writer.erase(&self.replay.found()).await?;
        Ok(Filled {
            records: self.written.get(&Table::Records).copied().unwrap_or(0),
            erased,
            tombstones: self.replay.tombstones() as u64,
            left_out,
        })
    }

    /// The writer, once everything is settled.
    pub(super) fn writer(&mut self) -> &mut dyn StoreWriter {
        &mut *self.writer
    }

    /// Ends it, whole or not.
    pub(super) fn into_writer(self) -> Box<dyn StoreWriter> {
        self.writer
    }

    /// Behind the tombstones of the rows come those from elsewhere.
    async fn write_extra_tombstones(&mut self, next: Table) -> Result<(), StoreError> {
        if next <= Table::Tombstones || self.extra_tombstones.is_empty() {
            return Ok(());
        }
        let extra = std::mem::take(&mut self.extra_tombstones);
        let unknown = erasures::learn(&mut self.replay, extra);
        if !unknown.is_empty() {
            *self.written.entry(Table::Tombstones).or_default() += unknown.len() as u64;
            self.writer.write(Table::Tombstones, unknown).await?;
        }
        Ok(())
    }

    fn end_table(&mut self) {
        if let Some((_, progress)) = self.table.take() {
            progress.end();
        }
    }
}
