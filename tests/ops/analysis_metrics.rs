//! What an analysis server says about itself: its requests, its verdicts, its store (CONTRACT 35).

use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use std::collections::VecDeque;
use support::KEY;
use support::api::{analyse, authorised, post};
use support::bucket::Bucket;
use support::eventually;
use support::fault::SilentProxy;
use support::line::signal;
use support::postgres::{Database, Postgres};
use support::request::Request;
use support::stack::{Folder, Stack};

fn requests(stack: &Stack, route: &str, status: u16) -> f64 {
    stack.metric(&format!(
        r#"monitor_api_requests_total{{route="{route}",status="{status}"}}"#
    ))
}

/// Connections of PostgreSQL that reads of one tenant may have at a time (CONTRACT 38).
const OF_ONE_TENANT: u64 = 3;

#[test]
fn requests_are_counted_by_the_template_of_their_route_and_their_status() {
    let stack = Stack::analysis_server().start();
    let get = |path: &str| stack.analysis(path, KEY).status();
    let unknown = "/records/00000000-0000-4000-8000-000000000001";
    let invented = "/records/00000000-0000-4000-8000-000000000002/";
    assert_eq!((get(unknown), get(invented)), (404, 404));
    assert_eq!((get("/api/records/"), get("/records")), (200, 200));
    assert_eq!(stack.analysis("/records", "wrong").status(), 401);
    assert_eq!((get("/openapi.json"), get("/docs")), (200, 200));
    assert_eq!((get("/ui/sign-in"), get("/ui/no-such-page")), (200, 404));
    assert_eq!((get("/no/such/path"), get("/another")), (404, 404));
    let wrong_method = authorised(Request::json("PUT", "/records", "{}"));
    assert_eq!(wrong_method.call(stack.analysis_addr).status(), 405);
    for (route, status, count) in [
        ("/records/{id}", 404, 2.0),
        ("/records", 200, 2.0),
        ("/records", 401, 1.0),
        ("/records", 405, 1.0),
        ("/docs", 200, 2.0),
        ("/ui", 200, 1.0),
        // No path that a client invents becomes a series, nor does a page that the web UI does not have.
        ("/ui", 404, 0.0),
        ("other", 404, 3.0),
    ] {
        assert_eq!(requests(&stack, route, status), count, "{route} {status}");
    }
    let metrics = stack.metrics();
    assert!(!metrics.contains("no/such") && !metrics.contains("00000000"));
}

#[test]
fn messages_are_counted_by_what_was_found_with_the_time_of_each_step() {
    let stack = Stack::analysis_server().start();
    analyse(&stack, "Hello there, how are you today?", json!({}));
    analyse(&stack, "Write to anna@example.com, please.", json!({}));
    let answer = json!({"application_id": stack.application_id(), "message": "All is well."});
    assert_eq!(post(&stack, "/process_response/", &answer).status(), 200);
    let metrics = stack.metrics();
    let value = |series: &str| {
        let mut lines = metrics.lines();
        let line = lines.find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {series} in\n{metrics}"))
            .parse::<f64>()
            .unwrap()
    };
    let result = |stage: &str, kind: &str| {
        value(&format!(
            r#"monitor_analysis_results_total{{stage="{stage}",type="{kind}"}}"#
        ))
    };
    assert_eq!(result("pre_call", "clean"), 1.0);
    assert_eq!(result("pre_call", "dataclean"), 1.0);
    assert_eq!(result("post_call", "clean"), 1.0);
    assert_eq!(
        value(r#"monitor_records_stored_total{stage="pre_call"}"#),
        2.0
    );
    assert_eq!(
        value(r#"monitor_records_stored_total{stage="post_call"}"#),
        1.0
    );
    for step in ["parse", "store"] {
        let count = format!(r#"monitor_analysis_step_seconds_count{{step="{step}"}}"#);
        assert_eq!(value(&count), 3.0, "{step}");
    }
    let taken = r#"monitor_analysis_step_seconds_sum{step="store"}"#;
    assert!(value(taken) > 0.0);
}

/// Messages that were not checked as a whole.
fn incomplete(stack: &Stack, reason: &str) -> f64 {
    let labels = format!(r#"reason="{reason}",stage="pre_call""#);
    stack.metric(&format!("monitor_analysis_incomplete_total{{{labels}}}"))
}

#[test]
fn messages_that_are_not_checked_as_a_whole_are_counted_whatever_was_found_in_them() {
    let found = |stack: &Stack| {
        stack.metric(r#"monitor_analysis_results_total{stage="pre_call",type="dataclean"}"#)
    };
    // A stage that fails: the rules ask for guardrails, and this deployment has none.
    let failing = Stack::analysis_server().yaml("services: {guardrails: false}");
    let failing = failing.start();
    let answer = analyse(&failing, "Write to anna@example.com, please.", json!({}));
    assert_eq!(answer["status"], "partial_success", "{answer}");
    let counted = [
        incomplete(&failing, "failed"),
        incomplete(&failing, "budget"),
    ];
    assert_eq!((found(&failing), counted), (1.0, [1.0, 0.0]));
    // A message that is longer than what is analyzed.
    let bounded = Stack::analysis_server().yaml("limits: {analyzed_bytes: 64KiB}");
    let bounded = bounded.start();
    let long = format!("Write to anna@example.com. {}", "and so on ".repeat(10_000));
    let answer = analyse(&bounded, &long, json!({}));
    assert_eq!(answer["status"], "partial_success", "{answer}");
    let counted = [
        incomplete(&bounded, "failed"),
        incomplete(&bounded, "budget"),
    ];
    assert_eq!((found(&bounded), counted), (1.0, [0.0, 1.0]));
}

#[test]
fn calls_of_the_gateway_in_the_same_process_are_counted_as_messages() {
    let stack = Stack::all().start();
    let answer = stack.call(&Request::chat(support::request::HELLO));
    assert_eq!(answer.status(), 200);
    eventually("prompt and answer are stored", || {
        let stored = ["pre_call", "post_call"].map(|stage| {
            stack.metric(&format!(
                r#"monitor_records_stored_total{{stage="{stage}"}}"#
            ))
        });
        (stored == [1.0, 1.0]).then_some(())
    });
}

#[test]
fn contract_35_status_shows_the_store() {
    let stack = Stack::analysis_server().start();
    let store = &stack.operations("/status").json()["store"];
    assert_eq!(store["kind"], "SQLite");
    assert_eq!(store["answers"], true);
    assert_eq!(store["error"], Value::Null);
    assert!(store["schema"].as_i64().unwrap() > 0, "{store}");
    assert_eq!(store["connections"]["limit"], 4);
    assert_eq!(stack.metric("monitor_store_up"), 1.0);
    let gateway = Stack::gateway()
        .env("UPSTREAM_URL", "http://127.0.0.1:1")
        .start();
    assert_eq!(gateway.operations("/status").json()["store"], Value::Null);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_store_that_is_away_shows_everywhere_and_comes_back() {
    let mut postgres = Postgres::start();
    let database = postgres.database();
    let with_store = |builder: support::stack::Builder| {
        let variables = database.owner_env().into_iter();
        variables.fold(builder, |stack, (name, value)| stack.env(name, value))
    };
    let stack = with_store(Stack::analysis_server()).start();
    let all = with_store(Stack::all()).start();
    assert_eq!(stack.operations("/readyz").text(), "ready\n");
    let failed = r#"monitor_store_errors_total{reason="unavailable"}"#;
    assert_eq!(
        (stack.metric("monitor_store_up"), stack.metric(failed)),
        (1.0, 0.0)
    );
    postgres.stop();
    eventually("the analysis server is not ready", || {
        let ready = stack.operations("/readyz");
        (ready.status() == 503).then(|| assert!(ready.text().contains("the store")))
    });
    assert_eq!(stack.operations("/livez").status(), 200);
    assert_eq!(stack.metric("monitor_store_up"), 0.0);
    let store = stack.operations("/status").json()["store"].clone();
    assert_eq!(
        (&store["answers"], &store["schema"]),
        (&json!(false), &Value::Null)
    );
    assert!(!store["error"].as_str().unwrap().is_empty(), "{store}");
    assert_eq!(stack.analysis("/records", KEY).status(), 503);
    assert!(stack.metric(failed) >= 1.0);
    assert_eq!(requests(&stack, "/records", 503), 1.0);
    // A gateway goes on without it.
    let ready = all.operations("/readyz");
    assert_eq!(
        (ready.status(), ready.text().as_str()),
        (200, "ready, the store does not answer\n")
    );
    postgres.start_again();
    for stack in [&stack, &all] {
        eventually("it is ready again", || {
            (stack.operations("/readyz").text() == "ready\n").then_some(())
        });
        assert_eq!(stack.metric("monitor_store_up"), 1.0);
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_store_that_falls_silent_under_load_does_not_count_as_answering() {
    let postgres = Postgres::start();
    let database = postgres.database();
    let proxy = SilentProxy::before(([127, 0, 0, 1], database.port).into());
    let mut stack = Stack::analysis_server();
    for (name, value) in database.owner_env() {
        stack = match name {
            "STORE_PORT" => stack.env(name, proxy.address().port().to_string()),
            _ => stack.env(name, value),
        };
    }
    let stack = stack.start();
    assert_eq!(stack.analysis("/records", KEY).status(), 200);
    let store = || stack.operations("/status").json()["store"].clone();
    proxy.set_silent(true);
    std::thread::scope(|scope| {
        // More than one tenant may have connections, so that all of its are at work all the time.
        let searches: Vec<_> = (0..24)
            .map(|_| scope.spawn(|| stack.analysis("/records", KEY).status()))
            .collect();
        eventually("a full and silent store is not ready", || {
            let (ready, said) = (stack.operations("/readyz"), store());
            let is_full = said["connections"]["in_use"] == OF_ONE_TENANT;
            (is_full && said["answers"] == false && ready.status() == 503).then_some(())
        });
        assert_eq!(stack.metric("monitor_store_up"), 0.0);
        for search in searches {
            assert_eq!(search.join().unwrap(), 503);
        }
    });
    proxy.set_silent(false);
    eventually("it is ready again", || {
        (stack.operations("/readyz").text() == "ready\n").then_some(())
    });
}

/// An analysis server with this database.
fn over(database: &Database) -> Stack {
    let variables = database.owner_env().into_iter();
    let server = Stack::analysis_server();
    let server = variables.fold(server, |server, (name, value)| server.env(name, value));
    server.start()
}

/// Holds a lock for four seconds that searches wait for, each with a connection.
fn lock_records(database: &Database) {
    database
        .query("BEGIN; LOCK TABLE records IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(4); COMMIT");
}

fn await_lock(database: &Database) {
    eventually("the table is locked", || {
        let locks = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted \
            AND relation = 'records'::regclass";
        (database.query(locks) == "1").then_some(())
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_store_whose_connections_are_all_at_work_answers() {
    let postgres = Postgres::start();
    let database = postgres.database();
    let stack = over(&database);
    std::thread::scope(|scope| {
        let stack = &stack;
        let held = scope.spawn(|| lock_records(&database));
        await_lock(&database);
        for _ in 0..16 {
            scope.spawn(move || stack.analysis("/records", KEY).status());
        }
        eventually(
            "every connection that one tenant may have is at work",
            || {
                let store = &stack.operations("/status").json()["store"];
                assert_eq!(store["answers"], true, "{store}");
                (store["connections"]["in_use"] == OF_ONE_TENANT).then_some(())
            },
        );
        while !held.is_finished() {
            assert_eq!(stack.metric("monitor_store_up"), 1.0);
        }
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn searches_that_their_clients_leave_take_no_more_connections() {
    // CONTRACT 38: PostgreSQL goes on with a statement whose client has left.
    let postgres = Postgres::start();
    let database = postgres.database();
    let stack = over(&database);
    // Retention, which holds an advisory lock, may wait for the table as well.
    let waiting = || {
        let locks = "SELECT count(*) FROM pg_locks WHERE NOT granted \
            AND mode = 'AccessShareLock' AND relation = 'records'::regclass \
            AND pid NOT IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')";
        database.query(locks).parse::<u64>().unwrap()
    };
    std::thread::scope(|scope| {
        let held = scope.spawn(|| lock_records(&database));
        await_lock(&database);
        let (mut asked, mut left, mut most) = (VecDeque::new(), 0, 0);
        while !held.is_finished() {
            let search = authorised(Request::get("/records"));
            asked.push_back(search.send(stack.analysis_addr));
            most = most.max(waiting());
            if asked.len() > 8 {
                drop(asked.pop_front());
                left += 1;
            }
        }
        assert!(left > 8, "{left}");
        assert_eq!(most, OF_ONE_TENANT, "of {left}");
    });
    assert_eq!(stack.analysis("/records", KEY).status(), 200);
}

#[test]
fn files_are_counted_and_so_are_failures_of_their_storage() {
    let bucket = Bucket::start();
    let variables = bucket.env().into_iter();
    let stack = Stack::analysis_server().yaml("blobs: s3://files/of/monitor");
    let stack = variables.fold(stack, |stack, (name, value)| stack.env(name, value));
    let stack = stack.start();
    let rules = format!("/applications/{}/rules", stack.application_id());
    let keep = json!({"version": 1, "rules": {"keep_original": true}});
    support::api::patch(&stack, &rules, &keep);
    let attach = |content: &str| {
        let record =
            analyse(&stack, "With a file.", json!({"user_id": "anna"}))["request_id"].clone();
        let path = format!(
            "/user_prompt_analysis/{}/attach_files",
            record.as_str().unwrap()
        );
        let head = "Content-Disposition: form-data; name=\"attached_files\"; filename=\"a\"";
        let body =
            format!("--b\r\n{head}\r\nContent-Type: text/plain\r\n\r\n{content}\r\n--b--\r\n");
        let request = Request::post(&path, body).content_type("multipart/form-data; boundary=b");
        authorised(request).call(stack.analysis_addr).status()
    };
    assert_eq!(attach("one"), 200);
    let figures = || {
        let stored = stack.metric("monitor_files_stored_total");
        (stored, stack.metric("monitor_file_storage_errors_total"))
    };
    assert_eq!(figures(), (1.0, 0.0));
    bucket.set_down(true);
    assert_eq!(attach("two"), 503);
    let (stored, failures) = figures();
    assert!(stored == 1.0 && failures >= 1.0, "{failures}");
    // Nor can the bytes of an erased user be removed. The database is not at fault.
    let erase = Request::new("DELETE", "/records?user_id=anna");
    assert_eq!(authorised(erase).call(stack.analysis_addr).status(), 503);
    assert!(figures().1 > failures);
    let metrics = stack.metrics();
    let mut errors = metrics
        .lines()
        .filter(|line| line.starts_with("monitor_store_errors_total{"));
    assert!(errors.all(|line| line.ends_with(" 0")), "{metrics}");
}

#[test]
fn a_round_of_retention_that_the_store_fails_counts_as_its_failure() {
    let folder = Folder::new();
    let server = || Stack::analysis_server().folder(&folder);
    let mut stack = server().start();
    for text in ["one", "two"] {
        analyse(&stack, text, json!({}));
    }
    signal(stack.process.id() as i32, "TERM");
    stack.process.await_exit();
    let database = stack.data_dir().join("monitor.db");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(database);
        let mut database = options.connect().await.unwrap();
        let keep =
            "CREATE TRIGGER keep BEFORE DELETE ON records BEGIN SELECT RAISE(ABORT, 'kept'); END";
        sqlx::query(keep).execute(&mut database).await.unwrap();
        database.close().await.unwrap();
    });
    let stack = server().yaml("retention: {rows: 1}").start();
    eventually("a round of retention fails", || {
        (stack.metric("monitor_retention_failures_total") >= 1.0).then_some(())
    });
    let refused = r#"monitor_store_errors_total{reason="refused"}"#;
    assert!(stack.metric(refused) >= 1.0, "{}", stack.stderr());
}
