//! CONTRACT 23 at each step of the spool's thread, through the binary: killed there and broken there. The steps
//! are those of builds with debug assertions (MONITOR_SPOOL_FAULT); an optimized test build has none and skips them.

use std::collections::{HashMap, HashSet};
use std::process::Command;
use std::sync::Arc;
use support::backend::{Backend, Manner, verdict};
use support::eventually;
use support::request::{HELLO, Request};
use support::stack::{Builder, Folder, Stack};
use support::upstream::Upstream;

/// More calls than any step needs to come as often as it is asked for.
pub(crate) const CALLS: usize = 30;

pub(crate) fn registering(upstream: &Upstream, backend: &Backend, folder: &Arc<Folder>) -> Builder {
    Stack::gateway()
        .upstream(upstream)
        .monitor(backend)
        .folder(folder)
}

/// Calls one after another until one is not answered; the users of those that were.
pub(crate) fn answered(stack: &Stack, name: &str) -> Vec<String> {
    let users = (0..CALLS).map(|call| format!("{name}-{call}"));
    let is_answered = |user: &String| {
        let request = Request::chat(HELLO).header("X-User-Id", user);
        request.try_status(stack.gateway_addr) == Some(200)
    };
    users.take_while(is_answered).collect()
}

/// The exchanges of each user's prompts.
pub(crate) fn prompts(backend: &Backend) -> HashMap<String, HashSet<String>> {
    let mut found: HashMap<_, HashSet<_>> = HashMap::new();
    for call in backend.calls().iter().filter(|call| call.is_pre()) {
        let user = call.parameter("user_id").as_str().unwrap().to_owned();
        found
            .entry(user)
            .or_default()
            .insert(call.exchange().into());
    }
    found
}

fn files(folder: &Folder, ending: &str) -> usize {
    let spool = std::fs::read_dir(folder.path().join("data/spool")).unwrap();
    let paths = spool.map(|file| file.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|kind| kind == ending))
        .count()
}

fn killed_at(step: &str) {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let folder = Folder::new();
    let start = |fault: &str| {
        registering(&upstream, &backend, &folder)
            .yaml("spool: {durability: before_upstream}")
            .env("MONITOR_SPOOL_FAULT", fault)
            .start()
    };
    let mut stack = start(&format!("{step}:kill"));
    let mut promised = answered(&stack, "first");
    let (status, _) = stack.process.await_exit();
    assert!(!status.success(), "{step}: it ended by itself");
    let stack = start("");
    promised.extend(answered(&stack, "second"));
    assert!(promised.len() >= CALLS, "{step}");
    eventually("what was promised arrives", || {
        let found = prompts(&backend);
        promised
            .iter()
            .all(|user| found.contains_key(user))
            .then_some(())
    });
    for (user, exchanges) in prompts(&backend) {
        assert_eq!(exchanges.len(), 1, "{step}: {user} is one exchange");
    }
    eventually("nothing is owed", || {
        (stack.metric("monitor_spool_records") == 0.0).then_some(())
    });
    assert_eq!(
        files(&folder, "damaged"),
        0,
        "{step}: a torn end is no damage"
    );
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "needs a build that knows faults")]
fn contract_23_killed_while_it_writes_every_answered_call_arrives_once() {
    for step in [
        "create:1", "write:1", "write:6", "sync:1", "sync:5", "synced:2",
    ] {
        killed_at(step);
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "needs a build that knows faults")]
fn contract_23_killed_while_it_notes_acknowledgements_every_answered_call_arrives_once() {
    for step in ["ledger:1", "ledger:4"] {
        killed_at(step);
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "needs a build that knows faults")]
fn contract_23_killed_while_it_removes_a_segment_every_answered_call_arrives_once() {
    for step in ["delete:1", "deleted:1"] {
        killed_at(step);
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "needs a build that knows faults")]
fn contract_23_killed_while_it_writes_a_dead_letter_every_refused_record_becomes_one() {
    for fault in ["letters:3:kill", "letters:3:panic"] {
        let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Refuses(422)));
        let folder = Folder::new();
        let start = |fault: &str| {
            registering(&upstream, &backend, &folder)
                .yaml("spool: {durability: before_upstream}")
                .env("MONITOR_SPOOL_FAULT", fault)
                .start()
        };
        let mut stack = start(fault);
        let mut promised = answered(&stack, "first");
        if fault.ends_with("panic") {
            eventually("the thread panicked", || {
                (stack.metric("monitor_spool_thread_panics_total") == 1.0).then_some(())
            });
            stack.process.signal("TERM");
        }
        stack.process.await_exit();
        let stack = start("");
        promised.extend(answered(&stack, "second"));
        eventually("all are dead letters", || {
            let letters = dead(&folder);
            let pre = letters
                .iter()
                .filter(|letter| letter["stage"] == "pre_call");
            let users: HashSet<_> = pre
                .filter_map(|letter| letter["user_id"].as_str())
                .collect();
            promised
                .iter()
                .all(|user| users.contains(&**user))
                .then_some(())
        });
    }
}

/// What `monitor spool dead` lists.
fn dead(folder: &Folder) -> Vec<serde_json::Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_monitor"));
    command
        .env_clear()
        .args(["spool", "dead", "--json", "--dir"]);
    let output = command
        .arg(folder.path().join("data/spool"))
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "needs a build that knows faults")]
fn contract_23_a_panic_of_the_spools_thread_costs_no_call_and_no_record() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let folder = Folder::new();
    let stack = registering(&upstream, &backend, &folder)
        .yaml("spool: {durability: before_upstream}")
        .env("MONITOR_SPOOL_FAULT", "write:5:panic")
        .start();
    assert_eq!(answered(&stack, "user").len(), CALLS);
    let calls = eventually("all records arrive", || {
        let calls = backend.calls();
        let different: HashSet<_> = calls
            .iter()
            .map(|call| (call.is_pre(), call.exchange()))
            .collect();
        let count = different.len();
        (count == 2 * CALLS).then_some(count)
    });
    assert_eq!(calls, 2 * CALLS);
    assert_eq!(stack.metric("monitor_spool_thread_panics_total"), 1.0);
    eventually("it is well again", || {
        (stack.operations("/readyz").text() == "ready\n").then_some(())
    });
    assert!(
        stack
            .stderr()
            .contains("the spool's writer thread panicked and was resumed")
    );
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "needs a build that knows faults")]
fn contract_23_a_spool_whose_thread_goes_on_panicking_is_degraded_and_costs_no_call() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let folder = Folder::new();
    let stack = registering(&upstream, &backend, &folder)
        .yaml("spool: {durability: before_upstream}")
        .env("MONITOR_SPOOL_FAULT", "write:1:panics")
        .start();
    assert_eq!(answered(&stack, "user").len(), CALLS);
    eventually("it says so", || {
        let several = stack.metric("monitor_spool_thread_panics_total") > 1.0;
        let readyz = stack.operations("/readyz");
        (several && readyz.status() == 200 && readyz.text() == "ready, spool degraded\n")
            .then_some(())
    });
    assert_eq!(stack.metric("monitor_spool_degraded"), 1.0);
    // From memory, as long as there is room.
    assert_eq!(
        backend
            .await_posts(CALLS)
            .iter()
            .filter(|call| call.is_pre())
            .count(),
        CALLS
    );
}

#[test]
fn contract_23_keys_that_somebody_made_up_fill_no_disk_and_push_out_no_other_letter() {
    let upstream = Upstream::ok();
    let backend = Backend::judging(|call| {
        let key = call.head.header("authorization").unwrap();
        support::upstream::json(if key.contains("made-up") { 401 } else { 422 }, "{}")
    });
    let folder = Folder::new();
    let stack = registering(&upstream, &backend, &folder)
        .yaml("spool: {max_dead_bytes: 1MiB}")
        .start();
    let call = |key: &str, text: &str| {
        let request = Request::chat(text)
            .without_key()
            .header("X-Monitor-Api-Key", key);
        assert_eq!(stack.call(&request).status(), 200);
    };
    call("known", HELLO);
    eventually("they are dead letters", || {
        (stack.metric("monitor_spool_dead_letters") == 2.0).then_some(())
    });
    let long = format!(
        r#"{{"messages":[{{"role":"user","content":"{}"}}]}}"#,
        "x".repeat(16 << 10)
    );
    for number in 0..40 {
        call(&format!("made-up-{number}"), &long);
    }
    let status = eventually("the flood is over", || {
        let status = stack.operations("/status").json()["spool"].clone();
        (status["records"] == 0 && status["dead_letters_lost"].as_u64() > Some(0)).then_some(status)
    });
    assert!(
        status["dead_letter_bytes"].as_u64() <= Some(1 << 20),
        "{status}"
    );
    assert_eq!(
        dead(&folder)
            .iter()
            .filter(|letter| letter["status"] == 422)
            .count(),
        2
    );
}

#[test]
fn contract_23_a_backend_that_flaps_gets_every_record() {
    let upstream = Upstream::ok();
    let times = std::sync::Mutex::new(HashMap::<(bool, String), u32>::new());
    let backend = Backend::judging(move |call| {
        let mut times = times.lock().unwrap();
        let time = times
            .entry((call.is_pre(), call.exchange().into()))
            .or_default();
        *time += 1;
        // Others come through between two failures of one.
        match *time <= 5 && call.parameter("user_id").as_str().unwrap().ends_with('3') {
            true => support::upstream::json(503, "{}"),
            false => verdict(&[]),
        }
    });
    let folder = Folder::new();
    let stack = registering(&upstream, &backend, &folder).start();
    assert_eq!(answered(&stack, "user").len(), CALLS);
    let delivered = |stage: &str| {
        let series =
            format!("monitor_telemetry_records_total{{outcome=\"delivered\",stage=\"{stage}\"}}");
        stack.metric(&series)
    };
    eventually("every record is delivered and nothing is owed", || {
        let all = delivered("user_prompt") + delivered("llm_answer") == 2.0 * CALLS as f64;
        (all && stack.metric("monitor_spool_records") == 0.0).then_some(())
    });
    assert_eq!(stack.metric("monitor_spool_dead_letters"), 0.0);
    let calls = backend.calls();
    let last = |pre: bool, user: &str| {
        let of = |call: &&_| {
            let call: &support::backend::Call = call;
            call.is_pre() == pre && call.parameter("user_id") == user
        };
        calls.iter().filter(of).count()
    };
    assert_eq!((last(true, "user-3"), last(false, "user-3")), (6, 6));
    assert_eq!((last(true, "user-4"), last(false, "user-4")), (1, 1));
}
