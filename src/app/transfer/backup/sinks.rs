//! Rows and files on their way from a store into an archive.

use crate::app::transfer::archive::writer::ArchiveWriter;
use crate::app::transfer::progress::Progress;
use anyhow::Result;
use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use monitor_store::{BlobHash, BlobStore, Row, RowSink, Table, TransferError};
use sha2::{Digest as _, Sha256};

/// Appends rows to an archive.
pub(super) struct ArchiveSink {
    archive: ArchiveWriter,
    expected: u64,
    progress: Option<(Table, Progress)>,
}

impl ArchiveSink {
    pub(super) fn new(archive: ArchiveWriter, expected: u64) -> Self {
        Self {
            archive,
            expected,
            progress: None,
        }
    }

    pub(super) fn end(mut self) -> ArchiveWriter {
        if let Some((_, progress)) = self.progress.take() {
            progress.end();
        }
        self.archive
    }
}

#[async_trait]
impl RowSink for ArchiveSink {
    async fn take(&mut self, table: Table, rows: Vec<Row>) -> Result<(), TransferError> {
        let is_next = self
            .progress
            .as_ref()
            .is_none_or(|(before, _)| *before != table);
        if is_next {
            let name = table.name().replace('_', " ");
            let expected = match table {
                Table::Records => self.expected,
                _ => 0,
            };
            let before = self
                .progress
                .replace((table, Progress::begin(&name, expected)));
            if let Some((_, before)) = before {
                before.end();
            }
        }
        let written = self.archive.rows(table, &rows);
        written.map_err(|error| TransferError::Sink(error.into()))?;
        if let Some((_, progress)) = &mut self.progress {
            progress.add(rows.len() as u64);
        }
        Ok(())
    }
}

/// Appends the tombstones of users. Those of exchanges are many, and a restore erases nothing by them.
pub(super) struct UserTombstones<'a>(pub(super) &'a mut ArchiveSink);

#[async_trait]
impl RowSink for UserTombstones<'_> {
    async fn take(&mut self, table: Table, mut rows: Vec<Row>) -> Result<(), TransferError> {
        rows.retain(|row| !row.is_erased_exchange());
        self.0.take(table, rows).await
    }
}

/// Appends files to an archive.
pub(super) struct FileSink {
    archive: ArchiveWriter,
    blobs: BlobStore,
    progress: Progress,
    /// Files that are not there, and files whose bytes have another hash than their name says.
    pub(super) missing: u64,
    pub(super) damaged: u64,
}

impl FileSink {
    pub(super) fn new(archive: ArchiveWriter, blobs: BlobStore) -> Self {
        Self {
            archive,
            blobs,
            progress: Progress::begin("files", 0),
            missing: 0,
            damaged: 0,
        }
    }

    pub(super) fn end(self) -> ArchiveWriter {
        self.progress.end();
        self.archive
    }

    pub(super) async fn add(&mut self, hash: BlobHash) -> Result<()> {
        let Some(mut bytes) = self.blobs.read(hash).await? else {
            self.missing += 1;
            return Ok(());
        };
        let mut digest = Sha256::new();
        self.archive.file(hash, &[])?;
        while let Some(piece) = bytes.try_next().await? {
            digest.update(&piece);
            self.archive.file(hash, &piece)?;
        }
        let digest: [u8; 32] = digest.finalize().into();
        if digest != hash.0 {
            self.damaged += 1;
        }
        self.progress.add(1);
        Ok(())
    }
}
