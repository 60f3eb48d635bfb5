//! The spool while the backend asks to wait or fails, memory or the disk is full, or a file comes from
//! another version (CONTRACT 23).

use super::*;
use crate::observe::DropReason;
use crate::spool::disk::simulated;
use crate::spool::frames::tests::{append_to, segment_of};

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_a_backend_that_asks_to_wait_is_asked_until_it_takes_the_record() {
    let folder = Folder::unmade();
    let world = World::open(folder.path(), BOUNDS, 200);
    world.backend.busy.store(12, Ordering::Relaxed);
    world.spool.push(record(0, Stage::PreCall));
    for exchange in 1.. {
        // Others are taken meanwhile, so that each failure is the record's own.
        world.spool.push(record(exchange, Stage::PreCall));
        tokio::time::sleep(Duration::from_millis(20)).await;
        if world.spool.waiting() == 0 && world.backend.busy.load(Ordering::Relaxed) == 0 {
            break;
        }
    }
    assert!(world.close().await.contains(&(0, Stage::PreCall)));
    assert_eq!(dead_letters(&folder.path().into()).unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_what_an_earlier_process_left_is_counted_when_it_is_dropped_unread() {
    let folder = Folder::unmade();
    let world = World::open(folder.path(), BOUNDS, 0);
    for exchange in 0..50 {
        world.spool.push(record(exchange, Stage::PreCall));
    }
    let receipt = world.spool.push(record(50, Stage::PreCall));
    world.spool.wait_durable(receipt).await;
    let left = copy(folder.path());
    let bounds = SpoolBounds {
        bytes: 8_000,
        memory: 1,
        ..BOUNDS
    };
    let again = World::open(left.path(), bounds, 0);
    again.spool.push(record(51, Stage::PreCall));
    eventually(|| again.metric("monitor_spool_lost_total{reason=\"full\"}") > 0.0).await;
    again.says(200);
    eventually(|| again.spool.waiting() == 0).await;
    let lost = again.metric("monitor_spool_lost_total{reason=\"full\"}") as usize;
    assert_eq!(again.close().await.len() + lost, 52);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_an_entry_of_another_version_is_kept_aside() {
    let folder = Folder::unmade();
    let world = World::open(folder.path(), BOUNDS, 0);
    let receipt = world.spool.push(record(1, Stage::PreCall));
    world.spool.wait_durable(receipt).await;
    let left = copy(folder.path());
    let path = segment::path(left.path(), 1);
    append_to(&path, b"\xffnewer");
    let bytes = std::fs::read(&path).unwrap();
    let again = World::open(left.path(), BOUNDS, 200);
    eventually(|| again.spool.waiting() == 0).await;
    assert_eq!(again.close().await, [(1, Stage::PreCall)]);
    let kept = std::fs::read(path.with_extension("damaged")).unwrap();
    assert_eq!(kept, bytes);
    let once_more = World::open(left.path(), BOUNDS, 200);
    let receipt = once_more.spool.push(record(2, Stage::PreCall));
    once_more.spool.wait_durable(receipt).await;
    assert!(
        segment::path(left.path(), 2).exists(),
        "no number is given twice"
    );
    once_more.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_the_disk_cannot_take_is_never_called_durable() {
    let folder = Folder::unmade();
    let world = World::open(folder.path(), BOUNDS, 0);
    world.spool.core.lock().set_unsynced(u64::MAX / 2);
    let receipt = world.spool.push(record(1, Stage::PreCall));
    world.spool.core.lock().set_unsynced(0);
    let written = world.spool.push(record(2, Stage::PreCall));
    world.spool.wait_durable(written).await;
    let never = world.spool.wait_durable(receipt);
    let never = tokio::time::timeout(Duration::from_millis(50), never);
    assert!(never.await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_a_record_the_backend_fails_on_waits_aside_and_arrives() {
    let folder = Folder::unmade();
    let bounds = SpoolBounds {
        concurrency: 1,
        ..BOUNDS
    };
    let world = World::open(folder.path(), bounds, 200);
    world.backend.fails.store(9, Ordering::Relaxed);
    world.spool.push(record(0, Stage::PreCall));
    world.spool.push(record(0, Stage::PostCall));
    for exchange in 1..200 {
        world.spool.push(record(exchange, Stage::PreCall));
        tokio::task::yield_now().await;
    }
    // All others arrive while it fails, through the same worker.
    world.delivered(199).await;
    assert_eq!(world.spool.waiting(), 0);
    assert_eq!(world.spool.status().retried_apart, 2);
    world.delivered(201).await;
    assert_eq!(world.backend.fails.load(Ordering::Relaxed), 0);
    let taken = world.close().await;
    assert_eq!(taken[199..], [(0, Stage::PreCall), (0, Stage::PostCall)]);
    assert_eq!(dead_letters(&folder.path().into()).unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_a_record_the_backend_fails_on_for_max_age_becomes_a_dead_letter() {
    let folder = Folder::unmade();
    let bounds = SpoolBounds {
        age: Duration::from_secs(1),
        ..BOUNDS
    };
    let world = World::open(folder.path(), bounds, 200);
    world.backend.fails.store(usize::MAX, Ordering::Relaxed);
    world.spool.push(record(0, Stage::PreCall));
    eventually(|| {
        world.spool.push(record(5, Stage::PreCall));
        world.metric("monitor_spool_dead_letters") == 1.0
    })
    .await;
    world.close().await;
    let letters = dead_letters(&folder.path().into()).unwrap();
    assert_eq!(letters[0].status, 0);
    assert!(letters[0].record.context.exchange.0.is_nil());
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_11_a_disk_that_hangs_is_known_to_refuse_until_it_takes_something() {
    let folder = Folder::unmade();
    let world = World::open(folder.path(), BOUNDS, 200);
    world.spool.mark_degraded();
    world.spool.wait_degraded().await;
    eventually(|| !world.spool.is_degraded()).await;
    world.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_a_refused_record_stays_in_the_spool_until_its_letter_is_on_disk() {
    let folder = Folder::unmade();
    let in_the_way = folder.path().join("dead.letters");
    std::fs::create_dir_all(&in_the_way).unwrap();
    let world = World::open(folder.path(), BOUNDS, 422);
    let receipt = world.spool.push(record(1, Stage::PreCall));
    world.spool.wait_durable(receipt).await;
    eventually(|| world.backend.asked.load(Ordering::Relaxed) == 1 && world.spool.waiting() == 0)
        .await;
    eventually(|| world.metric("monitor_spool_dead_letters") == 1.0).await;
    assert_eq!(world.spool.status().records, 1);
    let left = copy(folder.path());
    std::fs::remove_dir(in_the_way).unwrap();
    eventually(|| world.spool.status().records == 0).await;
    world.close().await;
    assert_eq!(dead_letters(&folder.path().into()).unwrap().len(), 1);
    // A process that was killed meanwhile asks again.
    let again = World::open(left.path(), BOUNDS, 200);
    again.delivered(1).await;
    again.close().await;
}

#[tokio::test]
async fn contract_23_a_segment_dropped_while_too_many_files_are_open_is_counted_later() {
    let folder = simulated::start(1, 0);
    segment_of(&folder, 1, &[b"one", b"two", b"three"]);
    let bounds = SpoolBounds {
        bytes: 6_000,
        ..BOUNDS
    };
    let (backend, metrics) = (Arc::<Backend>::default(), Arc::new(Metrics::new().unwrap()));
    let opened = Spool::assemble(&folder.as_path().into(), bounds, backend, metrics.clone());
    let (spool, _delivery, mut writer) = opened.unwrap();
    spool.push(record(1, Stage::PreCall));
    for (refused_opens, lost) in [(u64::MAX, 0), (0, 3)] {
        simulated::set_faults(|faults| faults.refused_opens = refused_opens);
        writer.round();
        assert_eq!(metrics.spool.lost_so_far(DropReason::Full), lost);
        let is_there = disk::about(&segment::path(&folder, 1)).is_ok();
        assert_eq!(is_there, lost == 0);
    }
    simulated::stop();
}

#[tokio::test]
async fn contract_23_a_backend_that_judges_and_cannot_store_is_asked_after_growing_waits() {
    let folder = Folder::new();
    let world = World::open(folder.path(), BOUNDS, NO_STORE);
    for exchange in 1..=20 {
        world.spool.push(record(exchange, Stage::PreCall));
    }
    eventually(|| world.backend.asked.load(Ordering::Relaxed) > 0).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    // Some records of each worker, and some probes.
    let asked = world.backend.asked.load(Ordering::Relaxed);
    assert!(asked < 60, "{asked} times");
    world.says(200);
    world.delivered(20).await;
    assert_eq!(world.close().await.len(), 20);
}
