//! What the files of a spool's folder show, without taking it.

use super::keys::{self, FilesByKey};
use super::{incoming, segments};
use crate::spool::frames::damage::kept_files;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::segment::{self, SegmentId};
use crate::spool::{ack_log, dead_letter, disk};
use std::collections::HashSet;
use std::io;
use std::path::Path;

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
    /// Bytes of the segments that cannot be read.
    pub damaged_bytes: u64,
    /// The files by the key that they need.
    pub files_by_key: FilesByKey,
}

/// Reads every file of a spool's folder without taking it. If a process is at work there, the figures
/// are from slightly different moments.
///
/// # Errors
/// When the folder or a file in it cannot be read.
pub fn summarize(folder: &Path) -> io::Result<FolderSummary> {
    let incoming = incoming::folder(folder);
    let damaged = [kept_files(folder)?, kept_files(&incoming)?].concat();
    let mut summary = FolderSummary {
        files_by_key: keys::files_by_key(folder, &damaged)?,
        damaged_files: damaged.len() as u64,
        ..FolderSummary::default()
    };
    for id in segments(folder)? {
        summary.add_segment(folder, id)?;
    }
    for path in incoming::ready_files(&incoming)? {
        let counted = count_frames(&path, &HashSet::new())?;
        summary.put_back += counted.map_or(0, |counted| counted.unacked);
    }
    summary.dead_letters = dead_letter::files::count(folder)?;
    Ok(summary)
}

impl FolderSummary {
    /// The sum of two folders.
    pub fn and(self, other: Self) -> Self {
        let mut files_by_key = self.files_by_key;
        for (key, files) in other.files_by_key {
            *files_by_key.entry(key).or_default() += files;
        }
        Self {
            files_by_key,
            segments: self.segments + other.segments,
            bytes: self.bytes + other.bytes,
            records: self.records + other.records,
            oldest_ms: self.oldest_ms.into_iter().chain(other.oldest_ms).min(),
            put_back: self.put_back + other.put_back,
            dead_letters: self.dead_letters + other.dead_letters,
            damaged_files: self.damaged_files + other.damaged_files,
            damaged_bytes: self.damaged_bytes + other.damaged_bytes,
        }
    }

    fn add_segment(&mut self, folder: &Path, id: SegmentId) -> io::Result<()> {
        let path = segment::path(folder, id);
        // The log is removed before its segment: read first, it is never missed where it counts.
        let acked = ack_log::read(folder, id)?.ordinals.into_iter().collect();
        let Some(counted) = count_frames(&path, &acked)? else {
            return Ok(());
        };
        let about = match disk::about(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            about => about?,
        };
        self.segments += 1;
        self.bytes += about.bytes;
        self.records += counted.unacked;
        self.damaged_bytes += counted.damaged_bytes;
        if counted.unacked > 0 && self.oldest_ms.is_none() {
            self.oldest_ms = Some(about.begun_ms);
        }
        Ok(())
    }
}

/// What a file of frames holds.
#[derive(Default)]
struct FrameCount {
    /// Whole frames that are not acknowledged.
    unacked: u64,
    /// Bytes that are no frame.
    damaged_bytes: u64,
}

/// Counts the frames of a file; None if it is gone or not a file of frames.
fn count_frames(path: &Path, acked: &HashSet<u32>) -> io::Result<Option<FrameCount>> {
    let mut reader = match FrameReader::open_sealed(path) {
        Ok(reader) => reader,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::InvalidData => Ok(None),
                _ => Err(error),
            };
        }
    };
    let (end, mut count) = (reader.length()?, FrameCount::default());
    loop {
        match reader.next(end)? {
            NextFrame::Whole(frame) => {
                let is_acked = frame
                    .ordinal
                    .is_some_and(|ordinal| acked.contains(&ordinal));
                count.unacked += u64::from(!is_acked);
            }
            NextFrame::Damaged(place) => count.damaged_bytes += place.end - place.start,
            // The process may be writing it.
            NextFrame::Torn(_) | NextFrame::End => return Ok(Some(count)),
        }
    }
}
