//! Event streams ask proxies that collect answers not to, whoever made the stream; other answers say nothing of it.

use crate::sync::{chat, sync};
use support::backend::Backend;
use support::request::{EMBEDDINGS, HELLO, HELLO_STREAM, Request};
use support::stack::Stack;
use support::upstream::{DONE, Upstream, delta, response};

const NAME: &str = "x-accel-buffering";

#[test]
fn a_stream_of_the_model_server_asks_not_to_be_collected() {
    let upstream = Upstream::sse(&[&delta(0, "one"), DONE]);
    let stack = Stack::before(&upstream);
    let answer = stack.call(&Request::chat(HELLO_STREAM));
    assert_eq!(answer.head.values(NAME), ["no"]);
    let body = format!("{}{DONE}", delta(0, "one"));
    let head = "Content-Type: text/event-stream; charset=utf-8\r\nX-Accel-Buffering: yes\r\n";
    let upstream = Upstream::raw(response(200, head, body.as_bytes()));
    let stack = Stack::before(&upstream);
    let answer = stack.call(&Request::chat(HELLO_STREAM));
    assert_eq!(answer.head.values(NAME), ["no"]);
    assert_eq!(answer.text(), body);
}

#[test]
fn a_stream_that_the_gateway_makes_asks_it_too() {
    let (harmless, flagged) = (
        chat(HELLO_STREAM),
        chat(HELLO_STREAM.replace("hello", "secret")),
    );
    for (mode, call) in [
        ("hold_back", &flagged),
        ("replay", &flagged),
        ("replay", &harmless),
    ] {
        let (upstream, backend) = (Upstream::ok(), Backend::flagging("secret"));
        let builder = sync(&upstream, &format!(", stream_in_sync: {mode}"));
        let stack = builder.monitor(&backend).start();
        let answer = stack.call(call);
        let kind = answer.head.header("content-type");
        assert_eq!(kind, Some("text/event-stream"), "{mode}: {}", answer.text());
        assert_eq!(answer.head.values(NAME), ["no"], "{mode}");
    }
}

#[test]
fn an_answer_that_is_no_stream_says_nothing_of_it() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for request in [Request::chat(HELLO), Request::post(EMBEDDINGS, "{}")] {
        assert!(!stack.call(&request).head.has(NAME));
    }
    let head = "Content-Type: application/json\r\nX-Accel-Buffering: yes\r\n";
    let upstream = Upstream::raw(response(200, head, b"{}"));
    let answer = Stack::before(&upstream).call(&Request::chat(HELLO));
    assert_eq!(answer.head.values(NAME), ["yes"]);
}
