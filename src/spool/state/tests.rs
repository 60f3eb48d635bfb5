//! The invariants of the state that no file and no thread is needed for.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::observe::DropReason;
use crate::spool::eviction::Dropped;
use crate::spool::frames::format::{HEADER, MAX_CONTENT};
use crate::spool::segment_index::{SegmentFile, SegmentIndex};
use crate::spool::sequence::{Latest, SequenceNumber};
use crate::spool::tests::samples::sample_record;
use std::time::Duration;
use uuid::Uuid;

fn state(policy: EvictionPolicy, max_memory: u64, delivers: bool) -> State {
    let dispatcher = delivers.then(Arc::default);
    let initial = initial(SegmentIndex::default());
    State::new(initial, policy, max_memory, dispatcher)
}

fn initial(index: SegmentIndex) -> Initial {
    let latest = Latest {
        gateway: Uuid::from_u128(1),
        number: SequenceNumber::default(),
    };
    let sequencer = Sequencer::continue_after(latest, None);
    Initial {
        keys: Arc::default(),
        index,
        current: 1,
        sequencer,
    }
}

fn unbounded() -> EvictionPolicy {
    EvictionPolicy::new(1 << 30, Duration::from_secs(3_600))
}

fn message(bytes: usize) -> Record {
    Record {
        message: "x".repeat(bytes).into(),
        ..sample_record(0)
    }
}

fn position(ordinal: u32) -> RecordPosition {
    RecordPosition {
        segment: 1,
        ordinal,
    }
}

impl State {
    /// Makes the disk look as if it were that far behind.
    pub(in crate::spool) fn set_unsynced(&mut self, bytes: u64) {
        self.log.buffer().set_unsynced(bytes);
    }
}

/// The index knows every byte that is in the buffer or was handed to the writer.
fn assert_bytes_agree(state: &State, handed_over: u64) {
    let segment = state.log.current();
    let header = state.log.bytes_of(segment).map_or(0, |_| HEADER);
    let in_file = state.log.bytes_in_file(segment, 0);
    assert_eq!(in_file, header + handed_over);
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
        assert_eq!(state.begin_round(now, now).dropped, None);
    }
    let dropped = state
        .begin_round(age * 20 / 16, age * 20 / 16)
        .dropped
        .unwrap();
    assert_eq!(dropped.reason, DropReason::Old);
    assert!((2..=4).contains(&dropped.count), "{dropped:?}");
}

#[test]
fn contract_23_what_an_earlier_process_left_ages_by_its_own_time() {
    let age = 3_600_000;
    let mut index = SegmentIndex::default();
    let file = SegmentFile {
        bytes: 100,
        begun_ms: 0,
        last_ms: 0,
    };
    index.add_recovered(0, file, &[]);
    let mut log = SegmentLog::new(initial(index), unbounded());
    log.append(sample_record(1).into(), 30 * age);
    assert_eq!(log.expire(30 * age, age), None, "the clock is doubted");
    assert_eq!(log.oldest(), Some(0));
    log.expire(30 * age, 30 * age);
    assert_eq!(log.oldest(), Some(1), "it is believed");
}

#[test]
fn contract_23_time_that_goes_back_costs_nothing_and_time_that_passes_what_is_then_too_old() {
    let age = 3_600_000;
    let dropped = |then: i64, now: i64| {
        let mut state = state(unbounded(), 1 << 20, false);
        state.push(sample_record(1).into(), then).unwrap();
        state.begin_round(now, now).dropped
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
            let chunks = state.take_appended().chunks;
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
    let policy = EvictionPolicy::new(8_000, Duration::from_secs(3_600));
    let mut state = state(policy, 500, true);
    state.push(message(100).into(), 0).unwrap();
    let mut dropped = None;
    while dropped.is_none() {
        dropped = state.push(message(100).into(), 0).unwrap().dropped;
    }
    let figures = state.figures(0);
    assert_eq!(dropped.unwrap().reason, DropReason::Full);
    assert_eq!((figures.bytes, figures.records), (0, 0));
    assert_eq!(
        state.backlog(),
        Some(ReadCursor::start(state.log.current()))
    );
    // The record in memory is finished without an acknowledgement for a file that is gone.
    state.finish(Some(position(0)), figures.memory_bytes);
    let round = state.begin_round(0, 0);
    assert!(state.take_appended().chunks.is_empty() && round.acks.is_empty());
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
    assert_eq!(state.begin_round(0, 0).acks, [position(0)]);
    assert_eq!(state.figures(0).records, 0);
}

/// A record of this access key.
fn of_key(key: &str, bytes: usize) -> Record {
    let sample = message(bytes);
    let context = crate::backend::RecordContext {
        exchange: sample.context.exchange,
        access_key: monitor_model::Secret::new(key),
        application_id: None,
        user_id: None,
        session_id: None,
        trace: None,
    };
    Record {
        context: Arc::new(context),
        ..sample
    }
}

#[test]
fn a_flood_during_an_outage_pushes_out_no_record_of_another_key() {
    let bounds = EvictionPolicy::new(1_000_000, Duration::from_secs(3_600));
    let mut state = state(bounds, 1_000, false);
    for key in ["flooding", "quiet"] {
        state.add_known_holder(&of_key(key, 1));
    }
    let quiet = state.push(of_key("quiet", 1_000).into(), 0).unwrap();
    assert_eq!(quiet.dropped, None);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..2_000 {
        match state.push(of_key("flooding", 1_000).into(), 0) {
            Ok(taken) => {
                assert_eq!(taken.dropped, None);
                accepted += 1;
            }
            Err(why) => {
                assert_eq!(why, NotAccepted::OverShare);
                refused += 1;
            }
        }
    }
    assert!(accepted > 600 && refused > 1_000, "{accepted} {refused}");
    assert!(
        state
            .lease(of_key("flooding", 1_000).into(), 0)
            .record
            .position
            .is_none()
    );
    // What was promised before the flood, by an earlier process say, has its place whatever the share is.
    let promised = state.push_promised(of_key("flooding", 1_000).into(), 0);
    assert!(promised.is_ok());
    // The other one goes on, and nothing of it is lost.
    let quiet = state.push(of_key("quiet", 1_000).into(), 0).unwrap();
    assert_eq!(quiet.dropped, None);
}

#[test]
fn the_keys_of_one_application_have_one_share_of_the_spool() {
    let bounds = EvictionPolicy::new(1_000_000, Duration::from_secs(3_600));
    let mut state = state(bounds, 1_000, false);
    state.add_known_holder(&of_key("quiet", 1));
    let known = state.known_holders();
    let bound = |number: usize| of_key(&format!("bound {number}"), 1_000);
    for number in 0..100 {
        let key = crate::fair_queue::holder_of(&bound(number).context.access_key);
        known.insert_with_share(key, 7);
    }
    state.push(of_key("quiet", 1_000).into(), 0).unwrap();
    let taken = (0..2_000).filter(|number| state.push(bound(number % 100).into(), 0).is_ok());
    let taken = taken.count();
    assert!((600..800).contains(&taken), "{taken}");
    // Half of the spool is the other one's, and it loses nothing.
    for _ in 0..150 {
        let quiet = state.push(of_key("quiet", 1_000).into(), 0).unwrap();
        assert_eq!(quiet.dropped, None);
    }
}

#[test]
fn a_key_alone_has_the_whole_spool_and_invented_keys_count_as_one() {
    let bounds = EvictionPolicy::new(1_000_000, Duration::from_secs(3_600));
    let mut alone = state(bounds, 1_000, false);
    for number in 0..2_000 {
        let record = of_key(&format!("invented {number}"), 1_000);
        assert!(alone.push(record.into(), 0).is_ok());
    }
    let mut state = state(bounds, 1_000, false);
    state.add_known_holder(&of_key("known", 1));
    state.push(of_key("known", 1_000).into(), 0).unwrap();
    let invented = (0..2_000).map(|number| of_key(&format!("invented {number}"), 1_000));
    let refused = invented.filter(|record| {
        let record = Record {
            context: record.context.clone(),
            ..message(1_000)
        };
        state.push(record.into(), 0).is_err()
    });
    assert!(refused.count() > 1_000);
    for _ in 0..100 {
        assert_eq!(
            state
                .push(of_key("known", 1_000).into(), 0)
                .unwrap()
                .dropped,
            None
        );
    }
}

#[test]
fn contract_23_an_end_that_is_lost_behind_acknowledged_records_costs_one_at_least() {
    let mut index = SegmentIndex::default();
    let file = SegmentFile {
        bytes: 1_000,
        begun_ms: 0,
        last_ms: 0,
    };
    index.add_recovered(1, file, &[0, 1]);
    let mut state = State::new(initial(index), unbounded(), 1 << 20, None);
    assert_eq!(state.skip_damaged_end(position(0)), 1);
}

#[test]
fn contract_23_a_record_that_no_frame_holds_is_refused_and_gets_no_number() {
    let mut state = state(unbounded(), 1_000, true);
    // It has a number of its own, so that no digest of it is computed.
    let large = || Record {
        message: "x".repeat(MAX_CONTENT - (1 << 20)).into(),
        ..sample_record(512)
    };
    let refused = state.push(large().into(), 0).err();
    assert_eq!(refused, Some(NotAccepted::TooLarge));
    let refused = state.push_promised(large().into(), 0).err();
    assert_eq!(refused, Some(NotAccepted::TooLarge));
    assert_eq!(state.lease(large().into(), 0).record.position, None);
    assert_eq!(state.sequencer().latest().sequence, 0);
    state.push(message(1).into(), 0).unwrap();
    assert_eq!(state.sequencer().latest().sequence, 1);
}
