//! CONTRACT 39: asynchronous delivery in batches to a backend that offers them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::backend::{Backend, Call};
use support::eventually;
use support::request::{HELLO, Request};
use support::stack::Stack;
use support::upstream::Upstream;

const CALLS: usize = 40;

/// What one backend sees: an outage, then `CALLS` exchanges at once in the only lane.
struct World {
    backend: Backend,
    offers: Arc<AtomicBool>,
    well: Arc<AtomicBool>,
    stack: Stack,
    _upstream: Upstream,
}

impl World {
    /// `status` is what a record gets once the outage is over.
    fn start(status: impl Fn(&Call) -> u16 + Send + Sync + 'static) -> Self {
        let upstream = Upstream::ok();
        let offers = Arc::new(AtomicBool::new(true));
        let well = Arc::new(AtomicBool::new(false));
        let is_well = well.clone();
        let backend =
            Backend::batching(&offers, move |call| match is_well.load(Ordering::Relaxed) {
                true => status(call),
                false => 500,
            });
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .yaml("queue: {concurrency: 1}")
            .start();
        Self {
            backend,
            offers,
            well,
            stack,
            _upstream: upstream,
        }
    }

    fn calls(&self, from: usize) {
        for number in from..from + CALLS {
            let user = number.to_string();
            let request = Request::chat(HELLO).header("X-User-Id", &user);
            let key = format!("key-{}", number % 2);
            let request = request.without_key().header("X-Monitor-Api-Key", &key);
            assert_eq!(self.stack.call(&request).status(), 200);
        }
    }

    fn recovers(&self) {
        self.backend.forget();
        self.well.store(true, Ordering::Relaxed);
        eventually("nothing is owed", || {
            (self.stack.metric("monitor_spool_records") == 0.0).then_some(())
        });
    }
}

fn user(call: &Call) -> String {
    call.parameter("user_id").as_str().unwrap().to_owned()
}

fn different(calls: &[Call]) -> HashSet<(bool, String)> {
    calls
        .iter()
        .map(|call| (call.is_pre(), user(call)))
        .collect()
}

#[test]
fn contract_39_what_waits_goes_in_batches_of_one_key_and_pre_before_post() {
    let world = World::start(|_| 200);
    world.calls(0);
    world.recovers();
    let batches = world.backend.batches();
    assert!(batches.iter().any(|batch| batch.len() > 10));
    for batch in &batches {
        let exchanges: HashSet<_> = batch.iter().map(Call::exchange).collect();
        assert_eq!(exchanges.len(), batch.len(), "one record of an exchange");
        let key = batch[0].head.header("authorization").unwrap();
        for call in batch {
            let number: usize = user(call).parse().unwrap();
            assert_eq!(key, format!("Bearer key-{}", number % 2));
        }
    }
    let calls = world.backend.calls();
    assert_eq!(different(&calls).len(), 2 * CALLS);
    for (place, post) in calls.iter().enumerate().filter(|(_, call)| !call.is_pre()) {
        let mut before = calls[..place].iter();
        assert!(before.any(|call| call.is_pre() && call.exchange() == post.exchange()));
    }
}

#[test]
fn contract_39_each_record_of_a_batch_is_settled_on_its_own() {
    let first = AtomicBool::new(true);
    let world = World::start(move |call| match user(call).as_str() {
        "7" => 422,
        "9" if call.is_pre() && first.swap(false, Ordering::Relaxed) => 503,
        _ => 200,
    });
    world.calls(0);
    world.recovers();
    eventually("the refused ones are dead letters", || {
        (world.stack.metric("monitor_spool_dead_letters") == 2.0).then_some(())
    });
    let calls = world.backend.calls();
    assert_eq!(different(&calls).len(), 2 * CALLS);
    let of = |name: &str| -> Vec<_> {
        let calls = calls.iter().filter(|call| user(call) == name);
        calls.map(Call::is_pre).collect()
    };
    assert_eq!(of("7"), [true, false], "not sent again");
    assert_eq!(
        of("9"),
        [true, true, false],
        "sent again, before its answer"
    );
    assert_eq!(of("8"), [true, false]);
}

#[test]
fn contract_39_a_backend_that_stops_offering_batches_gets_single_calls() {
    let world = World::start(|_| 200);
    world.calls(0);
    world.offers.store(false, Ordering::Relaxed);
    world.recovers();
    assert_eq!(different(&world.backend.calls()).len(), 2 * CALLS);
    world.backend.forget();
    world.calls(CALLS);
    world.backend.await_posts(CALLS);
    assert!(world.backend.batches().is_empty());
}
