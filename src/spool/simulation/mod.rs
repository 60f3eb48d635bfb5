//! The spool and its delivery on a simulated machine: seeded histories of records, faults of the disk, moods of the
//! backend, kills, power failures and clocks that jump, in virtual time and on one thread, so that a seed gives the
//! same history each time (CONTRACT 5 and 23). What is promised of a record is held against each:
//!
//! - A record that was said to be on disk is stored by the backend, or is a dead letter, or is one of those that the
//!   spool gave up and counted as lost: for a bound of the spool, or for damage, of which each wrong bit costs one
//!   record at most. The only exception is what a disk confirmed without writing it, if the power failed before it
//!   was truly written.
//! - The backend stores nothing that was not given to the spool, no record with two texts, and no two records with
//!   one number.
//! - Once everything works again, the spool gets empty.
//!
//! `MONITOR_SIMULATION_SEED=N` replays one history, `MONITOR_SIMULATION_HISTORIES=N` runs that many from
//! `MONITOR_SIMULATION_FIRST` on (see tests/campaign/spool_simulation.sh).
#![allow(clippy::unwrap_used, clippy::panic)]

mod backend;
mod history;
mod losses;
mod promises;

use history::History;
use std::sync::atomic::{AtomicU64, Ordering};

/// Histories of an ordinary test run.
const HISTORIES: u64 = 500;

fn number(name: &str) -> Option<u64> {
    let given = std::env::var(name).ok()?;
    given.parse().ok()
}

#[test]
fn contract_23_what_is_promised_of_a_record_holds_in_simulated_histories() {
    if let Some(seed) = number("MONITOR_SIMULATION_SEED") {
        let history = History::run(seed);
        println!("{}", history.told().join("\n"));
        assert_eq!(history.broken(), [""; 0], "seed {seed}");
        return;
    }
    let first = number("MONITOR_SIMULATION_FIRST").unwrap_or(0);
    let count = number("MONITOR_SIMULATION_HISTORIES").unwrap_or(HISTORIES);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, records) = (AtomicU64::new(first), AtomicU64::new(0));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return;
            }
            let history = History::run(seed);
            assert_eq!(
                history.broken(),
                [""; 0],
                "replay it with MONITOR_SIMULATION_SEED={seed}"
            );
            records.fetch_add(history.promised(), Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let records = records.into_inner();
    println!("{count} histories from seed {first}, {records} promised records, none broken");
    assert!(records > count, "{records} records in {count} histories");
}

#[test]
fn a_seed_gives_the_same_history_each_time() {
    for seed in 0..30 {
        let (one, other) = (History::run(seed), History::run(seed));
        assert_eq!(one.told(), other.told(), "{seed}");
    }
}
