//! SIGKILL under load: what was acknowledged is in the store, once (§4.3, CONTRACT 23 and 27).
//! MONITOR_KILL_ROUNDS asks for more rounds than the suite's.

use super::world::{Load, chance, over};
use std::time::{Duration, Instant};
use support::PATIENCE;
use support::postgres::Postgres;
use support::stack::{Builder, Folder, Stack};

const ROUNDS: u64 = 10;
const CLIENTS: usize = 8;
/// A kill comes within this time after the last acknowledgement that is waited for.
const ANY_MOMENT_US: u64 = 20_000;
/// In one round of so many the database is killed before the server.
const DATABASE_ROUNDS: u64 = 10;

#[test]
fn contract_23_a_server_killed_over_sqlite_loses_no_acknowledged_record_and_doubles_none() {
    let folder = Folder::new();
    run(
        "SQLite",
        &Stack::analysis_server().folder(&folder),
        |_, _| {},
    );
}

#[test]
#[ignore = "needs PostgreSQL"]
fn contract_23_server_and_database_killed_lose_no_acknowledged_record_and_double_none() {
    let mut server = Postgres::start();
    // Killed, not only stopped: what is acknowledged has to be in the log by then.
    server.restart_with(&["fsync=on".to_owned()]);
    let database = server.database();
    let builder = over(&database, Stack::analysis_server());
    let with_database = rounds().min(DATABASE_ROUNDS) / 2;
    run("PostgreSQL", &builder, |round, load| {
        if round % DATABASE_ROUNDS == with_database {
            server.crash();
            let before = load.unanswered();
            support::eventually("the outage is seen", || {
                (load.unanswered() > before).then_some(())
            });
            server.start_again();
            load.await_more(20);
        }
    });
}

fn rounds() -> u64 {
    let asked = std::env::var("MONITOR_KILL_ROUNDS").ok();
    asked.map_or(ROUNDS, |rounds| rounds.parse().unwrap())
}

/// A server that is started as a service manager does it: again, where it ended because a busy machine gave it no
/// connection to the database in its time. At most four times [`PATIENCE`] long.
#[track_caller]
fn started(builder: &Builder) -> Stack {
    let deadline = Instant::now() + PATIENCE * 4;
    loop {
        match builder.attempt() {
            Ok(stack) => return stack,
            Err(stderr) => {
                let may_pass = ["cannot listen", "no connection within"];
                let may_pass = may_pass.iter().any(|reason| stderr.contains(reason));
                assert!(
                    may_pass && Instant::now() < deadline,
                    "the server ended instead of serving:\n{stderr}"
                );
            }
        }
    }
}

fn run(store: &str, builder: &Builder, mut in_round: impl FnMut(u64, &Load)) {
    let first = builder.clone().start();
    let load = Load::new(first.application_id(), vec![first.analysis_addr]);
    let last = std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let load = &load;
            scope.spawn(move || load.client(&format!("client{number}")));
        }
        let mut stack = first;
        for round in 0..rounds() {
            load.await_more(1 + chance(200) as usize);
            in_round(round, &load);
            // Not to wait for anything: so that the kill meets every phase of a commit.
            std::thread::sleep(Duration::from_micros(chance(ANY_MOMENT_US)));
            stack.process.signal("KILL");
            stack.process.await_exit();
            stack = started(builder);
            load.ask(vec![stack.analysis_addr]);
        }
        load.await_more(CLIENTS);
        load.end();
        stack
    });
    let kept = load.assert_kept(&last);
    assert!(load.unanswered() > 0, "no kill met a call");
    println!(
        "{store}: {} kills, {kept} acknowledged records, {} tries without an acknowledgement, none lost, none twice",
        rounds(),
        load.unanswered()
    );
}
