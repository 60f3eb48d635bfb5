//! What is attached to and read of an exchange by its request_id, through the binary (CONTRACT 48).

use crate::admin_world::{application, assert_refused, expect, token};
use crate::attachments::{TEXT, blobs, keep_originals, multipart, send};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use support::KEY;
use support::api::{analyse, post, record, records};
use support::eventually;
use support::http::Response;
use support::stack::{Folder, Stack};

const PROMPTS: &str = "user_prompt_analysis";
pub(crate) const ANSWERS: &str = "llm_response_analysis";

/// The path of a side of an exchange of the first application.
fn by_request(stack: &Stack, side: &str, exchange: &str, what: &str) -> String {
    let application = stack.application_id();
    format!("/{side}/by_request/{exchange}/{what}?application_id={application}")
}

#[track_caller]
fn attach(stack: &Stack, side: &str, exchange: &str, names: &[&str]) -> Value {
    let path = by_request(stack, side, exchange, "attach_files");
    let files: Vec<_> = names
        .iter()
        .map(|name| (*name, "text/plain", TEXT))
        .collect();
    let response = send(stack, KEY, &path, multipart("attached_files", &files));
    assert_eq!(response.status(), 200, "{}", response.text());
    response.json()
}

fn statuses(attached: &Value) -> Vec<(&str, &str)> {
    let files = attached["files"].as_array().unwrap().iter();
    files
        .map(|file| {
            let text = |name: &str| file[name].as_str().unwrap();
            (text("file_name"), text("processing_status"))
        })
        .collect()
}

fn attached_names(stack: &Stack, id: &Value) -> Vec<String> {
    let shown = record(stack, id)["attachments"].clone();
    let names = shown.as_array().unwrap().iter();
    let mut names: Vec<_> = names
        .map(|file| file["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort_unstable();
    names
}

fn verdict(stack: &Stack, side: &str, exchange: &str, key: &str) -> Response {
    stack.analysis(&by_request(stack, side, exchange, "check_blocking"), key)
}

/// An application that blocks, and keeps originals if it is told to.
pub(crate) fn blocking(stack: &Stack, keeps_original: bool) -> String {
    let policy = json!({"app_mode": "sync", "phrase": "No."});
    let rules = json!({"keep_original": keeps_original});
    let made = json!({"name": "blocking", "policy": policy, "rules": rules});
    let made = expect(stack, 201, ("POST", "/applications"), made);
    made["id"].as_str().unwrap().to_owned()
}

#[test]
fn contract_48_files_may_come_before_their_message_and_after_it() {
    let stack = Stack::all().start();
    keep_originals(&stack);
    let early = attach(&stack, PROMPTS, "x%201%2F%D1%91", &["a.txt", "b.txt"]);
    assert_eq!(early["success"], true);
    assert_eq!(early["request_id"], "x 1/ё");
    assert_eq!(
        statuses(&early),
        [("a.txt", "waiting"), ("b.txt", "waiting")]
    );
    attach(&stack, ANSWERS, "x%201%2F%D1%91", &["answer.txt"]);
    let again = attach(&stack, PROMPTS, "x%201%2F%D1%91", &["a.txt"]);
    assert_eq!(statuses(&again), [("a.txt", "waiting")]);
    assert_eq!(blobs(&stack).len(), 1, "one copy of the same bytes");
    assert!(records(&stack, "").is_empty(), "no record of their own");

    let prompt = analyse(&stack, "hello", json!({"request_id": "x 1/ё"}))["request_id"].clone();
    assert_eq!(attached_names(&stack, &prompt), ["a.txt", "b.txt"]);
    let findings = record(&stack, &prompt)["attachments"][0]["findings"].clone();
    assert_eq!(findings["types"], json!([{"type": "EMAILS", "count": 2}]));

    let late = attach(&stack, PROMPTS, "x%201%2F%D1%91", &["a.txt", "late.txt"]);
    assert_eq!(
        statuses(&late),
        [("a.txt", "attached"), ("late.txt", "attached")]
    );
    assert_eq!(
        attached_names(&stack, &prompt),
        ["a.txt", "b.txt", "late.txt"]
    );
    let repeated = analyse(&stack, "hello", json!({"request_id": "x 1/ё"}))["request_id"].clone();
    assert_eq!(repeated, prompt);
    assert_eq!(attached_names(&stack, &prompt).len(), 3);
}

#[test]
fn contract_48_what_waits_survives_a_restart_and_goes_in_time() {
    let folder = Folder::new();
    let start = |fields: &str| {
        let yaml = format!("  attachments: {{{fields}}}\n");
        Stack::all().folder(&folder).yaml(&yaml).start()
    };
    let stack = start("max_files: 64");
    keep_originals(&stack);
    attach(&stack, PROMPTS, "x", &["a.txt"]);
    drop(stack);
    let stack = start("max_files: 64");
    assert_eq!(blobs(&stack).len(), 1);
    let prompt = analyse(&stack, "hello", json!({"request_id": "x"}))["request_id"].clone();
    assert_eq!(attached_names(&stack, &prompt), ["a.txt"]);
    let other = b"something else";
    let path = by_request(&stack, PROMPTS, "y", "attach_files");
    let body = multipart("attached_files", &[("b.txt", "text/plain", other)]);
    assert_eq!(send(&stack, KEY, &path, body).status(), 200);
    assert_eq!(blobs(&stack).len(), 2);
    drop(stack);
    let since = Instant::now();
    eventually("it has waited for a second", || {
        (since.elapsed() > Duration::from_secs(1)).then_some(())
    });
    let stack = start("waiting_for: 1s");
    eventually("the file of no message goes", || {
        (blobs(&stack).len() == 1).then_some(())
    });
    let late = analyse(&stack, "hello", json!({"request_id": "y"}))["request_id"].clone();
    assert!(attached_names(&stack, &late).is_empty());
    assert_eq!(attached_names(&stack, &prompt), ["a.txt"]);
}

#[test]
fn contract_48_no_more_files_wait_than_may_and_none_for_another_application() {
    let stack = Stack::all()
        .yaml("  attachments: {waiting_files: 2}\n")
        .start();
    attach(&stack, PROMPTS, "x", &["a.txt", "b.txt"]);
    let good = || multipart("attached_files", &[("c.txt", "text/plain", TEXT)]);
    let path = by_request(&stack, PROMPTS, "x", "attach_files");
    let refused = send(&stack, KEY, &path, good());
    assert_refused(&refused, 429, "attachments.waiting_files");
    assert_eq!(refused.head.header("retry-after"), Some("60"));
    let prompt = analyse(&stack, "hello", json!({"request_id": "x"}))["request_id"].clone();
    assert_eq!(send(&stack, KEY, &path, good()).status(), 200, "none waits");
    assert_eq!(attached_names(&stack, &prompt).len(), 3);

    let foreign = application(&stack, "foreign");
    let bound = |scopes: Value| {
        let made = json!({"name": "t", "scopes": scopes, "application_id": &foreign});
        token(&stack, made).1
    };
    let ingest = bound(json!(["ingest"]));
    assert_refused(&send(&stack, &ingest, &path, good()), 403, "application");
    assert_eq!(verdict(&stack, PROMPTS, "x", &ingest).status(), 403);
    let own = "/user_prompt_analysis/by_request/x/attach_files";
    let waiting = send(&stack, &ingest, own, good());
    assert_eq!(waiting.status(), 200, "its own exchange of this name");
    assert_eq!(statuses(&waiting.json()), [("c.txt", "waiting")]);
    assert_eq!(attached_names(&stack, &prompt).len(), 3);
    let own = "/user_prompt_analysis/by_request/x/check_blocking";
    assert_refused(&stack.analysis(own, &ingest), 404, "request_id");
    assert_refused(&stack.analysis(own, KEY), 422, "application_id: missing");
    let reader = bound(json!(["read"]));
    let refused = send(&stack, &reader, &path, good());
    assert_refused(&refused, 403, "ingest");
    let unknown = format!("{path}&x=1");
    assert_refused(
        &send(&stack, KEY, &unknown, good()),
        422,
        "application_id only",
    );
}

#[test]
fn contract_48_a_stored_verdict_is_read_by_the_exchange() {
    let stack = Stack::all().start();
    let id = blocking(&stack, false);
    let path = |side: &str, exchange: &str| {
        format!("/{side}/by_request/{exchange}/check_blocking/?application_id={id}")
    };
    assert_refused(
        &stack.analysis(&path(PROMPTS, "x"), KEY),
        404,
        "not been analyzed yet",
    );
    let message = json!({"application_id": id, "message": "write to a@example.org",
        "additional_parameters": {"request_id": "x", "user_id": "u"}});
    let prompt = post(&stack, "/process_request", &message).json();
    let made = json!({"name": "t", "scopes": ["ingest"], "application_id": id});
    let (_, ingest) = token(&stack, made);
    for key in [KEY, &ingest] {
        let response = stack.analysis(&path(PROMPTS, "x"), key);
        assert_eq!(response.status(), 200, "{}", response.text());
        let told = response.json();
        assert_eq!(told["request_id"], prompt["request_id"]);
        assert_eq!(told["exchange_id"], "x");
        for (field, expected) in [
            ("blocked", json!(true)),
            ("flagged", json!(true)),
            ("dataclean", json!(true)),
            ("guardrails", json!(false)),
            ("status", json!("success")),
            ("types", json!([{"type": "EMAILS", "count": 1}])),
        ] {
            assert_eq!(told[field], expected, "{field}");
        }
        let text = response.text();
        assert!(
            !text.contains("write to") && !text.contains("\"u\""),
            "{text}"
        );
    }
    let answer = stack.analysis(&path(ANSWERS, "x"), KEY);
    assert_refused(&answer, 404, "request_id");
    let clean = json!({"application_id": id, "message": "fine",
        "additional_parameters": {"request_id": "x"}});
    post(&stack, "/process_response", &clean);
    let answer = stack.analysis(&path(ANSWERS, "x"), KEY).json();
    assert_eq!(
        (&answer["blocked"], &answer["stage"]),
        (&json!(false), &json!("post"))
    );
    let admin = json!({"name": "t", "scopes": ["admin"]});
    let (_, admin) = token(&stack, admin);
    assert_eq!(stack.analysis(&path(PROMPTS, "x"), &admin).status(), 403);
}
