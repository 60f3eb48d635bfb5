//! One process after another: from the start to readiness, from SIGTERM to the end.

use super::{Scale, median};
use bench_support::results::{Table, percentile};
use std::time::{Duration, Instant};
use support::KEY;
use support::request::Request;
use support::stack::{Builder, Folder, Stack};

/// Letters of each policy's phrase.
const PHRASE: usize = 200;

/// From the start of the process until it is ready, the policies read: the middle one of the rounds.
pub(super) fn start(scale: &Scale, table: &mut Table) {
    let measure = |name: &str| format!("{} policies of {name}", scale.policies);
    let of_file = ready_after(&with_policies_of_a_file(scale.policies), scale.rounds);
    table.add("start", &measure("a file"), of_file, "≤ 300 ms");
    let folder = Folder::new();
    fill(&folder, scale.policies);
    let all = Stack::all().folder(&folder);
    let of_database = ready_after(&all, scale.rounds);
    table.add(
        "start",
        &measure("the embedded database"),
        of_database,
        "≤ 300 ms",
    );
}

/// From SIGTERM to the end of an idle process.
pub(super) fn stop(scale: &Scale, table: &mut Table) {
    let gateway = Stack::gateway().env("UPSTREAM_URL", "http://127.0.0.1:9");
    for (name, builder) in [("gateway", gateway), ("all", Stack::all())] {
        let mut taken: Vec<Duration> = (0..scale.rounds)
            .map(|_| {
                let mut stack = builder.clone().start();
                stack.process.signal("TERM");
                let (status, taken) = stack.process.await_exit();
                assert!(status.success(), "{status}");
                taken
            })
            .collect();
        let slowest = percentile(&mut taken, 1.0);
        table.add("stop", &format!("{name}, slowest"), slowest, "≤ 1 s");
    }
}

fn ready_after(builder: &Builder, rounds: usize) -> Duration {
    let taken = (0..rounds).map(|_| {
        let begin = Instant::now();
        let stack = builder.clone().start();
        let taken = begin.elapsed();
        drop(stack);
        taken.as_secs_f64()
    });
    Duration::from_secs_f64(median(taken.collect()))
}

fn with_policies_of_a_file(count: usize) -> Builder {
    let policies: String = (0..count)
        .map(|number| {
            let id = format!("5d0e3a0e-1a3c-4a53-9d0a-{number:012x}");
            let phrase = format!("{number:.<PHRASE$}");
            format!("  - {{id: {id}, name: \"application {number}\", app_mode: sync, phrase: \"{phrase}\"}}\n")
        })
        .collect();
    Stack::gateway()
        .env("UPSTREAM_URL", "http://127.0.0.1:9")
        .yaml(&format!("applications:\n{policies}"))
}

/// Makes applications in the database of that folder, as an administrator would.
fn fill(folder: &std::sync::Arc<Folder>, count: usize) {
    let stack = Stack::all().folder(folder).start();
    let bearer = format!("Bearer {KEY}");
    for number in 0..count {
        let phrase = format!("{number:.<PHRASE$}");
        let body = serde_json::json!({
            "name": format!("application {number}"),
            "policy": {"app_mode": "sync", "phrase": phrase},
        });
        let made = Request::post("/applications", body.to_string())
            .without_key()
            .header("Authorization", &bearer)
            .call(stack.analysis_addr);
        assert_eq!(made.status(), 201, "{}", made.text());
    }
}
