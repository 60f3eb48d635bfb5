//! Takes over what an ended process left in a folder of its own (CONTRACT 23). While one process hands
//! over to the next, each has a spool in a folder of its own. Once the older process has ended, the one
//! that runs gets the records the backend has not acknowledged, in their order, and the dead letters,
//! through its folder `incoming`.

use super::incoming::{self, IncomingFile};
use super::keys::check_keys;
use super::{SpoolError, lock, salvage, segments, torn_end};
use crate::observe::Metrics;
use crate::observe::events::{SpoolDamaged, SpoolRecordsDamaged};
use crate::spool::chain_file::{self, WrittenUpTo};
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
    // Its process may have been killed before it synced how far it had written.
    chain_file::sync(from)?;
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
    let synced = WrittenUpTo::of_folder(from)?;
    let mut damaged = Vec::new();
    for id in ids {
        // The last write of a process that was killed is not damage.
        let is_unsynced = torn_end::may_be_unsynced(synced, *id, ids);
        let may_be_torn = is_unsynced && torn_end::may_be_torn(from, *id)?;
        let mut segment = TakenSegment::new(from, *id);
        segment.copy_unacked(may_be_torn, &mut file)?;
        damaged.push(segment);
    }
    // The numbers in the files that are removed are remembered without them, and whether their process ended in order.
    let newest = Latest::in_segments(from, ids)?;
    let (numbers, next) = SequenceFile::open(from, newest, metrics)?;
    numbers.close(next.is_cut_unreported())?;
    let count = file.publish()?;
    // Not before: an attempt that fails is made again, and finds the same.
    damaged.iter().for_each(|segment| segment.report(metrics));
    Ok(count)
}

/// A segment that is taken over.
struct TakenSegment<'a> {
    folder: &'a SpoolFolder,
    id: SegmentId,
    path: PathBuf,
    acked: HashSet<u32>,
    /// Bytes of each damaged part.
    damaged: Vec<u64>,
    /// Records that were not acknowledged and are lost, as far as it is known.
    lost: u64,
}

impl<'a> TakenSegment<'a> {
    fn new(folder: &'a SpoolFolder, id: SegmentId) -> Self {
        Self {
            folder,
            id,
            path: segment::path(folder, id),
            acked: HashSet::new(),
            damaged: Vec::new(),
            lost: 0,
        }
    }

    /// Copies the unacknowledged frames. A segment that cannot be read whole is kept beside it.
    fn copy_unacked(&mut self, may_be_torn: bool, out: &mut IncomingFile) -> io::Result<()> {
        let mut reader = match FrameReader::open(&self.path, self.folder.keys()) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return self.give_up(),
            opened => opened?,
        };
        if reader.is_blank()? && !may_be_torn {
            return self.give_up();
        }
        self.acked = ack_log::read(self.folder, self.id)?
            .ordinals
            .into_iter()
            .collect();
        // Versions up to 4.1 left torn ends as they were.
        let may_be_torn = may_be_torn || !reader.format().has_ordinals();
        let (end, mut expected) = (reader.length()?, 0);
        loop {
            let (damaged, missing) = match reader.next(end)? {
                NextFrame::Whole(frame) => {
                    let ordinal = frame.ordinal;
                    if !ordinal.is_some_and(|ordinal| self.acked.contains(&ordinal)) {
                        out.append(&frame.content)?;
                    }
                    let missing = expected..ordinal.unwrap_or(expected);
                    expected = expected.max(missing.end.saturating_add(1));
                    (0, missing)
                }
                NextFrame::Damaged(place) => {
                    let missing = match reader.format().has_ordinals() {
                        _ if place.end == end => self.missing_end(expected),
                        // The next frame tells how many were damaged.
                        true => 0..0,
                        // It was one at least.
                        false => expected..expected + 1,
                    };
                    (place.end - place.start, missing)
                }
                NextFrame::Torn(at) if !may_be_torn => (end - at, self.missing_end(expected)),
                NextFrame::End | NextFrame::Torn(_) => return Ok(()),
            };
            self.add_damage(damaged, missing)?;
        }
    }

    /// Keeps a file that is not one of frames, and counts a record: it had one at least.
    fn give_up(&mut self) -> io::Result<()> {
        #[cfg(test)]
        witness::gives_up_from(self.position(0));
        let bytes = disk::about(&self.path)?.bytes;
        self.add_damage(bytes, 0..1)
    }

    /// The records from this one on that are missing with the end of the file: one at least that is not acknowledged.
    fn missing_end(&self, from: u32) -> Range<u32> {
        let first = (from..).find(|ordinal| !self.acked.contains(ordinal));
        from..first.unwrap_or(from).saturating_add(1)
    }

    /// Keeps the file if bytes of it are damaged, and counts those of the missing records that were not acknowledged.
    fn add_damage(&mut self, bytes: u64, missing: Range<u32>) -> io::Result<()> {
        if bytes > 0 {
            damage::keep_unreported(&self.path)?;
            self.damaged.push(bytes);
        }
        #[cfg(test)]
        {
            let positions = missing.clone().map(|ordinal| self.position(ordinal));
            positions.for_each(witness::gives_up);
            if bytes > 0 && !missing.is_empty() {
                // How many there were behind it is not known.
                witness::gives_up_from(self.position(missing.start));
            }
        }
        let lost = missing.filter(|ordinal| !self.acked.contains(ordinal));
        self.lost += lost.count() as u64;
        Ok(())
    }

    fn report(&self, metrics: &Metrics) {
        let file = &self.path;
        for &bytes in &self.damaged {
            SpoolDamaged { file, bytes }.emit(metrics);
        }
        if self.lost > 0 {
            let count = self.lost;
            SpoolRecordsDamaged { file, count }.emit(metrics);
        }
    }

    #[cfg(test)]
    fn position(&self, ordinal: u32) -> RecordPosition {
        let segment = self.id;
        RecordPosition { segment, ordinal }
    }
}

#[cfg(test)]
mod tests;
