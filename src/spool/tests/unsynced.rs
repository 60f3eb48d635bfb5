//! Records that are written while the disk syncs earlier ones (CONTRACT 11 and 23).

use super::*;
use crate::observe::DropReason;
use crate::spool::disk::simulated;
use crate::spool::frames::reader::{FrameReader, NextFrame};
use crate::spool::writer::Writer;

fn assemble(folder: &Path) -> (Spool, Writer, Arc<Metrics>) {
    let (backend, metrics) = (Arc::<Backend>::default(), Arc::new(Metrics::new().unwrap()));
    let assembled = Spool::assemble(&folder.into(), BOUNDS, backend, metrics.clone());
    let (spool, _, writer) = assembled.unwrap();
    (spool, writer, metrics)
}

/// Pushes a record that is written and not synced; the next one goes to the next segment.
fn write(spool: &Spool, writer: &Writer, exchange: u128) -> Receipt {
    let receipt = spool.push(record(exchange, Stage::PreCall));
    writer.appender().append().unwrap();
    spool.core.lock().begin_segment();
    receipt
}

fn records_in(folder: &Path) -> Vec<u64> {
    let ids = recovery::segments(folder).unwrap().into_iter();
    ids.map(|id| {
        let path = segment::path(folder, id);
        let mut reader = FrameReader::open_sealed(&path).unwrap();
        let (end, mut count) = (reader.length().unwrap(), 0);
        while let NextFrame::Whole(_) = reader.next(end).unwrap() {
            count += 1;
        }
        count
    })
    .collect()
}

#[tokio::test]
async fn contract_11_a_killed_process_has_written_what_came_while_the_disk_synced() {
    let folder = simulated::start(1, 0);
    let (spool, mut writer, _) = assemble(&folder);
    let first = spool.push(record(1, Stage::PreCall));
    writer.next_sync.comes = vec![record(2, Stage::PreCall)];
    writer.round();
    let [(_, second)] = writer.next_sync.came[..] else {
        panic!("no record came");
    };
    assert_eq!(records_in(&folder), [2]);
    // Nobody is told of the second one before it is on disk.
    let on_disk = spool.core.disk().written;
    assert_eq!((first.0, second.0), (on_disk, on_disk + 1));
    writer.round();
    assert_eq!(spool.core.disk().written, second.0);
    simulated::stop();
}

#[tokio::test]
async fn contract_11_the_next_segment_does_not_wait_for_the_sync_of_the_one_before() {
    let folder = simulated::start(1, 0);
    let (spool, mut writer, _) = assemble(&folder);
    spool.push(record(1, Stage::PreCall));
    writer.next_sync.comes = vec![record(2, Stage::PreCall)];
    writer.next_sync.fills_segment = true;
    writer.round();
    assert_eq!(records_in(&folder), [1, 1]);
    assert_eq!(spool.core.disk().written, 1);
    writer.round();
    assert_eq!(spool.core.disk().written, 2);
    simulated::stop();
}

#[tokio::test]
async fn contract_23_what_a_failed_sync_leaves_is_written_again_and_then_on_disk() {
    for seed in 0..50 {
        let folder = simulated::start(seed, 0);
        let (spool, mut writer, _) = assemble(&folder);
        spool.push(record(1, Stage::PreCall));
        writer.round();
        write(&spool, &writer, 2);
        let last = write(&spool, &writer, 3);
        simulated::set_faults(|faults| faults.fails_sync = true);
        writer.round();
        assert_eq!(spool.core.disk().written, 1);
        writer.round();
        assert_eq!(spool.core.disk().written, last.0);
        simulated::fail_power();
        assert_eq!(records_in(&folder), [2, 1], "{seed}");
        simulated::stop();
    }
}

#[tokio::test]
async fn contract_23_the_ends_of_segments_that_no_sync_confirmed_are_no_damage() {
    let mut torn = 0;
    for seed in 0..200 {
        let folder = simulated::start(seed, 0);
        let (spool, mut writer, _) = assemble(&folder);
        spool.push(record(1, Stage::PreCall));
        writer.round();
        for exchange in 2..=4 {
            write(&spool, &writer, exchange);
        }
        // Killed, or with a start in between: what a process finds unsynced, it syncs.
        drop((spool, writer));
        if seed % 2 == 1 {
            let (spool, mut writer, _) = assemble(&folder);
            spool.push(record(5, Stage::PreCall));
            writer.round();
        }
        simulated::fail_power();
        let (_, _, metrics) = assemble(&folder);
        // The power may tear the file of the numbers, which has two copies of each, and the header of a segment that no
        // sync confirmed.
        let kept = |id| segment::path(&folder, id).with_extension("damaged");
        let is_kept =
            (1..=4).any(|id| (id == 1 || seed % 2 == 1) && disk::about(&kept(id)).is_ok());
        assert!(!is_kept, "{seed} {:?}", disk::list(&folder));
        if seed % 2 == 1 {
            assert_eq!(metrics.spool.lost_so_far(DropReason::Damaged), 0, "{seed}");
        }
        let records = records_in(&folder);
        match seed % 2 {
            1 => assert_eq!(records, [2, 1, 1, 1], "{seed}"),
            _ => torn += usize::from(records != [2, 1, 1]),
        }
        assert!(records[0] > 0, "{seed}");
        simulated::stop();
    }
    assert!(torn > 20, "{torn}");
}
