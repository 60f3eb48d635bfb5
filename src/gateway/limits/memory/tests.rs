//! What the memory budget gives to whom.

#![allow(clippy::unwrap_used)]
use super::*;

fn used(memory: &MemoryBudget) -> i64 {
    memory.gauges.as_ref().unwrap().used.get()
}

#[test]
fn reservations_are_bounded_and_released() {
    let memory = MemoryBudget::new(100, &Metrics::new().unwrap());
    let (mut one, mut two) = (
        MemoryReservation::new(&memory, 1),
        MemoryReservation::new(&memory, 1),
    );
    one.grow(60).unwrap();
    two.grow(40).unwrap();
    assert!(one.grow(1).is_err());
    drop(one);
    two.grow(60).unwrap();
    assert_eq!(used(&memory), 100);
    two.release();
    assert_eq!(used(&memory), 0);
}

#[tokio::test]
async fn a_call_that_finds_the_last_quarter_taken_asks_the_others_to_free_memory() {
    let memory = MemoryBudget::new(100, &Metrics::new().unwrap());
    let (mut slow, mut next) = (
        MemoryReservation::new(&memory, 1),
        MemoryReservation::new(&memory, 1),
    );
    slow.grow(80).unwrap();
    assert!(memory.is_short());
    let asked = async {
        memory.requested(1).await;
        slow.release();
    };
    let waits = next.grow_within(60, Duration::from_secs(60));
    let ((), grown) = tokio::join!(asked, waits);
    grown.unwrap();
    assert!(!memory.is_short());
    assert_eq!(used(&memory), 60);
}

#[test]
fn a_copy_grows_in_steps_and_never_beyond_the_limit() {
    let memory = MemoryBudget::new(200 << 10, &Metrics::new().unwrap());
    let mut copy = MemoryReservation::new(&memory, 1);
    copy.cover(16 << 10).unwrap();
    assert_eq!(used(&memory), 0);
    for length in (0..190 << 10).step_by(1000) {
        copy.cover(length).unwrap();
        assert!(length <= 16 << 10 || used(&memory) >= length as i64);
    }
    assert!(copy.cover(250 << 10).is_err());
    drop(copy);
    assert_eq!(used(&memory), 0);
}

#[test]
fn however_many_keys_fill_the_memory_a_few_that_have_little_get_some() {
    let memory = MemoryBudget::new(6_400, &Metrics::new().unwrap());
    let call = |holder| MemoryReservation::new(&memory, holder);
    let mut flooding: Vec<_> = (1..=50).map(call).collect();
    for _ in 0..50 {
        for reservation in &mut flooding {
            let _ = reservation.grow(128);
        }
    }
    let taken = used(&memory);
    assert!((4_800..5_700).contains(&taken), "{taken}");
    let mut quiet: Vec<_> = (51..=57).map(call).collect();
    for reservation in &mut quiet {
        reservation.grow(100).unwrap();
    }
    assert!(quiet[0].grow(50).is_err(), "no longer little");
}

#[tokio::test]
async fn a_key_that_fills_the_memory_gives_way_to_another_that_wants_some() {
    let memory = MemoryBudget::new(100, &Metrics::new().unwrap());
    let call = |holder| MemoryReservation::new(&memory, holder);
    let mut flooding: Vec<_> = (0..10).map(|_| call(1)).collect();
    for reservation in &mut flooding {
        reservation.grow(10).unwrap();
    }
    let mut quiet = call(2);
    let wants = quiet.grow_within(20, Duration::from_secs(60));
    let gives_way = async {
        // Whatever it gives back, it does not get again while the other one waits.
        for _ in 0..4 {
            flooding.pop();
            assert!(call(1).grow(10).is_err());
            tokio::task::yield_now().await;
        }
    };
    let (grown, ()) = tokio::join!(wants, gives_way);
    grown.unwrap();
    assert!(flooding[0].grow(10).is_err(), "more than half of it");
    drop(quiet);
    flooding[0].grow(40).unwrap();
    assert_eq!(used(&memory), 100);
}

#[test]
fn an_address_without_an_accepted_key_has_its_part_and_one_larger_body_beside_it() {
    let memory = MemoryBudget::new(10_000, &Metrics::new().unwrap());
    memory.set_client_limit(Some(100));
    let call = |holder| MemoryReservation::new(&memory, holder);
    let buffer = |bytes| {
        let mut buffer = MemoryReservation::of_connection(&memory, 1);
        buffer.grow(bytes).map(|()| buffer)
    };
    let buffers = [buffer(30), buffer(20)];
    let refused = buffer(1).err().map(|full| full.0);
    assert_eq!(refused, Some(Exhausted::ClientMemory));
    let (mut one, mut two, mut large) = (call(1), call(1), call(1));
    one.grow(25).unwrap();
    two.grow(25).unwrap();
    assert_eq!(call(1).grow(1).unwrap_err().0, Exhausted::ClientMemory);
    large.grow(26).unwrap();
    large.grow(300).unwrap();
    assert_eq!(two.grow(1).unwrap_err().0, Exhausted::ClientMemory);
    assert_eq!(call(1).grow(101).unwrap_err().0, Exhausted::ClientMemory);
    call(2).grow(101).unwrap();
    drop((one, buffers));
    assert_eq!(used(&memory), 351);
    large.shrink(300);
    assert_eq!(call(1).grow(101).unwrap_err().0, Exhausted::ClientMemory);
    large.release();
    assert_eq!(used(&memory), 25);
    let mut next = call(1);
    next.grow(200).unwrap();
    // It counts for an accepted key from now on.
    assert!(next.count_for(1 << 20));
    call(1).grow(101).unwrap();
    let mut accepted = call(1 << 20);
    accepted.grow(600).unwrap();
    memory.set_client_limit(None);
    two.grow(100).unwrap();
    assert_eq!(memory.figures().largest_bytes, 800);
    drop((two, next, accepted));
    assert_eq!(memory.figures().holders, 0);
    assert_eq!(used(&memory), 0);
}

#[tokio::test]
async fn an_address_that_has_its_part_asks_its_own_calls_to_free_memory() {
    let memory = MemoryBudget::new(10_000, &Metrics::new().unwrap());
    memory.set_client_limit(Some(100));
    let (mut slow, mut next) = (
        MemoryReservation::new(&memory, 1),
        MemoryReservation::new(&memory, 1),
    );
    slow.grow(80).unwrap();
    let asked = async {
        memory.requested(1).await;
        slow.release();
    };
    let others = tokio::time::timeout(Duration::from_secs(60), memory.requested(2));
    let waits = next.grow_within(60, Duration::from_secs(60));
    let asking = async { tokio::join!(asked, waits) };
    tokio::select! {
        biased;
        _ = others => panic!("only its own"),
        ((), grown) = asking => grown.unwrap(),
    }
    assert_eq!(used(&memory), 60);
}

#[tokio::test]
async fn bodies_of_a_key_give_way_to_its_check_that_waits() {
    const MIB: usize = 1 << 20;
    let memory = MemoryBudget::new(100 << 20, &Metrics::new().unwrap());
    let body = |holder| MemoryReservation::of_body(&memory, holder);
    let (mut complete, mut arriving) = (body(1), body(1));
    complete.grow(30 * MIB).unwrap();
    arriving.grow(60 * MIB).unwrap();
    let waits = complete.grow_for_check(60 * MIB, Duration::from_secs(60));
    let gives_way = async {
        assert!(arriving.grow(1).is_err());
        body(2).grow(MIB).unwrap();
        MemoryReservation::new(&memory, 1).grow(MIB).unwrap();
        // Small ones go on.
        body(1).grow(MIB / 4).unwrap();
        arriving.release();
        assert!(body(1).grow(MIB).is_err());
    };
    let (grown, ()) = tokio::join!(waits, gives_way);
    grown.unwrap();
    body(1).grow(10 * MIB).unwrap();
    complete.shrink(60 * MIB);
    assert_eq!(used(&memory), 30 << 20);
}
