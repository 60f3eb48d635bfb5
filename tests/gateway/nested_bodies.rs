//! Prompts that are nested (CONTRACT 42, 13): as deep as readers go they are served, checked and blocked like flat ones,
//! and those of which most bytes stand deeper have no verdict.

use crate::sync::{SYNC, sync};
use support::backend::Backend;
use support::request::Request;
use support::stack::Stack;
use support::upstream::{ANSWER, Upstream};

/// A content of 100 KB whose last word stands, with the others, so many levels deep.
fn content(levels: usize, word: &str) -> String {
    let (open, close) = (r#"{"a":"#.repeat(levels), "}".repeat(levels));
    let words = r#""words that say next to nothing","#.repeat(3_000);
    format!(r#"[{{"type":"x","a":{open}[{words}"{word}"]{close}}}]"#)
}

/// The same as a call of each API that has messages.
fn calls(content: &str) -> [Request; 3] {
    let message = format!(r#"{{"role":"user","content":{content}}}"#);
    let rest = r#""model":"m","max_tokens":9"#;
    [
        ("/v1/chat/completions", "messages"),
        ("/v1/messages", "messages"),
        ("/v1/responses", "input"),
    ]
    .map(|(path, list)| {
        let body = format!(r#"{{{rest},"{list}":[{message}]}}"#);
        Request::post(path, body).header("X-Application-Id", SYNC)
    })
}

fn is_blocked(stack: &Stack, call: &Request) -> bool {
    let answer = stack.call(call);
    assert_eq!(answer.status(), 200, "{} {}", call.path(), answer.text());
    // The phrase of the policy, which JSON escapes.
    let is_blocked = answer.text().contains("— нет.");
    assert!(is_blocked || answer.text() == ANSWER, "{}", answer.text());
    is_blocked
}

#[test]
fn contract_42_nested_texts_are_checked_like_flat_ones_and_far_deeper_ones_have_no_verdict() {
    let counter = r#"monitor_unchecked_total{reason="unreadable"}"#;
    for (fields, status) in [("", 200), (", on_backend_failure: closed", 502)] {
        let (upstream, backend) = (Upstream::ok(), Backend::flagging("forbidden"));
        let stack = sync(&upstream, fields).monitor(&backend).start();
        for levels in [1, 8] {
            for call in calls(&content(levels, "forbidden")) {
                assert!(is_blocked(&stack, &call), "{} {levels}", call.path());
            }
            for call in calls(&content(levels, "hello")) {
                assert!(!is_blocked(&stack, &call), "{} {levels}", call.path());
            }
        }
        assert_eq!(stack.metric(counter), 0.0);
        for (number, call) in (1..).zip(calls(&content(28, "hello"))) {
            backend.forget();
            assert_eq!(stack.call(&call).status(), status, "{}", call.path());
            assert_eq!(stack.metric(counter), f64::from(number), "{}", call.path());
            let calls = backend.await_calls(1);
            let pre = calls.iter().find(|call| call.is_pre()).unwrap();
            assert_eq!(*pre.parameter("incomplete"), true);
            assert_eq!(pre.parameter("unchecked").is_null(), status == 502);
        }
    }
}
