//! What is taken over of the folder of a process that has ended, and what an attempt leaves that fails (CONTRACT 5, 23).
#![allow(clippy::unwrap_used)]

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
fn contract_23_the_end_of_a_segment_taken_over_that_is_lost_behind_acknowledged_records_is_said() {
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
    let taken = take_over(
        &from,
        &to.as_path().into(),
        &mut MovedSegments::default(),
        &metrics,
    );
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
        assert!(disk::list(&incoming).unwrap().is_empty());
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
