//! Takes over what an ended process left in a folder of its own (CONTRACT 23). While one process hands
//! over to the next, each has a spool in a folder of its own. Once the older process has ended, the one
//! that runs gets the records the backend has not acknowledged, in their order, and the dead letters,
//! through its folder `incoming`.

use super::incoming::{self, IncomingFile};
use super::keys::check_keys;
use super::{SpoolError, lock, salvage, segments, torn_end};
use crate::observe::Metrics;
use crate::observe::events::SpoolRecordsDamaged;
use crate::spool::folder::SpoolFolder;
use crate::spool::frames::damage;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::segment::{self, SegmentId};
use crate::spool::sequence::{Latest, SequenceFile};
use crate::spool::{ack_log, dead_letter, disk};
#[cfg(test)]
use crate::spool::{segment_index::RecordPosition, witness};
use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Folders that the spools of one configuration may have: one for each process handing over at once.
const MAX_SIBLINGS: usize = 32;

/// The folders that the spools of one configuration may have, the configured one first.
pub fn sibling_folders(base: &Path) -> Vec<PathBuf> {
    let beside = (1..MAX_SIBLINGS).map(|number| base.join(format!("beside-{number}")));
    std::iter::once(base.to_owned()).chain(beside).collect()
}

/// Those of [`sibling_folders`] that exist.
pub fn existing_folders(base: &Path) -> Vec<PathBuf> {
    let all = sibling_folders(base).into_iter();
    all.filter(|folder| folder.is_dir()).collect()
}

/// Segments whose records were moved and whose files could not be removed: their records are not moved again.
#[derive(Debug, Default)]
pub struct MovedSegments(HashSet<(PathBuf, (u64, u64))>);

impl MovedSegments {
    fn holds(&self, path: &Path) -> bool {
        let about = disk::about(path);
        about.is_ok_and(|about| self.0.contains(&(path.to_owned(), about.identity)))
    }

    fn add(&mut self, path: PathBuf) {
        if let Ok(about) = disk::about(&path) {
            self.0.insert((path, about.identity));
        }
    }

    /// Removes the segment with this number.
    fn remove(&mut self, folder: &SpoolFolder, id: SegmentId) -> io::Result<()> {
        let path = segment::path(folder, id);
        ack_log::remove(folder, id, &path);
        disk::remove(&path)?;
        salvage::forget(folder, id);
        self.0.retain(|(moved, _)| *moved != path);
        Ok(())
    }
}

/// Moves what is left in the folder `from` to the spool in the folder `to`. Gives the number of records,
/// or None while another process uses `from`. `moved` is the same for each attempt.
///
/// # Errors
/// When a file cannot be read, written or removed; everything that was not moved by then is still in `from`.
pub fn take_over(
    from: &Path,
    to: &SpoolFolder,
    moved: &mut MovedSegments,
    metrics: &Metrics,
) -> io::Result<Option<u64>> {
    let _lock = match lock(from) {
        Ok(lock) => lock,
        Err(SpoolError::InUse { .. }) => return Ok(None),
        Err(error) => return Err(io::Error::other(error.to_string())),
    };
    let from = &to.sibling(from);
    check_keys(from)?;
    let incoming = to.sibling(&incoming::create_folder(to)?);
    dead_letter::files::move_all(from, &incoming)?;
    // No process accepts the replayed records there any more.
    for path in incoming::ready_files(&incoming::folder(from))? {
        incoming::move_in(&path, &incoming)?;
    }
    let ids = segments(from)?;
    let mut left = ids.clone();
    left.retain(|id| !moved.holds(&segment::path(from, *id)));
    let count = match left.is_empty() {
        true => 0,
        false => move_records(from, &left, &incoming, metrics)?,
    };
    for id in left {
        moved.add(segment::path(from, id));
    }
    let removed: Vec<_> = ids.into_iter().map(|id| moved.remove(from, id)).collect();
    removed.into_iter().collect::<io::Result<()>>()?;
    Ok(Some(count))
}

/// Publishes what nobody has acknowledged in these segments, and gives the number of records.
fn move_records(
    from: &SpoolFolder,
    ids: &[SegmentId],
    incoming: &SpoolFolder,
    metrics: &Metrics,
) -> io::Result<u64> {
    // One file for all segments keeps their order.
    let mut file = IncomingFile::create(incoming)?;
    for id in ids {
        // The last write of a process that was killed is not damage.
        let may_be_torn = Some(id) == ids.last();
        let may_be_torn = may_be_torn && torn_end::may_be_torn(from, *id)?;
        copy_unacked(from, *id, may_be_torn, &mut file, metrics)?;
    }
    // The numbers in the files that are removed are remembered without them, and whether their process ended in order.
    let newest = Latest::in_segments(from, ids)?;
    let (numbers, next) = SequenceFile::open(from, newest, metrics)?;
    numbers.close(next.is_cut_unreported())?;
    file.publish()
}

/// Copies the unacknowledged frames of a segment. A segment that cannot be read whole is kept beside it.
fn copy_unacked(
    from: &SpoolFolder,
    id: SegmentId,
    may_be_torn: bool,
    out: &mut IncomingFile,
    metrics: &Metrics,
) -> io::Result<()> {
    let mut segment = TakenSegment {
        path: segment::path(from, id),
        acked: HashSet::new(),
        metrics,
    };
    let mut reader = match FrameReader::open(&segment.path, from.keys()) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return segment.give_up(),
        opened => opened?,
    };
    if reader.is_blank()? && !may_be_torn {
        return segment.give_up();
    }
    segment.acked.extend(ack_log::read(from, id)?.ordinals);
    // Versions up to 4.1 left torn ends as they were.
    let may_be_torn = may_be_torn || !reader.format().has_ordinals();
    let (end, mut expected) = (reader.length()?, 0);
    loop {
        let (damaged, missing) = match reader.next(end)? {
            NextFrame::Whole(frame) => {
                let ordinal = frame.ordinal;
                if !ordinal.is_some_and(|ordinal| segment.acked.contains(&ordinal)) {
                    out.append(&frame.content)?;
                }
                let missing = expected..ordinal.unwrap_or(expected);
                expected = expected.max(missing.end.saturating_add(1));
                (0, missing)
            }
            NextFrame::Damaged(place) => {
                let missing = match reader.format().has_ordinals() {
                    _ if place.end == end => segment.missing_end(expected),
                    // The next frame tells how many were damaged.
                    true => 0..0,
                    // It was one at least.
                    false => expected..expected + 1,
                };
                (place.end - place.start, missing)
            }
            NextFrame::Torn(at) if !may_be_torn => (end - at, segment.missing_end(expected)),
            NextFrame::End | NextFrame::Torn(_) => return Ok(()),
        };
        segment.report(damaged, missing)?;
    }
}

/// A segment that is taken over.
struct TakenSegment<'a> {
    path: PathBuf,
    acked: HashSet<u32>,
    metrics: &'a Metrics,
}

impl TakenSegment<'_> {
    /// Keeps a file that is not one of frames, and counts a record: it had one at least.
    fn give_up(&self) -> io::Result<()> {
        self.count_lost(0..1);
        #[cfg(test)]
        witness::gives_up_from(self.position(0));
        damage::keep(&self.path, disk::about(&self.path)?.bytes, self.metrics)
    }

    /// The records from this one on that are missing with the end of the file: one at least that is not acknowledged.
    fn missing_end(&self, from: u32) -> Range<u32> {
        let first = (from..).find(|ordinal| !self.acked.contains(ordinal));
        from..first.unwrap_or(from).saturating_add(1)
    }

    /// Keeps the file if bytes of it are damaged, and counts the missing records.
    fn report(&self, damaged: u64, missing: Range<u32>) -> io::Result<()> {
        if damaged > 0 {
            damage::keep(&self.path, damaged, self.metrics)?;
        }
        #[cfg(test)]
        {
            let positions = missing.clone().map(|ordinal| self.position(ordinal));
            positions.for_each(witness::gives_up);
            if damaged > 0 && !missing.is_empty() {
                // How many there were behind it is not known.
                witness::gives_up_from(self.position(missing.start));
            }
        }
        self.count_lost(missing);
        Ok(())
    }

    /// Counts those of the missing records that were not acknowledged.
    fn count_lost(&self, missing: Range<u32>) {
        let lost = missing.filter(|ordinal| !self.acked.contains(ordinal));
        let (file, count) = (&self.path, lost.count() as u64);
        if count > 0 {
            SpoolRecordsDamaged { file, count }.emit(self.metrics);
        }
    }

    #[cfg(test)]
    fn position(&self, ordinal: u32) -> RecordPosition {
        let name = self.path.file_name().and_then(|name| name.to_str());
        let segment = name.and_then(segment::id_of).unwrap_or_default();
        RecordPosition { segment, ordinal }
    }
}

#[cfg(test)]
mod tests;
