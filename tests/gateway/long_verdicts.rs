//! A backend whose answers are longer than a verdict on their message can be: they are not read into memory. No caller
//! can make the verdicts of the analysis server as long as that.

use crate::sync::{chat, sync};
use serde_json::{Value, json};
use support::api::post;
use support::backend::{Backend, verdict};
use support::request::{HELLO, Request};
use support::stack::Stack;
use support::upstream::{self, Upstream};
use support::{assert_envelope, eventually};

/// A verdict on nothing, made longer by so many bytes that no field of it needs.
fn padded(bytes: usize) -> Vec<u8> {
    let answer = String::from_utf8(verdict(&[])).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut body: Value = serde_json::from_str(body).unwrap();
    body["padding"] = "p".repeat(bytes).into();
    upstream::json(200, &body.to_string())
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
    let body = json!({"model": "m", "messages": [{"role": "user", "content": text}]});
    let answer = stack.call(&chat(body.to_string()));
    assert_eq!(answer.status(), 200, "{}", answer.text());
}

#[test]
fn a_record_whose_verdict_is_too_long_is_stored_and_not_sent_again() {
    let upstream = Upstream::ok();
    let backend = Backend::judging(|call| match call.is_pre() {
        true => padded(1 << 20),
        false => verdict(&[]),
    });
    let stack = sync(&upstream, "").monitor(&backend).start();
    assert_eq!(stack.call(&chat(HELLO)).status(), 200);
    let unchecked = r#"monitor_unchecked_total{reason="unavailable"}"#;
    assert_eq!(stack.metric(unchecked), 1.0);
    eventually("nothing is left in the spool", || {
        (stack.metric("monitor_spool_records") == 0.0).then_some(())
    });
    // In asynchronous mode too.
    let answer = stack.call(&Request::chat(HELLO));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    eventually("both exchanges are delivered", || {
        let is_empty = stack.metric("monitor_spool_records") == 0.0;
        (is_empty && backend.calls().len() >= 4).then_some(())
    });
    assert_eq!(backend.calls().len(), 4, "each record is sent once");
}

#[test]
fn no_caller_makes_a_verdict_of_the_analysis_server_too_long_to_be_read() {
    let upstream = Upstream::ok();
    let backend = Stack::analysis_server().start();
    let made = post(&backend, "/applications", &json!({"name": "a"})).json();
    let id = made["id"].as_str().expect("an id").to_owned();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .env("MONITOR_URL", format!("http://{}", backend.analysis_addr))
        .yaml(&format!(
            "applications:\n- {{id: {id}, app_mode: sync, phrase: no cards}}"
        ))
        .start();
    let card = "my card is 4111 1111 1111 1111\n";
    // Every second byte is a finding, and what separates them has six bytes in JSON; and nothing but such bytes.
    for rest in ["$1\u{b}".repeat(40_000), "\u{1}".repeat(2_900_000)] {
        let text = format!("{card}{rest}");
        let body = json!({"model": "m", "messages": [{"role": "user", "content": text}]});
        let call = Request::chat(body.to_string()).header("X-Application-Id", &id);
        let answer = stack.call(&call);
        assert!(answer.text().contains("no cards"), "{}", answer.status());
    }
    upstream.assert_untouched();
}
