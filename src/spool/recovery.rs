//! A spool's folder: taken by one process at a time, opened as an earlier process left it, or only
//! looked at while another process owns it (CONTRACT 23). Opening lists the segments and reads only the
//! newest one, for its sequence numbers.

use super::segment::{self, NextFrame, SegmentId, SegmentReader};
use super::segment_index::{SegmentFile, SegmentIndex};
use super::sequence::{Latest, SequenceFile, Sequencer};
use super::{ack_log, dead_letter, incoming};
use crate::observe::Metrics;
use crate::observe::events::SpoolDamaged;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// Why a spool cannot be opened.
#[derive(Debug, Error)]
pub enum SpoolError {
    /// The folder cannot be created, read or locked.
    #[error("the spool's folder {folder} cannot be used: {reason}")]
    Folder {
        /// The spool's folder.
        folder: PathBuf,
        /// The message of the operating system.
        reason: String,
    },
    /// Another process uses the folder.
    #[error(
        "the spool's folder {folder} is in use by another process: stop it, or give this one a folder of its own (spool.dir)"
    )]
    InUse {
        /// The spool's folder.
        folder: PathBuf,
    },
}

impl SpoolError {
    pub(super) fn folder(folder: &Path, error: &io::Error) -> Self {
        Self::Folder {
            folder: folder.into(),
            reason: error.to_string(),
        }
    }
}

/// Takes the folder for this process, creating it (0700) if it is missing. The folder is taken for as
/// long as the file is open.
pub(super) fn lock(folder: &Path) -> Result<File, SpoolError> {
    let open = || {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder)?;
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.join("lock"))
    };
    let file = open().map_err(|error| SpoolError::folder(folder, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(SpoolError::InUse {
            folder: folder.into(),
        }),
        Err(TryLockError::Error(error)) => Err(SpoolError::folder(folder, &error)),
    }
}

/// What an earlier process left in a folder.
pub(super) struct Recovered {
    pub(super) index: SegmentIndex,
    /// The number of the first new segment.
    pub(super) next: SegmentId,
    /// The newest segment found, whose end may be torn.
    pub(super) newest: Option<SegmentId>,
    pub(super) sequence_file: SequenceFile,
    pub(super) sequencer: Sequencer,
}

/// Reads the folder. A file with the name of a segment that is not one is set aside and logged.
pub(super) fn recover(folder: &Path, metrics: &Metrics) -> io::Result<Recovered> {
    let ids = segments(folder)?;
    let mut index = SegmentIndex::default();
    for id in &ids {
        let path = segment::path(folder, *id);
        let metadata = std::fs::metadata(&path)?;
        if SegmentReader::open(&path).is_err() {
            std::fs::rename(&path, path.with_extension("damaged"))?;
            let bytes = metadata.len();
            SpoolDamaged { bytes }.emit(metrics);
            continue;
        }
        let acked = ack_log::read(folder, *id);
        index.add_recovered(*id, segment_file(&metadata)?, &acked);
    }
    // A number is not given again, or what was set aside before would be in the way.
    let highest = newest_damaged(folder)?.max(ids.last().copied().unwrap_or(0));
    remove_stray_logs(folder, &ids)?;
    let newest = Latest::in_segments(folder, &ids);
    let (sequence_file, sequencer) = SequenceFile::open(folder, newest)?;
    Ok(Recovered {
        index,
        sequence_file,
        sequencer,
        next: highest + 1,
        newest: ids.last().copied(),
    })
}

/// The numbers of a folder's segments in ascending order.
pub(super) fn segments(folder: &Path) -> io::Result<Vec<SegmentId>> {
    let mut ids = Vec::new();
    for file in std::fs::read_dir(folder)? {
        let name = file?.file_name();
        ids.extend(name.to_str().and_then(segment::id_of));
    }
    ids.sort_unstable();
    Ok(ids)
}

fn newest_damaged(folder: &Path) -> io::Result<SegmentId> {
    let mut newest = 0;
    for file in std::fs::read_dir(folder)? {
        let name = file?.file_name();
        let name = name.to_str().and_then(|name| name.strip_suffix(".damaged"));
        let id = name.and_then(|stem| segment::id_of(&format!("{stem}.seg")));
        newest = newest.max(id.unwrap_or(0));
    }
    Ok(newest)
}

/// The file of a segment. Not every file system knows when a file was created.
fn segment_file(metadata: &Metadata) -> io::Result<SegmentFile> {
    let ms = |time: SystemTime| {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    };
    let last_ms = ms(metadata.modified()?);
    Ok(SegmentFile {
        bytes: metadata.len(),
        begun_ms: metadata.created().map_or(last_ms, ms).min(last_ms),
        last_ms,
    })
}

/// Removes acknowledgement logs without a segment: they would acknowledge records of a later segment with
/// the same number.
fn remove_stray_logs(folder: &Path, ids: &[SegmentId]) -> io::Result<()> {
    for file in std::fs::read_dir(folder)? {
        let path = file?.path();
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        let id = segment::id_of(&format!("{stem}.seg"));
        let is_log = path.extension().is_some_and(|kind| kind == "ack");
        if is_log && id.is_some_and(|id| ids.binary_search(&id).is_err()) {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// A spool as its files show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderSummary {
    /// Number of segments.
    pub segments: u64,
    /// Bytes of the segments.
    pub bytes: u64,
    /// Records that the backend has not acknowledged.
    pub records: u64,
    /// When the oldest segment with such a record was begun, milliseconds since 1970.
    pub oldest_ms: Option<i64>,
    /// Replayed records that the process has not accepted yet.
    pub put_back: u64,
    /// Records that the backend refused for good.
    pub dead_letters: u64,
    /// Files that were set aside because they could not be read whole.
    pub damaged_files: u64,
}

/// Reads every file of a spool's folder without taking it. If a process is at work there, the figures
/// are from slightly different moments.
///
/// # Errors
/// When the folder or a file in it cannot be read.
pub fn summarize(folder: &Path) -> io::Result<FolderSummary> {
    let mut summary = FolderSummary {
        damaged_files: damaged_files(folder)?,
        ..FolderSummary::default()
    };
    for id in segments(folder)? {
        summary.add_segment(folder, id)?;
    }
    let incoming = incoming::folder(folder);
    for path in incoming::ready_files(&incoming)? {
        summary.put_back += count_frames(&path)?.unwrap_or(0);
    }
    if incoming.is_dir() {
        summary.damaged_files += damaged_files(&incoming)?;
    }
    summary.dead_letters = dead_letter::files::count(folder)?;
    Ok(summary)
}

impl FolderSummary {
    /// The sum of two folders.
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

    fn add_segment(&mut self, folder: &Path, id: SegmentId) -> io::Result<()> {
        let path = segment::path(folder, id);
        // The log is removed before its segment: read first, it is never missed where it counts.
        let mut acked = ack_log::read(folder, id);
        acked.sort_unstable();
        acked.dedup();
        let Some(frames) = count_frames(&path)? else {
            return Ok(());
        };
        let metadata = match std::fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            metadata => metadata?,
        };
        let acked = acked.iter().filter(|ordinal| u64::from(**ordinal) < frames);
        let unacked = frames - acked.count() as u64;
        self.segments += 1;
        self.bytes += metadata.len();
        self.records += unacked;
        if unacked > 0 && self.oldest_ms.is_none() {
            self.oldest_ms = Some(segment_file(&metadata)?.begun_ms);
        }
        Ok(())
    }
}

/// Counts the whole frames of a file; None if it is gone or not a segment.
fn count_frames(path: &Path) -> io::Result<Option<u64>> {
    let mut reader = match SegmentReader::open(path) {
        Ok(reader) => reader,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::InvalidData => Ok(None),
                _ => Err(error),
            };
        }
    };
    let (end, mut count) = (reader.length()?, 0);
    while let NextFrame::Whole(_) = reader.next(end)? {
        count += 1;
    }
    Ok(Some(count))
}

fn damaged_files(folder: &Path) -> io::Result<u64> {
    let mut count = 0;
    for file in std::fs::read_dir(folder)? {
        let path = file?.path();
        count += u64::from(path.extension().is_some_and(|kind| kind == "damaged"));
    }
    Ok(count)
}
