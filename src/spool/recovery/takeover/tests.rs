//! What is taken over of the folder of a process that has ended, and what an attempt leaves that fails (CONTRACT 5, 23).
#![allow(clippy::unwrap_used)]

use super::*;
use crate::observe::DropReason;
use crate::spool::disk::simulated;
use crate::spool::frames::format::HEADER;
use crate::spool::frames::tests::{contents, segment_of};
use crate::spool::record_codec;
use crate::spool::sequence::Sequencer;
use crate::spool::tests::samples::sample_record;
use support::stack::Folder;
use uuid::Uuid;

/// The folder of a process that has ended, and that of the one that runs.
struct Folders {
    from: PathBuf,
    to: SpoolFolder,
    moved: MovedSegments,
    metrics: Metrics,
    _base: Folder,
}

impl Folders {
    fn new() -> Self {
        let base = Folder::unmade();
        let (from, to) = (base.path().join("a"), base.path().join("b"));
        drop(lock(&from).unwrap());
        std::fs::create_dir_all(&to).unwrap();
        Self {
            from,
            to: to.as_path().into(),
            moved: MovedSegments::default(),
            metrics: Metrics::new().unwrap(),
            _base: base,
        }
    }

    /// The same on a simulated disk, with a segment of two records.
    fn simulated() -> Self {
        let base = simulated::start(7, 1_000);
        let from = base.join("beside-1");
        drop(lock(&from).unwrap());
        segment_of(&from, 1, &[&[b'x'; 20_000], &[b'y'; 20_000]]);
        Self {
            from,
            to: base.as_path().into(),
            moved: MovedSegments::default(),
            metrics: Metrics::new().unwrap(),
            _base: Folder::unmade(),
        }
    }

    fn take_over(&mut self) -> io::Result<Option<u64>> {
        take_over(&self.from, &self.to, &mut self.moved, &self.metrics)
    }

    /// The files that wait to be accepted.
    fn incoming(&self) -> Vec<PathBuf> {
        incoming::ready_files(&incoming::folder(&self.to)).unwrap()
    }

    /// What the folder of the ended process knows of its numbers.
    fn numbers(&self) -> Sequencer {
        let (_, numbers) = SequenceFile::open(&self.from, None, &self.metrics).unwrap();
        numbers
    }

    /// Opens the file with the numbers as the process did that wrote segment 1.
    fn sequence_file(&self) -> SequenceFile {
        let newest = Latest::in_segments(&self.from.as_path().into(), &[1]).unwrap();
        let (file, _) = SequenceFile::open(&self.from, newest, &self.metrics).unwrap();
        file
    }
}

#[test]
fn what_nobody_has_acknowledged_goes_over_once_and_in_order() {
    let mut folders = Folders::new();
    segment_of(&folders.from, 1, &[b"one", b"two", b"three"]);
    segment_of(&folders.from, 2, &[b"four"]);
    ack_log::append(&folders.from, 1, &[1]).unwrap();
    assert_eq!(folders.take_over().unwrap(), Some(3));
    let files = folders.incoming();
    assert_eq!(files.len(), 1);
    let expected: [&[u8]; 3] = [b"one", b"three", b"four"];
    assert_eq!(contents(&files[0]), expected);
    folders.moved = MovedSegments::default();
    assert_eq!(folders.take_over().unwrap(), Some(0), "a second time");
    assert_eq!(folders.incoming(), files);
}

#[test]
fn contract_23_damage_in_a_segment_taken_over_costs_the_record_it_is_in_and_is_counted() {
    let mut folders = Folders::new();
    segment_of(&folders.from, 1, &[b"one", b"two", b"three", b"four"]);
    segment_of(&folders.from, 2, &[b"five"]);
    ack_log::append(&folders.from, 1, &[2]).unwrap();
    let path = segment::path(&folders.from, 1);
    let mut bytes = std::fs::read(&path).unwrap();
    let two = bytes.windows(3).position(|text| text == b"two").unwrap();
    bytes[two] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(folders.take_over().unwrap(), Some(3));
    let expected: [&[u8]; 3] = [b"one", b"four", b"five"];
    assert_eq!(contents(&folders.incoming()[0]), expected);
    assert_eq!(folders.metrics.spool.damaged.get(), 1);
    let kept = damage::kept_path(&path);
    assert_eq!(std::fs::read(&kept).unwrap(), bytes);
    let acked = ack_log::read_file(&ack_log::kept_path(&kept)).unwrap();
    assert_eq!(acked.ordinals, [2]);
}

#[test]
fn contract_23_the_end_of_a_segment_taken_over_that_is_lost_behind_acknowledged_records_is_counted()
{
    let mut folders = Folders::new();
    segment_of(&folders.from, 1, &[b"one", b"two", b"three"]);
    segment_of(&folders.from, 2, &[b"four"]);
    ack_log::append(&folders.from, 1, &[0, 1]).unwrap();
    let path = segment::path(&folders.from, 1);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[HEADER as usize..].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(folders.take_over().unwrap(), Some(1));
    assert_eq!(folders.metrics.spool.lost_so_far(DropReason::Damaged), 1);
}

#[test]
fn contract_5_the_numbers_of_a_folder_that_was_taken_over_are_not_given_again() {
    let mut folders = Folders::new();
    let (mut own, mut other) = (Vec::new(), Vec::new());
    record_codec::encode(&sample_record(519), &mut own);
    let mut taken_over = sample_record(900);
    taken_over.chain.as_mut().unwrap().gateway = Uuid::from_u128(10);
    record_codec::encode(&taken_over, &mut other);
    segment_of(&folders.from, 1, &[&own]);
    drop(folders.sequence_file());
    segment_of(&folders.from, 2, &[&own, &other]);
    std::fs::write(segment::path(&folders.from, 3), [0x5a; 100]).unwrap();
    assert_eq!(folders.take_over().unwrap(), Some(3));
    assert_eq!(folders.numbers().latest().sequence, 519);
}

#[test]
fn a_folder_that_another_has_is_left_alone() {
    let mut folders = Folders::new();
    let _lock = lock(&folders.from).unwrap();
    segment_of(&folders.from, 1, &[b"one"]);
    assert_eq!(folders.take_over().unwrap(), None);
    assert_eq!(segments(&folders.from).unwrap(), [1]);
}

#[test]
fn contract_23_attempts_that_a_full_disk_stops_leave_nothing_on_it() {
    let mut folders = Folders::simulated();
    let incoming = incoming::folder(&folders.to);
    simulated::set_faults(|faults| faults.full = true);
    for _ in 0..20 {
        folders.take_over().unwrap_err();
        assert!(disk::list(&incoming).unwrap().is_empty());
    }
    simulated::set_faults(|faults| faults.full = false);
    assert_eq!(folders.take_over().unwrap(), Some(2));
    assert_eq!(disk::list(&incoming).unwrap().len(), 1);
    simulated::stop();
}

#[test]
fn contract_23_damage_is_counted_once_however_many_attempts_a_takeover_takes() {
    let mut folders = Folders::simulated();
    let path = segment::path(&folders.from, 1);
    let damaged = disk::open_update(&path).unwrap();
    damaged.write_at(b"?", HEADER + 1_000).unwrap();
    simulated::set_faults(|faults| faults.full = true);
    for _ in 0..3 {
        folders.take_over().unwrap_err();
    }
    simulated::set_faults(|faults| faults.full = false);
    assert_eq!(folders.take_over().unwrap(), Some(1));
    assert_eq!(folders.metrics.spool.damaged.get(), 1);
    assert_eq!(folders.metrics.spool.lost_so_far(DropReason::Damaged), 1);
    simulated::stop();
}

#[test]
fn contract_23_records_whose_segment_cannot_be_removed_are_moved_once() {
    let mut folders = Folders::simulated();
    simulated::set_faults(|faults| faults.no_removal = true);
    for _ in 0..3 {
        folders.take_over().unwrap_err();
        assert_eq!(folders.incoming().len(), 1);
    }
    simulated::set_faults(|faults| faults.no_removal = false);
    assert_eq!(folders.take_over().unwrap(), Some(0));
    assert_eq!(segments(&folders.from).unwrap(), [0; 0]);
    simulated::stop();
}

#[test]
fn contract_5_a_folder_whose_process_ended_in_order_is_still_known_as_such() {
    let mut folders = Folders::new();
    let mut record = Vec::new();
    record_codec::encode(&sample_record(519), &mut record);
    segment_of(&folders.from, 1, &[&record]);
    folders.sequence_file().close(false).unwrap();
    assert_eq!(folders.take_over().unwrap(), Some(1));
    let numbers = folders.numbers();
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
