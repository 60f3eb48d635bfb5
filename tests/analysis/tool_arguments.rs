//! Calls of tools whose arguments a policy exempts from the check (`check_tool_arguments: false`): stored as parts that
//! nobody looked at, because somebody said so. CONTRACT 26, 38, 46.

use crate::admin_world::{assert_refused, call, expect};
use crate::exchanges::blocking;
use serde_json::{Value, json};
use support::api::{post, record, records};
use support::contains;
use support::eventually;
use support::request::{CHAT, Request};
use support::stack::Stack;
use support::upstream::{DONE, Upstream, sse};

const ARGUMENTS: &str = r#"{"to":"anna@example.org"}"#;
const INCOMPLETE: &str =
    r#"monitor_analysis_incomplete_total{reason="tool_parts",stage="post_call"}"#;

/// Registers a message with one part and this mark; gives its whole record.
#[track_caller]
fn keep(stack: &Stack, id: &str, (path, name): (&str, &str), mark: &Value) -> Value {
    let part = json!({"call_id": "c1", "name": "boris@example.org", "text": ARGUMENTS});
    let body = json!({"application_id": id, "message": "hello", "additional_parameters": {
        name: [part], "tools_unchecked": mark}});
    let told = post(stack, path, &body);
    assert_eq!(told.status(), 200, "{}", told.text());
    record(stack, &told.json()["request_id"])
}

#[test]
fn exempt_calls_are_stored_unchecked_and_without_their_text_where_no_originals_are_kept() {
    let stack = Stack::all().start();
    for keeps_original in [true, false] {
        let id = blocking(&stack, keeps_original);
        let calls = ("/process_response/", "tool_calls");
        let kept = keep(&stack, &id, calls, &json!(true));
        let part = &kept["tool_calls"][0];
        assert_eq!(
            (&part["is_unchecked"], &part["is_exempt"]),
            (&json!(true), &json!(true))
        );
        assert_eq!(
            (&part["types"], &part["entities"], &part["guardrails"]),
            (&json!([]), &json!([]), &json!([]))
        );
        let text = keeps_original.then_some(ARGUMENTS);
        assert_eq!(part["text"], json!(text));
        let name = match keeps_original {
            true => "boris@example.org",
            false => "[EMAILS]",
        };
        assert_eq!(part["name"], name, "names are masked as ever");
        assert!(kept["additional_parameters"]["tools_unchecked"].is_null());
        if !keeps_original {
            assert!(!contains(kept.to_string().as_bytes(), b"anna"), "{kept}");
        }
    }
    assert_eq!(stack.metric(INCOMPLETE), 0.0, "a setting is no overload");
}

#[test]
fn results_of_tools_and_calls_without_the_mark_are_checked() {
    let stack = Stack::all().start();
    let id = blocking(&stack, true);
    let results = ("/process_request/", "tool_results");
    let calls = ("/process_response/", "tool_calls");
    for (path, mark) in [
        (results, json!(true)),
        (calls, json!(false)),
        (calls, json!("true")),
        (calls, Value::Null),
    ] {
        let kept = keep(&stack, &id, path, &mark);
        let part = &kept[path.1][0];
        assert_eq!(
            (&part["is_unchecked"], &part["is_exempt"], &part["types"]),
            (&json!(false), &json!(false), &json!(["EMAILS"])),
            "{mark}"
        );
        assert_eq!(
            kept["additional_parameters"]["tools_unchecked"], mark,
            "callers may use the name for something else"
        );
    }
}

/// A stream and a whole answer that call a tool.
fn answers() -> [Vec<u8>; 2] {
    let call = json!([{"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "mail", "arguments": ARGUMENTS}}]);
    let whole = json!({"id": "c-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": null, "tool_calls": call}}]});
    let chunk = json!({"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": null, "delta": {"tool_calls": call}}]});
    let chunk = format!("data: {chunk}\n\n");
    [
        support::upstream::json(200, &whole.to_string()),
        sse(&[&chunk, DONE]),
    ]
}

#[test]
fn a_stored_policy_decides_for_calls_through_the_gateway() {
    for answer in answers() {
        let upstream = Upstream::raw(answer);
        let stack = Stack::all().upstream(&upstream).start();
        for (is_checked, text) in [
            (true, format!("mail\n{ARGUMENTS}")),
            (false, "mail".to_owned()),
        ] {
            let policy = json!({"app_mode": "async", "check_tool_arguments": is_checked});
            let rules = json!({"keep_original": true});
            let made = json!({"name": "agents", "rules": rules, "policy": policy});
            let made = expect(&stack, 201, ("POST", "/applications"), made);
            let id = made["id"].as_str().unwrap();
            let body = json!({"model": "m", "messages": [{"role": "user", "content": "go"}]});
            let request = Request::post(CHAT, body.to_string()).header("X-Application-Id", id);
            let query = format!("application_id={id}&stage=post");
            let mut calls = 0;
            let kept = eventually("a call under the policy", || {
                if stack.call(&request).status() != 200 {
                    return None;
                }
                calls += 1;
                let found = eventually("the answer's record", || {
                    let found = records(&stack, &query);
                    (found.len() == calls).then_some(found)
                });
                let kept = record(&stack, &found[0]["request_id"]);
                (kept["message"] == text).then_some(kept)
            });
            let part = &kept["tool_calls"][0];
            assert_eq!(part["text"], ARGUMENTS, "{kept}");
            assert_eq!(part["is_exempt"], !is_checked, "{kept}");
            let types = if is_checked {
                json!(["EMAILS"])
            } else {
                json!([])
            };
            assert_eq!(part["types"], types, "{kept}");
        }
    }
}

#[test]
fn the_switch_is_kept_in_versions_and_refused_where_it_is_no_flag() {
    let stack = Stack::all().start();
    let policy = json!({"app_mode": "async", "check_tool_arguments": false});
    let made = json!({"name": "agents", "policy": policy});
    let made = expect(&stack, 201, ("POST", "/applications"), made);
    assert_eq!(made["policy"]["check_tool_arguments"], false);
    let path = format!("/applications/{}", made["id"].as_str().unwrap());
    let policy = format!("{path}/policy");
    for wrong in [json!("false"), json!(0), json!([])] {
        let change = json!({"version": 1, "policy": {"check_tool_arguments": wrong}});
        let refused = call(&stack, "PATCH", &policy, change);
        assert_refused(&refused, 422, "check_tool_arguments");
    }
    let change = json!({"version": 1, "policy": {"check_tool_arguments": null}});
    let changed = expect(&stack, 200, ("PATCH", &policy), change);
    // The default is left out, so that a program that does not know the field reads the policy.
    assert!(changed["policy"].get("check_tool_arguments").is_none());
    let earlier = format!("{path}/versions/1");
    let earlier = expect(&stack, 200, ("GET", &earlier), Value::Null);
    assert_eq!(earlier["policy"]["check_tool_arguments"], false);
    let whole =
        json!({"version": 2, "policy": {"app_mode": "async", "check_tool_arguments": false}});
    let set = expect(&stack, 200, ("PUT", &policy), whole);
    assert_eq!(set["policy"]["check_tool_arguments"], false);
    let lines = expect(&stack, 200, ("GET", "/audit?limit=2"), Value::Null);
    for line in lines["entries"].as_array().unwrap() {
        let changed = &line["details"]["changed"];
        assert_eq!(*changed, json!(["policy.check_tool_arguments"]), "{line}");
    }
}
