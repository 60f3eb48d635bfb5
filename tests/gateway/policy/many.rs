//! Ten thousand policies: their memory and the time of a lookup. The time is printed, not asserted, because
//! this is not a release build.

use super::world::Running;
use monitor_gateway::policy::Found;
use std::hint::black_box;
use std::time::Instant;
use support::postgres::{Database, Postgres};

const MANY: usize = 10_000;
const MOST_BYTES: usize = 50 << 20;

/// Adds them with phrases of 200 characters.
const INSERT: &str = "INSERT INTO applications (id, name, policy)
    SELECT ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'application ' || n,
           jsonb_build_object('app_mode', 'sync', 'phrase', rpad('phrase ' || n, 200, '.'))
    FROM generate_series(1, 10000) AS n";

fn id(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}

/// Anonymous memory of this process, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line
        .and_then(|line| line.split_whitespace().next())
        .unwrap();
    number.parse::<usize>().unwrap() * 1024
}

#[test]
#[ignore = "needs PostgreSQL"]
fn ten_thousand_policies_weigh_less_than_50_mb() {
    let server = Postgres::shared();
    let database = server.database();
    database.execute(INSERT);
    let before = resident();
    let running = Running::of(&database);
    let grown = resident().saturating_sub(before);
    assert_eq!(running.policies.status().applications, MANY);
    println!(
        "{MANY} policies: {} KiB, with what reading them took",
        grown >> 10
    );
    assert!(grown < MOST_BYTES, "{grown}");

    let ids: Vec<String> = (1..=MANY).map(id).collect();
    let start = Instant::now();
    for id in &ids {
        let found = running.policies.lookup(Some(black_box(id)));
        assert!(matches!(black_box(found), Found::Policy(_)));
    }
    println!("look-up: {:?}", start.elapsed() / MANY as u32);
    change_all(&database, &running, &ids);
}

fn change_all(database: &Database, running: &Running, ids: &[String]) {
    let start = Instant::now();
    database.execute(
        "UPDATE applications SET policy = policy || '{\"on_backend_failure\":\"closed\"}'",
    );
    let written = start.elapsed();
    support::eventually("all are in force", || {
        let all = ids
            .iter()
            .all(|id| match running.policies.lookup(Some(id)) {
                Found::Policy(policy) => policy.on_backend_failure.as_str() == "closed",
                _ => false,
            });
        all.then_some(())
    });
    println!(
        "a change of all: written in {written:?}, in force {:?} later",
        start.elapsed() - written
    );
}
