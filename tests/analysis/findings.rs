//! Findings over the API (UI.md B1): the queue, decisions, precision, and an evaluation set that `monitor scan` reads.

use crate::admin_world::{assert_refused, call, call_as, expect, token};
use serde_json::{Value, json};
use std::process::Command;
use support::stack::Stack;

/// A prompt; gives the identifier of its record.
#[track_caller]
fn prompt(stack: &Stack, user: &str, message: &str) -> String {
    let body = json!({"application_id": stack.application_id(), "message": message,
        "additional_parameters": {"user_id": user}});
    let made = expect(stack, 200, ("POST", "/process_request/"), body);
    made["request_id"].as_str().unwrap().to_owned()
}

fn ids(list: &Value) -> Vec<&str> {
    let findings = list["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| finding["id"].as_str().unwrap())
        .collect()
}

#[test]
fn a_finding_is_closed_with_a_reason_and_leaves_the_queue() {
    let stack = Stack::all().start();
    let id = prompt(&stack, "u1", "write to anna@example.org");
    prompt(&stack, "u1", "hello");
    let list = expect(&stack, 200, ("GET", "/findings"), Value::Null);
    assert_eq!(ids(&list), [id.as_str()]);
    assert_eq!(list["findings"][0]["types"], json!(["EMAILS"]));
    let path = format!("/findings/{id}");
    for (body, words) in [
        (json!({"state": "false_alarm"}), "reason: is required"),
        (json!({}), "state: is missing"),
        (
            json!({"state": "resolved", "reason": "other"}),
            "note: is required",
        ),
        (
            json!({"state": "open", "reason": "handled"}),
            "reason: is for findings that are closed",
        ),
        (json!({"state": "gone"}), "state: must be open"),
        (
            json!({"assignee": "nobody-here"}),
            "assignee: is no account",
        ),
    ] {
        assert_refused(&call(&stack, "PATCH", &path, body), 422, words);
    }
    let body = json!({"state": "false_alarm", "reason": "test_data", "note": "of the test"});
    let closed = expect(&stack, 200, ("PATCH", &path), body);
    assert_eq!(
        (&closed["state"], &closed["reason"]),
        (&"false_alarm".into(), &"test_data".into())
    );
    let open = expect(&stack, 200, ("GET", "/findings"), Value::Null);
    assert!(ids(&open).is_empty());
    let all = expect(
        &stack,
        200,
        ("GET", "/findings?state=all&type=EMAILS"),
        Value::Null,
    );
    assert_eq!(ids(&all), [id.as_str()]);
    let one = expect(&stack, 200, ("GET", &path), Value::Null);
    assert_eq!(one["history"][0]["note"], "of the test");
    assert_eq!(one["history"][0]["from"], "open");
    let audit = expect(
        &stack,
        200,
        ("GET", "/audit?action=finding.triage"),
        Value::Null,
    );
    assert_eq!(audit["entries"].as_array().unwrap().len(), 1);
    assert!(!audit.to_string().contains("of the test"), "{audit}");
    let nothing = format!("/findings/{}", uuid::Uuid::new_v4());
    expect(&stack, 404, ("GET", &nothing), Value::Null);
}

#[test]
fn alike_findings_are_one_row_and_are_decided_together() {
    let stack = Stack::all().start();
    let records: Vec<_> = (0..3)
        .map(|_| prompt(&stack, "u1", "write to anna@example.org"))
        .collect();
    let other = prompt(&stack, "u2", "write to anna@example.org");
    let list = expect(&stack, 200, ("GET", "/findings?newest=true"), Value::Null);
    assert_eq!(ids(&list), [other.as_str(), &records[2]]);
    assert_eq!(list["findings"][1]["alike"]["count"], 3);
    let body = json!({"alike_to": records[0], "state": "confirmed", "reason": "real_data"});
    let changed = expect(&stack, 200, ("POST", "/findings/bulk"), body);
    assert_eq!(changed["changed"], 3);
    let body = json!({"ids": [other, uuid::Uuid::new_v4()], "state": "false_alarm", "reason": "not_sensitive"});
    let changed = expect(&stack, 200, ("POST", "/findings/bulk"), body);
    assert_eq!(changed["changed"], 1);
    let precision = expect(&stack, 200, ("GET", "/findings/precision"), Value::Null);
    let expected =
        json!([{"type": "EMAILS", "confirmed": 3, "false_alarms": 1, "precision": 0.75}]);
    assert_eq!(precision["types"], expected);
}

#[test]
fn deciding_takes_the_scope_triage_and_reading_alone_does_not() {
    let stack = Stack::all().start();
    let id = prompt(&stack, "u1", "write to anna@example.org");
    let path = format!("/findings/{id}");
    let body = || json!({"state": "resolved", "reason": "handled"});
    for scope in ["read", "read_cleaned"] {
        let (_, key) = token(&stack, json!({"name": scope, "scopes": [scope]}));
        assert_eq!(
            call_as(&key, &stack, ("GET", &path), Value::Null).status(),
            200
        );
        let refused = call_as(&key, &stack, ("PATCH", &path), body());
        assert_refused(&refused, 403, "scope `triage`");
    }
    let (_, key) = token(&stack, json!({"name": "triage", "scopes": ["triage"]}));
    assert_eq!(
        call_as(&key, &stack, ("PATCH", &path), body()).status(),
        200
    );
    // It reads no record, and no set of texts.
    let record = format!("/records/{id}");
    for path in [record.as_str(), "/findings/evaluation"] {
        assert_eq!(
            call_as(&key, &stack, ("GET", path), Value::Null).status(),
            403,
            "{path}"
        );
    }
    let other = json!({"name": "other"});
    let other = expect(&stack, 201, ("POST", "/applications"), other);
    let bound = json!({"name": "bound", "scopes": ["triage"], "application_id": other["id"]});
    let (_, key) = token(&stack, bound);
    assert_eq!(
        call_as(&key, &stack, ("PATCH", &path), body()).status(),
        404
    );
    let bulk = json!({"ids": [id], "state": "open"});
    let changed = call_as(&key, &stack, ("POST", "/findings/bulk"), bulk);
    assert_eq!(changed.json()["changed"], 0);
}

#[test]
fn an_evaluation_set_has_originals_for_readers_and_scan_evaluates_it() {
    let stack = Stack::all().start();
    let side = json!({"dataclean": {"patterns": ["EMAILS"]}});
    let rules = json!({"keep_original": true, "pre": side});
    let made = json!({"name": "keeping", "rules": rules});
    let made = expect(&stack, 201, ("POST", "/applications"), made);
    let body = json!({"application_id": made["id"], "message": "write to anna@example.org"});
    let record = expect(&stack, 200, ("POST", "/process_request/"), body);
    let path = format!("/findings/{}", record["request_id"].as_str().unwrap());
    let body = json!({"state": "confirmed", "reason": "real_data"});
    expect(&stack, 200, ("PATCH", &path), body);
    let set = call(&stack, "GET", "/findings/evaluation", Value::Null);
    assert_eq!(set.status(), 200);
    let line: Value = serde_json::from_str(set.text().trim()).unwrap();
    assert_eq!(line["text"], "write to anna@example.org");
    assert_eq!(
        (&line["is_original"], &line["expected"]),
        (&true.into(), &json!(["EMAILS"]))
    );
    let (_, key) = token(
        &stack,
        json!({"name": "reviewer", "scopes": ["read_cleaned"]}),
    );
    let cleaned = call_as(&key, &stack, ("GET", "/findings/evaluation"), Value::Null);
    assert!(!cleaned.text().contains("anna"), "{}", cleaned.text());
    let audit = expect(
        &stack,
        200,
        ("GET", "/audit?action=findings.export"),
        Value::Null,
    );
    assert_eq!(audit["entries"].as_array().unwrap().len(), 2);
    let file = stack.data_dir().join("set.jsonl");
    std::fs::write(&file, set.text()).unwrap();
    let scan = Command::new(env!("CARGO_BIN_EXE_monitor"))
        .args(["scan", "--jsonl", "--evaluate"])
        .arg(&file)
        .env_clear()
        .output()
        .unwrap();
    assert!(scan.status.success(), "{scan:?}");
    let line: Value = serde_json::from_slice(&scan.stdout).unwrap();
    assert_eq!(
        (&line["type"], &line["true_positives"]),
        (&"EMAILS".into(), &json!(1))
    );
    assert_eq!(
        (&line["precision"], &line["recall"]),
        (&json!(1.0), &json!(1.0))
    );
}
