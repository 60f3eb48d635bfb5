//! A spool's folder: taken by one process at a time, opened as an earlier process left it, or only
//! looked at while another process owns it ([`summary`]; CONTRACT 23). Opening lists the segments and reads only the
//! newest ones, for their sequence numbers and for what an interrupted write left at their ends ([`torn_end`]).

pub(super) mod incoming;
pub(super) mod keys;
pub(super) mod owed;
pub(super) mod repair;
pub(super) mod salvage;
pub(super) mod summary;
pub(super) mod takeover;
mod torn_end;

use crate::observe::Metrics;
use crate::observe::events::{SpoolAcknowledgementsDamaged, SpoolRecordsDamaged};
use crate::spool::chain_file::{self, WrittenUpTo};
use crate::spool::disk::{self, About, File};
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::damage;
use crate::spool::frames::reader::FrameReader;
use crate::spool::segment::{self, SegmentId};
#[cfg(test)]
use crate::spool::segment_index::RecordPosition;
use crate::spool::segment_index::{SegmentFile, SegmentIndex};
use crate::spool::sequence::{Latest, SequenceFile, Sequencer};
use crate::spool::system::{note_earlier, now_ms};
use crate::spool::{ack_log, dead_letter};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use torn_end::{cut_torn_end, may_be_unsynced, torn_part};

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
    let ids = segments(folder)?;
    // Before anything is written.
    note_times(folder, &ids);
    remove_unfinished(folder)?;
    let synced = WrittenUpTo::of_folder(folder)?;
    let mut index = SegmentIndex::default();
    for id in &ids {
        let path = segment::path(folder, *id);
        let is_unsynced = may_be_unsynced(synced, *id, &ids);
        if !is_readable(&path, folder, is_unsynced).map_err(|error| not_now(&path, &error))? {
            set_aside(folder, *id, metrics)?;
            continue;
        }
        if is_unsynced {
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
    // A number is not given again: what was set aside would be in the way, and what is noted of one segment would be
    // taken for another.
    let highest = newest_damaged(folder)?
        .max(ids.last().copied().unwrap_or(0))
        .max(synced.segment);
    remove_stray_logs(folder, &ids)?;
    let newest = Latest::in_segments(folder, &ids)?;
    let (sequence_file, sequencer) = SequenceFile::open(folder, newest, metrics)?;
    Ok(Recovered {
        index,
        sequence_file,
        sequencer,
        next: highest.saturating_add(1),
    })
}

/// Tells the clock when an earlier process last wrote a segment, or that it had ended.
fn note_times(folder: &Path, ids: &[SegmentId]) {
    let segments = ids.iter().map(|id| segment::path(folder, *id));
    let files = segments.chain([folder.join(chain_file::FILE_NAME)]);
    let times = files.filter_map(|file| Some(disk::about(&file).ok()?.last_ms));
    times.max().into_iter().for_each(note_earlier);
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

/// Whether a file is one of frames. Only one that was never synced may have nothing in it.
fn is_readable(path: &Path, folder: &SpoolFolder, is_unsynced: bool) -> io::Result<bool> {
    match FrameReader::open(path, folder.keys()) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(false),
        opened => Ok(!opened?.is_blank()? || is_unsynced),
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
    // A file of the future was written before the clock was set back: it ages from now on.
    let now_ms = now_ms();
    SegmentFile {
        bytes: about.bytes,
        begun_ms: about.begun_ms.min(now_ms),
        last_ms: about.last_ms.min(now_ms),
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
