//! CONTRACT 23 with a clock that jumps, through the binary: a record that waits is not older for it.

use crate::spool_faults::{CALLS, answered, prompts, registering};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::backend::{Backend, verdict};
use support::eventually;
use support::request::{HELLO, Request};
use support::stack::{Builder, Folder, Stack};
use support::upstream::Upstream;

/// The library that makes a process believe in another time.
fn faketime() -> PathBuf {
    let found = ["x86_64", "aarch64"].map(|machine| {
        PathBuf::from(format!(
            "/usr/lib/{machine}-linux-gnu/faketime/libfaketimeMT.so.1"
        ))
    });
    let found = found.into_iter().find(|path| path.exists());
    found.expect("libfaketime is installed (package faketime)")
}

/// A gateway whose clock is set, and a backend that is unwell until it is told otherwise.
struct World {
    upstream: Upstream,
    backend: Backend,
    folder: Arc<Folder>,
    is_well: Arc<AtomicBool>,
}

impl World {
    fn new() -> Self {
        let is_well = Arc::new(AtomicBool::new(false));
        let well = is_well.clone();
        let backend = Backend::judging(move |_| match well.load(Ordering::Relaxed) {
            true => verdict(&[]),
            false => support::upstream::json(500, "{}"),
        });
        let world = Self {
            upstream: Upstream::ok(),
            backend,
            folder: Folder::new(),
            is_well,
        };
        world.set_clock("+0");
        world
    }

    fn set_clock(&self, offset: &str) {
        self.folder.write("clock", offset);
    }

    fn start(&self, yaml: &str) -> Stack {
        let gateway = registering(&self.upstream, &self.backend, &self.folder);
        with_clock(gateway.yaml(yaml), &self.folder).start()
    }

    /// Sets the clock and waits until the process has noticed.
    fn jump(&self, stack: &Stack, offset: &str) {
        let before = stack.metric("monitor_clock_jumps_total");
        self.set_clock(offset);
        eventually("the jump is counted", || {
            (stack.metric("monitor_clock_jumps_total") > before).then_some(())
        });
    }

    /// The backend is well again; every record of so many rounds of calls arrives once, and none is lost.
    fn delivers(&self, stack: &Stack, rounds: usize) {
        self.is_well.store(true, Ordering::Relaxed);
        eventually("nothing is owed", || {
            (stack.metric("monitor_spool_records") == 0.0).then_some(())
        });
        let found = prompts(&self.backend);
        assert_eq!(found.len(), rounds * CALLS);
        assert!(found.values().all(|exchanges| exchanges.len() == 1));
        for reason in ["full", "old", "disk", "share"] {
            let series = format!("monitor_spool_lost_total{{reason=\"{reason}\"}}");
            assert_eq!(stack.metric(&series), 0.0, "{reason}");
        }
    }
}

/// A process whose clock is what the file of that name in the folder says.
/// With a clock that the file `clock` of the folder sets.
pub(crate) fn with_clock(stack: Builder, folder: &Folder) -> Builder {
    stack
        .env("LD_PRELOAD", faketime().to_string_lossy())
        .env(
            "FAKETIME_TIMESTAMP_FILE",
            folder.path().join("clock").to_string_lossy(),
        )
        .env("FAKETIME_NO_CACHE", "1")
        // As on a machine whose clock is set: time that only counts on goes on.
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env("NO_FAKE_STAT", "1")
}

fn owes(stack: &Stack, rounds: usize) {
    eventually("all are owed", || {
        (stack.metric("monitor_spool_records") == (2 * rounds * CALLS) as f64).then_some(())
    });
}

#[test]
#[ignore = "needs libfaketime"]
fn contract_23_a_clock_that_jumps_by_hours_costs_no_record() {
    let world = World::new();
    let mut stack = world.start("");
    assert_eq!(answered(&stack, "now").len(), CALLS);
    world.jump(&stack, "+6h");
    assert_eq!(answered(&stack, "ahead").len(), CALLS);
    assert!(stack.metric("monitor_spool_age_seconds") < 3_600.0);
    world.jump(&stack, "-6h");
    assert_eq!(answered(&stack, "back").len(), CALLS);
    owes(&stack, 3);
    stack.process.signal("KILL");
    stack.process.await_exit();
    let stack = world.start("");
    assert_eq!(answered(&stack, "again").len(), CALLS);
    world.jump(&stack, "+12h");
    world.delivers(&stack, 4);
}

#[test]
#[ignore = "needs libfaketime"]
fn contract_23_a_clock_that_jumps_beyond_max_age_costs_no_record() {
    let world = World::new();
    // Little memory: most records wait on disk alone.
    let yaml = "spool: {max_age: 7d}\nqueue: {max_bytes: 64KiB}";
    let mut stack = world.start(yaml);
    for (round, offset) in ["+8d", "-2d", "+3650d"].into_iter().enumerate() {
        assert_eq!(answered(&stack, &format!("round-{round}")).len(), CALLS);
        world.jump(&stack, offset);
        owes(&stack, round + 1);
    }
    let log = stack.process.settled_stderr();
    assert!(log.contains("the clock"), "{log}");
    stack.process.signal("KILL");
    stack.process.await_exit();
    // What the next process finds is of today again.
    world.set_clock("+0");
    let stack = world.start(yaml);
    assert_eq!(answered(&stack, "again").len(), CALLS);
    world.jump(&stack, "+8d");
    world.delivers(&stack, 4);
}

#[test]
#[ignore = "needs libfaketime"]
fn contract_23_a_start_with_a_clock_that_is_ahead_costs_no_record() {
    let world = World::new();
    let yaml = "spool: {max_age: 7d}\nqueue: {max_bytes: 64KiB}";
    let mut doubts = Vec::new();
    for (round, (offset, later)) in [("+0", "+1h"), ("+30d", "+31d"), ("+3650d", "+3651d")]
        .into_iter()
        .enumerate()
    {
        world.set_clock(offset);
        let mut stack = world.start(yaml);
        assert_eq!(answered(&stack, &format!("round-{round}")).len(), CALLS);
        // Whoever notices this also drops what is too old.
        world.jump(&stack, later);
        let log = stack.process.settled_stderr();
        doubts.push(log.contains("ahead of everything that an earlier process left"));
        stack.process.signal("KILL");
        stack.process.await_exit();
    }
    world.set_clock("+30d");
    let stack = world.start(yaml);
    // It is noticed and set right.
    world.jump(&stack, "+0");
    assert_eq!(answered(&stack, "right").len(), CALLS);
    world.delivers(&stack, 4);
    assert_eq!(doubts, [false, true, true]);
}

#[test]
#[ignore = "needs libfaketime"]
fn contract_38_a_start_with_a_clock_that_is_ahead_removes_no_record_by_its_age() {
    const RECORDS: f64 = 8.0;
    let (upstream, folder) = (Upstream::ok(), Folder::new());
    let start = |offset: &str, rows: u32| {
        folder.write("clock", offset);
        let yaml = format!("  retention: {{days: 90, rows: {rows}}}");
        let stack = Stack::all().upstream(&upstream).folder(&folder);
        with_clock(stack.yaml(&yaml), &folder).start()
    };
    let mut stack = start("+0", 1_000);
    for _ in 0..4 {
        assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    }
    eventually("prompts and answers are stored", || {
        (stack.metric("monitor_spool_records") == 0.0).then_some(())
    });
    stack.process.signal("TERM");
    stack.process.await_exit();
    let removed = |stack: &Stack, cause: &str| {
        stack.metric(&format!(
            "monitor_retention_removed_total{{cause=\"{cause}\"}}"
        ))
    };
    let stack = start("+200d", 6);
    eventually("the first run is over", || {
        (removed(&stack, "rows") == RECORDS - 6.0).then_some(())
    });
    assert_eq!(removed(&stack, "age"), 0.0);
}
