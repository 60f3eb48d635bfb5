//! The invariants of the state that no file and no thread is needed for.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::spool::sequence::Latest;
use crate::spool::tests::samples::sample_record;
use std::time::Duration;
use uuid::Uuid;

fn state(policy: EvictionPolicy, max_memory: u64, delivers: bool) -> State {
    let latest = Latest {
        gateway: Uuid::from_u128(1),
        number: SequenceNumber::default(),
    };
    let initial = Initial {
        index: SegmentIndex::default(),
        current: 1,
        sequencer: Sequencer::continue_after(latest, None),
    };
    let dispatcher = delivers.then(Arc::default);
    State::new(initial, policy, max_memory, dispatcher)
}

fn unbounded() -> EvictionPolicy {
    EvictionPolicy::new(1 << 30, Duration::from_secs(3_600))
}

fn message(bytes: usize) -> Record {
    Record {
        message: "x".repeat(bytes),
        ..sample_record(0)
    }
}

fn position(ordinal: u32) -> RecordPosition {
    RecordPosition {
        segment: 1,
        ordinal,
    }
}

/// Invariant 3: the index knows every byte that is in the buffer or was handed to the writer.
fn assert_bytes_agree(state: &State, handed_over: u64) {
    let buffered = state.buffer.buffered(state.current);
    let entry = state.index.get(state.current);
    let indexed = entry.map_or(0, |entry| entry.bytes() - HEADER);
    assert_eq!(indexed, buffered + handed_over);
}

#[test]
fn a_record_that_found_no_room_is_not_read_again_before_another_has_left() {
    let mut state = state(unbounded(), 2_000, true);
    state.push(message(100).into(), 0).unwrap();
    let first = state.figures(0).memory_bytes;
    state.push(message(2_000).into(), 0).unwrap();
    assert!(state.figures(0).has_backlog && first <= 1_000);
    assert_eq!(state.next_to_read(), None);
    state.finish(Some(position(0)), first);
    assert_eq!(state.next_to_read().unwrap().position, position(1));
}

#[test]
fn contract_23_records_that_come_rarely_are_not_kept_much_longer_than_max_age() {
    let age = 3_600_000;
    let mut state = state(unbounded(), 1 << 20, false);
    for part in 0..16 {
        let now = part * age / 16;
        state.push(sample_record(1).into(), now).unwrap();
        assert_eq!(state.begin_round(now).dropped, None);
    }
    let dropped = state.begin_round(age * 20 / 16).dropped.unwrap();
    assert_eq!(dropped.reason, DropReason::Old);
    assert!((2..=4).contains(&dropped.count), "{dropped:?}");
}

#[test]
fn contract_23_a_clock_that_jumps_back_costs_nothing_and_ahead_what_is_then_too_old() {
    let age = 3_600_000;
    let dropped = |then: i64, now: i64| {
        let mut state = state(unbounded(), 1 << 20, false);
        state.push(sample_record(1).into(), then).unwrap();
        state.begin_round(now).dropped
    };
    assert_eq!(dropped(10 * age, 0), None);
    assert_eq!(dropped(0, age), None);
    let lost = Dropped {
        reason: DropReason::Old,
        count: 1,
    };
    assert_eq!(dropped(0, 10 * age), Some(lost));
}

#[test]
fn index_and_buffer_agree_whatever_the_writer_has_taken() {
    let mut state = state(unbounded(), 1 << 20, true);
    assert_bytes_agree(&state, 0);
    let mut handed_over = 0;
    for number in 0..10 {
        let accepted = state.push(message(number).into(), 0).unwrap();
        assert_eq!(accepted.ticket, number as u64 + 1);
        assert_bytes_agree(&state, handed_over);
        if number % 3 == 0 {
            let chunks = state.begin_round(0).chunks;
            let bytes = length_of(&chunks, 1);
            handed_over += bytes;
            state.released(bytes);
            assert_bytes_agree(&state, handed_over);
        }
    }
    assert_eq!(state.readable_bytes(1, 0), HEADER + handed_over);
}

#[test]
fn a_segment_that_is_dropped_leaves_nothing_behind_but_its_file() {
    let policy = EvictionPolicy::new(4_000, Duration::from_secs(3_600));
    let mut state = state(policy, 500, true);
    state.push(message(100).into(), 0).unwrap();
    let mut dropped = None;
    while dropped.is_none() {
        dropped = state.push(message(100).into(), 0).unwrap().dropped;
    }
    let figures = state.figures(0);
    assert_eq!(dropped.unwrap().reason, DropReason::Full);
    assert_eq!((figures.bytes, figures.records), (0, 0));
    assert_eq!(state.backlog, Some(ReadCursor::start(state.current)));
    // The record in memory is finished without an acknowledgement for a file that is gone.
    state.finish(Some(position(0)), figures.memory_bytes);
    let round = state.begin_round(0);
    assert!(round.chunks.is_empty() && round.acks.is_empty());
    assert_eq!(round.evicted.len(), 1);
    state.push(message(100).into(), 0).unwrap();
    assert_bytes_agree(&state, 0);
}

#[test]
fn a_leased_record_is_never_read_back_and_acknowledged_once() {
    let mut state = state(unbounded(), 1 << 20, true);
    let leased = state.lease(message(10).into(), 0);
    assert_eq!(leased.record.position, Some(position(0)));
    assert!(!state.count_frame(position(0)));
    assert_eq!(state.figures(0).in_memory, 0);
    state.finish_leased(position(0));
    assert_eq!(state.begin_round(0).acks, [position(0)]);
    assert_eq!(state.figures(0).records, 0);
}
