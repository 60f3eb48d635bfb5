//! What an operator counts on: `cargo bench --bench ops [-- quick|full] [CASE…]`.
//! `start` is the time from the start of a process to its readiness with 10,000 policies, of a file and
//! of the embedded database; `stop` the time from SIGTERM to the end of an idle one; `reload` what
//! reloads add to the 99th percentile of calls; `connections` 10,000 kept connections that
//! all bring calls by turns; `soak-gateway` and `soak-all` the growth of memory over ten minutes at half
//! load, of a gateway that delivers its records over HTTP and of `monitor all`. Held streams are a case of the
//! bench `gateway`. Goals are printed, no figure fails a build; a call that fails does.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod connections;
mod reload;
mod soak;
mod turns;

use anyhow::Result;
use bench_support::answer::Answer;
use bench_support::load::Plan;
use bench_support::prompt::Prompt;
use bench_support::results::Table;
use bench_support::world::{Load, World};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use support::stack::{Builder, Stack};

/// How long records may take to be delivered once the calls are over.
const SETTLE_PATIENCE: Duration = Duration::from_secs(300);

const CASES: [&str; 6] = [
    "start",
    "stop",
    "reload",
    "connections",
    "soak-gateway",
    "soak-all",
];

/// How much of everything.
struct Scale {
    full: bool,
    rounds: usize,
    policies: usize,
    connections: usize,
    /// One measurement of calls.
    loop_millis: u64,
    soak: Duration,
}

const FULL: Scale = Scale {
    full: true,
    rounds: 5,
    policies: 10_000,
    connections: 10_000,
    loop_millis: 10_000,
    soak: Duration::from_secs(600),
};
const QUICK: Scale = Scale {
    full: false,
    rounds: 1,
    policies: 100,
    connections: 100,
    loop_millis: 1_000,
    soak: Duration::from_secs(3),
};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Some(done) = bench_support::world::role(&words) {
        return done;
    }
    let said = |word: &str| words.contains(&word);
    let scale = match (said("--bench") || said("full")) && !said("quick") {
        true => FULL,
        false => QUICK,
    };
    let mut cases: Vec<&str> = CASES.into_iter().filter(|case| said(case)).collect();
    if cases.is_empty() {
        cases = CASES.to_vec();
    }
    let (world, _children) = World::start()?;
    let mut table = Table::default();
    for case in cases {
        eprintln!("{case}");
        match case {
            "start" => turns::start(&scale, &mut table),
            "stop" => turns::stop(&scale, &mut table),
            "reload" => reload::run(&scale, &world, &mut table)?,
            "connections" => connections::run(&scale, &world, &mut table)?,
            "soak-gateway" => soak::run(case, gateway(&world, true), &scale, &world, &mut table)?,
            _ => soak::run(case, all(&world), &scale, &world, &mut table)?,
        }
    }
    println!("{}", table.render());
    if !scale.full || cfg!(debug_assertions) {
        println!("A quick or unoptimized run: it shows that every case runs, not how fast.");
    }
    Ok(())
}

/// A gateway before the mock, with telemetry over HTTP or without any; no line per call, which the
/// bench would only have to keep.
fn gateway(world: &World, telemetry: bool) -> Builder {
    // All of the load has one address.
    let builder = Stack::gateway()
        .yaml("log: {level: warn}\nlimits: {client_connections: 1000000}")
        .env("UPSTREAM_URL", format!("http://{}", world.mock));
    match telemetry {
        true => builder.env("MONITOR_URL", format!("http://{}", world.batches)),
        false => builder,
    }
}

/// Everything in one process before the mock, with the rules that the first application has, so that
/// every message is looked through.
fn all(world: &World) -> Builder {
    Stack::all_with_printed_key()
        .yaml("log: {level: warn}")
        .yaml(&format!(
            "analysis: {{first_token: {}}}",
            bench_support::load::ACCESS_KEY
        ))
        .env("UPSTREAM_URL", format!("http://{}", world.mock))
}

/// Calls of 1 KiB each way: in a closed loop, or at random moments at that rate.
fn calls(address: SocketAddr, millis: u64, rate: Option<f64>) -> Plan {
    Plan {
        address,
        prompt: Prompt::Chat,
        request_bytes: 1 << 10,
        answer: Answer::Json1k,
        connections: if rate.is_some() { 128 } else { 16 },
        warm_up: 20,
        max_calls: u64::MAX,
        max_millis: millis,
        rate,
    }
}

/// Half of the calls a second that it takes in a closed loop, until the last record of them is delivered.
fn half_load(stack: &Stack, scale: &Scale, world: &World) -> Result<f64> {
    let closed = calls(stack.gateway_addr, scale.loop_millis, None);
    let report = Load::start(&closed, world)?.finish()?;
    let ended = Instant::now();
    settle(stack)?;
    let seconds = report.seconds + ended.elapsed().as_secs_f64();
    Ok(report.count as f64 / seconds / 2.0)
}

/// Waits until nothing is on its way to the backend any more; at once where there is no telemetry.
fn settle(stack: &Stack) -> Result<()> {
    let deadline = Instant::now() + SETTLE_PATIENCE;
    loop {
        let metrics = stack.metrics();
        let sum = |name: &str| -> f64 {
            let lines = metrics.lines().filter(|line| line.starts_with(name));
            let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
            values.sum()
        };
        let waiting = sum("monitor_spool_records") + sum("monitor_telemetry_queue_bytes");
        if waiting == 0.0 {
            return Ok(());
        }
        anyhow::ensure!(Instant::now() < deadline, "records are still on their way");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The middle one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
