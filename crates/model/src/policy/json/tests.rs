//! Reading policies (CONTRACT 34): what is accepted, what is refused, and in which words.

use super::*;
use crate::PatternSet;
use serde_json::json;

fn problems(value: Value) -> Vec<String> {
    match Policy::from_value(&value) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
    }
}

#[track_caller]
fn assert_refused(value: &Value, key: &str) {
    let found = problems(value.clone());
    assert_eq!(found.len(), 1, "{value}: {found:?}");
    assert!(found[0].starts_with(key), "{value}: {found:?}");
}

#[test]
fn what_is_left_out_or_null_has_the_defaults_of_contract_34() {
    let short = Policy::from_value(&json!({"app_mode": "sync", "phrase": "No."})).unwrap();
    let long = json!({
        "app_mode": "sync", "phrase": "No.", "on_backend_failure": "open",
        "block_on": {"guardrails": true, "custom_policy": true, "dataclean": true},
        "replace_response": false, "scan_roles": ["last_user"], "stream_in_sync": "off",
        "redact_upstream": false, "local_patterns": null,
    });
    assert_eq!(json!(short), long);
    assert_eq!(Policy::from_value(&long).unwrap(), short);
    assert_eq!(Policy::from_json(&short.to_json()).unwrap(), short);
    let nulls = json!({"app_mode": "sync", "phrase": "No.", "block_on": null, "scan_roles": null,
        "check_tool_arguments": null});
    assert_eq!(Policy::from_value(&nulls).unwrap(), short);
}

#[test]
fn every_field_is_read() {
    let value = json!({
        "app_mode": "sync", "phrase": "Nein.", "on_backend_failure": "closed",
        "block_on": {"guardrails": false, "custom_policy": true, "dataclean": false},
        "replace_response": true, "stream_in_sync": "off", "redact_upstream": true,
        "scan_roles": ["all_user", "system", "assistant", "tool"],
        "block_details": "header", "embeddings": "check", "check_tool_arguments": false,
        "local_patterns": ["EMAILS", "IP"],
        "budgets": [
            {"per": "application", "window": "month", "cost": "12.5", "action": "stop", "warn_at": 90},
            {"per": "user", "window": "minute", "tokens": 5000, "action": "warn", "warn_at": 80},
        ],
    });
    let policy = Policy::from_value(&value).unwrap();
    assert_eq!(json!(policy), value);
    assert_eq!(policy.local_patterns().names().count(), 2);
    assert_eq!(
        Policy::new(policy.app_mode, "").local_patterns(),
        PatternSet::local()
    );
}

#[test]
fn all_that_is_wrong_is_said_at_once_and_no_phrase_is_quoted() {
    let found = problems(json!({
        "app_mode": "synk", "phrase": ["hidden"], "colour": 1, "replace_response": "yes",
        "block_on": {"guardrails": 1, "regex": true}, "scan_roles": ["user", "tool", "tool"],
        "stream_in_sync": "hidden ".repeat(9), "check_tool_arguments": "no", "local_patterns": ["EMAIL", "DIAGNOSIS", "IP", "IP", 7],
    }));
    let expected = [
        "app_mode \"synk\" is unknown; allowed: sync, async",
        "phrase is a list; allowed: text",
        "block_on.guardrails is a number; allowed: true or false",
        "block_on.regex is an unknown field; allowed: guardrails, custom_policy, dataclean",
        "replace_response is text; allowed: true or false",
        "scan_roles[0] \"user\" is unknown; allowed: last_user, all_user,",
        "scan_roles[2] lists tool twice",
        "stream_in_sync has an unknown value; allowed: off, hold_back, replay",
        "check_tool_arguments is text; allowed: true or false",
        "local_patterns[0] \"EMAIL\" is unknown; allowed: BANK_CARD_NUMBER, CVC,",
        "local_patterns[1] \"DIAGNOSIS\" is found by the backend only; allowed: BANK_CARD_NUMBER,",
        "local_patterns[3] lists IP twice",
        "local_patterns[4] is a number; allowed: BANK_CARD_NUMBER,",
        "colour is an unknown field; allowed: app_mode, phrase,",
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            found.starts_with(expected),
            "{found}\ninstead of\n{expected}"
        );
    }
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for (value, key) in [
        (json!({}), "app_mode is not set"),
        (json!({"app_mode": "sync"}), "phrase is not set"),
        (
            json!({"app_mode": "sync", "phrase": " \u{a0}\u{3000}\n"}),
            "phrase is not set",
        ),
        (
            json!({"app_mode": "async", "phrase": "x".repeat(10_001)}),
            "phrase is too long",
        ),
        (
            json!({"app_mode": "async", "scan_roles": []}),
            "scan_roles is an empty list",
        ),
        (
            json!({"app_mode": "async", "replace_response": true}),
            "replace_response needs",
        ),
        (
            json!({"app_mode": "async", "local_patterns": ["IP"]}),
            "local_patterns needs stream_in_sync hold_back or redact_upstream true",
        ),
        (
            json!({"app_mode": "async", "redact_upstream": true, "local_patterns": []}),
            "local_patterns is an empty list",
        ),
        (
            json!({"app_mode": "async", "on_backend_failure": "closed"}),
            "on_backend_failure closed",
        ),
        (
            json!({"app_mode": "async", "stream_in_sync": "replay"}),
            "stream_in_sync replay needs app_mode sync",
        ),
        (
            json!({"app_mode": "async", "block_details": "header"}),
            "block_details header needs app_mode sync",
        ),
        (
            json!({"app_mode": "async", "embeddings": "check"}),
            "embeddings check needs app_mode sync",
        ),
        (
            json!({"app_mode": "async", "budgets": [{"per": "user", "window": "day", "action": "stop"}]}),
            "budgets[0].tokens needs tokens or cost",
        ),
        (json!([]), "policy is a list"),
        (json!(null), "policy is empty"),
    ] {
        assert_refused(&value, key);
    }
}

#[test]
fn a_checked_stream_excludes_what_waits_for_its_end() {
    let stream = |field: &str, value: Value| {
        let mut policy = json!({"app_mode": "sync", "phrase": "x", "stream_in_sync": "hold_back"});
        policy[field] = value;
        policy
    };
    for (value, key) in [
        (stream("app_mode", json!("async")), "needs app_mode sync"),
        (
            stream("redact_upstream", json!(true)),
            "cannot be combined with redact_upstream",
        ),
        (
            stream("replace_response", json!(true)),
            "cannot be combined with replace_response",
        ),
        (
            stream("block_on", json!({"dataclean": false})),
            "needs block_on.dataclean",
        ),
    ] {
        assert_refused(&value, &format!("stream_in_sync hold_back {key}"));
    }
}

#[test]
fn what_can_be_meant_is_accepted() {
    assert!(problems(json!({"app_mode": "async"})).is_empty());
    assert!(problems(json!({"app_mode": "async", "redact_upstream": true})).is_empty());
    assert!(problems(json!({"app_mode": "async", "embeddings": "record"})).is_empty());
    for mode in ["sync", "async"] {
        let unread = json!({"app_mode": mode, "phrase": "x", "check_tool_arguments": false, "scan_roles": ["assistant"]});
        assert!(problems(unread).is_empty());
    }
    let held = json!({"app_mode": "sync", "phrase": "x", "stream_in_sync": "hold_back", "local_patterns": ["INN"]});
    assert!(problems(held).is_empty());
    let replayed = json!({"app_mode": "sync", "phrase": "x", "stream_in_sync": "replay", "replace_response": true,
        "redact_upstream": true, "block_details": "metadata"});
    assert!(problems(replayed).is_empty());
    let longest = "й".repeat(10_000);
    assert!(problems(json!({"app_mode": "sync", "phrase": longest})).is_empty());
    assert!(Policy::from_json("{").is_err());
}

#[test]
fn reading_by_serde_is_the_same_reading() {
    let error = serde_json::from_value::<Policy>(json!({"app_mode": "sync"})).unwrap_err();
    assert!(error.to_string().contains("phrase is not set"), "{error}");
    assert!(serde_json::from_value::<Policy>(json!({"app_mode": "async"})).is_ok());
}
