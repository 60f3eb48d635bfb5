//! A spool's folder: taken by one process at a time, opened as an earlier process left it, or only
//! looked at while another process owns it (CONTRACT 23). Opening lists the segments and reads only the
//! newest one, for its sequence numbers.
//!
//! Long because: what a start may skip, cut off or refuse is decided in one place.

pub(super) mod incoming;
pub(super) mod keys;
pub(super) mod repair;
pub(super) mod salvage;
pub(super) mod takeover;

use crate::observe::Metrics;
use crate::observe::events::{SpoolAcknowledgementsDamaged, SpoolRecordsDamaged};
use crate::spool::chain_file::WrittenUpTo;
use crate::spool::disk::{self, About, File};
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::damage::{self, kept_files};
use crate::spool::frames::file_format::Format;
use crate::spool::frames::keyring::Keyring;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::segment::{self, SegmentId};
#[cfg(test)]
use crate::spool::segment_index::RecordPosition;
use crate::spool::segment_index::{SegmentFile, SegmentIndex};
use crate::spool::sequence::{Latest, SequenceFile, Sequencer};
use crate::spool::{ack_log, dead_letter};
use keys::FilesByKey;
use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
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
    pub(crate) fn folder(folder: &Path, error: &io::Error) -> Self {
        Self::Folder {
            folder: folder.into(),
            reason: error.to_string(),
        }
    }
}

/// Takes the folder for this process, creating it (0700) if it is missing. The folder is taken for as
/// long as the file is open.
pub(crate) fn lock(folder: &Path) -> Result<File, SpoolError> {
    let take = || {
        disk::create_folder(folder)?;
        let file = disk::open_update(&folder.join("lock"))?;
        Ok(file.try_lock()?.then_some(file))
    };
    match take() {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(SpoolError::InUse {
            folder: folder.into(),
        }),
        Err(error) => Err(SpoolError::folder(folder, &error)),
    }
}

/// What an earlier process left in a folder.
pub(crate) struct Recovered {
    pub(crate) index: SegmentIndex,
    /// The number of the first new segment.
    pub(crate) next: SegmentId,
    pub(crate) sequence_file: SequenceFile,
    pub(crate) sequencer: Sequencer,
}

/// Reads the folder. A file with the name of a segment that is not one is set aside and logged.
///
/// # Errors
/// When a file is there and the system does not let it be read: its records may be whole, and neither are they
/// skipped, nor do new ones go before them.
pub(crate) fn recover(folder: &SpoolFolder, metrics: &Metrics) -> io::Result<Recovered> {
    remove_unfinished(folder)?;
    let ids = segments(folder)?;
    let mut index = SegmentIndex::default();
    for id in &ids {
        let path = segment::path(folder, *id);
        if !is_readable(&path, folder).map_err(|error| not_now(&path, &error))? {
            set_aside(folder, *id, metrics)?;
            continue;
        }
        if Some(id) == ids.last() {
            let cut = cut_torn_end(folder, *id);
            if !cut.map_err(|error| not_now(&path, &error))? {
                report_missing_end(folder, *id, metrics)?;
            }
        }
        let about = disk::about(&path)?;
        let acked = ack_log::read(folder, *id)?;
        if acked.damaged > 0 {
            SpoolAcknowledgementsDamaged {
                file: &ack_log::path(folder, *id),
                bytes: acked.damaged,
            }
            .emit(metrics);
        }
        index.add_recovered(*id, segment_file(&about), &acked.ordinals);
    }
    // A number is not given again, or what was set aside before would be in the way.
    let highest = newest_damaged(folder)?.max(ids.last().copied().unwrap_or(0));
    remove_stray_logs(folder, &ids)?;
    let newest = Latest::in_segments(folder, &ids)?;
    let (sequence_file, sequencer) = SequenceFile::open(folder, newest, metrics)?;
    Ok(Recovered {
        index,
        sequence_file,
        sequencer,
        next: highest + 1,
    })
}

/// Removes what a process left of files that it had not published when it was killed.
fn remove_unfinished(folder: &Path) -> io::Result<()> {
    let incoming = incoming::folder(folder);
    match dead_letter::files::try_lock(&incoming) {
        Ok(Some(_lock)) => dead_letter::replay::remove_unfinished(&incoming),
        // A replay or a repair is writing one.
        Ok(None) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether a file is one of frames.
fn is_readable(path: &Path, folder: &SpoolFolder) -> io::Result<bool> {
    match FrameReader::open(path, folder.keys()) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(false),
        opened => opened.map(|_| true),
    }
}

/// The error of a file that can perhaps be read later, or by somebody else.
fn not_now(path: &Path, error: &io::Error) -> io::Error {
    let path = path.display();
    let text = format!(
        "{path} cannot be read: {error}; its records are kept: mend what is in the way, or move the file out of the folder, and start again"
    );
    io::Error::new(error.kind(), text)
}

fn set_aside(folder: &Path, id: SegmentId, metrics: &Metrics) -> io::Result<()> {
    let path = segment::path(folder, id);
    damage::set_aside(&path, disk::about(&path)?.bytes, metrics)?;
    ack_log::remove(folder, id, &path);
    // It is not known how many it had: it was one at least.
    let (file, count) = (&path, 1);
    SpoolRecordsDamaged { file, count }.emit(metrics);
    #[cfg(test)]
    crate::spool::witness::gives_up_from(RecordPosition {
        segment: id,
        ordinal: 0,
    });
    Ok(())
}

/// Bytes of a segment that were written for certain.
fn written_bytes(folder: &Path, id: SegmentId) -> io::Result<u64> {
    let written = WrittenUpTo::of_folder(folder)?;
    Ok(if written.segment == id {
        written.bytes
    } else {
        0
    })
}

/// What looks like an interrupted write at the end of a file; empty, at its end, if there is nothing.
fn torn_part(path: &Path, keys: &Keyring) -> io::Result<Range<u64>> {
    let mut reader = FrameReader::open(path, keys)?;
    let end = reader.length()?;
    loop {
        match reader.next(end)? {
            NextFrame::Torn(at) => return Ok(at..end),
            NextFrame::End => return Ok(end..end),
            NextFrame::Whole(_) | NextFrame::Damaged(_) => {}
        }
    }
}

/// Cuts off what an interrupted write left behind the last whole frame of the newest segment: once there are newer
/// segments, it would look like damage. False if the end was written whole, and is lost.
fn cut_torn_end(folder: &SpoolFolder, id: SegmentId) -> io::Result<bool> {
    let path = segment::path(folder, id);
    let torn = torn_part(&path, folder.keys())?;
    if torn.start < written_bytes(folder, id)? {
        return Ok(false);
    }
    // In the first format it cannot be told from damage for certain, and stays as it is.
    if !torn.is_empty() && FrameReader::open(&path, folder.keys())?.format() != Format::First {
        let file = disk::open_append(&path)?;
        file.set_length(torn.start)?;
        file.sync()?;
    }
    Ok(true)
}

/// Whether the end of a segment may be that of an interrupted write.
fn may_be_torn(folder: &SpoolFolder, id: SegmentId) -> io::Result<bool> {
    match torn_part(&segment::path(folder, id), folder.keys()) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(true),
        torn => Ok(torn?.start >= written_bytes(folder, id)?),
    }
}

/// The end of the newest segment is gone together with a part of the file.
fn report_missing_end(folder: &SpoolFolder, id: SegmentId, metrics: &Metrics) -> io::Result<()> {
    let file = &segment::path(folder, id);
    if torn_part(file, folder.keys())?.is_empty() {
        // It is not known how many it had: it was one at least.
        SpoolRecordsDamaged { file, count: 1 }.emit(metrics);
        #[cfg(test)]
        crate::spool::witness::gives_up_from(RecordPosition {
            segment: id,
            ordinal: 0,
        });
    }
    Ok(())
}

/// The numbers of a folder's segments in ascending order.
pub(crate) fn segments(folder: &Path) -> io::Result<Vec<SegmentId>> {
    let mut ids = Vec::new();
    for path in disk::list(folder)? {
        let name = path.file_name().and_then(|name| name.to_str());
        ids.extend(name.and_then(segment::id_of));
    }
    ids.sort_unstable();
    Ok(ids)
}

fn newest_damaged(folder: &Path) -> io::Result<SegmentId> {
    let mut newest = 0;
    for path in disk::list(folder)? {
        // Of files that were repaired too.
        let name = path.file_name().and_then(|name| name.to_str());
        let stem = name.and_then(|name| name.split_once('.'));
        let id = stem.and_then(|(stem, _)| segment::id_of(&format!("{stem}.seg")));
        newest = newest.max(id.unwrap_or(0));
    }
    Ok(newest)
}

fn segment_file(about: &About) -> SegmentFile {
    SegmentFile {
        bytes: about.bytes,
        begun_ms: about.begun_ms,
        last_ms: about.last_ms,
    }
}

/// Removes acknowledgement logs and marks without a segment: they would be taken for those of a later segment with
/// the same number.
fn remove_stray_logs(folder: &Path, ids: &[SegmentId]) -> io::Result<()> {
    for path in disk::list(folder)? {
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        let id = segment::id_of(&format!("{stem}.seg"));
        let kind = path.extension();
        let is_beside = kind.is_some_and(|kind| kind == "ack" || kind == salvage::SALVAGED);
        if is_beside && id.is_some_and(|id| ids.binary_search(&id).is_err()) {
            disk::remove(&path)?;
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
