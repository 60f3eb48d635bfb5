//! What shows as a gap and what does not (CONTRACT 5): killed gateways, and records that somebody removes
//! behind the program's back. MONITOR_KILL_ROUNDS makes the killing longer; MONITOR_CHAIN_ROWS=1000000
//! measures how long a look at so many records takes.

use super::chain::{calls, chain, known, registering, settled};
use super::world::{chance, export, on_every_store, over};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::backend::{Backend, Manner};
use support::postgres::Postgres;
use support::request::{HELLO, Request};
use support::stack::{Builder, Folder, Stack};
use support::upstream::Upstream;
use support::{KEY, eventually};

on_every_store! {
    contract_5_killed_under_load_no_number_is_missing_or_given_twice
    contract_5_killed_in_sync_mode_only_what_was_cut_off_is_missing_and_said_so
    contract_5_a_segment_deleted_by_hand_is_a_gap_with_its_exact_range
}

/// The same, in sync mode.
pub(crate) fn in_sync(server: &Stack, upstream: &Upstream) -> Builder {
    let (id, policy) = (server.application_id(), "app_mode: sync, phrase: \"no\"");
    registering(server, upstream).yaml(&format!(
        "applications: [{{id: {id}, name: a, {policy}, replace_response: true}}]"
    ))
}

/// An analysis server, and a way into its database beside it.
struct Kept<'a> {
    server: &'a Stack,
    sql: &'a dyn Fn(&str),
}

fn with_sqlite(test: impl Fn(Kept)) {
    let server = Stack::analysis_server().start();
    let sql = |sql: &str| in_sqlite(&server.data_dir().join("monitor.db"), sql);
    test(Kept {
        server: &server,
        sql: &sql,
    });
}

fn with_postgres(test: impl Fn(Kept)) {
    let postgres = Postgres::shared();
    let database = postgres.database();
    let server = over(&database, Stack::analysis_server()).start();
    test(Kept {
        server: &server,
        sql: &|sql| database.execute(sql),
    });
}

fn in_sqlite(file: &Path, sql: &str) {
    use sqlx::{ConnectOptions, sqlite::SqliteConnectOptions};
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(file);
        let mut database = options.connect().await.unwrap();
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        sqlx::raw_sql(sql).execute(&mut database).await.unwrap();
    });
}

/// What became of a gateway that was killed again and again.
struct Killed {
    /// Calls that were answered.
    answered: usize,
    rounds: usize,
    /// What the server knows of it once everything is delivered.
    seen: Value,
}

/// Kills a gateway under load some times, then lets it deliver.
fn killed(server: &Stack, gateway: impl Fn() -> Builder) -> Killed {
    let rounds = std::env::var("MONITOR_KILL_ROUNDS").map_or(5, |text| text.parse().unwrap());
    let (folder, answered) = (Folder::new(), AtomicUsize::new(0));
    for _ in 0..rounds {
        let mut stack = gateway().folder(&folder).start();
        let (stop, address) = (AtomicBool::new(false), stack.gateway_addr);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let call = || Request::chat(HELLO).try_status(address);
                    while !stop.load(Ordering::Relaxed) && call() == Some(200) {
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(50 + chance(300)));
            stack.process.signal("KILL");
            stack.process.await_exit();
            stop.store(true, Ordering::Relaxed);
        });
    }
    let last = gateway().folder(&folder).start();
    // The highest numbers of all.
    let marked = Request::chat(HELLO).header("X-User-Id", "the last one");
    assert_eq!(last.call(&marked).status(), 200);
    let seen = eventually("everything is delivered", || {
        let kept = server.analysis("/records?user_id=the+last+one", KEY).json();
        let is_there = kept["records"].as_array()?.len() == 2;
        let seen = known(server, 1);
        (is_there && seen["gaps"] == json!([])).then_some(seen)
    });
    Killed {
        answered: answered.into_inner() + 1,
        rounds,
        seen,
    }
}

impl Killed {
    /// Every number has come, or is one of a cut; a cut is said at each start behind a kill.
    #[track_caller]
    fn assert_whole(&self, interrupted: u64) {
        let seen = &self.seen;
        assert_eq!(seen["repeats"], 0, "{seen}");
        assert_eq!(seen["broken_links"], json!([]), "{seen}");
        let count = |name: &str| seen[name].as_u64().unwrap();
        assert_eq!(count("count") + interrupted, count("last"), "{seen}");
        let cuts = seen["cut_behind"].as_array().unwrap().len();
        assert!((1..=self.rounds).contains(&cuts), "{seen}");
    }
}

fn contract_5_killed_under_load_no_number_is_missing_or_given_twice(server: &Stack) {
    let upstream = Upstream::ok();
    let durable = "spool: {durability: before_upstream}";
    let killed = killed(server, || registering(server, &upstream).yaml(durable));
    killed.assert_whole(0);
    assert_eq!(killed.seen["complete"], true, "{}", killed.seen);
    assert!(
        export(server).len() >= killed.answered,
        "every answered call is there"
    );
}

fn contract_5_killed_in_sync_mode_only_what_was_cut_off_is_missing_and_said_so(server: &Stack) {
    let upstream = Upstream::ok();
    let killed = killed(server, || in_sync(server, &upstream));
    let spans = killed.seen["interrupted"].as_array().unwrap().iter();
    let length = |span: &Value| span["to"].as_u64().unwrap() + 1 - span["from"].as_u64().unwrap();
    killed.assert_whole(spans.map(length).sum());
    assert!(killed.seen["count"].as_u64() > Some(10), "{}", killed.seen);
}

#[test]
fn contract_5_a_record_deleted_by_hand_is_exactly_that_gap_and_what_goes_in_order_is_none() {
    with_sqlite(deleted_by_hand);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn contract_5_on_postgres_a_record_deleted_by_hand_is_exactly_that_gap() {
    with_postgres(deleted_by_hand);
}

fn deleted_by_hand(Kept { server, sql }: Kept) {
    let upstream = Upstream::ok();
    let gateway = registering(server, &upstream).start();
    calls(&gateway, 20);
    assert_eq!(settled(server, 40, 40)["complete"], true);
    sql("DELETE FROM records WHERE chain_sequence IN (7, 8, 30)");
    let gaps = json!([{"from": 7, "to": 8}, {"from": 30, "to": 30}]);
    let seen = known(server, 40);
    assert_eq!((&seen["gaps"], &seen["vanished"]), (&gaps, &gaps));
    assert_eq!(seen["count"], 40, "so many had come");
    let part = chain(server, "?from=9&to=29");
    assert_eq!(part["gateways"][0]["complete"], true);
    let erase = Request::new("DELETE", "/records?user_id=user-4");
    let erased = super::world::authorised(erase).call(server.analysis_addr);
    assert_eq!(erased.status(), 200);
    let seen = known(server, 40);
    assert_eq!(seen["gaps"], gaps, "no less and no more: {seen}");
}

/// The segments of a spool, oldest first.
fn segments(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder.join("data/spool")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let mut segments: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|kind| kind == "seg"))
        .collect();
    segments.sort();
    segments
}

fn contract_5_a_segment_deleted_by_hand_is_a_gap_with_its_exact_range(server: &Stack) {
    let upstream = Upstream::ok();
    for (deleted, range) in [(0, [1, 20]), (1, [21, 40]), (2, [41, 60])] {
        let folder = Folder::new();
        let gateway = || registering(server, &upstream).folder(&folder);
        for _ in 0..3 {
            let mut away = gateway().env("MONITOR_URL", "http://127.0.0.1:9").start();
            calls(&away, 10);
            away.process.signal("TERM");
            away.process.await_exit();
        }
        let segments = segments(folder.path());
        assert_eq!(segments.len(), 3);
        std::fs::remove_file(&segments[deleted]).unwrap();
        let back = gateway().start();
        calls(&back, 5);
        let seen = eventually("the rest comes", || {
            let answer = chain(server, "");
            let gateways = answer["gateways"].as_array()?;
            let gap = json!([{"from": range[0], "to": range[1]}]);
            let of = |one: &&Value| one["last"] == 70 && one["gaps"] == gap;
            gateways.iter().find(of).cloned()
        });
        assert_eq!(
            (&seen["complete"], &seen["count"]),
            (&json!(false), &json!(50))
        );
        for empty in ["broken_links", "vanished", "cut_behind"] {
            assert_eq!(seen[empty], json!([]), "{seen}");
        }
        let beside = format!("?gateway={}&from={}", seen["gateway"].as_str().unwrap(), 61);
        assert_eq!(chain(server, &beside)["gateways"][0]["complete"], true);
    }
}

#[test]
fn contract_5_a_dead_letter_is_a_gap_until_it_is_put_back_and_a_new_folder_a_new_gateway() {
    let (server, upstream) = (Stack::analysis_server().start(), Upstream::ok());
    let refusing = Backend::that(Manner::Refuses(422));
    let folder = Folder::new();
    let gateway = || registering(&server, &upstream).folder(&folder);
    let end = |mut stack: Stack| {
        stack.process.signal("TERM");
        stack.process.await_exit();
    };
    let first = gateway().start();
    calls(&first, 5);
    assert_eq!(settled(&server, 10, 10)["complete"], true);
    end(first);
    let refused = gateway().env("MONITOR_URL", refusing.url()).start();
    calls(&refused, 1);
    eventually("its records are dead letters", || {
        (refused.metric("monitor_spool_dead_letters") == 2.0).then_some(())
    });
    end(refused);
    let stack = gateway().start();
    calls(&stack, 5);
    let seen = settled(&server, 22, 20);
    assert_eq!(seen["gaps"], json!([{"from": 11, "to": 12}]), "{seen}");
    let mut replay = Command::new(env!("CARGO_BIN_EXE_monitor"));
    replay.env_clear().args(["spool", "replay", "--dir"]);
    replay.arg(stack.data_dir().join("spool"));
    assert!(replay.status().unwrap().success());
    assert_eq!(settled(&server, 22, 22)["complete"], true);
    let second = registering(&server, &upstream).start();
    calls(&second, 1);
    let page = eventually("the second gateway is known", || {
        let page = chain(&server, "?limit=1");
        page["next_after"].is_string().then_some(page)
    });
    let next = format!("?after={}", page["next_after"].as_str().unwrap());
    let next = chain(&server, &next);
    let [first, second] = [&page, &next].map(|page| &page["gateways"][0]);
    assert_ne!(first["gateway"], second["gateway"]);
    assert_eq!(
        (&first["complete"], &second["complete"]),
        (&json!(true), &json!(true))
    );
}

#[test]
fn contract_5_a_key_that_the_backend_refuses_in_sync_mode_is_a_dead_letter_too() {
    let (server, upstream) = (Stack::analysis_server().start(), Upstream::ok());
    let gateway = in_sync(&server, &upstream).start();
    calls(&gateway, 1);
    let invented = Request::chat(HELLO)
        .without_key()
        .header("X-Monitor-Api-Key", "invented");
    assert_eq!(gateway.call(&invented).status(), 401);
    calls(&gateway, 1);
    let seen = settled(&server, 5, 4);
    assert_eq!(seen["gaps"], json!([{"from": 3, "to": 3}]), "{seen}");
    eventually("it is kept", || {
        (gateway.metric("monitor_spool_dead_letters") == 1.0).then_some(())
    });
}

/// Copies of the first record, numbered on.
const COPIES: &str = "
    INSERT INTO records (id, application_id, stage, exchange_id, created_at_ms, rules_version, status,
        flagged_guardrails, flagged_custom_policy, flagged_dataclean, token_count, types, failed,
        incomplete, blocked, total_us, bytes, chain_gateway, chain_sequence)
    WITH RECURSIVE numbers (n) AS (SELECT 3 UNION ALL SELECT n + 1 FROM numbers WHERE n < {rows})
    SELECT randomblob(16), application_id, stage, 'copy' || n, created_at_ms, rules_version, status,
        flagged_guardrails, flagged_custom_policy, flagged_dataclean, token_count, types, failed,
        incomplete, blocked, total_us, bytes, chain_gateway, n
    FROM records, numbers WHERE chain_sequence = 1;
    UPDATE chain_runs SET last = {rows}";

#[test]
fn contract_5_a_look_at_many_records_finds_the_few_that_are_missing() {
    let asked = std::env::var("MONITOR_CHAIN_ROWS").ok();
    let rows: u64 = asked.as_ref().map_or(20_000, |rows| rows.parse().unwrap());
    let (server, upstream) = (Stack::analysis_server().start(), Upstream::ok());
    let gateway = registering(&server, &upstream).start();
    calls(&gateway, 1);
    assert_eq!(settled(&server, 2, 2)["complete"], true);
    let file = server.data_dir().join("monitor.db");
    in_sqlite(&file, &COPIES.replace("{rows}", &rows.to_string()));
    let look = |what: &str, gaps: usize| {
        let start = Instant::now();
        let seen = known(&server, rows);
        let took = start.elapsed();
        println!("{rows} records, {what}: {took:?}");
        assert_eq!(seen["gaps"].as_array().unwrap().len(), gaps);
        assert_eq!(seen["complete"], gaps == 0);
        let limit = Duration::from_secs(1);
        assert!(asked.is_none() || took <= limit, "{what}: {took:?}");
    };
    look("nothing missing", 0);
    in_sqlite(&file, "DELETE FROM records WHERE chain_sequence = 5000");
    look("one missing", 1);
    in_sqlite(
        &file,
        "DELETE FROM records WHERE chain_sequence % 10007 = 0",
    );
    look("some missing", 1 + rows as usize / 10_007);
}
