//! Ten thousand policies as a gateway holds them: memory, and the time of a
//! look-up by the text of X-Application-Id, in an order no cache foresees. Prints goals, asserts none.
//! Run: `cargo bench --bench policy [-- quick]`.

use monitor_gateway::policy::{FileStore, Found, Policies};
use monitor_model::{AppMode, ApplicationId, ApplicationPolicy, Policy};
use std::hint::black_box;
use std::time::{Duration, Instant};

const POLICIES: usize = 10_000;
/// Letters of each phrase.
const PHRASE: usize = 200;
/// Coprime to the number of policies, so that every one is looked up once in a round.
const STRIDE: usize = 7_919;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let full = has("--bench") && !has("quick");
    let rounds = if full { 200 } else { 2 };
    let before = resident_bytes();
    let policies = filled();
    let mebibytes = resident_bytes().saturating_sub(before) as f64 / f64::from(1 << 20);
    let ids: Vec<String> = (0..POLICIES)
        .map(|step| id(step * STRIDE % POLICIES).to_string())
        .collect();
    let mut samples: Vec<f64> = (0..rounds)
        .map(|_| look_up_nanos(&policies, &ids))
        .collect();
    samples.sort_unstable_by(f64::total_cmp);
    let median = samples[samples.len() / 2];
    println!("| case | measure | figure | goal |\n|---|---|---:|---|");
    let judge = full && !cfg!(debug_assertions);
    row("look-up ns", median, 1_000.0, judge);
    row("MiB for 10,000, with reading them", mebibytes, 50.0, judge);
    println!("\nMedian of {rounds} rounds over all policies, phrases of {PHRASE} letters.");
}

fn row(measure: &str, value: f64, goal: f64, judge: bool) {
    let word = match (judge, value <= goal) {
        (false, _) => "",
        (true, true) => ", met",
        (true, false) => ", **missed**",
    };
    println!("| policies | {measure} | {value:.1} | ≤ {goal}{word} |");
}

/// All policies in force, as after a gateway's first read.
fn filled() -> Policies {
    let listed = (0..POLICIES).map(|number| ApplicationPolicy {
        id: id(number),
        name: format!("application {number}"),
        policy: Policy::new(AppMode::Sync, format!("{number:.<PHRASE$}")),
    });
    let (store, _) = FileStore::new(listed.collect());
    let (policies, mut refresher) = Policies::over(Box::new(store), None);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(refresher.first_read(Duration::from_secs(10))),
        Err(error) => panic!("no runtime: {error}"),
    }
    policies
}

fn look_up_nanos(policies: &Policies, ids: &[String]) -> f64 {
    let begin = Instant::now();
    for id in ids {
        let found = policies.lookup(Some(black_box(id)));
        assert!(matches!(black_box(found), Found::Policy(_)), "{id}");
    }
    begin.elapsed().as_nanos() as f64 / ids.len() as f64
}

fn id(number: usize) -> ApplicationId {
    let text = format!("5d0e3a0e-1a3c-4a53-9d0a-{:012x}", number * 0x9e37_79b1);
    match text.parse() {
        Ok(id) => id,
        Err(_) => panic!("{text} is no UUID"),
    }
}

/// Anonymous memory of this process; 0 where the kernel does not say.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kib.unwrap_or_default() * 1024
}
