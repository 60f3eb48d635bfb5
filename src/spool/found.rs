//! A spool's folder as an earlier process left it (CONTRACT 23). Segments are listed, and only the newest
//! one is read, for its numbers.

use super::book::{Book, FoundFile};
use super::ledger;
use super::marks::{self, Marks};
use super::numbers::Numbers;
use super::segment::{self, SegmentId};
use crate::observe::Metrics;
use crate::observe::events::SpoolDamaged;
use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// What an earlier process left.
pub(super) struct Found {
    pub(super) book: Book,
    /// The number of the first new segment.
    pub(super) next: SegmentId,
    /// The newest one found: its end may be torn.
    pub(super) newest: Option<SegmentId>,
    pub(super) marks: Marks,
    pub(super) numbers: Numbers,
}

impl Found {
    /// Reads the folder; a file that is no segment is set aside and said.
    pub(super) fn look(folder: &Path, metrics: &Metrics) -> io::Result<Self> {
        let mut ids = Vec::new();
        let mut newest_damaged = 0;
        for file in std::fs::read_dir(folder)? {
            let name = file?.file_name();
            let name = name.to_str().unwrap_or_default();
            ids.extend(segment::id_of(name));
            let damaged = segment::id_of(&name.replace(".damaged", ".seg"));
            newest_damaged = newest_damaged.max(damaged.unwrap_or(0));
        }
        ids.sort_unstable();
        let mut book = Book::default();
        for id in &ids {
            let path = segment::path(folder, *id);
            let about = std::fs::metadata(&path)?;
            if segment::Reader::open(&path).is_err() {
                std::fs::rename(&path, path.with_extension("damaged"))?;
                SpoolDamaged { bytes: about.len() }.emit(metrics);
                continue;
            }
            let acked = ledger::read(folder, *id);
            book.found(*id, file_of(&about)?, &acked);
        }
        forget_strays(folder, &ids)?;
        let (marks, numbers) = Marks::open(folder, marks::newest(folder, &ids))?;
        Ok(Self {
            book,
            marks,
            numbers,
            // A number is not given again, or what was set aside would be in the way.
            next: newest_damaged.max(ids.last().copied().unwrap_or(0)) + 1,
            newest: ids.last().copied(),
        })
    }
}

/// What the system says of a segment's file. Not every file system knows when it was made.
pub(super) fn file_of(about: &Metadata) -> io::Result<FoundFile> {
    let ms = |time: SystemTime| {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    };
    let last_ms = ms(about.modified()?);
    Ok(FoundFile {
        bytes: about.len(),
        begun_ms: about.created().map_or(last_ms, ms).min(last_ms),
        last_ms,
    })
}

/// A ledger whose segment is gone would vouch for a later one of the same number.
fn forget_strays(folder: &Path, ids: &[SegmentId]) -> io::Result<()> {
    for file in std::fs::read_dir(folder)? {
        let path = file?.path();
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        let id = segment::id_of(&format!("{stem}.seg"));
        let ledger = path.extension().is_some_and(|kind| kind == "ack");
        if ledger && id.is_some_and(|id| ids.binary_search(&id).is_err()) {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}
