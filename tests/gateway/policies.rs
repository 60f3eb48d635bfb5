//! Which policy a call is subject to, and where it comes from: §1.6, §2.5, §5.3, CONTRACT 3, 7, 14,
//! 16. What sync mode does stands in `sync`.

use crate::sync::{SYNC, blocked, chat, sync};
use std::time::{Duration, Instant};
use support::backend::Backend;
use support::fault::refusing_address;
use support::postgres::{Database, Postgres};
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::{Builder, Folder, Stack};
use support::upstream::{ANSWER, DONE, Upstream, delta, json, sse};
use support::{KEY, eventually};

const OTHER: &str = "0b9a8c7d-6e5f-4a3b-8c1d-2e3f4a5b6c7d";

fn content(answer: &support::http::Response) -> String {
    let body = blocked(answer);
    body["choices"][0]["message"]["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Streams what is asked for as a stream.
fn model() -> Upstream {
    Upstream::answering(|request| {
        let streams = String::from_utf8_lossy(&request.body).contains("\"stream\":true");
        match streams {
            true => sse(&[&delta(0, "a"), DONE]),
            false => json(200, ANSWER),
        }
    })
}

#[test]
fn a_call_without_a_policy_is_async() {
    // §3, CONTRACT 11: nothing is awaited, nothing is replaced, streams are delivered.
    let (upstream, backend) = (model(), Backend::flagging("hello"));
    let stack = sync(&upstream, "").monitor(&backend).start();
    let streamed = [delta(0, "a").as_str(), DONE].concat();
    for id in [None, Some(OTHER), Some("no-uuid"), Some("")] {
        let mut request = Request::chat(HELLO_STREAM);
        if let Some(id) = id {
            request = request.header("X-Application-Id", id);
        }
        assert_eq!(stack.call(&request).text(), streamed, "{id:?}");
        assert_eq!(upstream.last().body, HELLO_STREAM.as_bytes(), "§1.3");
    }
    let spelled = SYNC.to_uppercase();
    let request = Request::chat(HELLO).header("X-Application-Id", &spelled);
    blocked(&stack.call(&request));
}

#[test]
fn the_configured_application_stands_in_for_the_header() {
    // §2.1, §5.3, CONTRACT 7.
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("hello"));
    let builder = sync(&upstream, "").monitor(&backend);
    let stack = builder.env("MONITOR_APPLICATION_ID", SYNC).start();
    blocked(&stack.call(&Request::chat(HELLO)));
    let other = Request::chat(HELLO).header("X-Application-Id", OTHER);
    assert_eq!(stack.call(&other).text(), ANSWER);
}

#[test]
fn one_applications_policy_never_touches_another() {
    // §5.3, CONTRACT 16: different policies on one gateway, at the same time.
    let (upstream, backend) = (model(), Backend::flagging("hello"));
    let ids = [SYNC, OTHER].map(str::to_owned);
    let third = uuid::Uuid::new_v4().to_string();
    let yaml = format!(
        "applications:\n- {{id: {}, app_mode: sync, phrase: first}}\n\
         - {{id: {}, app_mode: sync, phrase: second, block_on: {{guardrails: false}}}}\n\
         - {{id: {third}, app_mode: async}}",
        ids[0], ids[1]
    );
    let builder = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = builder.yaml(&yaml).start();
    let streamed = [delta(0, "a").as_str(), DONE].concat();
    let call = |id: &str| stack.call(&Request::chat(HELLO_STREAM).header("X-Application-Id", id));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..10).for_each(|_| assert_eq!(content(&call(&ids[0])), "first")));
            scope.spawn(|| (0..10).for_each(|_| assert_eq!(content(&call(&ids[1])), "second")));
            scope.spawn(|| (0..10).for_each(|_| assert_eq!(call(&third).text(), streamed)));
        }
    });
    let calls = backend.await_posts(30);
    assert!(
        calls
            .iter()
            .filter(|c| !c.is_pre())
            .all(|c| c.json["application_id"] == third)
    );
}

#[test]
fn scan_roles_widen_what_is_checked_and_recorded() {
    // CONTRACT 3.
    const BODY: &str = r#"{"messages":[{"role":"system","content":"one"},{"role":"user","content":"two"},{"role":"assistant","content":"three"},{"role":"tool","content":"four"},{"role":"user","content":"five"}]}"#;
    for (roles, expected) in [
        ("[last_user]", "five"),
        ("[all_user]", "two\nfive"),
        ("[system, last_user]", "one\nfive"),
        ("[assistant, tool]", "three\nfour"),
    ] {
        for mode in ["sync, phrase: x", "async"] {
            let (upstream, backend) = (Upstream::ok(), Backend::start());
            let yaml =
                format!("applications:\n- {{id: {SYNC}, app_mode: {mode}, scan_roles: {roles}}}");
            let builder = Stack::gateway().upstream(&upstream).monitor(&backend);
            let stack = builder.yaml(&yaml).start();
            assert_eq!(stack.call(&chat(BODY)).text(), ANSWER);
            let (pre, _) = backend.await_exchange();
            assert_eq!(pre.message(), expected, "{mode}");
            assert_eq!(upstream.last().body, BODY.as_bytes());
        }
    }
}

#[test]
fn options_that_contradict_each_other_are_refused_at_the_start() {
    // CONTRACT 41: no option silently does nothing.
    for (fields, said) in [
        (
            ", stream_in_sync: hold_back, redact_upstream: true",
            "hold_back cannot be combined with redact_upstream",
        ),
        (
            ", stream_in_sync: hold_back, block_on: {dataclean: false}",
            "hold_back needs block_on.dataclean",
        ),
        (", local_patterns: [IP]", "needs stream_in_sync hold_back"),
        (
            ", redact_upstream: true, local_patterns: [DIAGNOSIS]",
            "is found by the backend only; allowed: BANK_CARD_NUMBER, CVC,",
        ),
    ] {
        let (status, stderr) = sync(&Upstream::ok(), fields).refused();
        assert!(!status.success());
        assert!(stderr.contains(said), "{stderr}");
    }
}

#[test]
fn a_store_that_was_never_reached_leaves_calls_async_counted_and_warned_about() {
    // CONTRACT 14.
    let (upstream, backend) = (model(), Backend::flagging("hello"));
    let address = refusing_address();
    let mut builder = Stack::gateway().upstream(&upstream).monitor(&backend);
    for (name, value) in [
        ("STORE_HOST", address.ip().to_string()),
        ("STORE_PORT", address.port().to_string()),
        ("STORE_DB", "monitor".to_owned()),
        ("STORE_USER", "gateway".to_owned()),
    ] {
        builder = builder.env(name, value);
    }
    let stack = builder.start();
    assert_eq!(stack.call(&chat(HELLO)).text(), ANSWER);
    assert_eq!(stack.call(&Request::chat(HELLO)).text(), ANSWER);
    let unknown = stack.metric(r#"monitor_unchecked_total{reason="policy_unknown"}"#);
    assert_eq!(
        unknown, 1.0,
        "a call without an application is known to have no policy"
    );
    assert_eq!(stack.metric("monitor_policies_age_seconds"), f64::INFINITY);
    for said in ["no verdict (policy_unknown)", "detail=policy_unknown"] {
        let line = |text: &str| text.contains(said).then_some(());
        stack.process.await_stderr(said, line);
    }
    let calls = backend.await_posts(2);
    let marked = calls
        .iter()
        .filter(|call| *call.parameter("unchecked") == true);
    assert_eq!(marked.count(), 2, "both records of the first call");
}

pub(crate) fn with_store(builder: Builder, database: &Database) -> Builder {
    let variables = database.env().into_iter();
    variables.fold(builder, |builder, (name, value)| builder.env(name, value))
}

#[test]
#[ignore = "needs PostgreSQL"]
fn policies_of_postgresql_are_live_within_a_second_and_outlive_it() {
    // CONTRACT 14, 16, §8.2.
    let mut server = Postgres::start();
    let database = server.database();
    let policy = |phrase: &str| format!(r#"{{"app_mode":"sync","phrase":"{phrase}"}}"#);
    database.add(SYNC, &policy("first"));
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("hello"));
    let builder = Stack::gateway().upstream(&upstream).monitor(&backend);
    let builder = with_store(builder, &database);
    let stack = builder.clone().start();
    assert_eq!(
        content(&stack.call(&chat(HELLO))),
        "first",
        "from the first call on"
    );
    let changed = Instant::now();
    database.set(SYNC, &policy("second"));
    eventually("the change is live", || {
        (content(&stack.call(&chat(HELLO))) == "second").then_some(())
    });
    assert!(
        changed.elapsed() < Duration::from_secs(1),
        "{:?}",
        changed.elapsed()
    );
    database.set(
        SYNC,
        r#"{"app_mode":"sync","phrase":"x","redact_upstream":true,"local_patterns":["DIAGNOSIS"]}"#,
    );
    eventually("the policy that cannot be used is reported", || {
        (stack.metric("monitor_policies_problems") == 1.0).then_some(())
    });
    assert_eq!(
        content(&stack.call(&chat(HELLO))),
        "second",
        "the last good one stays"
    );
    server.crash();
    let age = stack.metric("monitor_policies_age_seconds");
    eventually("the age grows", || {
        assert_eq!(content(&stack.call(&chat(HELLO))), "second");
        (stack.metric("monitor_policies_age_seconds") > age).then_some(())
    });
    drop(stack);
    let stack = builder.start();
    assert_eq!(
        content(&stack.call(&chat(HELLO))),
        "second",
        "from the copy on disk"
    );
}

#[test]
#[ignore = "needs PostgreSQL"]
fn contract_47_policies_of_the_file_and_of_postgresql_are_both_in_force() {
    let mut server = Postgres::start();
    let database = server.database();
    let stored = r#"{"app_mode":"sync","phrase":"stored"}"#;
    database.add(SYNC, stored);
    database.add(OTHER, stored);
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("hello"));
    let listed = |phrase: &str| {
        format!("applications:\n- {{id: {SYNC}, name: bot, app_mode: sync, phrase: {phrase}}}")
    };
    let (folder, unlisted) = (Folder::new(), "33333333-3333-4333-8333-333333333333");
    let gateway = |phrase: &str| {
        let builder = Stack::gateway().upstream(&upstream).monitor(&backend);
        let builder = with_store(builder.folder(&folder), &database);
        builder.yaml(&listed(phrase)).start()
    };
    let phrase = |stack: &Stack, id: &str| {
        let request = Request::chat(HELLO).header("X-Application-Id", id);
        content(&stack.call(&request))
    };
    let stack = gateway("listed");
    assert_eq!(phrase(&stack, SYNC), "listed");
    assert_eq!(phrase(&stack, OTHER), "stored");
    let status = stack.operations("/status").json();
    assert_eq!(status["policies"]["store"], "file+postgres", "{status}");
    assert_eq!(status["policies"]["overridden_count"], 1, "{status}");
    assert_eq!(
        status["policies"]["overridden"],
        serde_json::json!([SYNC]),
        "{status}"
    );
    let said = "stored policies are not in force, because the configuration file (applications) has others for";
    let line = |text: &str| text.contains(said).then(|| text.to_owned());
    let line = stack.process.await_stderr(said, line);
    assert!(line.contains(SYNC) && !line.contains(OTHER), "{line}");
    database.set(OTHER, r#"{"app_mode":"sync","phrase":"changed"}"#);
    database.set(SYNC, r#"{"app_mode":"sync","phrase":"changed"}"#);
    eventually("the change is live", || {
        (phrase(&stack, OTHER) == "changed").then_some(())
    });
    assert_eq!(phrase(&stack, SYNC), "listed");
    // While the database is away, a start takes its part from the copy on disk and the file as it is now.
    server.crash();
    drop(stack);
    let stack = gateway("listed later");
    assert_eq!(phrase(&stack, SYNC), "listed later");
    assert_eq!(phrase(&stack, OTHER), "changed");
    let request = Request::chat(HELLO).header("X-Application-Id", unlisted);
    assert_eq!(stack.call(&request).text(), ANSWER);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn contract_47_the_api_over_postgresql_says_that_the_file_wins() {
    let server = Postgres::shared();
    let database = server.empty_database();
    let upstream = Upstream::ok();
    let variables = database.owner_env().into_iter();
    let stack = variables
        .fold(
            Stack::all().upstream(&upstream),
            |builder, (name, value)| builder.env(name, value),
        )
        .yaml(&format!(
            "applications:\n- {{id: {SYNC}, name: bot, app_mode: sync, phrase: listed}}"
        ))
        .start();
    let card = HELLO.replace("hello", "my card is 4111 1111 1111 1111");
    assert_eq!(content(&stack.call(&chat(&card))), "listed");
    let path = format!("/applications/{SYNC}");
    assert_eq!(stack.analysis(&path, KEY).json()["policy_source"], "file");
    let change = serde_json::json!({"version": 1, "policy": {"phrase": "no effect"}}).to_string();
    let request = Request::json("PATCH", &format!("{path}/policy"), change);
    let answer = support::api::authorised(request).call(stack.analysis_addr);
    assert_eq!(answer.status(), 409, "{}", answer.text());
    let policy = serde_json::json!({"app_mode": "sync", "phrase": "stored"});
    let body = serde_json::json!({"id": OTHER, "name": "stored", "policy": policy});
    assert_eq!(
        support::api::post(&stack, "/applications", &body).status(),
        201
    );
    let request = Request::chat(card).header("X-Application-Id", OTHER);
    eventually("the stored policy is in force", || {
        let answer = stack.call(&request);
        (answer.text() != ANSWER).then(|| assert_eq!(content(&answer), "stored"))
    });
}

#[test]
fn all_in_one_process_blocks_with_its_own_analysis() {
    // CONTRACT 16, 32: policies from the file, verdicts from this process, no wire between.
    let upstream = Upstream::ok();
    let stack = Stack::all()
        .upstream(&upstream)
        .yaml(&format!(
            "applications:\n- {{id: {SYNC}, name: bot, app_mode: sync, phrase: no cards}}"
        ))
        .start();
    assert_eq!(stack.call(&chat(HELLO)).text(), ANSWER);
    let card = HELLO.replace("hello", "my card is 4111 1111 1111 1111");
    let answer = stack.call(&chat(&card));
    assert_eq!(content(&answer), "no cards");
    assert!(!answer.text().contains("4111 1111"), "{}", answer.text());
    let wrong = chat(&card)
        .without_key()
        .header("X-Monitor-Api-Key", "mon_invented");
    assert_eq!(stack.call(&wrong).status(), 401, "CONTRACT 13");
    assert_eq!(upstream.connections(), 1);
    let id = &answer.json()["metadata"]["monitor"]["prepared_response"]["analysis_id"];
    let path = format!("/records/{}", id.as_str().unwrap());
    // The verdict does not wait for the disk.
    let record = eventually("the record is kept", || {
        Some(stack.analysis(&path, KEY)).filter(|record| record.status() == 200)
    });
    assert_eq!(record.json()["application_id"], SYNC);
}

#[test]
fn all_in_one_process_takes_policies_of_its_own_database_as_they_change() {
    // CONTRACT 16: written by another process here, live within a second.
    use sqlx::{ConnectOptions, sqlite::SqliteConnectOptions};
    let (upstream, folder) = (Upstream::ok(), Folder::new());
    let stack = Stack::all().upstream(&upstream).folder(&folder).start();
    let card = Request::chat(HELLO.replace("hello", "my card is 4111 1111 1111 1111"));
    assert_eq!(stack.call(&card).text(), ANSWER, "no policy, no block");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let changed = runtime.block_on(async {
        let file = folder.path().join("data/monitor.db");
        let options = SqliteConnectOptions::new().filename(file);
        let mut database = options.connect().await.unwrap();
        let policy = r#"UPDATE applications SET policy = '{"app_mode":"sync","phrase":"stored"}'"#;
        sqlx::query(policy).execute(&mut database).await.unwrap();
        Instant::now()
    });
    eventually("the policy is in force", || {
        let answer = stack.call(&card);
        (answer.text() != ANSWER).then(|| assert_eq!(content(&answer), "stored"))
    });
    assert!(
        changed.elapsed() < Duration::from_secs(1),
        "{:?}",
        changed.elapsed()
    );
}
