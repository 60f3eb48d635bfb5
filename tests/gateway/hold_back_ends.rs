//! How a stream that is held back ends when something is wrong: CONTRACT 41 with 13, 17 to 21.

use crate::agent_routes::{AGENTS, Api};
use crate::hold_back::{CARD, CLOSED, ON, SOON, held, raw, text_of};
use crate::sync::{PHRASE, chat, sync};
use serde_json::{Value, json};
use std::io::Write;
use support::assert_envelope;
use support::backend::Backend;
use support::request::{HELLO_STREAM, chunk};
use support::upstream::{DONE, SSE_HEAD, Upstream, delta};

/// Streams that cannot be read: whole answers, their bodies, and what may pass before it shows.
fn unreadable() -> [(Vec<u8>, Vec<u8>, String); 3] {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed
        .write_all(delta(0, "10.0.0.1 two").as_bytes())
        .unwrap();
    let packed = packed.finish().unwrap();
    let head = SSE_HEAD.replace("Transfer", "Content-Encoding: gzip\r\nTransfer");
    let answer = [head.as_bytes(), &chunk(&packed), b"0\r\n\r\n"].concat();
    let odd = [
        delta(0, "one "),
        "data: <html>\n\n".to_owned(),
        delta(0, "two "),
    ];
    let whole = odd.concat().into_bytes();
    // Who ignores the case of names reads it.
    let cased = [
        delta(0, "one "),
        delta(0, "10.0.0.1").replace("content", "Content"),
        delta(0, "two "),
    ];
    let of_cased = cased.concat().into_bytes();
    [
        (answer, packed, String::new()),
        (raw(&odd), whole, odd[0].clone()),
        (raw(&cased), of_cased, cased[0].clone()),
    ]
}

const UNREADABLE: &str = r#"monitor_unchecked_total{reason="unreadable"}"#;

#[test]
fn a_stream_that_cannot_be_read_passes_counted_and_marked() {
    // CONTRACT 13, 41.
    for (sent, whole, _) in unreadable() {
        let (upstream, backend) = (Upstream::raw(sent), Backend::start());
        let stack = sync(&upstream, ON).monitor(&backend).start();
        assert_eq!(stack.call(&chat(HELLO_STREAM)).body, whole);
        let (_, post) = backend.await_exchange();
        assert_eq!(post.parameter("unchecked"), true);
        assert_eq!(stack.metric(UNREADABLE), 1.0);
    }
}

#[test]
fn a_stream_that_cannot_be_read_does_not_pass_where_nothing_passes_unchecked() {
    // CONTRACT 13, 41.
    for (sent, _, before) in unreadable() {
        let (upstream, backend) = (Upstream::raw(sent), Backend::start());
        let stack = sync(&upstream, CLOSED).monitor(&backend).start();
        let answer = stack.call(&chat(HELLO_STREAM));
        assert_eq!(answer.status(), if before.is_empty() { 502 } else { 200 });
        let text = answer.text();
        let error = text
            .strip_prefix(before.as_str())
            .unwrap()
            .trim_start_matches("data: ");
        assert_envelope(error.as_bytes(), "gateway_error", 502);
        let (_, post) = backend.await_exchange();
        assert_eq!(post.parameter("error")["closed_by"], "gateway");
        assert_eq!(stack.metric(UNREADABLE), 1.0);
    }
}

#[test]
fn an_answer_that_is_neither_a_stream_nor_a_completion_has_no_verdict() {
    // CONTRACT 13, 41.
    for (fields, status) in [(ON, 200), (CLOSED, 502)] {
        for body in [
            "<html>",
            "data: {}\n\n",
            r#"{"choices":[{"message":{"content":7}}]}"#,
            r#"{"choices":[]}"#,
            r#"{"id":"x","object":"y"}"#,
            "7",
        ] {
            let (upstream, backend) = (Upstream::json(200, body), Backend::start());
            let stack = sync(&upstream, fields).monitor(&backend).start();
            let answer = stack.call(&chat(HELLO_STREAM));
            assert_eq!(answer.status(), status, "{body}");
            assert!(status != 200 || answer.text() == body);
            let (_, post) = backend.await_exchange();
            assert_eq!(post.parameter("unchecked") == true, status == 200, "{body}");
            assert_eq!(post.parameter("error").is_null(), status == 200, "{body}");
            assert_eq!(stack.metric(UNREADABLE), 1.0);
        }
    }
}

#[test]
fn a_stream_without_done_is_judged_at_its_end_and_gets_none() {
    // CONTRACT 19, 41.
    for (text, expected) in [
        ("адрес 10.0.0.1", None),
        ("конец 10", Some(delta(0, "конец 10"))),
    ] {
        let upstream = Upstream::sse(&[&delta(0, text)]);
        let backend = Backend::start();
        let stack = sync(&upstream, CLOSED).monitor(&backend).start();
        let answer = stack.call(&chat(HELLO_STREAM));
        match expected {
            Some(frame) => assert_eq!(answer.text(), frame),
            None => assert_eq!(text_of(&answer), format!("адрес {PHRASE}")),
        }
    }
}

#[test]
fn a_stream_that_breaks_off_shows_what_was_held_and_then_the_error() {
    // CONTRACT 19, 17.
    let (_stack, feed, mut conn, _upstream, backend) = held(CLOSED, "");
    let frame = delta(0, "call 8 916");
    feed.chunk(frame.clone() + "data: {\"choices\":[{\"delta\":{\"content\":\" 123-45");
    feed.reset();
    let (body, complete) = conn.rest();
    let body = String::from_utf8(body).unwrap();
    assert!(complete, "{body}");
    let tail = body.strip_prefix(frame.as_str()).unwrap();
    assert_envelope(
        tail.trim_start_matches("data: ").as_bytes(),
        "upstream_error",
        502,
    );
    let (_, post) = backend.await_exchange();
    assert_eq!(post.message(), "call 8 916");
    assert_eq!(post.parameter("incomplete"), true);
}

#[test]
fn silence_over_held_text_gets_keepalives_and_then_the_error() {
    // §6.2, CONTRACT 18 to 20: the border is the client's, and so is the silence.
    let yaml = "upstream: {timeout: 1s}\nstream: {heartbeat: 100ms}";
    let (_stack, feed, mut conn, _upstream, _backend) = held(ON, yaml);
    let frame = delta(0, "call 8 916");
    feed.chunk(&frame);
    let (body, complete) = conn.rest();
    let body = String::from_utf8(body).unwrap();
    assert!(complete && body.starts_with(": keepalive\n\n"), "{body}");
    let rest = body.replace(": keepalive\n\n", "");
    let tail = rest.strip_prefix(frame.as_str()).unwrap();
    assert_envelope(
        tail.trim_start_matches("data: ").as_bytes(),
        "upstream_error",
        504,
    );
}

#[test]
fn a_client_that_leaves_while_text_is_held_ends_the_upstream_call() {
    // CONTRACT 21: the record has what the client got.
    let (_stack, feed, mut conn, _upstream, backend) = held(ON, "");
    let frame = delta(0, "shown ");
    feed.chunk(frame.clone() + &delta(0, "call 8 916"));
    assert_eq!(conn.read_until(b"\n\n"), frame.as_bytes());
    drop(conn);
    assert!(feed.closed_within(SOON).is_some(), "the upstream is let go");
    let (_, post) = backend.await_exchange();
    assert_eq!(post.message(), "shown ");
    assert_eq!(post.parameter("error")["closed_by"], "client");
}

#[test]
fn at_a_finding_the_tokens_of_the_prompt_stay_and_those_of_the_answer_go() {
    // CONTRACT 41: the events that end the stream are the gateway's, and count nothing.
    let counted = |text: &str| {
        let event = json!({"id": "c-1", "model": "m-1", "choices": [{"index": 0, "delta": {"content": text}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}});
        format!("data: {event}\n\n")
    };
    let frames = vec![counted("Hello, "), counted(CARD), DONE.to_owned()];
    let mut cases = vec![(chat(HELLO_STREAM), frames, json!({"prompt_tokens": 100}))];
    for api in AGENTS {
        let tokens = match api {
            Api::Messages => json!({"prompt_tokens": 3}),
            // The other counts the prompt at the end.
            _ => Value::Null,
        };
        let frames = api.stream(&format!("Hello, {CARD}, take care."), "ls");
        cases.push((api.checked("hello", true), frames, tokens));
    }
    for (call, frames, tokens) in cases {
        let (upstream, backend) = (Upstream::raw(raw(&frames)), Backend::start());
        let stack = sync(&upstream, ON).monitor(&backend).start();
        let answer = stack.call(&call);
        assert!(answer.text().contains("No \\\"quotes"), "{}", answer.text());
        let (_, post) = backend.await_exchange();
        assert_eq!(post.parameter("response_replaced"), true);
        assert_eq!(*post.parameter("usage"), tokens, "{}", answer.text());
    }
}

#[test]
fn a_client_that_leaves_at_the_phrase_changes_no_tokens() {
    // CONTRACT 21, 41: whichever is noticed first.
    let (upstream, feed) = Upstream::fed();
    let backend = Backend::start();
    let stack = sync(&upstream, ON).monitor(&backend).start();
    let call = Api::Messages.checked("hello", true);
    let mut conn = call.send(stack.gateway_addr);
    feed.send(SSE_HEAD);
    assert_eq!(conn.final_head().status(), 200);
    let frames = Api::Messages.stream(&format!("Hello, {CARD}, take care."), "ls");
    feed.chunk(frames.concat());
    conn.read_until(b"No \\\"quotes");
    drop(conn);
    let (_, post) = backend.await_exchange();
    assert_eq!(*post.parameter("usage"), json!({"prompt_tokens": 3}));
}
