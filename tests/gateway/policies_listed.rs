//! Policies of the configuration file beside those of the store (CONTRACT 16): both are in force, the file's first,
//! and nothing is taken that would have no effect.

use crate::sync::blocked;
use serde_json::{Value, json};
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use support::api::{authorised, patch, post};
use support::http::Response;
use support::line::signal;
use support::request::{HELLO, Request};
use support::stack::{Folder, Stack};
use support::upstream::{ANSWER, Upstream};
use support::{KEY, eventually};

pub(crate) const LISTED: &str = "6f1c0000-0000-4000-8000-000000000001";
const STORED: &str = "6f1c0000-0000-4000-8000-000000000002";
pub(crate) const ADDED: &str = "6f1c0000-0000-4000-8000-000000000003";

pub(crate) fn listed(phrase: &str) -> String {
    format!("applications:\n- {{id: {LISTED}, name: listed, app_mode: sync, phrase: {phrase}}}\n")
}

pub(crate) fn phrase(answer: &Response) -> String {
    let content = &blocked(answer)["choices"][0]["message"]["content"];
    content.as_str().unwrap().to_owned()
}

pub(crate) fn card_for(application: &str) -> Request {
    let text = HELLO.replace("hello", "my card is 4111 1111 1111 1111");
    Request::chat(text).header("X-Application-Id", application)
}

pub(crate) fn call_with_card(stack: &Stack, application: &str) -> Response {
    stack.call(&card_for(application))
}

pub(crate) fn application(stack: &Stack, id: &str) -> Value {
    stack.analysis(&format!("/applications/{id}"), KEY).json()
}

#[test]
fn contract_16_policies_of_the_file_and_of_the_store_are_both_in_force() {
    let upstream = Upstream::ok();
    let yaml = listed("from the file");
    let stack = Stack::all().upstream(&upstream).yaml(&yaml).start();
    let policy = json!({"app_mode": "sync", "phrase": "from the store"});
    let made = post(
        &stack,
        "/applications",
        &json!({"id": STORED, "name": "stored", "policy": policy}),
    );
    assert_eq!(made.status(), 201, "{}", made.text());
    assert_eq!(made.json()["policy_source"], "store");
    eventually("the stored policy is in force", || {
        let answer = call_with_card(&stack, STORED);
        (answer.text() != ANSWER).then(|| assert_eq!(phrase(&answer), "from the store"))
    });
    assert_eq!(phrase(&call_with_card(&stack, LISTED)), "from the file");
    let status = stack.operations("/status").json();
    let policies = &status["policies"];
    assert_eq!(policies["store"], "file+sqlite", "{status}");
    assert_eq!(policies["store_error"], Value::Null, "{status}");
    assert!(policies["applications"].as_u64() >= Some(2), "{status}");
    // What the API shows is what is in force.
    let shown = application(&stack, LISTED);
    assert_eq!(shown["policy"]["phrase"], "from the file");
    assert_eq!(shown["policy_source"], "file");
    // A record is marked by the policy in force.
    let blocked = eventually("the records are kept", || {
        let path = format!("/records?application_id={LISTED}");
        let records = stack.analysis(&path, KEY).json();
        records["records"].as_array()?.first().cloned()
    });
    assert_eq!(blocked["blocked"], true, "{blocked}");
}

#[test]
fn contract_16_a_policy_that_the_file_has_cannot_be_changed_in_the_store() {
    let upstream = Upstream::ok();
    let yaml = listed("from the file");
    let stack = Stack::all().upstream(&upstream).yaml(&yaml).start();
    let path = format!("/applications/{LISTED}");
    for (method, below, body) in [
        (
            "PATCH",
            "/policy",
            json!({"version": 1, "policy": {"phrase": "no effect"}}),
        ),
        (
            "PUT",
            "/policy",
            json!({"version": 1, "policy": {"app_mode": "async", "phrase": ""}}),
        ),
        (
            "PATCH",
            "",
            json!({"version": 1, "policy": {"app_mode": "async"}}),
        ),
        ("PATCH", "", json!({"version": 1, "policy": null})),
        ("PATCH", "/policy", json!({"version": 1, "policy": null})),
        ("PUT", "/policy", json!({"version": 1, "policy": null})),
        (
            "PUT",
            "",
            json!({"version": 1, "name": "listed", "policy": null}),
        ),
        ("DELETE", "?version=1", Value::Null),
    ] {
        let request = Request::json(method, &format!("{path}{below}"), body.to_string());
        let answer = authorised(request).call(stack.analysis_addr);
        assert_eq!(answer.status(), 409, "{method} {below}: {}", answer.text());
        assert!(
            answer.text().contains("configuration file (applications)"),
            "{}",
            answer.text()
        );
    }
    // Everything else can.
    let change = json!({"version": 1, "name": "renamed", "rules": {"keep_original": true}, "policy": {"phrase": "from the file"}});
    let changed = patch(&stack, &path, &change);
    assert_eq!(changed["name"], "renamed");
    assert_eq!(changed["policy"]["phrase"], "from the file");
    let replaced = json!({"version": 2, "name": "replaced"});
    let request = authorised(Request::json("PUT", &path, replaced.to_string()));
    assert_eq!(request.call(stack.analysis_addr).status(), 200);
    assert_eq!(phrase(&call_with_card(&stack, LISTED)), "from the file");
}

#[test]
fn contract_16_a_reload_changes_the_files_policies_and_leaves_those_of_the_store() {
    let upstream = Upstream::ok();
    let stack = Stack::all()
        .upstream(&upstream)
        .yaml(&listed("first"))
        .start();
    let policy = json!({"app_mode": "sync", "phrase": "from the store"});
    let body = json!({"id": STORED, "name": "stored", "policy": policy});
    assert_eq!(post(&stack, "/applications", &body).status(), 201);
    assert_eq!(phrase(&call_with_card(&stack, LISTED)), "first");
    let file = stack.configuration();
    let before = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, before.replace("phrase: first", "phrase: second")).unwrap();
    let out = support::line::order(&stack, "reload", "all");
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    eventually("the new list is in force", || {
        (phrase(&call_with_card(&stack, LISTED)) == "second").then_some(())
    });
    eventually("the stored policy is in force", || {
        let answer = call_with_card(&stack, STORED);
        (answer.text() != ANSWER).then(|| assert_eq!(phrase(&answer), "from the store"))
    });
    assert_eq!(application(&stack, LISTED)["policy"]["phrase"], "second");
}

/// Adds an application to the list of the file, and others, which take some time to create.
pub(crate) fn add_to_the_file(stack: &Stack) {
    let mut text = std::fs::read_to_string(stack.configuration()).unwrap();
    text += &format!("- {{id: {ADDED}, name: added, app_mode: sync, phrase: from the reload}}\n");
    for number in 10..40 {
        let id = format!("6f1c0000-0000-4000-8000-0000000000{number}");
        text += &format!("- {{id: {id}, name: other, app_mode: sync, phrase: no}}\n");
    }
    std::fs::write(stack.configuration(), text).unwrap();
}

/// The same, and reloads; gives whether that succeeded, and what was said.
pub(crate) fn add_by_reload(stack: &Stack) -> (bool, String) {
    add_to_the_file(stack);
    let out = support::line::order(stack, "reload", "all");
    let said = [out.stdout, out.stderr].concat();
    (out.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn contract_16_a_reload_whose_applications_cannot_be_created_changes_nothing() {
    let upstream = Upstream::ok();
    let yaml = listed("first");
    let stack = Stack::all().upstream(&upstream).yaml(&yaml).start();
    let database = stack.data_dir().join("monitor.db");
    // Another process writes and does not end.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut writer = runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(&database);
        let mut writer = options.connect().await.unwrap();
        let begun = sqlx::query("BEGIN IMMEDIATE").execute(&mut writer).await;
        begun.map(|_| writer).unwrap()
    });
    let (is_done, said) = add_by_reload(&stack);
    assert!(
        !is_done && said.contains("applications of the configuration"),
        "{said}"
    );
    assert_eq!(
        stack.operations("/status").json()["reload"]["result"],
        "failed"
    );
    assert_eq!(call_with_card(&stack, ADDED).status(), 403);
    runtime
        .block_on(async { sqlx::query("ROLLBACK").execute(&mut writer).await })
        .unwrap();
    let again = support::line::order(&stack, "reload", "all");
    assert!(again.status.success(), "{again:?}");
    eventually("the added application is checked", || {
        let answer = call_with_card(&stack, ADDED);
        (answer.text() != ANSWER).then(|| assert_eq!(phrase(&answer), "from the reload"))
    });
}

#[test]
fn contract_16_a_listed_application_that_was_removed_elsewhere_is_created_with_the_policy_of_the_file()
 {
    let upstream = Upstream::ok();
    let yaml = listed("from the file");
    let stack = Stack::all().upstream(&upstream).yaml(&yaml).start();
    let database = stack.data_dir().join("monitor.db");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let removed = runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(&database);
        let mut other = options.connect().await.unwrap();
        sqlx::query("DELETE FROM applications WHERE name = 'listed'")
            .execute(&mut other)
            .await
    });
    assert_eq!(removed.unwrap().rows_affected(), 1);
    let other = json!({"app_mode": "sync", "phrase": "no effect"});
    for policy in [other, Value::Null] {
        let body = json!({"id": LISTED, "name": "listed", "policy": policy});
        let refused = post(&stack, "/applications", &body);
        assert_eq!(refused.status(), 409, "{}", refused.text());
        let said = refused.text();
        assert!(said.contains("configuration file (applications)"), "{said}");
    }
    let body = json!({"id": LISTED, "name": "listed"});
    let made = post(&stack, "/applications", &body);
    assert_eq!(made.status(), 201, "{}", made.text());
    assert_eq!(made.json()["policy_source"], "file");
    assert_eq!(made.json()["policy"]["phrase"], "from the file");
}

#[test]
fn contract_47_a_start_names_the_applications_whose_stored_policy_is_not_in_force() {
    let (upstream, folder) = (Upstream::ok(), Folder::new());
    let server = || Stack::all().upstream(&upstream).folder(&folder);
    let mut stack = server().start();
    let policy = json!({"app_mode": "sync", "phrase": "from the store"});
    for id in [LISTED, STORED] {
        let body = json!({"id": id, "name": "stored", "policy": policy});
        assert_eq!(post(&stack, "/applications", &body).status(), 201);
    }
    signal(stack.process.id() as i32, "TERM");
    stack.process.await_exit();
    let stack = server().yaml(&listed("from the file")).start();
    assert_eq!(phrase(&call_with_card(&stack, LISTED)), "from the file");
    let said = stack.stderr();
    let mut lines = said.lines();
    let line = lines.find(|line| line.contains("stored policies are not in force"));
    let line = line.unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains(LISTED) && !line.contains(STORED), "{line}");
}

/// The applications that `/status` says the configuration file overrides, and how many there are.
fn overridden(stack: &Stack) -> Value {
    let status = stack.operations("/status").json();
    let policies = &status["policies"];
    json!([policies["overridden_count"], policies["overridden"]])
}

#[test]
fn contract_35_the_status_lists_stored_policies_that_the_configuration_file_overrides() {
    let (upstream, folder) = (Upstream::ok(), Folder::new());
    let server = || Stack::all().upstream(&upstream).folder(&folder);
    let mut stack = server().start();
    assert_eq!(overridden(&stack), json!([0, []]));
    let policy = json!({"app_mode": "sync", "phrase": "from the store"});
    for id in [LISTED, STORED] {
        let body = json!({"id": id, "name": "stored", "policy": policy});
        assert_eq!(post(&stack, "/applications", &body).status(), 201);
    }
    signal(stack.process.id() as i32, "TERM");
    stack.process.await_exit();
    let stack = server().yaml(&listed("from the file")).start();
    eventually("the overridden policy is in the status", || {
        (overridden(&stack) == json!([1, [LISTED]])).then_some(())
    });
    // Where both have the same policy, nothing of the store is ignored.
    let file = stack.configuration();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("from the file", "from the store")).unwrap();
    let out = support::line::order(&stack, "reload", "all");
    assert!(out.status.success(), "{out:?}");
    eventually("nothing is overridden", || {
        (overridden(&stack) == json!([0, []])).then_some(())
    });
}

#[test]
fn contract_35_the_status_names_a_hundred_overridden_policies_and_counts_all() {
    let (upstream, folder) = (Upstream::ok(), Folder::new());
    let server = || Stack::all().upstream(&upstream).folder(&folder);
    let mut stack = server().start();
    let mut yaml = "applications:\n".to_owned();
    let policy = json!({"app_mode": "sync", "phrase": "from the store"});
    for number in 1..=101 {
        let id = format!("6f1c0000-0000-4000-8000-{number:012}");
        yaml += &format!("- {{id: {id}, name: a, app_mode: sync, phrase: from the file}}\n");
        let body = json!({"id": id, "name": "stored", "policy": policy});
        assert_eq!(post(&stack, "/applications", &body).status(), 201);
    }
    signal(stack.process.id() as i32, "TERM");
    stack.process.await_exit();
    let stack = server().yaml(&yaml).start();
    let listed = eventually("all are counted", || {
        let found = overridden(&stack);
        (found[0] == 101).then(|| found[1].clone())
    });
    assert_eq!(listed.as_array().map(Vec::len), Some(100), "{listed}");
}
