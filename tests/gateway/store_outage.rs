//! PostgreSQL that dies and comes back under load: CONTRACT 14, 16.

use crate::crowd::{CLIENTS, Client, POLICIES, judge, model, other_prompt};
use crate::policies::with_store;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::eventually;
use support::postgres::Postgres;
use support::request::Request;
use support::stack::Stack;

/// An application that no client of the crowd uses.
const PROBE: &str = "9b0b0000-0000-4000-8000-000000000009";
/// Calls that every client must get through in each state of the store.
const CALLS: usize = 3;
/// Within which a change is live (CONTRACT 16), and a store that comes back is found.
const LIVE: Duration = Duration::from_secs(1);
const FOUND: Duration = Duration::from_secs(6);

/// How far each client is, and whether they go on.
#[derive(Default)]
struct Load {
    turns: [AtomicUsize; CLIENTS],
    stop: AtomicBool,
    broken: AtomicBool,
}

/// Says so when a client's thread ends by a failed assertion.
struct Watched<'a>(&'a AtomicBool);

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.0.fetch_or(std::thread::panicking(), Ordering::SeqCst);
    }
}

impl Load {
    fn run(&self, mut client: Client) {
        let _watched = Watched(&self.broken);
        for turn in 0.. {
            if self.stop.load(Ordering::SeqCst) || self.broken.load(Ordering::SeqCst) {
                return;
            }
            client.call(turn);
            self.turns[client.number].store(turn + 1, Ordering::SeqCst);
        }
    }

    /// Waits until every client has made some more calls; each of them was checked.
    fn goes_on(&self, state: &str) {
        let turns = || {
            self.turns
                .each_ref()
                .map(|turn| turn.load(Ordering::SeqCst))
        };
        let before = turns();
        eventually(&format!("every client is served {state}"), || {
            assert!(
                !self.broken.load(Ordering::SeqCst),
                "a client's answer changed {state}"
            );
            let further = turns()
                .iter()
                .zip(before)
                .all(|(now, then)| *now >= then + CALLS);
            further.then_some(())
        });
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_postgresql_that_is_killed_and_restarted_under_load_changes_no_clients_answer() {
    // CONTRACT 14, 16: sync and async clients all the while.
    let mut server = Postgres::start();
    let database = server.database();
    for (id, policy) in POLICIES {
        database.add(id, policy);
    }
    database.add(PROBE, &phrase("before"));
    let (upstream, backend) = (model(), judge());
    let builder = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = with_store(builder, &database).start();
    let load = Load::default();
    std::thread::scope(|scope| {
        // Ends the clients also when an assertion below fails.
        let _stop = Stop(&load.stop);
        for client in Client::all(stack.gateway_addr) {
            scope.spawn(|| load.run(client));
        }
        load.goes_on("before the outage");
        for round in 0..2 {
            server.crash();
            await_outage(&stack);
            load.goes_on("while the store is away");
            server.start_again();
            await_return(&stack);
            let new = format!("after outage {round}");
            database.set(PROBE, &phrase(&new));
            let changed = Instant::now();
            eventually("the change is live", || {
                (probe(&stack) == new).then_some(())
            });
            assert!(changed.elapsed() < LIVE, "{:?}", changed.elapsed());
            load.goes_on("after it");
        }
    });
    let unchecked = stack.metric(r#"monitor_unchecked_total{reason="policy_unknown"}"#);
    assert_eq!(unchecked, 0.0);
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn phrase(text: &str) -> String {
    format!(r#"{{"app_mode":"sync","phrase":"{text}"}}"#)
}

/// What the probe's application says to a forbidden prompt.
fn probe(stack: &Stack) -> String {
    let request = Request::chat(other_prompt("forbidden")).header("X-Application-Id", PROBE);
    let answer = stack.call(&request).json();
    let content = &answer["choices"][0]["message"]["content"];
    content
        .as_str()
        .expect("the policy in force blocks")
        .to_owned()
}

fn store_error(stack: &Stack) -> Option<String> {
    let status = stack.operations("/status").json();
    status["policies"]["store_error"]
        .as_str()
        .map(str::to_owned)
}

/// Until status names the failure and the age in the metrics grows.
fn await_outage(stack: &Stack) {
    eventually("status says that the store is away", || store_error(stack));
    let age = stack.metric("monitor_policies_age_seconds");
    eventually("the age grows", || {
        (stack.metric("monitor_policies_age_seconds") > age).then_some(())
    });
}

/// Until the store is read again, which has a bound of its own: the wait between two tries.
fn await_return(stack: &Stack) {
    let begin = Instant::now();
    eventually("the store is found again", || {
        store_error(stack).is_none().then_some(())
    });
    assert!(begin.elapsed() < FOUND, "{:?}", begin.elapsed());
}
