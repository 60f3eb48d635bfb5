//! A backend whose answers are longer than a verdict on their message can be: they are not read into memory.

use crate::sync::{chat, sync};
use serde_json::Value;
use support::assert_envelope;
use support::backend::{Backend, verdict};
use support::request::HELLO;
use support::upstream::{Upstream, json};

/// A verdict on nothing, made longer by so many bytes that no field of it needs.
fn padded(bytes: usize) -> Vec<u8> {
    let answer = String::from_utf8(verdict(&[])).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut body: Value = serde_json::from_str(body).unwrap();
    body["padding"] = "p".repeat(bytes).into();
    json(200, &body.to_string())
}

#[test]
fn a_verdict_that_is_far_longer_than_its_message_is_none() {
    let upstream = Upstream::ok();
    for (bytes, status) in [(100_000, 200), (1 << 20, 502)] {
        let backend = Backend::judging(move |_| padded(bytes));
        let stack = sync(&upstream, ", on_backend_failure: closed");
        let stack = stack.monitor(&backend).start();
        let answer = stack.call(&chat(HELLO));
        assert_eq!(answer.status(), status, "{bytes}: {}", answer.text());
        if status == 502 {
            assert_envelope(&answer.body, "gateway_error", 502);
        }
    }
}

#[test]
fn a_long_message_may_have_a_long_verdict() {
    let (upstream, text) = (Upstream::ok(), "word ".repeat(40_000));
    let backend = Backend::judging(move |_| padded(2 << 20));
    let stack = sync(&upstream, ", on_backend_failure: closed");
    let stack = stack.monitor(&backend).start();
    let body = serde_json::json!({"model": "m", "messages": [{"role": "user", "content": text}]});
    let answer = stack.call(&chat(body.to_string()));
    assert_eq!(answer.status(), 200, "{}", answer.text());
}
