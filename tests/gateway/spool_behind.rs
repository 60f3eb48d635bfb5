//! A disk that is slower than the calls (CONTRACT 23): new calls wait for it, within their shares, and no record is
//! lost.

use crate::memory::of_size;
use std::collections::HashSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use support::backend::Backend;
use support::eventually;
use support::request::{HELLO, Request};
use support::slow_disk::with_slow_syncs;
use support::stack::{Folder, Stack};
use support::upstream::Upstream;

const MIB: usize = 1 << 20;
/// Their prompts are half as much again as may wait for the disk (32 MiB).
const BURST: usize = 24;

struct World {
    backend: Backend,
    _upstream: Upstream,
    stack: Arc<Stack>,
}

/// A gateway whose syncs take so long, and which knows that the backend accepts the tests' access key.
fn world(sync: Duration) -> World {
    let (upstream, backend, folder) = (Upstream::ok(), Backend::start(), Folder::new());
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = with_slow_syncs(stack.folder(&folder), &folder, sync).start();
    let first = of("first", Request::chat(HELLO));
    assert_eq!(stack.call(&first).status(), 200);
    backend.await_exchange();
    World {
        backend,
        _upstream: upstream,
        stack: Arc::new(stack),
    }
}

fn of(user: &str, request: Request) -> Request {
    request.header("X-User-Id", user)
}

fn invented(request: Request) -> Request {
    request
        .without_key()
        .header("X-Monitor-Api-Key", "invented")
}

impl World {
    /// So many large calls at once.
    fn burst(&self, request: fn(Request) -> Request) -> Vec<JoinHandle<u16>> {
        let calls = (0..BURST).map(|call| {
            let stack = self.stack.clone();
            std::thread::spawn(move || {
                let large = request(of_size(2 * MIB));
                stack.call(&of(&format!("burst {call}"), large)).status()
            })
        });
        calls.collect()
    }

    fn lost(&self) -> f64 {
        ["user_prompt", "llm_answer"]
            .map(|stage| {
                let series = format!(
                    "monitor_telemetry_records_total{{outcome=\"dropped\",stage=\"{stage}\"}}"
                );
                self.stack.metric(&series)
            })
            .iter()
            .sum()
    }

    /// How many records the backend has of users whose names begin like this.
    fn records_of(&self, prefix: &str) -> usize {
        let calls = self.backend.calls().into_iter();
        let users = calls.map(|call| call.parameter("user_id").as_str().unwrap().to_owned());
        users.filter(|user| user.starts_with(prefix)).count()
    }

    /// The users whose prompts and answers the backend has.
    fn users(&self) -> HashSet<String> {
        let calls = self.backend.calls();
        let users = |is_pre: bool| {
            let calls = calls.iter().filter(move |call| call.is_pre() == is_pre);
            let users = calls.map(|call| call.parameter("user_id").as_str().unwrap().to_owned());
            users.collect::<HashSet<_>>()
        };
        &users(true) & &users(false)
    }
}

#[test]
fn contract_23_a_burst_that_is_faster_than_the_disk_loses_no_record() {
    let world = world(Duration::from_millis(300));
    for call in world.burst(|request| request) {
        assert_eq!(call.join().unwrap(), 200);
    }
    assert_eq!(world.lost(), 0.0);
    eventually("every record arrives", || {
        (world.users().len() == 1 + BURST).then_some(())
    });
}

#[test]
fn contract_23_a_flood_of_invented_keys_on_a_slow_disk_costs_others_no_record() {
    let world = world(Duration::from_millis(500));
    let flood = world.burst(invented);
    let users: HashSet<_> = (0..20).map(|call| format!("known {call}")).collect();
    for user in &users {
        let small = of(user, Request::chat(HELLO));
        assert_eq!(world.stack.call(&small).status(), 200);
        std::thread::sleep(Duration::from_millis(50));
    }
    for call in flood {
        assert_eq!(call.join().unwrap(), 200);
    }
    eventually("every record of theirs arrives", || {
        world.users().is_superset(&users).then_some(())
    });
    // How much of a flood fits within the time that calls wait depends on the real disk; spool::tests::flood is strict
    // in virtual time.
    eventually("every record of the flood arrives or is counted", || {
        let arrived = world.records_of("burst ");
        (arrived as f64 + world.lost() == (2 * BURST) as f64).then_some(())
    });
}

#[test]
fn contract_23_calls_go_on_while_a_sync_hangs() {
    let world = world(Duration::from_millis(2_500));
    let burst = world.burst(|request| request);
    eventually("the disk is found to hang", || {
        (world.stack.metric("monitor_spool_degraded") == 1.0).then_some(())
    });
    for call in burst {
        assert_eq!(call.join().unwrap(), 200);
    }
    eventually("the disk has taken all that fits", || {
        (world.stack.metric("monitor_spool_degraded") == 0.0).then_some(())
    });
}
