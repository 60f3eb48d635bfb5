//! What passed without a verdict (CONTRACT 13, 26): marked on its record, found by the filter, and not called clean.

use crate::admin_world::expect;
use serde_json::{Value, json};
use support::KEY;
use support::api::{post, record, records};
use support::stack::Stack;

/// An application with a custom policy, which no judge decides about; gives its id.
fn application(stack: &Stack, policy: Value) -> String {
    let rules = json!({"pre": {"custom_policies": [{"name": "loans", "prompt": "No advice about loans."}]}});
    let made = json!({"name": "bot", "policy": policy, "rules": rules});
    let made = expect(stack, 201, ("POST", "/applications"), made);
    made["id"].as_str().unwrap().to_owned()
}

fn send(stack: &Stack, path: &str, application_id: &str, parameters: Value) -> Value {
    let body = json!({"application_id": application_id, "message": "Write to a@example.org or not",
        "additional_parameters": parameters});
    let answer = post(stack, path, &body);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()["request_id"].clone()
}

#[test]
fn contract_13_what_passed_without_a_verdict_is_marked_and_found_and_not_clean() {
    const PROMPT: &str = "/process_request/";
    const ANSWER: &str = "/process_response/";
    let stack = Stack::all().start();
    let sync = json!({"app_mode": "sync", "phrase": "No.", "block_on": {"dataclean": false}});
    let with = |field: &str, value: Value| {
        let mut policy = sync.clone();
        policy[field] = value;
        policy
    };
    let told = || json!({"unchecked": true});
    let mut passed = Vec::new();
    for (policy, path, parameters, expected) in [
        (sync.clone(), PROMPT, json!({}), true),
        (
            with("on_backend_failure", json!("closed")),
            PROMPT,
            json!({}),
            false,
        ),
        (with("block_on", json!({})), PROMPT, json!({}), false),
        (json!({"app_mode": "async"}), PROMPT, json!({}), false),
        (Value::Null, PROMPT, json!({}), false),
        // No custom policy decides about an answer: only its gateway knows that the call passed.
        (sync.clone(), ANSWER, json!({}), false),
        (sync.clone(), ANSWER, told(), true),
        (json!({"app_mode": "async"}), PROMPT, told(), true),
        (sync.clone(), ANSWER, json!({"unchecked": "yes"}), false),
    ] {
        let id = application(&stack, policy.clone());
        let kept = send(&stack, path, &id, parameters.clone());
        let whole = record(&stack, &kept);
        assert_eq!(whole["unchecked"], expected, "{policy} {path} {parameters}");
        if expected {
            passed.insert(0, kept);
        }
        let of = |verdict: &str| {
            let query = format!("application_id={id}&verdict={verdict}");
            records(&stack, &query).len()
        };
        assert_eq!(of("unchecked"), usize::from(expected));
        assert_eq!((of("clean"), of("dataclean")), (0, 1), "it has an address");
        let narrowed = format!("application_id={id}&verdict=unchecked&type=EMAILS");
        assert_eq!(records(&stack, &narrowed).len(), usize::from(expected));
    }
    let found = records(&stack, "verdict=unchecked");
    let found: Vec<_> = found
        .iter()
        .map(|item| item["request_id"].clone())
        .collect();
    assert_eq!(found, passed);
    let plain = json!({"application_id": application(&stack, sync), "message": "hello"});
    assert_eq!(post(&stack, PROMPT, &plain).status(), 200);
    assert_eq!(records(&stack, "verdict=unchecked").len(), passed.len() + 1);
    assert_eq!(
        records(&stack, "verdict=clean").len(),
        0,
        "it passed unchecked"
    );
    let csv = stack.analysis("/records/export?format=csv&verdict=unchecked", KEY);
    let csv = csv.text();
    let head = csv.lines().next().unwrap();
    assert!(head.contains(",priced,unchecked,provider,"), "{head}");
    let marked = csv.matches(",true,,,,,,first\r\n").count();
    assert_eq!(marked, passed.len() + 1, "{csv}");
}
