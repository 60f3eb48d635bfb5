//! The index of segments over its life (CONTRACT 23).

use super::*;

fn file() -> SegmentFile {
    SegmentFile {
        bytes: 100,
        begun_ms: 1,
        last_ms: 7,
    }
}

/// Reads a frame back; whether it is to be delivered.
fn read(index: &mut SegmentIndex, position: RecordPosition) -> bool {
    index.count_frame(position);
    index.is_readable(position)
}

#[test]
fn contract_23_the_age_is_that_of_the_oldest_record_owed() {
    let mut index = SegmentIndex::default();
    let positions: Vec<_> = (0..20_000_i64)
        .map(|second| index.append(1, 10, second * 1_000))
        .collect();
    assert_eq!(index.oldest_unacked_ms(), Some(0));
    for position in &positions[..15_000] {
        index.acknowledge(*position);
    }
    let oldest = index.oldest_unacked_ms().unwrap_or_default();
    assert!((14_900_000..=15_000_000).contains(&oldest), "{oldest}");
    index.seal(1);
    let next = index.append(2, 10, 30_000_000);
    positions[15_000..].iter().for_each(|position| {
        index.acknowledge(*position);
    });
    assert_eq!(index.oldest_unacked_ms(), Some(30_000_000));
    index.acknowledge(next);
    assert_eq!(index.oldest_unacked_ms(), None);
}

#[test]
fn what_an_earlier_process_left_is_as_old_as_its_file() {
    let mut index = SegmentIndex::default();
    index.add_recovered(3, file(), &[0]);
    assert_eq!(index.oldest_unacked_ms(), Some(1));
    let position = |ordinal| RecordPosition {
        segment: 3,
        ordinal,
    };
    read(&mut index, position(0));
    assert!(index.seal(3));
    assert_eq!(index.oldest_unacked_ms(), None);
}

#[test]
fn a_segment_may_go_once_it_is_sealed_and_all_is_acknowledged() {
    let mut index = SegmentIndex::default();
    let positions: Vec<_> = (0..130).map(|_| index.append(1, 10, 5)).collect();
    assert_eq!(
        positions[129],
        RecordPosition {
            segment: 1,
            ordinal: 129
        }
    );
    assert_eq!((index.bytes(), index.unacked()), (HEADER + 1300, 130));
    for position in &positions[1..] {
        assert!(!index.acknowledge(*position));
        assert!(!index.acknowledge(*position), "twice is once");
    }
    assert!(!index.seal(1));
    assert_eq!(index.unacked(), 1);
    assert!(index.acknowledge(positions[0]));
    index.remove(1);
    assert_eq!((index.bytes(), index.unacked()), (0, 0));
    assert!(
        !index.acknowledge(positions[0]),
        "a segment that is gone owes nothing"
    );
}

#[test]
fn an_old_segment_owes_what_its_ledger_does_not_hold() {
    let mut index = SegmentIndex::default();
    index.add_recovered(3, file(), &[0, 2, 2]);
    let position = |ordinal| RecordPosition {
        segment: 3,
        ordinal,
    };
    let owed: Vec<_> = (0..4)
        .filter(|ordinal| read(&mut index, position(*ordinal)))
        .collect();
    assert_eq!(owed, [1, 3]);
    assert!(!index.seal(3));
    assert!(!index.acknowledge(position(1)));
    assert!(index.acknowledge(position(3)));
}

#[test]
fn a_ledger_that_says_more_than_the_segment_holds_changes_nothing() {
    let mut index = SegmentIndex::default();
    index.add_recovered(3, file(), &[0, 9, 64, 700]);
    let position = |ordinal| RecordPosition {
        segment: 3,
        ordinal,
    };
    assert!(!read(&mut index, position(0)));
    assert!(read(&mut index, position(1)));
    assert!(!index.seal(3));
    assert_eq!(index.unacked(), 1);
    assert!(index.acknowledge(position(1)));
}
