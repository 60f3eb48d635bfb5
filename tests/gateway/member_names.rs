//! Model servers differ in how they read the names of JSON members: those written in Go ignore the case, also
//! by Unicode's simple folding, and of duplicates the last counts. What one of them reads is checked, whatever
//! the others make of it: CONTRACT 42, with 2, 3, 13, 15, 41.

use crate::hold_back::{ON, raw, text_of};
use crate::sync::{PHRASE, SYNC, blocked, chat, sync};
use serde_json::json;
use support::KEY;
use support::backend::Backend;
use support::eventually;
use support::request::Request;
use support::stack::Stack;
use support::upstream::{self, ANSWER, DONE, Upstream, delta};

/// Bodies in which only a reader that ignores the case, or merges duplicates, finds the forbidden word.
const BODIES: &[&str] = &[
    r#"{"messages":[{"role":"user","Content":"forbidden"}]}"#,
    r#"{"messages":[{"role":"user","content":"hello","CONTENT":"forbidden"}]}"#,
    r#"{"messages":[{"role":"user","CONTENT":"forbidden","content":"hello"}]}"#,
    r#"{"Messages":[{"role":"user","content":"forbidden"}]}"#,
    r#"{"messages":[{"role":"user","content":"hello"}],"MESSAGES":[{"role":"user","content":"forbidden"}]}"#,
    r#"{"me\u017f\u017fages":[{"role":"user","content":"forbidden"}]}"#,
    "{\"me\u{17f}\u{17f}age\u{17f}\":[{\"role\":\"user\",\"content\":\"forbidden\"}]}",
    r#"{"messages":[{"role":"assistant","Role":"user","content":"forbidden"},{"role":"assistant","content":"hello"}]}"#,
    r#"{"messages":[{"role":"user","content":"hello"},{"role":"assistant","ROLE":"user","content":"forbidden"}]}"#,
    r#"{"messages":[{"role":"user","content":[{"Type":"text","Text":"forbidden"}]}]}"#,
    r#"{"messages":[{"role":"user","content":[{"type":"image","TYPE":"text","data":"forbidden"}]}]}"#,
    r#"{"messages":[{"role":"user","Parts":[{"TEXT":"forbidden"}]}]}"#,
    // Such a reader keeps of each message what the second list does not name.
    r#"{"messages":[{"role":"assistant","content":"forbidden"},{"role":"user","content":"hello"}],"messages":[{"role":"user"}]}"#,
];

#[test]
fn contract_42_names_in_any_case_are_read() {
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("forbidden"));
    let stack = sync(&upstream, "").monitor(&backend).start();
    for body in BODIES {
        let answer = stack.call(&chat(body));
        assert!(answer.text().contains("monitor-guardrails-"), "{body}");
        blocked(&answer);
    }
    upstream.assert_untouched();
    // What no reader takes for such a name is nobody's text.
    let body = r#"{"messages":[{"role":"user","content":"hello"}],"message":[{"role":"user","content":"forbidden"}]}"#;
    assert_eq!(stack.call(&chat(body)).text(), ANSWER, "{body}");
    assert_eq!(upstream.last().body, body.as_bytes());
}

#[test]
fn contract_42_what_cannot_be_read_under_such_a_name_is_no_verdict() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let closed = ", on_backend_failure: closed";
    let stack = sync(&upstream, closed).monitor(&backend).start();
    for body in [
        r#"{"messages":[{"role":"user","content":"hello","Content":7}]}"#,
        r#"{"messages":[{"role":"user","content":"hello"}],"Messages":{"role":"user"}}"#,
    ] {
        assert_eq!(stack.call(&chat(body)).status(), 502, "{body}");
    }
    upstream.assert_untouched();
}

#[test]
fn contract_2_a_stream_that_is_asked_for_in_any_case_is_turned_off() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = sync(&upstream, "").monitor(&backend).start();
    let body = r#"{"messages":[{"role":"user","content":"hello"}],"Stream": true,"stream":false,"\u017fTREAM":true}"#;
    assert_eq!(stack.call(&chat(body)).text(), ANSWER);
    let expected = r#"{"messages":[{"role":"user","content":"hello"}],"Stream": false,"stream":false,"\u017fTREAM":false}"#;
    assert_eq!(String::from_utf8_lossy(&upstream.last().body), expected);
}

#[test]
fn contract_41_a_stream_is_held_back_however_it_is_asked_for() {
    let frames = [
        delta(0, "card 2200 1244 "),
        delta(0, "6450 7773"),
        DONE.to_owned(),
    ];
    let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
    let stack = sync(&upstream, ON).monitor(&backend).start();
    for stream in [
        r#""stream":true"#,
        r#""Stream":true"#,
        r#""stream":1"#,
        r#""stream":"yes""#,
    ] {
        let body = format!(r#"{{"messages":[{{"role":"user","content":"hello"}}],{stream}}}"#);
        let text = text_of(&stack.call(&chat(&body)));
        assert!(
            text.ends_with(PHRASE) && !text.contains("7773"),
            "{stream}: {text}"
        );
        assert_eq!(upstream.last().body, body.as_bytes());
    }
}

#[test]
fn contract_41_a_find_is_redacted_under_a_name_in_any_case() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let yaml = format!("applications:\n- {{id: {SYNC}, app_mode: async, redact_upstream: true}}");
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml(&yaml)
        .start();
    let body = r#"{"Messages":[{"ROLE":"user","content":"hello","Content":[{"Text":"to a@example.com"}]}]}"#;
    assert_eq!(stack.call(&chat(body)).text(), ANSWER);
    let expected = body.replace("a@example.com", "[EMAILS_1]");
    assert_eq!(String::from_utf8_lossy(&upstream.last().body), expected);
}

#[test]
fn contract_15_what_of_an_answer_cannot_be_read_is_no_verdict() {
    for message in [
        r#"{"role":"assistant","content":7}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"hello"},{"type":"text","text":7}]}"#,
    ] {
        let answer = format!(r#"{{"choices":[{{"index":0,"message":{message}}}]}}"#);
        for (failure, status) in [("open", 200), ("closed", 502)] {
            let (upstream, backend) = (
                Upstream::raw(upstream::json(200, &answer)),
                Backend::start(),
            );
            let fields = format!(", replace_response: true, on_backend_failure: {failure}");
            let stack = sync(&upstream, &fields).monitor(&backend).start();
            let got = stack.call(&chat(r#"{"messages":[{"role":"user","content":"hello"}]}"#));
            assert_eq!(got.status(), status, "{answer}");
            let (_, post) = backend.await_exchange();
            assert_eq!(*post.parameter("incomplete"), true, "{answer}");
            let counter = r#"monitor_unchecked_total{reason="unreadable"}"#;
            assert_eq!(stack.metric(counter), 1.0, "{answer}");
        }
    }
}

#[test]
fn contract_42_an_answer_of_very_many_parts_is_stored() {
    let text = vec!["x"; 10_000];
    let answer = json!({"choices": [{"message": {"role": "assistant", "content": text}}]});
    let upstream = Upstream::raw(upstream::json(200, &answer.to_string()));
    let stack = Stack::all().upstream(&upstream).start();
    let body = r#"{"messages":[{"role":"user","content":"hello"}]}"#;
    assert_eq!(stack.call(&Request::chat(body)).status(), 200);
    let stored = eventually("the answer is stored", || {
        let list = stack.analysis("/records?stage=post", KEY).json();
        list["records"].as_array()?.first().cloned()
    });
    assert_eq!(stored["incomplete"], true, "{stored}");
    let letters = stack.metric("monitor_spool_dead_letters");
    assert_eq!(letters, 0.0);
}
