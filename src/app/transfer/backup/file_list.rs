//! The hashes of the files that a backup copies. They are read in the snapshot, and the files after it: a snapshot that
//! lasts as long as a copy of all files would keep days from being dropped, and the log of SQLite growing.

use super::unnamed_file;
use anyhow::Result;
use async_trait::async_trait;
use monitor_store::{BlobHash, Row, RowSink, Table, TransferError};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::path::Path;

/// A list in a file without a name.
pub(super) struct FileList {
    file: BufWriter<File>,
    count: u64,
}

impl FileList {
    /// An empty one on the disk of the archive.
    pub(super) fn begin(archive: &Path) -> Result<Self> {
        let file = unnamed_file::create(archive, "files")?;
        Ok(Self {
            file: BufWriter::new(file),
            count: 0,
        })
    }

    /// The hashes in the order in which they were added.
    pub(super) fn read(self) -> Result<impl Iterator<Item = Result<BlobHash>>> {
        let mut file = self.file.into_inner()?;
        file.rewind()?;
        let mut file = BufReader::new(file);
        Ok((0..self.count).map(move |_| {
            let mut hash = [0; 32];
            file.read_exact(&mut hash)?;
            Ok(BlobHash(hash))
        }))
    }
}

#[async_trait]
impl RowSink for FileList {
    async fn take(&mut self, _: Table, rows: Vec<Row>) -> Result<(), TransferError> {
        for row in rows {
            let hash = row.bytes("sha256");
            if hash.len() == 32 {
                let written = self.file.write_all(hash);
                written.map_err(|error| TransferError::Sink(error.into()))?;
                self.count += 1;
            }
        }
        Ok(())
    }
}
