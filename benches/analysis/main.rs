//! The analysis API in numbers: `cargo bench --bench analysis [-- quick|full]
//! [CASE…]`. Cases: `engine` analyzes 1 KiB in this process; `judge` has policies judged by a server that
//! answers at once, and by memory; `sqlite` and `postgres` post 1 KiB messages to the real binary over kept connections, first as fast as they go, then at half that rate with
//! arrivals that do not wait for answers, and show what a record takes on the disk; `pages-sqlite` and `pages-postgres` fill a store with records of
//! 10,000 applications, read lists of it and pages of the web UI, and back it up, restore and copy it. Load and server share the machine's CPUs. Goals are printed, no figure fails a
//! build. PostgreSQL, which two cases need, runs with fsync on.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod fill;
mod judge;
mod load;
mod pages;
mod process;
mod transfer;
mod web;

use bench_support::results::{Table, percentile};
use load::{Load, Pace};
use monitor_detect::{Compiled, Engine, Rules};
use monitor_gateway::config::Services;
use monitor_model::PatternSet;
use std::time::{Duration, Instant};
use support::KEY;
use support::postgres::{Database, Postgres};
use support::request::Request;
use support::stack::{Builder, Folder, Stack};

const CASES: [&str; 6] = [
    "engine",
    "judge",
    "sqlite",
    "postgres",
    "pages-sqlite",
    "pages-postgres",
];

/// How much of everything.
struct Scale {
    full: bool,
    messages: usize,
    seconds: u64,
    connections: usize,
    rows: u64,
    /// Besides the first one.
    applications: usize,
}

const FULL: Scale = Scale {
    full: true,
    messages: 20_000,
    seconds: 10,
    connections: 64,
    rows: 1_000_000,
    applications: 10_000,
};
const QUICK: Scale = Scale {
    full: false,
    messages: 200,
    seconds: 1,
    connections: 8,
    rows: 12_000,
    applications: 100,
};

/// Which database a case runs on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sqlite,
    Postgres,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let said = |word: &str| words.iter().any(|given| given == word);
    let scale = match (said("--bench") || said("full")) && !said("quick") {
        true => FULL,
        false => QUICK,
    };
    let named: Vec<&str> = CASES.into_iter().filter(|case| said(case)).collect();
    let cases = if named.is_empty() {
        CASES.to_vec()
    } else {
        named
    };
    let mut table = Table::default();
    let busy = process::load_average();
    for case in cases {
        eprintln!("{case}");
        match case {
            "engine" => engine(&scale, &mut table),
            "judge" => judge::run(&scale, &mut table),
            "sqlite" => ingest(case, Kind::Sqlite, &scale, &mut table),
            "postgres" => ingest(case, Kind::Postgres, &scale, &mut table),
            "pages-sqlite" => pages::run(case, Kind::Sqlite, &scale, &mut table),
            _ => pages::run(case, Kind::Postgres, &scale, &mut table),
        }
    }
    println!("{}", table.render());
    let (before, after) = (busy, process::load_average());
    println!("Processes that wanted to run: {before} before, {after} after.");
    if !scale.full || cfg!(debug_assertions) {
        println!("A quick or unoptimized run: it shows that every case runs, not how fast.");
    }
}

/// 1 KiB of plain text in two languages with a few finds.
fn message(number: usize) -> String {
    let mut text = format!(
        "Order {number}: write to client{number}@example.org or call +7 912 345-67-89. Клиент просит \
         перенести доставку на вечер и позвонить за час. The server 10.0.0.{} answers slowly. ",
        number % 256
    );
    while text.len() < 1024 - 60 {
        text.push_str("Plain words that nobody looks for stand here. ");
    }
    text
}

fn engine(scale: &Scale, table: &mut Table) {
    let engine = Engine::new(Services::default());
    let rules = Compiled::new(pattern_rules());
    let start = Instant::now();
    let clock = move || u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    engine.warm_up(rules.rules().encoding);
    let mut taken = Vec::with_capacity(scale.messages);
    for number in 0..scale.messages {
        let text = message(number);
        let begin = Instant::now();
        let report = engine.analyze(&text, &rules, &clock);
        taken.push(begin.elapsed());
        assert!(report.dataclean.flagged);
    }
    table.add(
        "engine",
        "1 KiB, p50",
        percentile(&mut taken, 0.5),
        "≤ 150 µs",
    );
    table.add("engine", "1 KiB, p99", percentile(&mut taken, 0.99), "");
}

/// Patterns that need no tagger: what that costs is the detection bench's to say.
fn pattern_rules() -> Rules {
    serde_json::from_value(serde_json::json!({"dataclean": {"patterns": PatternSet::local()}}))
        .unwrap()
}

/// Has the application look for these only.
fn look_for_patterns(stack: &Stack) {
    let path = format!("/applications/{}", stack.application_id());
    let side = serde_json::json!({"dataclean": {"patterns": PatternSet::local()}});
    let change = serde_json::json!({"version": 1, "rules": {"pre": side, "post": side}});
    let request = Request::json("PATCH", &path, change.to_string());
    let request = request.header("Authorization", &format!("Bearer {KEY}"));
    let answer = request.call(stack.analysis_addr);
    assert_eq!(answer.status(), 200, "{}", answer.text());
}

fn ingest(case: &'static str, kind: Kind, scale: &Scale, table: &mut Table) {
    let (server, builder) = store(kind);
    let folder = Folder::new();
    let stack = builder.folder(&folder).start();
    look_for_patterns(&stack);
    let load = |pace| Load {
        address: stack.analysis_addr,
        application: stack.application_id(),
        connections: scale.connections,
        pace,
        time: Duration::from_secs(scale.seconds),
    };
    let first = load(Pace::Fast).run();
    let before = process::cpu_of_children();
    let fast = load(Pace::Fast).run();
    let cpu = process::cpu_of_children().saturating_sub(before);
    table.note(
        case,
        "durable records per second",
        fast.rate().round(),
        "≥ 3000",
    );
    assert_eq!(fast.errors, 0);
    let each = cpu.as_secs_f64() * 1e6 / fast.taken.len() as f64;
    table.note(
        case,
        "CPU µs per record, database included",
        each.round(),
        "",
    );
    if let Some((_, database)) = &server {
        // A server that has run for a while has log files to use again; a new one makes and syncs each.
        database.execute("CHECKPOINT");
    }
    let mut half = load(Pace::Rate(fast.rate() / 2.0)).run();
    assert_eq!(half.errors, 0);
    table.add(
        case,
        "at half of it, p50",
        percentile(&mut half.taken, 0.5),
        "",
    );
    table.add(
        case,
        "at half of it, p99",
        percentile(&mut half.taken, 0.99),
        "≤ 25 ms",
    );
    table.note(case, "resident MiB", process::resident_mib(&stack), "≤ 200");
    drop(stack);
    let bytes = match &server {
        None => transfer::bytes_below(&folder.path().join("data")),
        Some((_, database)) => transfer::bytes_of(database),
    };
    let count = first.taken.len() + fast.taken.len() + half.taken.len();
    let each = bytes as f64 / count as f64;
    let measure = "bytes on disk per record, indexes and log included";
    table.note(case, measure, each.round(), "");
    drop(server);
}

/// A store and the program that will use it.
fn store(kind: Kind) -> (Option<(Postgres, Database)>, Builder) {
    match kind {
        Kind::Sqlite => (None, Stack::all()),
        Kind::Postgres => {
            let mut server = Postgres::start();
            let settings = [
                "fsync=on",
                "shared_buffers=256MB",
                "max_wal_size=4GB",
                "min_wal_size=2GB",
            ];
            server.restart_with(&settings.map(str::to_owned));
            let database = server.database();
            let mut builder = Stack::all();
            for (name, value) in database.owner_env() {
                builder = builder.env(name, value);
            }
            (Some((server, database)), builder)
        }
    }
}
