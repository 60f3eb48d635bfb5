//! Calls of tools and their results that a gateway sends beside a message (CONTRACT 46): stored as parts of its record,
//! checked each by itself, found, exported and removed with it.

use crate::admin_world::expect;
use crate::exchanges::blocking;
use serde_json::{Value, json};
use support::KEY;
use support::api::{post, record, records};
use support::contains;
use support::slow_search;
use support::stack::Stack;

const PATHS: [(&str, &str); 2] = [
    ("/process_request/", "tool_results"),
    ("/process_response/", "tool_calls"),
];

/// Registers a message with such parts; gives its whole record.
#[track_caller]
fn keep(stack: &Stack, id: &str, (path, name): (&str, &str), parts: &Value) -> Value {
    let body = json!({"application_id": id, "message": "hello", "additional_parameters": {
        "user_id": "anna", "session_id": "s", name: parts}});
    let told = post(stack, path, &body);
    assert_eq!(told.status(), 200, "{}", told.text());
    assert_eq!(
        told.json()["dataclean"]["flagged"],
        false,
        "the verdict is that of the message"
    );
    record(stack, &told.json()["request_id"])
}

fn part(name: &str, text: &str) -> Value {
    json!({"call_id": format!("call {name}"), "name": name, "text": text})
}

#[test]
fn parts_are_stored_beside_the_text_with_what_is_found_in_them() {
    let stack = Stack::all().start();
    let id = blocking(&stack, true);
    for path in PATHS {
        let text = r#"{"to":"b@example.org"}"#;
        let parts = json!([
            part("send", text),
            part("read", r#"{"to":"b\u0040example\u002eorg"}"#)
        ]);
        let kept = keep(&stack, &id, path, &parts);
        let other = if path.1 == "tool_calls" {
            "tool_results"
        } else {
            "tool_calls"
        };
        assert_eq!(
            (&kept[other], &kept["tools_omitted"]),
            (&json!([]), &json!(0))
        );
        assert_eq!(kept["additional_parameters"][path.1], Value::Null);
        assert_eq!(
            kept[path.1][0],
            json!({"call_id": "call send", "name": "send", "text": text, "is_cut": false, "is_cleaned": false,
                "is_unchecked": false, "is_exempt": false,
                "types": ["EMAILS"], "entities": [{"type": "EMAILS", "start": 7, "end": 20}], "guardrails": []})
        );
        // Escaped letters are letters, but stand nowhere in the text.
        let escaped = &kept[path.1][1];
        assert_eq!(
            (&escaped["types"], &escaped["entities"]),
            (&json!(["EMAILS"]), &json!([]))
        );
        assert_eq!(
            (&kept["types"], &kept["blocked"]),
            (&json!([]), &json!(false))
        );
    }
}

#[test]
fn an_application_without_originals_keeps_cleaned_parts_only() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    let id = blocking(&stack, false);
    for path in PATHS {
        let secret = "boris\\u0040example\\u002eorg";
        let parts = json!([part("c@example.org", &format!("{{\"to\":\"{secret}\"}}"))]);
        let kept = keep(&stack, &id, path, &parts);
        let part = &kept[path.1][0];
        assert_eq!(part["text"], r#"{"to":"[EMAILS]"}"#);
        assert_eq!(
            (&part["name"], &part["is_cleaned"], &part["entities"]),
            (&json!("[EMAILS]"), &json!(true), &json!([]))
        );
        assert!(!contains(kept.to_string().as_bytes(), b"oris"), "{kept}");
    }
}

#[test]
fn an_application_without_originals_keeps_no_words_in_the_identifier_of_a_call() {
    // CONTRACT 38: the model and its user choose it. A call and its result still meet.
    let stack = Stack::all().start();
    for (keeps_original, id) in [
        (false, "anna@example.org"),
        (false, "4111111111111111"),
        (false, "call_1:a-b.c"),
        (true, "anna@example.org"),
    ] {
        let application = blocking(&stack, keeps_original);
        let parts = json!([{"call_id": id, "name": "send", "text": "x"}]);
        let [result, call] = PATHS.map(|path| {
            let kept = keep(&stack, &application, path, &parts);
            kept[path.1][0]["call_id"].as_str().unwrap().to_owned()
        });
        assert_eq!(result, call, "{id}");
        let is_kept = keeps_original || id.starts_with("call");
        assert_eq!(call == id, is_kept, "{call}");
        assert!(is_kept || call.starts_with("sha256:"), "{call}");
    }
}

#[test]
fn a_part_that_cannot_be_checked_in_time_leaves_the_verdict_alone() {
    // CONTRACT 26, 38: it is stored as one that nobody looked at, without its text where no originals are kept.
    let digits = slow_search::digits(40 << 10);
    let mut patterns = slow_search::patterns(10);
    patterns.push(json!("EMAILS"));
    let side = json!({"dataclean": {"patterns": patterns}});
    for (number, keeps_original) in [true, false].into_iter().enumerate() {
        let stack = Stack::all().start();
        let rules = json!({"keep_original": keeps_original, "pre": side, "post": side});
        let made = json!({"name": "slow", "rules": rules});
        let made = expect(&stack, 201, ("POST", "/applications"), made);
        let parts = json!([
            part("read", &digits),
            part("c@example.org", "d@example.org")
        ]);
        let body = json!({"application_id": made["id"], "message": "b@example.org",
            "additional_parameters": {"tool_results": parts}});
        let told = post(&stack, "/process_request/", &body);
        assert_eq!(told.status(), 200, "{number} {}", told.text());
        assert_eq!(told.json()["dataclean"]["flagged"], true);
        let kept = record(&stack, &told.json()["request_id"]);
        let text = |text: &str| keeps_original.then(|| text.to_owned());
        for (part, expected) in [(0, text(&digits)), (1, text("d@example.org"))] {
            let part = &kept["tool_results"][part];
            assert_eq!(part["is_unchecked"], true, "{part}");
            assert_eq!(part["text"], json!(expected));
            assert_eq!(
                (&part["types"], &part["entities"]),
                (&json!([]), &json!([]))
            );
        }
        let name = if keeps_original {
            "c@example.org"
        } else {
            "[EMAILS]"
        };
        assert_eq!(kept["tool_results"][1]["name"], name);
        let counted = r#"monitor_analysis_incomplete_total{reason="tool_parts",stage="pre_call"}"#;
        assert_eq!(stack.metric(counted), 1.0, "{}", stack.metrics());
    }
}

#[test]
fn records_are_found_by_the_name_of_a_tool_and_by_having_calls() {
    let stack = Stack::all().start();
    let id = blocking(&stack, true);
    let plain = keep(&stack, &id, PATHS[0], &json!([]));
    let both = json!([part("send", "b@example.org"), part("read", "{}")]);
    let calls = keep(&stack, &id, PATHS[1], &both);
    let result = keep(&stack, &id, PATHS[0], &json!([part("read", "x")]));
    let found = |query: &str| -> Vec<Value> {
        let found = records(&stack, &format!("application_id={id}&{query}"));
        found.iter().map(|one| one["request_id"].clone()).collect()
    };
    let ids = |records: &[&Value]| -> Vec<Value> {
        records
            .iter()
            .map(|one| one["request_id"].clone())
            .collect()
    };
    for (query, expected) in [
        ("tool=send", ids(&[&calls])),
        ("tool=read", ids(&[&result, &calls])),
        ("tool=read&stage=pre", ids(&[&result])),
        ("tool=read&has_tool_calls=true", ids(&[&result, &calls])),
        ("tool=nothing", ids(&[])),
        ("has_tool_calls=true", ids(&[&result, &calls])),
        (
            "has_tool_calls=true&user_id=anna&verdict=clean",
            ids(&[&result, &calls]),
        ),
        ("type=EMAILS", ids(&[&calls])),
        ("", ids(&[&result, &calls, &plain])),
    ] {
        assert_eq!(found(query), expected, "{query}");
    }
    let refused = stack.analysis("/records?has_tool_calls=false", KEY);
    assert_eq!(refused.status(), 422);
    assert!(
        refused.text().contains("has_tool_calls"),
        "{}",
        refused.text()
    );
}

#[test]
fn parts_are_exported_and_erased_with_their_record() {
    let stack = Stack::all().start();
    let id = blocking(&stack, true);
    keep(&stack, &id, PATHS[1], &json!([part("send", "needle")]));
    for (format, expected) in [
        ("jsonl", r#""name":"send","text":"needle""#),
        ("csv", r#"""name"":""send"",""text"":""needle"""#),
    ] {
        let path = format!("/records/export?format={format}&tool=send");
        let lines = stack.analysis(&path, KEY).text();
        assert!(lines.contains(expected), "{lines}");
    }
    let receipt = expect(
        &stack,
        200,
        ("DELETE", "/records?user_id=anna"),
        Value::Null,
    );
    assert_eq!(receipt["records"], 1);
    assert!(records(&stack, "tool=send").is_empty());
    let lines = stack.analysis("/records/export?format=jsonl", KEY).text();
    assert!(!lines.contains("needle"), "{lines}");
}

#[test]
fn what_is_no_part_stays_a_parameter_and_parts_are_bounded() {
    // CONTRACT 27, 49: callers may use the names for something else.
    let stack = Stack::all().start();
    let id = blocking(&stack, true);
    for own in [json!("x"), json!([{"id": 1}]), json!([])] {
        let kept = keep(&stack, &id, PATHS[1], &own);
        assert_eq!(kept["additional_parameters"]["tool_calls"], own);
        assert_eq!(kept["tool_calls"], json!([]));
    }
    let many = json!(vec![part("x", &"y".repeat(2_000)); 60]);
    let kept = keep(&stack, &id, PATHS[1], &many);
    let parts = kept["tool_calls"].as_array().unwrap();
    let texts = parts
        .iter()
        .map(|part| part["text"].as_str().unwrap().len());
    assert!(texts.sum::<usize>() <= 48 << 10);
    assert!(parts.iter().any(|part| part["is_cut"] == true));
    let omitted = kept["tools_omitted"].as_u64().unwrap();
    assert_eq!(parts.len() as u64 + omitted, 60);
}
