//! What damaged files cost a spool that opens them (CONTRACT 23).

use super::samples::sample_record;
use super::*;
use crate::observe::DropReason;
use crate::spool::disk::simulated;
use crate::spool::eviction::{Dropped, Evicted, UnreadSegment};
use crate::spool::frames::format::HEADER;
use crate::spool::frames::tests::{append_to, segment_of};
use crate::spool::segment_index::{RecordPosition, SegmentFile, SegmentIndex};

/// A folder with a segment that holds the prompts of so many exchanges.
pub(super) async fn left_behind(exchanges: u128) -> Folder {
    let folder = Folder::unmade();
    let world = World::open(folder.path(), BOUNDS, 0);
    let mut receipt = Receipt::NEVER;
    for exchange in 0..exchanges {
        receipt = world.spool.push(record(exchange, Stage::PreCall));
    }
    world.spool.wait_durable(receipt).await;
    copy(folder.path())
}

/// Changes a bit in the text of the record in the middle of a segment; gives the exchange it is of.
pub(super) fn damage_middle(path: &Path, exchanges: u128) -> u128 {
    let mut bytes = std::fs::read(path).unwrap();
    let texts: Vec<_> = memchr::memmem::find_iter(&bytes, &b"text ".repeat(20)).collect();
    assert_eq!(texts.len() as u128, exchanges);
    let middle = texts.len() / 2;
    bytes[texts[middle]] ^= 1;
    std::fs::write(path, bytes).unwrap();
    middle as u128
}

pub(super) fn exchanges(taken: &[(u128, Stage)]) -> Vec<u128> {
    let mut exchanges: Vec<_> = taken.iter().map(|(exchange, _)| *exchange).collect();
    exchanges.sort_unstable();
    exchanges.dedup();
    exchanges
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_set_aside_and_never_stops_a_start() {
    let left = left_behind(51).await;
    let first = segment::path(left.path(), 1);
    let lost = damage_middle(&first, 51);
    std::fs::write(segment::path(left.path(), 2), b"nonsense").unwrap();
    std::fs::write(segment::path(left.path(), 3), b"").unwrap();
    let again = World::open(left.path(), BOUNDS, 200);
    eventually(|| again.spool.waiting() == 0).await;
    assert_eq!(again.metric("monitor_spool_damaged_total"), 2.0);
    assert_eq!(
        again.metric("monitor_spool_lost_total{reason=\"damaged\"}"),
        2.0,
        "one record, and one at least of the file that is none"
    );
    assert_eq!(files(left.path(), "damaged"), 2);
    let taken = exchanges(&again.close().await);
    assert!(taken.iter().copied().eq((0..51).filter(|it| *it != lost)));
    let once_more = World::open(left.path(), BOUNDS, 200);
    eventually(|| once_more.spool.waiting() == 0).await;
    assert_eq!(once_more.close().await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_acknowledgements_behind_damage_stay_those_of_their_records() {
    let left = left_behind(20).await;
    let lost = damage_middle(&segment::path(left.path(), 1), 20);
    ack_log::append(left.path(), 1, &[3, 15]).unwrap();
    let again = World::open(left.path(), BOUNDS, 200);
    eventually(|| again.spool.waiting() == 0).await;
    let taken = exchanges(&again.close().await);
    let expected = (0..20).filter(|it| ![3, 15, lost].contains(it));
    assert!(taken.iter().copied().eq(expected), "{taken:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_damage_in_acknowledged_records_loses_none() {
    let left = left_behind(20).await;
    let damaged = damage_middle(&segment::path(left.path(), 1), 20);
    ack_log::append(left.path(), 1, &[u32::try_from(damaged).unwrap()]).unwrap();
    let again = World::open(left.path(), BOUNDS, 200);
    eventually(|| again.spool.waiting() == 0).await;
    assert_eq!(
        again.metric("monitor_spool_lost_total{reason=\"damaged\"}"),
        0.0
    );
    assert_eq!(again.metric("monitor_spool_damaged_total"), 1.0);
    assert_eq!(again.close().await.len(), 19);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_repair_puts_back_what_was_set_aside_and_can_be_read() {
    let left = left_behind(20).await;
    let path = segment::path(left.path(), 1);
    let damaged = path.with_extension("damaged");
    let lost = damage_middle(&path, 20);
    ack_log::append(left.path(), 1, &[3]).unwrap();
    std::fs::rename(&path, &damaged).unwrap();
    std::fs::rename(ack_log::path(left.path(), 1), ack_log::kept_path(&damaged)).unwrap();
    std::fs::write(left.path().join("chain.damaged"), b"nonsense").unwrap();
    let done = repair(&left.path().into()).unwrap();
    assert_eq!((done.files, done.unreadable, done.left), (1, 1, 0));
    assert_eq!(done.put_back, 18);
    assert!(done.unreadable_bytes > 100);
    assert_eq!(files(left.path(), "unreadable"), 1);
    assert_eq!(files(left.path(), "damaged"), 0);
    assert_eq!(files(left.path(), "repaired"), 1);
    assert_eq!(repair(&left.path().into()).unwrap().files, 0, "only once");
    let again = World::open(left.path(), BOUNDS, 200);
    again.delivered(18).await;
    let taken = exchanges(&again.close().await);
    let expected = (0..20).filter(|it| ![3, lost].contains(it));
    assert!(taken.iter().copied().eq(expected), "{taken:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_repair_leaves_files_in_use_and_records_of_another_version() {
    let left = left_behind(3).await;
    let path = segment::path(left.path(), 1);
    append_to(&path, b"\xffnewer");
    let damaged = path.with_extension("damaged");
    std::fs::hard_link(&path, &damaged).unwrap();
    assert_eq!(repair(&left.path().into()).unwrap().in_use, 1);
    std::fs::remove_file(&path).unwrap();
    let done = repair(&left.path().into()).unwrap();
    assert_eq!((done.files, done.left, done.put_back), (0, 1, 3));
    assert!(damaged.exists());
}

#[test]
fn contract_23_repair_says_that_nothing_is_in_a_file_of_zeros() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("0000000000000001.damaged"), [0; 8_192]).unwrap();
    let done = repair(&folder.path().into()).unwrap();
    assert_eq!((done.files, done.unreadable), (0, 1));
    assert_eq!(done.unreadable_bytes, 8_192);
    assert_eq!(files(folder.path(), "unreadable"), 1);
}

#[test]
fn contract_23_repair_goes_on_past_a_file_whose_key_is_missing_and_names_it() {
    use crate::config::key_file::FileKey;
    use crate::spool::frames::writer::FrameWriter;
    use crate::spool::record_codec;
    let folder = Folder::new();
    let key = Keyring::new(Some(FileKey::of(1).into()), Vec::new());
    let sealed = folder.path().join("0000000000000001.damaged");
    std::fs::write(&sealed, FrameWriter::new(&key).header()).unwrap();
    let mut content = Vec::new();
    record_codec::encode(&record(1, Stage::PreCall), &mut content);
    segment_of(folder.path(), 2, &[&content]);
    let clear = segment::path(folder.path(), 2);
    std::fs::rename(&clear, clear.with_extension("damaged")).unwrap();
    let done = repair(&folder.path().into()).unwrap();
    assert_eq!((done.files, done.put_back), (1, 1));
    let [said] = &done.without_key[..] else {
        panic!("{done:?}");
    };
    assert!(said.contains(&sealed.display().to_string()), "{said}");
    assert!(sealed.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_a_torn_end_is_no_damage_after_two_crashes() {
    let left = left_behind(3).await;
    let path = segment::path(left.path(), 1);
    let bytes = std::fs::read(&path).unwrap();
    // The beginning of a frame.
    let header = HEADER as usize;
    std::fs::write(&path, [&bytes[..], &bytes[header..header + 30]].concat()).unwrap();
    let first = World::open(left.path(), BOUNDS, 0);
    let receipt = first.spool.push(record(7, Stage::PreCall));
    first.spool.wait_durable(receipt).await;
    let left = copy(left.path());
    drop(first);
    let second = World::open(left.path(), BOUNDS, 200);
    second.delivered(4).await;
    eventually(|| second.spool.waiting() == 0).await;
    assert_eq!(second.metric("monitor_spool_damaged_total"), 0.0);
    assert_eq!(exchanges(&second.close().await), [0, 1, 2, 7]);
    assert_eq!(files(left.path(), "damaged"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_a_lost_sector_at_the_end_is_no_torn_end() {
    let left = left_behind(3).await;
    let path = segment::path(left.path(), 1);
    let bytes = std::fs::read(&path).unwrap();
    let zeros = vec![0; bytes.len() - HEADER as usize];
    // All frames are zeros, or the file is shorter.
    for end in [zeros, Vec::new()] {
        std::fs::write(&path, [&bytes[..HEADER as usize], &end].concat()).unwrap();
        let left = copy(left.path());
        let again = World::open(left.path(), BOUNDS, 200);
        eventually(|| again.spool.waiting() == 0).await;
        let lost = again.metric("monitor_spool_lost_total{reason=\"damaged\"}");
        assert_eq!(lost, 1.0, "one at least");
        again.close().await;
    }
}

#[tokio::test]
async fn contract_23_records_that_memory_had_no_room_for_are_lost_with_their_segment_and_said() {
    for is_gone in [false, true] {
        let folder = simulated::start(1, 0);
        let mut content = Vec::new();
        record_codec::encode(&sample_record(1), &mut content);
        segment_of(&folder, 1, &[&content[..]; 5]);
        let bounds = SpoolBounds {
            memory: 1,
            ..BOUNDS
        };
        let (backend, metrics) = (Arc::<Backend>::default(), Arc::new(Metrics::new().unwrap()));
        let opened = Spool::assemble(&folder.as_path().into(), bounds, backend, metrics.clone());
        let (spool, _delivery, mut writer) = opened.unwrap();
        writer.round();
        let figures = spool.core.lock().figures(0);
        // The next one was read and counted.
        assert_eq!((figures.in_memory, figures.records), (1, 2));
        let path = segment::path(&folder, 1);
        let length = usize::try_from(disk::about(&path).unwrap().bytes).unwrap();
        match is_gone {
            true => disk::remove(&path).unwrap(),
            false => disk::open_update(&path)
                .unwrap()
                .write_at(&vec![0; length], 0)
                .unwrap(),
        }
        let position = RecordPosition {
            segment: 1,
            ordinal: 0,
        };
        let mut state = spool.core.lock();
        state.finish(Some(position), figures.memory_bytes);
        drop(state);
        writer.round();
        assert_eq!(spool.core.lock().figures(0).records, 0, "{is_gone}");
        let lost = metrics.spool.lost_so_far(DropReason::Damaged);
        assert_eq!(lost, 1, "{is_gone}");
        simulated::stop();
    }
}

#[tokio::test]
async fn contract_23_a_lost_end_of_records_that_were_put_back_is_said() {
    let folder = simulated::start(1, 0);
    let assemble = || {
        let (backend, metrics) = (Arc::<Backend>::default(), Arc::new(Metrics::new().unwrap()));
        let opened = Spool::assemble(&folder.as_path().into(), BOUNDS, backend, metrics.clone());
        let (spool, _, writer) = opened.unwrap();
        (spool, writer, metrics)
    };
    let (spool, mut writer, _) = assemble();
    spool.push(record(1, Stage::PreCall));
    writer.round();
    let path = segment::path(&folder, 1);
    let numbered = disk::about(&path).unwrap().bytes;
    // It comes from the folder `incoming` and has its number already: no new one is given.
    let put_back = sample_record(512);
    assert!(put_back.chain.is_some());
    spool.core.push_promised(put_back);
    writer.round();
    drop((spool, writer));
    // The sector that it is in is lost.
    let file = disk::open_update(&path).unwrap();
    let length = usize::try_from(file.about().unwrap().bytes - numbered).unwrap();
    assert!(length > 0);
    file.write_at(&vec![0; length], numbered).unwrap();
    let (_spool, mut writer, metrics) = assemble();
    writer.round();
    assert_eq!(metrics.spool.lost_so_far(DropReason::Damaged), 1);
    simulated::stop();
}

#[test]
fn the_key_of_a_file_that_lost_its_header_is_unknown() {
    use crate::config::key_file::FileKey;
    use crate::spool::frames::writer::FrameWriter;
    let folder = Folder::new();
    let key = Keyring::new(Some(FileKey::of(1).into()), Vec::new());
    let id = key.current().unwrap().id();
    let writer = FrameWriter::new(&key);
    let mut bytes = writer.header().to_vec();
    writer
        .frame(&mut bytes, 0, |out| out.extend_from_slice(b"sealed"))
        .unwrap();
    let files_by_key = || {
        let found = summarize(folder.path()).unwrap().files_by_key;
        found.into_iter().collect::<Vec<_>>()
    };
    let path = segment::path(folder.path(), 1);
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(files_by_key(), [(NeededKey::Key(id), 1)]);
    bytes[..HEADER as usize].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    segment_of(folder.path(), 2, &[b"clear"]);
    // What was kept of a file of numbers, and the end of one that was not encrypted.
    for other in ["chain.damaged", "dead.letters.end-1.damaged"] {
        std::fs::write(folder.path().join(other), b"something").unwrap();
    }
    let expected = [(NeededKey::None, 2), (NeededKey::Unknown, 1)];
    assert_eq!(files_by_key(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_a_segment_whose_every_sector_is_lost_is_reported() {
    for newer in [false, true] {
        let left = left_behind(5).await;
        let first = segment::path(left.path(), 1);
        let bytes = std::fs::read(&first).unwrap();
        std::fs::write(&first, vec![0; bytes.len()]).unwrap();
        if newer {
            std::fs::write(segment::path(left.path(), 2), bytes).unwrap();
        }
        let again = World::open(left.path(), BOUNDS, 200);
        eventually(|| again.spool.waiting() == 0).await;
        let lost = again.metric("monitor_spool_lost_total{reason=\"damaged\"}");
        assert_eq!(lost, 1.0, "one at least; a newer segment: {newer}");
        assert_eq!(files(left.path(), "damaged"), 1);
        let expected = if newer { 0..5 } else { 0..0 };
        assert!(exchanges(&again.close().await).into_iter().eq(expected));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_a_segment_that_is_dropped_without_its_end_counts_one_record_at_least() {
    let left = left_behind(5).await;
    let first = segment::path(left.path(), 1);
    let mut bytes = std::fs::read(&first).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0);
    std::fs::write(&first, bytes).unwrap();
    let mut index = SegmentIndex::default();
    let file = SegmentFile {
        bytes: 0,
        begun_ms: 0,
        last_ms: 0,
    };
    index.add_recovered(1, file, &[0, 1, 2, 3]);
    let unread = UnreadSegment {
        known: index.get(1).unwrap().known(),
        reason: DropReason::Full,
    };
    let evicted = Evicted {
        segment: 1,
        unread: Some(unread),
    };
    let lost = evicted.count_lost(left.path()).unwrap();
    assert_eq!(lost, Dropped::new(DropReason::Full, 1));
}
