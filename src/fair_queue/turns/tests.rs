//! Who gets a place, without a clock: a test decides when each place is given back.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::fair_queue::Tenant;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::task::{JoinSet, yield_now};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const LIMITS: TurnLimits = TurnLimits {
    places: 3,
    reserved: 1,
    short: 256 * KIB,
    waiting_cost: 64 * MIB,
    parts: 4,
    longest_wait: Duration::from_secs(3600),
};

type Taking = Pin<Box<dyn Future<Output = Result<Turn, NoTurn>> + Send>>;

/// A job that has asked for a place.
struct PendingTake {
    taking: Option<Taking>,
    taken: Option<Result<Turn, NoTurn>>,
}

impl PendingTake {
    fn of(turns: &Arc<Turns>, claim: Claim, cost: u64) -> Self {
        let turns = turns.clone();
        let mut asked = Self {
            taking: Some(Box::pin(async move { turns.take(claim, cost).await })),
            taken: None,
        };
        // Asks now, so that the order of the calls is the order of the queue.
        asked.taken = asked.poll();
        asked
    }

    /// What it has got since the last look.
    fn poll(&mut self) -> Option<Result<Turn, NoTurn>> {
        if let Some(taken) = self.taken.take() {
            return Some(taken);
        }
        let mut context = Context::from_waker(Waker::noop());
        match self.taking.as_mut()?.as_mut().poll(&mut context) {
            Poll::Ready(taken) => {
                self.taking = None;
                Some(taken)
            }
            Poll::Pending => None,
        }
    }

    fn turn(&mut self) -> Option<Turn> {
        self.poll()?.ok()
    }

    /// So many jobs that have asked, one after the other.
    fn many(turns: &Arc<Turns>, claim: Claim, cost: u64, count: usize) -> Vec<Self> {
        let jobs = (0..count).map(|_| Self::of(turns, claim, cost));
        jobs.collect()
    }
}

/// The turns of those jobs that have one now.
fn turns_of(jobs: &mut [PendingTake]) -> Vec<Turn> {
    jobs.iter_mut().filter_map(PendingTake::turn).collect()
}

fn claim(holder: u64, urgency: Urgency) -> Claim {
    let tenant = Tenant {
        holder,
        application: 0,
    };
    Claim { tenant, urgency }
}

fn awaited(holder: u64) -> Claim {
    claim(holder, Urgency::Awaited)
}

fn deferred(holder: u64) -> Claim {
    claim(holder, Urgency::Deferred)
}

#[tokio::test]
async fn long_and_deferred_jobs_leave_a_place_for_a_short_check() {
    for flood in [awaited(1), deferred(1)] {
        let turns = Turns::new(LIMITS);
        let mut flooding: Vec<_> = (1..=5)
            .flat_map(|holder| {
                let tenant = Claim {
                    tenant: awaited(holder).tenant,
                    ..flood
                };
                (0..6).map(move |_| tenant)
            })
            .map(|claim| PendingTake::of(&turns, claim, 4 * MIB))
            .collect();
        let running = turns_of(&mut flooding);
        assert_eq!(running.len(), 2);
        assert!(
            PendingTake::of(&turns, awaited(6), 100 * KIB)
                .turn()
                .is_some()
        );
    }
}

#[tokio::test]
async fn a_place_that_comes_free_goes_to_the_key_that_had_nothing_waiting() {
    let turns = Turns::new(LIMITS);
    let mut flooding: Vec<_> = (0..40)
        .map(|job| PendingTake::of(&turns, awaited(1 + job % 5), MIB))
        .collect();
    let mut running = turns_of(&mut flooding);
    assert_eq!(running.len(), 2);
    // Each of them has had its first job.
    for _ in 0..5 {
        drop(running.remove(0));
        running.extend(turns_of(&mut flooding));
    }
    let mut quiet = PendingTake::of(&turns, awaited(6), MIB);
    let mut again = PendingTake::of(&turns, awaited(6), MIB);
    assert!(quiet.turn().is_none());
    drop(running.remove(0));
    assert!(quiet.turn().is_some());
    // Its second job waits for its turn among the others.
    assert!(again.turn().is_none());
    assert!(flooding.iter_mut().any(|job| job.turn().is_some()));
}

#[tokio::test]
async fn no_key_has_all_places_and_no_place_is_lost() {
    let turns = Turns::new(LIMITS);
    let mut own = PendingTake::many(&turns, awaited(1), KIB, 4);
    let running = turns_of(&mut own);
    assert_eq!(running.len(), 2);
    let other = PendingTake::of(&turns, awaited(2), KIB).turn();
    assert!(other.is_some());
    drop((running, other));
    assert_eq!(
        own.iter_mut().skip(2).filter_map(PendingTake::turn).count(),
        2
    );
    drop(own);
    let idle = TurnFigures {
        places: 3,
        ..TurnFigures::default()
    };
    assert_eq!(turns.figures(), idle);
}

#[tokio::test]
async fn deferred_jobs_go_last_and_are_not_starved() {
    let turns = Turns::new(TurnLimits {
        places: 1,
        reserved: 0,
        ..LIMITS
    });
    let place = PendingTake::of(&turns, awaited(9), KIB).turn();
    let mut late = PendingTake::of(&turns, deferred(1), KIB);
    let mut checks = PendingTake::many(&turns, awaited(2), KIB, 10);
    let mut turn = place;
    for done in 0.. {
        drop(turn.take());
        if let Some(_deferred) = late.turn() {
            assert_eq!(done, 4, "four awaited jobs went before");
            break;
        }
        turn = checks.iter_mut().find_map(PendingTake::turn);
        assert!(turn.is_some());
    }
}

#[tokio::test]
async fn what_waits_is_bounded_for_each_key_and_for_all() {
    let turns = Turns::new(LIMITS);
    let place = |holder| PendingTake::of(&turns, awaited(holder), 8 * MIB);
    let mut all: Vec<_> = (0..2).map(|_| place(1)).collect();
    // A quarter of 64 MiB is two jobs.
    all.extend((0..2).map(|_| place(1)));
    let refused = place(1).poll().unwrap();
    assert_eq!(refused.err(), Some(NoTurn::Full));
    assert!(place(2).poll().is_none(), "another key waits still");
    for holder in 3..20 {
        all.extend((0..2).map(|_| place(holder)));
    }
    assert!(turns.figures().waiting_cost <= 2 * LIMITS.waiting_cost);
    assert!(place(1).poll().unwrap().is_err());
}

#[tokio::test]
async fn a_wait_ends_and_leaves_nothing_behind() {
    let turns = Turns::new(TurnLimits {
        longest_wait: Duration::ZERO,
        places: 1,
        reserved: 0,
        ..LIMITS
    });
    let place = PendingTake::of(&turns, awaited(1), KIB).turn();
    let late = turns.take(awaited(2), KIB).await;
    assert_eq!(late.err(), Some(NoTurn::Late));
    let figures = turns.figures();
    assert_eq!((figures.waiting, figures.holders), (0, 1));
    drop(place);
    assert!(turns.take(awaited(2), KIB).await.is_ok());
    assert_eq!(turns.figures().running, 0);
}

#[tokio::test]
async fn who_goes_away_gives_up_its_turn() {
    let turns = Turns::new(TurnLimits {
        places: 1,
        reserved: 0,
        ..LIMITS
    });
    let place = PendingTake::of(&turns, awaited(1), KIB).turn();
    let gone = PendingTake::of(&turns, awaited(2), KIB);
    let granted = PendingTake::of(&turns, awaited(3), KIB);
    drop(gone);
    drop(place);
    // Granted and never looked at.
    drop(granted);
    assert!(PendingTake::of(&turns, awaited(4), KIB).turn().is_some());
}

#[test]
fn the_wait_grows_with_the_weight_and_with_patience() {
    let limits = TurnLimits {
        longest_wait: Duration::from_secs(10),
        ..LIMITS
    };
    let wait = |urgency, cost| limits.patience(urgency, cost).as_secs();
    assert_eq!(wait(Urgency::Awaited, 64 * KIB), 10);
    assert_eq!(wait(Urgency::Awaited, 15 * MIB), 25);
    assert_eq!(wait(Urgency::Deferred, 0), 30);
}

#[tokio::test]
async fn long_jobs_of_a_key_hold_up_none_of_its_short_ones() {
    let turns = Turns::new(LIMITS);
    let mut long = PendingTake::many(&turns, awaited(1), MIB, 4);
    let running = turns_of(&mut long);
    assert_eq!(running.len(), 2);
    // Others of its long ones wait before it.
    assert!(PendingTake::of(&turns, awaited(1), KIB).turn().is_some());
}

#[tokio::test]
async fn a_place_that_was_taken_without_the_lock_goes_to_who_waits() {
    let turns = Turns::new(LIMITS);
    let quick: Vec<_> = (0..2)
        .map(|_| turns.try_take(awaited(1), KIB).unwrap())
        .collect();
    assert!(
        quick
            .iter()
            .all(|turn| matches!(turn.place, Place::Quick(_)))
    );
    let figures = turns.figures();
    assert_eq!((figures.running, figures.holders), (2, 1));
    let kept = turns.try_take(awaited(2), KIB);
    let mut waits: Vec<_> = (1..=2)
        .map(|holder| PendingTake::of(&turns, awaited(holder), KIB))
        .collect();
    assert!(kept.is_some() && waits.iter_mut().all(|asked| asked.turn().is_none()));
    drop(quick);
    let turn = turns.figures().running;
    assert_eq!(turn, 3, "both of them");
    drop((waits, kept));
    assert_eq!(turns.figures().running, 0);
    let again = turns.try_take(awaited(1), KIB).unwrap();
    assert!(matches!(again.place, Place::Quick(_)), "nobody waits");
}

#[tokio::test]
async fn jobs_that_are_ready_together_run_in_fair_turns_and_not_as_they_came() {
    let (turns, order) = (Turns::new(LIMITS), Arc::new(Mutex::new(Vec::new())));
    let mut jobs = JoinSet::new();
    for holder in std::iter::repeat_n(1, 40).chain([2]) {
        let (turns, order) = (turns.clone(), order.clone());
        jobs.spawn(async move {
            let work = || {
                order.lock().unwrap().push(holder);
                let began = Instant::now();
                while began.elapsed() < Duration::from_millis(1) {
                    std::hint::spin_loop();
                }
            };
            turns.run_here(awaited(holder), KIB, work).await;
        });
    }
    jobs.join_all().await;
    let order = order.lock().unwrap().clone();
    let place = order.iter().position(|holder| *holder == 2).unwrap();
    assert!(place < 10, "{place} of the other key ran first");
    // The last place is returned behind what is ready.
    for _ in 0..10 {
        yield_now().await;
    }
    let figures = turns.figures();
    assert_eq!((figures.running, figures.waiting), (0, 0));
}
