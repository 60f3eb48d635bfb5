//! What a gateway says of a call with the record of its answer (UI B8): who answered, how, and how long it took; the
//! address of the client where it is to be recorded.

use crate::sync::SYNC;
use serde_json::Value;
use support::backend::Backend;
use support::fault::refusing_address;
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::Stack;
use support::upstream::Upstream;

#[track_caller]
fn number(facts: &Value, name: &str) -> u64 {
    let number = facts[name].as_u64();
    number.unwrap_or_else(|| panic!("{name} in {facts}"))
}

#[test]
fn b8_the_record_of_an_answer_says_who_gave_it_and_how_long_that_took() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    for (calls, body) in [HELLO, HELLO_STREAM].into_iter().enumerate() {
        assert_eq!(stack.call(&Request::chat(body)).status(), 200);
        let calls = backend.await_posts(calls + 1);
        let post = calls.iter().rfind(|call| !call.is_pre()).unwrap();
        let facts = post.parameter("call");
        let provider = facts["provider"].as_str().unwrap();
        assert!(provider.starts_with("127.0.0.1:"), "{facts}");
        assert_eq!(facts["status"], 200);
        assert!(number(facts, "first_byte_ms") <= number(facts, "latency_ms"));
        assert!(facts["client_address"].is_null(), "off unless it is set");
        let pre = calls.iter().rfind(|call| call.is_pre()).unwrap();
        assert!(pre.parameter("call").is_null(), "{}", pre.json);
    }
}

#[test]
fn b8_a_held_answer_has_both_times_and_a_failed_call_its_status() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let policy = format!(
        "applications:\n- {{id: {SYNC}, name: bot, app_mode: sync, phrase: x, replace_response: true}}"
    );
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml(&policy)
        .start();
    let call = Request::chat(HELLO).header("X-Application-Id", SYNC);
    assert_eq!(stack.call(&call).status(), 200);
    let (_, post) = backend.await_exchange();
    let facts = post.parameter("call");
    assert_eq!(facts["status"], 200);
    assert!(number(facts, "first_byte_ms") <= number(facts, "latency_ms"));

    let nobody = Backend::start();
    let stack = Stack::gateway()
        .env("UPSTREAM_URL", format!("http://{}", refusing_address()))
        .monitor(&nobody)
        .start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 502);
    let (_, post) = nobody.await_exchange();
    let facts = post.parameter("call");
    assert_eq!(facts["status"], 502);
    assert!(facts["provider"].is_null() && facts["first_byte_ms"].is_null());
    number(facts, "latency_ms");
}

#[test]
fn b8_the_clients_address_is_sent_where_it_is_to_be_recorded() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml("monitor: {record_client_address: true}")
        .start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let (pre, post) = backend.await_exchange();
    for call in [&pre, &post] {
        assert_eq!(call.parameter("call")["client_address"], "127.0.0.1");
    }
    assert!(pre.parameter("call")["latency_ms"].is_null());
}
