//! Takes over what an ended process left in a folder of its own (CONTRACT 23). While one process hands
//! over to the next, each has a spool in a folder of its own. Once the older process has ended, the one
//! that runs gets the records the backend has not acknowledged, in their order, and the dead letters,
//! through its folder `incoming`.

use super::incoming::{self, IncomingFile};
use super::keys::check_keys;
use super::{SpoolError, lock, salvage, segments};
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
        let may_be_torn = may_be_torn && super::may_be_torn(from, *id)?;
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
    let path = segment::path(from, id);
    let mut reader = match FrameReader::open(&path, from.keys()) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            log_lost(&path, 0..1, &HashSet::new(), metrics);
            #[cfg(test)]
            witness::gives_up_from(RecordPosition {
                segment: id,
                ordinal: 0,
            });
            return damage::keep(&path, disk::about(&path)?.bytes, metrics);
        }
        opened => opened?,
    };
    let acked: HashSet<u32> = ack_log::read(from, id)?.ordinals.into_iter().collect();
    // Versions up to 4.1 left torn ends as they were.
    let may_be_torn = may_be_torn || !reader.format().has_ordinals();
    let (end, mut expected) = (reader.length()?, 0);
    loop {
        let (damaged, missing) = match reader.next(end)? {
            NextFrame::Whole(frame) => {
                let ordinal = frame.ordinal;
                if !ordinal.is_some_and(|ordinal| acked.contains(&ordinal)) {
                    out.append(&frame.content)?;
                }
                let missing = expected..ordinal.unwrap_or(expected);
                expected = expected.max(missing.end.saturating_add(1));
                (0, missing)
            }
            NextFrame::Damaged(place) if place.end == end => {
                (place.end - place.start, lost_end(expected, &acked))
            }
            // Where the next frame does not tell how many were damaged, it was one at least.
            NextFrame::Damaged(place) if !reader.format().has_ordinals() => {
                (place.end - place.start, expected..expected + 1)
            }
            NextFrame::Damaged(place) => (place.end - place.start, 0..0),
            NextFrame::Torn(at) if !may_be_torn => (end - at, lost_end(expected, &acked)),
            NextFrame::End | NextFrame::Torn(_) => return Ok(()),
        };
        if damaged > 0 {
            damage::keep(&path, damaged, metrics)?;
        }
        #[cfg(test)]
        for ordinal in missing.clone() {
            let segment = id;
            witness::gives_up(RecordPosition { segment, ordinal });
        }
        #[cfg(test)]
        if damaged > 0 && !missing.is_empty() {
            // How many there were behind it is not known.
            let ordinal = missing.start;
            witness::gives_up_from(RecordPosition {
                segment: id,
                ordinal,
            });
        }
        log_lost(&path, missing, &acked, metrics);
    }
}

/// The records from this one on that were lost with the end of a segment: one at least that is not acknowledged.
fn lost_end(from: u32, acked: &HashSet<u32>) -> Range<u32> {
    let first = (from..).find(|ordinal| !acked.contains(ordinal));
    from..first.unwrap_or(from).saturating_add(1)
}

/// Counts the damaged frames with these ordinals that were not acknowledged.
fn log_lost(path: &Path, missing: Range<u32>, acked: &HashSet<u32>, metrics: &Metrics) {
    let lost = missing.filter(|ordinal| !acked.contains(ordinal));
    let count = lost.count() as u64;
    if count > 0 {
        SpoolRecordsDamaged { file: path, count }.emit(metrics);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::spool::disk::simulated;
    use crate::spool::frames::format::HEADER;
    use crate::spool::frames::tests::{contents, segment_of};
    use crate::spool::record_codec;
    use crate::spool::tests::samples::sample_record;
    use support::stack::Folder;
    use uuid::Uuid;

    #[test]
    fn what_nobody_has_acknowledged_goes_over_once_and_in_order() {
        let base = Folder::unmade();
        let (from, to) = (base.path().join("a"), base.path().join("b"));
        drop(lock(&from).unwrap());
        std::fs::create_dir_all(&to).unwrap();
        segment_of(&from, 1, &[b"one", b"two", b"three"]);
        segment_of(&from, 2, &[b"four"]);
        ack_log::append(&from, 1, &[1]).unwrap();
        assert_eq!(
            take_over(
                &from,
                &to.as_path().into(),
                &mut MovedSegments::default(),
                &Metrics::new().unwrap()
            )
            .unwrap(),
            Some(3)
        );
        let files = incoming::ready_files(&incoming::folder(&to)).unwrap();
        assert_eq!(files.len(), 1);
        let expected: [&[u8]; 3] = [b"one", b"three", b"four"];
        assert_eq!(contents(&files[0]), expected);
        assert_eq!(
            take_over(
                &from,
                &to.as_path().into(),
                &mut MovedSegments::default(),
                &Metrics::new().unwrap()
            )
            .unwrap(),
            Some(0),
            "a second time"
        );
        assert_eq!(
            incoming::ready_files(&incoming::folder(&to)).unwrap().len(),
            1
        );
    }

    #[test]
    fn contract_23_damage_in_a_segment_taken_over_costs_the_record_it_is_in_and_is_counted() {
        let base = Folder::unmade();
        let (from, to) = (base.path().join("a"), base.path().join("b"));
        drop(lock(&from).unwrap());
        std::fs::create_dir_all(&to).unwrap();
        segment_of(&from, 1, &[b"one", b"two", b"three", b"four"]);
        segment_of(&from, 2, &[b"five"]);
        ack_log::append(&from, 1, &[2]).unwrap();
        let path = segment::path(&from, 1);
        let mut bytes = std::fs::read(&path).unwrap();
        let two = bytes.windows(3).position(|text| text == b"two").unwrap();
        bytes[two] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let metrics = Metrics::new().unwrap();
        assert_eq!(
            take_over(
                &from,
                &to.as_path().into(),
                &mut MovedSegments::default(),
                &metrics
            )
            .unwrap(),
            Some(3)
        );
        let files = incoming::ready_files(&incoming::folder(&to)).unwrap();
        let expected: [&[u8]; 3] = [b"one", b"four", b"five"];
        assert_eq!(contents(&files[0]), expected);
        assert_eq!(metrics.spool.damaged.get(), 1);
        let kept = damage::kept_path(&path);
        assert_eq!(std::fs::read(&kept).unwrap(), bytes);
        assert_eq!(
            ack_log::read_file(&ack_log::kept_path(&kept))
                .unwrap()
                .ordinals,
            [2]
        );
    }

    #[test]
    fn contract_23_the_end_of_a_segment_taken_over_that_is_lost_behind_acknowledged_records_is_said()
     {
        let base = Folder::unmade();
        let (from, to) = (base.path().join("a"), base.path().join("b"));
        drop(lock(&from).unwrap());
        std::fs::create_dir_all(&to).unwrap();
        segment_of(&from, 1, &[b"one", b"two", b"three"]);
        segment_of(&from, 2, &[b"four"]);
        ack_log::append(&from, 1, &[0, 1]).unwrap();
        let path = segment::path(&from, 1);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[HEADER as usize..].fill(0);
        std::fs::write(&path, &bytes).unwrap();
        let metrics = Metrics::new().unwrap();
        let taken = take_over(&from, &to.as_path().into(), &mut MovedSegments::default(), &metrics);
        assert_eq!(taken.unwrap(), Some(1));
        assert_eq!(metrics.spool.lost_so_far("damaged"), 1);
    }

    #[test]
    fn contract_5_the_numbers_of_a_folder_that_was_taken_over_are_not_given_again() {
        let base = Folder::unmade();
        let (from, to) = (base.path().join("a"), base.path().join("b"));
        drop(lock(&from).unwrap());
        std::fs::create_dir_all(&to).unwrap();
        let (mut own, mut other) = (Vec::new(), Vec::new());
        record_codec::encode(&sample_record(519), &mut own);
        let mut taken_over = sample_record(900);
        taken_over.chain.as_mut().unwrap().gateway = Uuid::from_u128(10);
        record_codec::encode(&taken_over, &mut other);
        segment_of(&from, 1, &[&own]);
        let metrics = Metrics::new().unwrap();
        drop(SequenceFile::open(
            &from,
            Latest::in_segments(&from.as_path().into(), &[1]).unwrap(),
            &metrics,
        ));
        segment_of(&from, 2, &[&own, &other]);
        std::fs::write(segment::path(&from, 3), [0x5a; 100]).unwrap();
        assert_eq!(
            take_over(
                &from,
                &to.as_path().into(),
                &mut MovedSegments::default(),
                &metrics
            )
            .unwrap(),
            Some(3)
        );
        let (_, numbers) = SequenceFile::open(&from, None, &metrics).unwrap();
        assert_eq!(numbers.latest().sequence, 519);
    }

    #[test]
    fn a_folder_that_another_has_is_left_alone() {
        let base = Folder::unmade();
        let (from, to) = (base.path().join("a"), base.path().join("b"));
        let _lock = lock(&from).unwrap();
        segment_of(&from, 1, &[b"one"]);
        assert_eq!(
            take_over(
                &from,
                &to.as_path().into(),
                &mut MovedSegments::default(),
                &Metrics::new().unwrap()
            )
            .unwrap(),
            None
        );
        assert_eq!(segments(&from).unwrap(), [1]);
    }

    /// A simulated disk with a spool's folder and one beside it that holds a segment.
    fn simulated_folders() -> (PathBuf, SpoolFolder) {
        let to = simulated::start(7, 1_000);
        let from = to.join("beside-1");
        drop(lock(&from).unwrap());
        segment_of(&from, 1, &[&[b'x'; 20_000], &[b'y'; 20_000]]);
        (from, to.as_path().into())
    }

    #[test]
    fn contract_23_attempts_that_a_full_disk_stops_leave_nothing_on_it() {
        let ((from, to), metrics) = (simulated_folders(), Metrics::new().unwrap());
        let incoming = incoming::folder(&to);
        let mut moved = MovedSegments::default();
        simulated::set_faults(|faults| faults.full = true);
        for _ in 0..20 {
            take_over(&from, &to, &mut moved, &metrics).unwrap_err();
            assert_eq!(disk::list(&incoming).unwrap(), [PathBuf::new(); 0]);
        }
        simulated::set_faults(|faults| faults.full = false);
        let taken = take_over(&from, &to, &mut moved, &metrics).unwrap();
        assert_eq!(taken, Some(2));
        assert_eq!(disk::list(&incoming).unwrap().len(), 1);
        simulated::stop();
    }

    #[test]
    fn contract_23_records_whose_segment_cannot_be_removed_are_moved_once() {
        let ((from, to), metrics) = (simulated_folders(), Metrics::new().unwrap());
        let mut moved = MovedSegments::default();
        simulated::set_faults(|faults| faults.no_removal = true);
        for _ in 0..3 {
            take_over(&from, &to, &mut moved, &metrics).unwrap_err();
            let files = incoming::ready_files(&incoming::folder(&to)).unwrap();
            assert_eq!(files.len(), 1);
        }
        simulated::set_faults(|faults| faults.no_removal = false);
        let taken = take_over(&from, &to, &mut moved, &metrics).unwrap();
        assert_eq!(taken, Some(0));
        assert_eq!(segments(&from).unwrap(), [0; 0]);
        simulated::stop();
    }

    #[test]
    fn contract_5_a_folder_whose_process_ended_in_order_is_still_known_as_such() {
        let base = Folder::unmade();
        let (from, to) = (base.path().join("a"), base.path().join("b"));
        drop(lock(&from).unwrap());
        std::fs::create_dir_all(&to).unwrap();
        let (mut record, metrics) = (Vec::new(), Metrics::new().unwrap());
        record_codec::encode(&sample_record(519), &mut record);
        segment_of(&from, 1, &[&record]);
        let newest = Latest::in_segments(&from.as_path().into(), &[1]).unwrap();
        let (file, _) = SequenceFile::open(&from, newest, &metrics).unwrap();
        file.close(false).unwrap();
        let mut moved = MovedSegments::default();
        let taken = take_over(&from, &to.as_path().into(), &mut moved, &metrics);
        assert_eq!(taken.unwrap(), Some(1));
        let (_, numbers) = SequenceFile::open(&from, None, &metrics).unwrap();
        assert_eq!(numbers.latest().sequence, 519);
        assert!(!numbers.is_cut_unreported());
    }

    #[test]
    fn contract_23_a_start_removes_what_was_never_published() {
        let folder = Folder::new();
        let incoming = incoming::create_folder(folder.path()).unwrap();
        std::fs::write(incoming.join("1.part"), b"begun").unwrap();
        std::fs::write(incoming.join("2.seg"), b"kept").unwrap();
        let metrics = Metrics::new().unwrap();
        super::super::recover(&folder.path().into(), &metrics).unwrap();
        assert_eq!(disk::list(&incoming).unwrap(), [incoming.join("2.seg")]);
    }
}
