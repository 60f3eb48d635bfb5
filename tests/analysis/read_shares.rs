//! Fair shares of the store's connections and of memory between those who read (CONTRACT 38), over the real binary.

use crate::admin_world::{application, call_as, token};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use support::api::post;
use support::eventually;
use support::postgres::Postgres;
use support::sqlite::execute_now;
use support::stack::{Builder, Stack};

/// Copies of the one record of this user: each has a user of its own where `users` is SQL for a name.
fn multiply(stack: &Stack, user: &str, count: usize, users: &str) {
    let columns = "application_id, stage, session_id, created_at_ms, rules_version, status, \
        flagged_guardrails, flagged_custom_policy, flagged_dataclean, token_count, severity, types, failed, \
        incomplete, blocked, total_us, bytes";
    let sql = format!(
        "PRAGMA busy_timeout = 20000;
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})
        INSERT INTO records (id, user_id, {columns})
        SELECT randomblob(16), {users}, {columns} FROM records, numbers WHERE user_id = '{user}'"
    );
    execute_now(&stack.data_dir().join("monitor.db"), &sql);
}

/// Stores one message of a user.
#[track_caller]
fn store(stack: &Stack, application: &str, user: &str) {
    let parameters = json!({"user_id": user});
    let body = json!({"application_id": application, "message": "hi", "additional_parameters": parameters});
    assert_eq!(post(stack, "/process_request/", &body).status(), 200);
    eventually("the record is stored", || {
        let path = format!("/records?user_id={user}");
        let found = stack.analysis(&path, support::KEY).json();
        (found["records"].as_array()?.len() == 1).then_some(())
    });
}

fn bound(stack: &Stack, application: &str, name: &str) -> String {
    let scopes = json!(["ingest", "read"]);
    let token = token(
        stack,
        json!({"name": name, "scopes": scopes, "application_id": application}),
    );
    token.1
}

#[test]
fn reads_of_one_tenant_delay_no_check_and_no_read_of_another_by_more_than_a_turn() {
    const FLOODS: usize = 48;
    /// Reads that are under way, and those that begin meanwhile; without turns all of them go first.
    const A_FEW: usize = 8;
    let stack = Stack::all().start();
    let (flooding, quiet) = (
        application(&stack, "flooding"),
        application(&stack, "quiet"),
    );
    let flood_key = bound(&stack, &flooding, "flooding");
    let keys: Vec<_> = (0..4)
        .map(|number| bound(&stack, &quiet, &format!("quiet {number}")))
        .collect();
    store(&stack, &flooding, "u");
    multiply(&stack, "u", 150_000, "'u'");
    let (ends, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let status = || stack.operations("/status").json()["store_reads"].clone();
    std::thread::scope(|scope| {
        for _ in 0..FLOODS {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    // Looks through all of them, and finds none.
                    let path = "/records?user_id=u&verdict=blocked";
                    if stack.analysis(path, &flood_key).status() == 200 {
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let few = |what: &str, request: &dyn Fn() -> u16| {
            let before = answered.load(Ordering::Relaxed);
            let status = request();
            let meanwhile = answered.load(Ordering::Relaxed) - before;
            (what.to_owned(), status, meanwhile)
        };
        let flooded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually("the flood waits for its turns", || {
                (status()["waiting"].as_u64()? >= FLOODS as u64 / 2).then_some(())
            });
        }));
        let mut seen = Vec::new();
        for key in keys.iter().filter(|_| flooded.is_ok()) {
            let body = json!({"application_id": quiet, "message": "hello"});
            let check = || {
                let body = body.clone();
                call_as(key, &stack, ("POST", "/process_request/"), body).status()
            };
            seen.push(few("a check with a key that is new", &check));
            let read = || stack.analysis("/records", key).status();
            seen.push(few("a read", &read));
        }
        ends.store(true, Ordering::Relaxed);
        assert!(flooded.is_ok(), "the flood did not wait");
        for (what, status, meanwhile) in seen {
            assert_eq!(status, 200, "{what}");
            assert!(meanwhile <= A_FEW, "{meanwhile} reads went before {what}");
        }
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn verdicts_that_one_tenant_asks_for_leave_a_connection_to_the_look_ups_of_calls() {
    const POLLS: usize = 8;
    const HELD: &str =
        "FROM pg_locks WHERE relation = 'records'::regclass AND mode = 'AccessExclusiveLock'";
    let server = Postgres::start();
    let database = server.database();
    let variables = database.owner_env().into_iter();
    let server_over =
        |builder: Builder| variables.fold(builder, |it, (name, value)| it.env(name, value));
    let stack = server_over(Stack::all()).start();
    let (polling, quiet) = (application(&stack, "polling"), application(&stack, "quiet"));
    let poll_key = bound(&stack, &polling, "polling");
    let keys: Vec<_> = (0..4)
        .map(|number| bound(&stack, &quiet, &format!("quiet {number}")))
        .collect();
    let body = json!({"application_id": polling, "message": "hi", "additional_parameters": {"request_id": "x"}});
    assert_eq!(post(&stack, "/process_request/", &body).status(), 200);
    let path =
        format!("/user_prompt_analysis/by_request/x/check_blocking?application_id={polling}");
    assert_eq!(stack.analysis(&path, &poll_key).status(), 200);
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Ended below.
            let _ = database.try_query("BEGIN; LOCK TABLE records; SELECT pg_sleep(60)");
        });
        let answers = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually("no record can be read", || {
                (database.query(&format!("SELECT count(*) {HELD} AND granted")) == "1")
                    .then_some(())
            });
            for _ in 0..POLLS {
                scope.spawn(|| {
                    while !ends.load(Ordering::Relaxed) {
                        stack.analysis(&path, &poll_key);
                    }
                });
            }
            eventually("all of them wait", || {
                (stack.operations("/status").json()["in_flight"].as_u64()? >= POLLS as u64)
                    .then_some(())
            });
            let look_up = |key: &String| stack.analysis("/records/none", key).status();
            keys.iter().map(look_up).collect::<Vec<_>>()
        }));
        ends.store(true, Ordering::Relaxed);
        database.query(&format!(
            "SELECT pg_terminate_backend(pid) {HELD} AND granted"
        ));
        assert_eq!(answers.unwrap(), [404; 4], "each with a key that is new");
    });
}

#[test]
fn sums_of_users_count_as_memory_and_are_refused_beyond_it() {
    const USERS: usize = 12_000;
    // 480 bytes.
    let users = "hex(randomblob(240))";
    let sums = |yaml: &str| {
        let stack = Stack::all().yaml(yaml).start();
        store(&stack, &stack.application_id(), "u");
        multiply(&stack, "u", USERS, users);
        stack
    };
    let stack = sums("");
    let is_seen = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_seen.load(Ordering::Relaxed) {
                let sums = stack.analysis("/statistics/users?limit=1", support::KEY);
                assert_eq!(sums.status(), 200, "{}", sums.text());
                assert_eq!(sums.json()["user_count"], USERS + 1);
            }
        });
        let counted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually("the users are counted as memory", || {
                let held: Value = stack.operations("/status").json()["api_memory"].clone();
                (held["bytes"].as_u64()? >= 480 * 3_000).then_some(())
            });
        }));
        is_seen.store(true, Ordering::Relaxed);
        assert!(counted.is_ok(), "the users were not counted");
    });
    eventually("it is given back", || {
        (stack.operations("/status").json()["api_memory"]["bytes"] == 0).then_some(())
    });
    let little = "  max_body: 1MiB\n  limits: {buffered_bytes: 4MiB, client_bytes: 4MiB}";
    let stack = sums(little);
    let refused = stack.analysis("/statistics/users", support::KEY);
    assert_eq!(refused.status(), 503, "{}", refused.text());
    assert!(
        refused.text().contains("limits.buffered_bytes"),
        "{}",
        refused.text()
    );
    let one = stack.analysis("/statistics/users?user_id=u", support::KEY);
    assert_eq!(one.status(), 200, "{}", one.text());
}
