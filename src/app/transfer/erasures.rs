//! Tombstones of archives that are later than the one that is restored: the erasures that it does not know of.

use super::archive::reader::{ArchiveReader, Part};
use crate::config::key_file::FileKey;
use anyhow::Result;
use monitor_store::{ErasureReplay, Row, Table};
use std::path::PathBuf;

/// The tombstones of these archives. Their other contents are read and checked, and left alone.
pub(super) fn read(files: &[PathBuf], key: Option<&FileKey>) -> Result<Vec<Row>> {
    let mut tombstones = Vec::new();
    for file in files {
        let mut found = Vec::new();
        ArchiveReader::open(file, key)?.read(|part| {
            if let Part::Rows(Table::Tombstones, rows) = part {
                found.extend(rows);
            }
            Ok(())
        })?;
        tombstones.extend(found);
    }
    Ok(tombstones)
}

/// Those that a replay did not know yet.
pub(super) fn learn(replay: &mut ErasureReplay, later: Vec<Row>) -> Vec<Row> {
    later.into_iter().filter(|row| replay.learn(row)).collect()
}
