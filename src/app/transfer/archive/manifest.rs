//! The first and the last entry of an archive, and the names of those in between.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The version of the format. A reader refuses a later one.
pub(in crate::app::transfer) const FORMAT: u32 = 1;
pub(super) const FIRST: &str = "BACKUP.json";
pub(super) const LAST: &str = "COMPLETE.json";
/// Bytes of a part after which the next one begins.
pub(in crate::app::transfer) const PART: usize = 1 << 20;

/// What an archive holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::app::transfer) enum Content {
    /// A whole installation.
    Everything,
    /// The tombstones of erased users alone.
    Erasures,
}

/// The first entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::app::transfer) struct About {
    pub(in crate::app::transfer) format: u32,
    pub(in crate::app::transfer) content: Content,
    /// The version of the program that wrote it.
    pub(in crate::app::transfer) version: String,
    /// `SQLite` or `PostgreSQL`.
    pub(in crate::app::transfer) store: String,
    /// The version of that store's schema.
    pub(in crate::app::transfer) schema: i64,
    /// When the snapshot was taken, milliseconds since 1970.
    pub(in crate::app::transfer) at_ms: i64,
}

/// What is in an archive, as its last entry says and a reader counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::app::transfer) struct Counts {
    /// Rows by table.
    pub(in crate::app::transfer) rows: BTreeMap<String, u64>,
    pub(in crate::app::transfer) files: u64,
    pub(in crate::app::transfer) file_bytes: u64,
    pub(in crate::app::transfer) spool_files: u64,
    pub(in crate::app::transfer) keys: u64,
}

/// The last entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Complete {
    pub(super) counts: Counts,
    /// SHA-256 over the names, lengths and contents of all entries before, in hexadecimal.
    pub(super) sha256: String,
}

impl Counts {
    /// A line for each table that tells a person something.
    pub(in crate::app::transfer) fn rows_text(&self) -> String {
        let shown = self.rows.iter().filter(|(table, _)| *table != "state");
        let lines = shown.map(|(table, rows)| format!("{}: {rows}\n", table.replace('_', " ")));
        lines.collect()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rows_text())?;
        writeln!(f, "files: {} ({} bytes)", self.files, self.file_bytes)?;
        writeln!(f, "files of the spool: {}", self.spool_files)?;
        writeln!(f, "keys of the spool: {}", self.keys)
    }
}
