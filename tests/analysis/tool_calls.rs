//! The tools that are called in an exchange, through the binary (CONTRACT 48).

use crate::admin_world::{application, assert_refused, call, call_as, expect, token};
use crate::attachments::{TEXT, multipart, send};
use crate::exchanges::{ANSWERS, blocking};
use serde_json::{Value, json};
use support::KEY;
use support::api::{post, record, records};
use support::stack::Stack;

#[track_caller]
fn call_tool(stack: &Stack, body: Value) -> Value {
    let response = post(stack, "/process_tool_call/", &body);
    assert_eq!(response.status(), 200, "{}", response.text());
    response.json()
}

#[test]
fn contract_48_a_tool_call_is_checked_recorded_and_beside_its_exchange() {
    let stack = Stack::all().start();
    let id = blocking(&stack, true);
    let message = json!({"application_id": id, "message": "ask the directory",
        "additional_parameters": {"request_id": "x", "user_id": "u", "session_id": "s"}});
    post(&stack, "/process_request", &message);
    let body = |input: Value, result: Value| {
        json!({"application_id": id, "tool_name": "send_mail", "tool_call_id": "call 1",
            "tool_input": input, "tool_result": result,
            "additional_parameters": {"request_id": "x"}})
    };
    // Escaped letters are letters.
    let input = r#"{"to":"\u0061nna@example.org"}"#;
    let before = call_tool(&stack, body(json!(input), Value::Null));
    assert_eq!(before["tool_call_id"], "call 1");
    assert_eq!(
        (&before["flagged"], &before["blocked"], &before["result"]),
        (&json!(true), &json!(true), &Value::Null)
    );
    let found = json!([{"type": "EMAILS", "count": 1}]);
    assert_eq!(before["arguments"]["dataclean"]["types"], found);
    let after = call_tool(
        &stack,
        body(
            json!(input),
            json!({"sent": ["b@example.org", "c@example.org"]}),
        ),
    );
    assert_eq!(
        after["arguments"]["request_id"],
        before["arguments"]["request_id"]
    );
    assert_eq!(after["result"]["dataclean"]["types"][0]["count"], 2);
    let result = json!({"sent": ["b@example.org", "c@example.org"]});
    let again = call_tool(&stack, body(json!(input), result));
    assert_eq!(
        (&again["arguments"], &again["result"]),
        (&after["arguments"], &after["result"]),
        "a repeat is no second record"
    );

    let listed = records(&stack, &format!("application_id={id}&session_id=s"));
    let names: Vec<_> = listed
        .iter()
        .map(|one| one["record"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["tool_result", "tool_arguments", "user_prompt"]);
    for one in &listed[..2] {
        assert_eq!(
            one["tool"],
            json!({"name": "send_mail", "call_id": "call 1"})
        );
        assert_eq!(
            (&one["user_id"], &one["exchange_id"]),
            (&json!("u"), &json!("x"))
        );
        assert_eq!(one["blocked"], true);
    }
    assert_eq!(listed[2]["tool"], Value::Null);
    let arguments = record(&stack, &before["arguments"]["request_id"]);
    assert_eq!(
        arguments["message"],
        "send_mail\n{\"to\":\"anna@example.org\"}"
    );
    let result = record(&stack, &after["result"]["request_id"]);
    assert_eq!(
        result["message"],
        r#"{"sent":["b@example.org","c@example.org"]}"#
    );
    let answer = stack.analysis(
        &format!("/{ANSWERS}/by_request/x/check_blocking?application_id={id}"),
        KEY,
    );
    assert_refused(&answer, 404, "request_id");

    for part in [&before["arguments"], &after["result"]] {
        let path = format!("/records/{}/explain", part["request_id"].as_str().unwrap());
        let explained = expect(&stack, 200, ("POST", &path), Value::Null);
        assert_eq!(explained["differences"], json!([]), "{explained}");
    }

    let csv = stack.analysis(
        &format!("/records/export?format=csv&application_id={id}"),
        KEY,
    );
    assert!(csv.text().contains(",send_mail,call 1,"), "{}", csv.text());
    let jsonl = stack.analysis(&format!("/records/export?application_id={id}"), KEY);
    assert_eq!(
        jsonl
            .text()
            .matches(r#""tool":{"name":"send_mail""#)
            .count(),
        2
    );
    let path = format!("/records?user_id=u&application_id={id}");
    let erased = call(&stack, "DELETE", &path, Value::Null);
    assert_eq!(erased.json()["records"], 3, "{}", erased.text());
    assert!(records(&stack, &format!("application_id={id}")).is_empty());
}

#[test]
fn contract_48_tool_calls_of_an_erased_user_are_not_stored() {
    let stack = Stack::all().start();
    let id = blocking(&stack, true);
    let tool = |call: &str| {
        let body = json!({"application_id": id, "tool_name": "find", "tool_call_id": call,
            "tool_input": "Anna's address", "additional_parameters": {"request_id": "x"}});
        call_tool(&stack, body)
    };
    let path = format!("/records?user_id=u&application_id={id}");
    assert_eq!(call(&stack, "DELETE", &path, Value::Null).status(), 200);
    tool("before");
    assert_eq!(records(&stack, &format!("application_id={id}")).len(), 1);
    let message = json!({"application_id": id, "message": "hello",
        "additional_parameters": {"request_id": "x", "user_id": "u"}});
    let warned = post(&stack, "/process_request", &message).json();
    assert_eq!(warned["warnings"][0]["code"], "user_erased", "{warned}");
    assert!(records(&stack, &format!("application_id={id}")).is_empty());
    let after = tool("after");
    let warning = &after["arguments"]["warnings"][0]["code"];
    assert_eq!(*warning, "user_erased", "{after}");
    assert!(records(&stack, &format!("application_id={id}")).is_empty());
    let path = format!("/user_prompt_analysis/by_request/x/attach_files?application_id={id}");
    let file = multipart("attached_files", &[("a.txt", "text/plain", TEXT)]);
    assert_refused(&send(&stack, KEY, &path, file), 404, "erased with its user");
}

#[test]
fn contract_48_a_repeated_tool_call_is_answered_by_the_policy_of_its_record() {
    let stack = Stack::all().start();
    let id = blocking(&stack, true);
    let body = json!({"application_id": id, "tool_name": "send_mail", "tool_call_id": "call 1",
        "tool_input": {"to": "a@example.org"}, "additional_parameters": {"request_id": "x"}});
    assert_eq!(call_tool(&stack, body.clone())["blocked"], true);
    let path = format!("/applications/{id}");
    let version = &expect(&stack, 200, ("GET", &path), Value::Null)["version"];
    let policy = json!({"version": version, "policy": {"app_mode": "async"}});
    expect(&stack, 200, ("PUT", &format!("{path}/policy")), policy);
    let again = call_tool(&stack, body);
    assert_eq!(again["blocked"], true, "as its record says");
    assert_eq!(
        records(&stack, &format!("application_id={id}"))[0]["blocked"],
        true
    );
}

#[test]
fn contract_48_without_originals_a_tool_call_keeps_cleaned_texts_only() {
    let stack = Stack::all().start();
    let id = blocking(&stack, false);
    let call = json!({"application_id": id, "func_name": "mail_anna@example.org",
        "func_args": {"to": "b@example.org"}, "func_result": "sent to c@example.org",
        "additional_parameters": {"tool_call_id": "7", "request_id": "x"}});
    let told = call_tool(&stack, call);
    assert_eq!(told["tool_call_id"], "7");
    let listed = stack.analysis(&format!("/records/export?application_id={id}"), KEY);
    let text = listed.text();
    assert_eq!(text.lines().count(), 2);
    assert!(!text.contains("@example.org"), "{text}");
    assert!(text.contains("sent to [EMAILS]"), "{text}");
}

#[test]
fn contract_48_another_text_under_a_stored_id_has_a_verdict_of_its_own() {
    let stack = Stack::all().start();
    let id = blocking(&stack, true);
    let tool = |input: &str, result: Value| {
        let body = json!({"application_id": id, "tool_name": "send_mail", "tool_call_id": "c1",
            "tool_input": input, "tool_result": result, "additional_parameters": {"request_id": "x"}});
        call_tool(&stack, body)
    };
    let is_blocked = |told: &Value| told["blocked"] == true && told["flagged"] == true;
    let first = tool("to the list", json!("sent"));
    assert!(!is_blocked(&first), "{first}");
    let other = tool("to anna@example.org", Value::Null);
    assert!(is_blocked(&other), "{other}");
    assert_eq!(other["tool_call_id"], "c1");
    let result = tool("to the list", json!("sent to anna@example.org"));
    assert!(is_blocked(&result), "{result}");
    assert_eq!(
        result["arguments"]["request_id"],
        first["arguments"]["request_id"]
    );
    // Sent again, it is no further record.
    let again = tool("to anna@example.org", Value::Null);
    assert!(is_blocked(&again));
    assert_eq!(
        again["arguments"]["request_id"],
        other["arguments"]["request_id"]
    );
    assert_eq!(
        records(&stack, &format!("application_id={id}")).len(),
        4,
        "two texts of each part"
    );

    let message = |text: &str| {
        let body = json!({"application_id": id, "message": text,
            "additional_parameters": {"request_id": "y"}});
        post(&stack, "/process_request/", &body).json()
    };
    let first = message("hello");
    for (text, is_flagged) in [("anna@example.org", true), ("a harmless text", false)] {
        let other = message(text);
        assert_eq!(other["dataclean"]["flagged"], is_flagged, "{other}");
        assert_eq!(other["request_id"], first["request_id"]);
        let warning = other["warnings"][0]["message"].as_str().unwrap();
        assert!(warning.contains("checked and not stored"), "{warning}");
    }
    assert_eq!(message("hello"), first);
}

#[test]
fn contract_48_a_harmless_text_under_a_tool_calls_id_hides_no_other_one() {
    let stack = Stack::all().start();
    for keeps_original in [true, false] {
        let id = blocking(&stack, keeps_original);
        let tool = |text: &str| {
            let body = json!({"application_id": id, "tool_name": "send_mail", "tool_call_id": "c1",
                "tool_input": text, "tool_result": text,
                "additional_parameters": {"request_id": "x"}});
            call_tool(&stack, body)
        };
        let texts = ["to anna@example.org", "to the list", "to nobody"];
        let told = texts.map(&tool);
        for (told, text) in told.iter().zip(texts) {
            let again = tool(text);
            for part in ["arguments", "result"] {
                assert_eq!(again[part], told[part], "stored once");
                let stored = record(&stack, &told[part]["request_id"]);
                assert_eq!(stored["answer"]["warnings"], told[part]["warnings"]);
                let has_mark = told[part]["warnings"][0]["message"]
                    .as_str()
                    .is_some_and(|text| text.contains("stored beside it"));
                assert_eq!(has_mark, text != texts[0], "{told}");
            }
        }
        assert_eq!(records(&stack, &format!("application_id={id}")).len(), 6);
    }
    let apart = r#"monitor_reused_ids_total{outcome="stored_apart"}"#;
    assert_eq!(stack.metric(apart), 8.0);
}

#[test]
fn contract_48_no_escape_hides_anything_in_a_tool_call() {
    let stack = Stack::all().start();
    let id = application(&stack, "escapes");
    let word = json!({"name": "SECRET", "regex": "top\\ssecret"});
    let rules = json!({"dataclean": {"patterns": ["BANK_CARD_NUMBER", word]}});
    let change = json!({"version": 1, "rules": {"pre": rules, "post": rules}});
    expect(
        &stack,
        200,
        ("PATCH", &format!("/applications/{id}")),
        change,
    );
    let flagged = |input: Value, result: Value| {
        let body = json!({"application_id": id, "tool_name": "pay", "tool_input": input,
            "tool_result": result});
        let told = call_tool(&stack, body);
        [&told["arguments"], &told["result"]].map(|part| part["dataclean"]["flagged"].clone())
    };
    for hidden in [
        r#"{"card":"4111\/1111\/1111\/1111"}"#,
        r#"{"card":"4111\u00201111\u00201111\u00201111"}"#,
        r#"{"card":"\u0034111 1111 1111 1111"}"#,
        r#"{"card":"4111\t1111\t1111\t1111"}"#,
        r#"{"say":"top\nsecret"}"#,
        r#"{"say":"top\u000asecret"}"#,
        r#"{"say":"\u0074op secret"}"#,
        r#"no JSON: top\nsecret"#,
    ] {
        assert_eq!(
            flagged(json!(hidden), json!(hidden)),
            [json!(true), json!(true)],
            "{hidden}"
        );
    }
    let harmless = json!(r#"{"say":"top\\nsecret"}"#);
    assert_eq!(
        flagged(harmless.clone(), harmless),
        [json!(false), json!(false)]
    );
}

#[test]
fn contract_48_mistakes_in_a_tool_call_are_named() {
    let stack = Stack::all().start();
    let id = stack.application_id();
    let with = |change: Value| {
        let mut body = json!({"application_id": id, "tool_name": "find"});
        for (name, value) in change.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    for (change, words) in [
        (json!({"tool_name": null}), "tool_name: missing"),
        (json!({"tool_name": " "}), "tool_name: must be"),
        (json!({"tool_name": 7}), "tool_name: must be"),
        (json!({"tool_name": "n".repeat(257)}), "256 characters"),
        (
            json!({"func_name": "other"}),
            "tool_name: is sent under two names",
        ),
        (
            json!({"tool_input": "a", "func_args": "b"}),
            "tool_input: is sent under two names",
        ),
        (json!({"arguments": "{}"}), "tool_input: is not read as"),
        (json!({"input": {}}), "tool_input: is not read as"),
        (json!({"output": "x"}), "tool_result: is not read as"),
        (json!({"result": "x"}), "tool_result: is not read as"),
        (json!({"tool_call_id": ""}), "tool_call_id: must be"),
        (json!({"tool_call_id": "i".repeat(513)}), "512 bytes"),
        (
            json!({"additional_parameters": {"tool_call_id": 7}}),
            "tool_call_id: must be",
        ),
        (json!({"additional_parameters": {"user_id": 7}}), "user_id"),
        (
            json!({"application_id": "x"}),
            "application_id: must be a UUID",
        ),
    ] {
        let refused = post(&stack, "/process_tool_call", &with(change));
        assert_refused(&refused, 422, words);
    }
    assert_refused(
        &post(&stack, "/process_tool_call", &json!([])),
        422,
        "object",
    );
    assert!(records(&stack, "").is_empty());
    // Without an identifier each request is a call of its own.
    let exchange = json!({"additional_parameters": {"request_id": "x"}});
    let ids = [0, 1].map(|_| call_tool(&stack, with(exchange.clone()))["tool_call_id"].clone());
    assert_ne!(ids[0], ids[1]);
    assert_eq!(records(&stack, "").len(), 2);
    let foreign = application(&stack, "foreign");
    let made = json!({"name": "t", "scopes": ["ingest"], "application_id": foreign});
    let (_, key) = token(&stack, made);
    let path = ("POST", "/process_tool_call");
    let refused = call_as(&key, &stack, path, with(json!({})));
    assert_refused(&refused, 403, "application");
}
