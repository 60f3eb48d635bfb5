//! What is in a spool's folder, read without owning it (CONTRACT 23): also while a process works in
//! it, and then a picture of one moment or another.

use super::found::file_of;
use super::segment::{self, Next, Reader, SegmentId};
use super::{dead, incoming, ledger};
use std::io;
use std::path::Path;

/// A spool as its files show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderSummary {
    /// Segments.
    pub segments: u64,
    /// Bytes of the segments.
    pub bytes: u64,
    /// Records that the backend has not taken.
    pub records: u64,
    /// When the oldest segment with such a record was begun, milliseconds since 1970.
    pub oldest_ms: Option<i64>,
    /// Records put back that the process has not taken up yet.
    pub put_back: u64,
    /// Records the backend refused for good.
    pub dead_letters: u64,
    /// Files that were set aside because they could not be read whole.
    pub damaged_files: u64,
}

/// Looks at every file of a spool's folder.
///
/// # Errors
/// When the folder or a file in it cannot be read.
pub fn summarize(folder: &Path) -> io::Result<FolderSummary> {
    let mut survey = FolderSummary::default();
    let mut ids = Vec::new();
    for file in std::fs::read_dir(folder)? {
        let path = file?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        ids.extend(name.and_then(segment::id_of));
        survey.damaged_files += u64::from(is_damaged(&path));
    }
    ids.sort_unstable();
    for id in ids {
        survey.add(folder, id)?;
    }
    let arrivals = folder.join(incoming::FOLDER);
    for path in incoming::files(&arrivals)? {
        survey.put_back += frames(&path)?.unwrap_or(0);
    }
    if arrivals.is_dir() {
        for file in std::fs::read_dir(&arrivals)? {
            survey.damaged_files += u64::from(is_damaged(&file?.path()));
        }
    }
    survey.dead_letters = dead::count(folder)?;
    Ok(survey)
}

impl FolderSummary {
    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            segments: self.segments + other.segments,
            bytes: self.bytes + other.bytes,
            records: self.records + other.records,
            oldest_ms: self.oldest_ms.into_iter().chain(other.oldest_ms).min(),
            put_back: self.put_back + other.put_back,
            dead_letters: self.dead_letters + other.dead_letters,
            damaged_files: self.damaged_files + other.damaged_files,
        }
    }

    fn add(&mut self, folder: &Path, id: SegmentId) -> io::Result<()> {
        let path = segment::path(folder, id);
        // The ledger goes before its segment: read first, it is never missed where it counts.
        let mut acked = ledger::read(folder, id);
        acked.sort_unstable();
        acked.dedup();
        let Some(frames) = frames(&path)? else {
            return Ok(());
        };
        let about = match std::fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            about => about?,
        };
        let taken = acked.iter().filter(|ordinal| u64::from(**ordinal) < frames);
        let owed = frames - taken.count() as u64;
        self.segments += 1;
        self.bytes += about.len();
        self.records += owed;
        if owed > 0 && self.oldest_ms.is_none() {
            self.oldest_ms = Some(file_of(&about)?.begun_ms);
        }
        Ok(())
    }
}

/// Whole frames of a file; None where it is gone or no segment.
fn frames(path: &Path) -> io::Result<Option<u64>> {
    let mut reader = match Reader::open(path) {
        Ok(reader) => reader,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::InvalidData => Ok(None),
                _ => Err(error),
            };
        }
    };
    let (end, mut count) = (reader.length()?, 0);
    while let Next::Frame(_) = reader.next(end)? {
        count += 1;
    }
    Ok(Some(count))
}

fn is_damaged(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "damaged")
}
