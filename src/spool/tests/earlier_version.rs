//! Damage in segments of versions up to 4.1, whose frames do not say how many were before them (CONTRACT 23).

use super::damage::{damage_middle, exchanges, left_behind};
use super::*;
use crate::spool::frames::tests::to_first_format;

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_a_segment_of_an_earlier_version_is_delivered_around_its_damage() {
    let left = left_behind(20).await;
    let path = segment::path(left.path(), 1);
    to_first_format(&path);
    ack_log::append(left.path(), 1, &[3, 15]).unwrap();
    let lost = damage_middle(&path, 20);
    let again = World::open(left.path(), BOUNDS, 200);
    // Behind the damage it is not known which record is which: 15 is sent again.
    again.delivered(18).await;
    eventually(|| again.spool.waiting() == 0).await;
    let taken = exchanges(&again.close().await);
    let expected = (0..20).filter(|it| ![3, lost].contains(it));
    assert!(taken.iter().copied().eq(expected), "{taken:?}");
    assert_eq!(files(left.path(), "damaged"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_a_segment_of_an_earlier_version_is_read_with_its_acknowledgements() {
    let left = left_behind(20).await;
    to_first_format(&segment::path(left.path(), 1));
    ack_log::append(left.path(), 1, &[3, 15]).unwrap();
    let again = World::open(left.path(), BOUNDS, 200);
    eventually(|| again.spool.waiting() == 0).await;
    assert_eq!(again.metric("monitor_spool_damaged_total"), 0.0);
    assert_eq!(again.close().await.len(), 18);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_what_version_4_1_kept_and_did_not_deliver_is_put_back_once() {
    let left = left_behind(20).await;
    let path = segment::path(left.path(), 1);
    to_first_format(&path);
    let lost = damage_middle(&path, 20);
    std::fs::hard_link(&path, path.with_extension("damaged")).unwrap();
    let down = World::open(left.path(), BOUNDS, 0);
    let incoming = left.path().join("incoming");
    eventually(|| files(left.path(), "salvaged") == 1 && files(&incoming, "seg") == 0).await;
    down.stop().await;
    // The damage is met again.
    let again = World::open(left.path(), BOUNDS, 200);
    again.delivered(19).await;
    eventually(|| again.spool.waiting() == 0).await;
    let mut taken = again.close().await;
    taken.sort_unstable_by_key(|(exchange, _)| *exchange);
    let taken: Vec<_> = taken.into_iter().map(|(exchange, _)| exchange).collect();
    let expected: Vec<_> = (0..20).filter(|it| *it != lost).collect();
    assert_eq!(taken, expected);
    assert_eq!(
        files(left.path(), "salvaged"),
        0,
        "it goes with its segment"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_23_damage_before_what_was_put_back_costs_its_own_record_alone() {
    let left = left_behind(20).await;
    let path = segment::path(left.path(), 1);
    to_first_format(&path);
    let lost = damage_middle(&path, 20);
    let down = World::open(left.path(), BOUNDS, 0);
    let incoming = left.path().join("incoming");
    eventually(|| files(left.path(), "salvaged") == 1 && files(&incoming, "seg") == 0).await;
    down.stop().await;
    // The first record is damaged only now, before any of those in front of the damage has been delivered.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[40] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let again = World::open(left.path(), BOUNDS, 200);
    again.delivered(18).await;
    eventually(|| again.spool.waiting() == 0).await;
    let taken = exchanges(&again.close().await);
    assert!(taken.into_iter().eq((1..20).filter(|it| *it != lost)));
}
