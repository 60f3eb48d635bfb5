//! The gateway against a bare pingora pass-through, by turns in the same run.
//!
//! nginx and HAProxy take turns too where they are installed, and have columns.
//!
//! `cargo bench --bench gateway [-- quick|full] [CASE…]` starts, on free loopback ports and each in
//! its own process, a mock upstream, a proxy and a closed-loop load; proxies run on CPU 0, the rest
//! on CPU 1. It prints one table: CPU per call from /proc (all threads of the proxy), latency,
//! memory, and the ratios. Sizes: `1k` and `32k` are request and answer alike; `1m` is a request of
//! 1 MiB with an answer of 1 KiB, `1m-answer` the reverse; `sse` is a stream of 200 frames, which
//! reach the proxy as fast as the mock can write them; `responses` and `messages` are calls of those APIs beside the
//! chat route, which stands in the bare column; `responses-sse` and `messages-sse` streams of 200 events of theirs;
//! `agent-prompt` prompts of 400 KB with tools and 200 turns: CPU, and the time from the end of the prompt to its first
//! byte upstream; `hold-back` is the same in sync mode with streams held back, in
//! the gateway's column, beside `monitor all` in asynchronous mode; `held` is silent streams; `body` one large
//! request; `sync-local` and `sync-http` are sync mode at half load, the subject in the gateway's
//! column: `monitor all`, and a gateway whose backend is a mock. `spool` and `spool-batch` are
//! telemetry over HTTP to a mock that takes records one by one or in batches, also with larger bodies and a stream
//! (`spool-batch-32k`, `-1m`, `-sse`); `backlog` and
//! `backlog-batch` what an outage left, delivered afterwards; `spool-encrypted` and `backlog-encrypted` are the same
//! in batches with `spool.encryption`. `disk` is what `monitor all` writes to the disk
//! at 400 calls a second, in the gateway's column. `instructions`, `instructions-32k` and `instructions-1m`, which run only by
//! name, count those of a call with valgrind: through the bare proxy, the gateway without and with telemetry, and
//! `monitor all`. It is not a test of behavior: goals are only printed. `gate` alone fails, where a call costs more
//! instructions than before.

mod agents;
mod api;
mod bare;
mod callgrind;
mod cases;
mod disk;
mod facts;
mod gate;
mod instructions;
mod metrics;
mod spool;
mod sync;
mod table;
mod target;

use anyhow::{Context, Result, bail};
use bench_support::process::Pinning;
use bench_support::world::World;
use cases::{CASES, Case, Scale, Work, measure};
use table::Table;
use target::{Records, Running, Target};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let Some(done) = bench_support::world::role(&words) {
        return done;
    }
    match words.as_slice() {
        ["--role", "bare", listen, upstream] => bare::run(listen, upstream),
        ["gate", ..] => gate::run(),
        words => bench(&Choice::read(words)?),
    }
}

/// What the command line asks for.
struct Choice {
    scale: Scale,
    full: bool,
    cases: Vec<Case>,
}

impl Choice {
    /// Full by default; quick also when run by `cargo test`, which does not pass `--bench`.
    fn read(words: &[&str]) -> Result<Self> {
        let mut full = words.contains(&"--bench");
        let mut cases = Vec::new();
        for word in words {
            match *word {
                "--bench" => {}
                "full" => full = true,
                "quick" => full = false,
                name => {
                    let known = CASES.iter().find(|case| case.name == name);
                    let names = CASES.map(|case| case.name).join(", ");
                    cases.push(
                        *known.with_context(|| format!("no case {name:?}; there are {names}"))?,
                    );
                }
            }
        }
        if cases.is_empty() {
            let by_itself = |case: &&Case| !case.is_by_name();
            cases = CASES.iter().filter(by_itself).copied().collect();
        }
        Ok(Self {
            scale: if full { Scale::FULL } else { Scale::QUICK },
            full,
            cases,
        })
    }
}

fn bench(choice: &Choice) -> Result<()> {
    let (world, _children) = World::start()?;
    let mut table = Table::default();
    let mut records = Records::default();
    for case in &choice.cases {
        // Counts hardly differ from round to round.
        let rounds = if case.is_by_name() {
            1
        } else {
            choice.scale.rounds
        };
        for round in 1..=rounds {
            eprintln!("{} round {round} of {rounds}", case.name);
            let left = round_of(case, choice, &world, &mut table)
                .with_context(|| format!("case {}", case.name))?;
            records.stored += left.stored;
            records.made += left.made;
        }
    }
    print(choice, &world, &table, records)
}

/// Every target of a case once.
fn round_of(case: &Case, choice: &Choice, world: &World, table: &mut Table) -> Result<Records> {
    match case.work {
        Work::HoldBack => return cases::hold_back(case, &choice.scale, world, table),
        Work::BesideChat(subject) => {
            let sizes = [cases::SMALL, subject];
            return agents::beside_chat(case, sizes, &choice.scale, world, table);
        }
        Work::BesideBare(sizes) => {
            return agents::beside_bare(case, sizes, &choice.scale, world, table);
        }
        Work::Prompts => return agents::prompts(case, &choice.scale, world, table),
        Work::Sync(subject) => return sync::measure(case, subject, &choice.scale, world, table),
        Work::Spool(subject, sizes) => {
            return spool::measure(case, subject, sizes, &choice.scale, world, table);
        }
        Work::Backlog(subject) => {
            return spool::backlog(case, subject, &choice.scale, world, table);
        }
        Work::Disk => return disk::measure(case, &choice.scale, world, table),
        Work::Count { request_bytes } => {
            return instructions::measure(case, request_bytes, &choice.scale, world, table);
        }
        _ => {}
    }
    let mut records = Records::default();
    for target in Target::ALL
        .into_iter()
        .filter(|target| case.concerns(*target))
    {
        let left = turn(case, target, choice, world, table);
        let left = left.with_context(|| format!("{target:?}"))?;
        records.stored += left.stored;
        records.made += left.made;
    }
    Ok(records)
}

/// One target, started for this turn only, so that none profits from what ran before.
fn turn(
    case: &Case,
    target: Target,
    choice: &Choice,
    world: &World,
    table: &mut Table,
) -> Result<Records> {
    let running = Running::start(target, world)?;
    let (findings, records) = measure(case, &choice.scale, world, &running)?;
    for (measure, value) in findings {
        table.add(case, target, measure, value);
    }
    Ok(records)
}

fn print(choice: &Choice, world: &World, table: &Table, records: Records) -> Result<()> {
    let Scale {
        rounds,
        connections,
        streams,
        body_bytes,
        ..
    } = choice.scale;
    let comparable = choice.full && !cfg!(debug_assertions);
    println!("{}", table.render(comparable));
    println!("Machine: {}.", facts::machine());
    match world.pinning {
        Pinning::Pinned => println!("Proxy on CPU 0; mock upstream and load on CPU 1."),
        Pinning::Unpinned => println!("Not pinned: `taskset` or a second CPU is missing."),
    }
    println!(
        "Medians of {rounds} interleaved rounds; {connections} connections, {streams} held streams, \
         a body of {} MB.",
        body_bytes / 1_000_000
    );
    if records.made > 0.0 {
        println!(
            "`monitor all` stored {} of {} records.",
            records.stored, records.made
        );
    }
    if !comparable {
        println!("A quick or unoptimized run: it shows that every case runs, not how fast.");
    }
    if records.made > 0.0 && records.stored == 0.0 {
        bail!("`monitor all` stored no record, so its column measures something else");
    }
    Ok(())
}
