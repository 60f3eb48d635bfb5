//! Clients that are slow or silent: `limits.header_timeout` and `limits.idle_timeout` of CONTRACT
//! 34. Connections that never end would add up until none is left.

use std::time::Duration;
use support::eventually;
use support::frames::Frames;
use support::http::Conn;
use support::request::{EMBEDDINGS, HELLO, Request};
use support::stack::Stack;
use support::upstream::Upstream;

fn impatient(upstream: &Upstream) -> Stack {
    let yaml = "limits: {header_timeout: 400ms, idle_timeout: 1s}";
    Stack::gateway().upstream(upstream).yaml(yaml).start()
}

#[test]
fn a_client_that_does_not_finish_its_head_is_let_go() {
    let upstream = Upstream::ok();
    let stack = impatient(&upstream);
    let head = Request::chat(HELLO).head();
    for sent in [0, 1, 20, head.len() - 2] {
        let mut conn = Conn::open(stack.gateway_addr);
        conn.send(&head[..sent]);
        let refusal = conn.try_head().map(|head| head.status());
        assert!(
            [None, Some(400), Some(408)].contains(&refusal),
            "{refusal:?}"
        );
    }
    upstream.assert_untouched();
}

#[test]
fn a_client_that_does_not_finish_its_body_is_refused_and_let_go() {
    let upstream = Upstream::ok();
    let stack = impatient(&upstream);
    for request in [
        Request::chat(HELLO),
        Request::chat(HELLO).chunked(30),
        Request::post(EMBEDDINGS, HELLO),
    ] {
        let bytes = request.bytes();
        let mut conn = Conn::open(stack.gateway_addr);
        conn.send(&bytes[..bytes.len() - 10]);
        let answer = conn.response();
        assert!([400, 408].contains(&answer.status()), "{}", answer.status());
        assert!(conn.is_closed());
    }
    assert!(upstream.seen().requests.is_empty());
}

#[test]
fn a_body_that_trickles_in_is_refused_though_no_silence_is_too_long() {
    let upstream = Upstream::ok();
    let yaml = "limits: {header_timeout: 400ms}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    let text = HELLO.replace("hello", &"h".repeat(3000));
    for request in [Request::chat(&text), Request::post(EMBEDDINGS, &text)] {
        let bytes = request.bytes();
        let begun = bytes.len() - 3000;
        let mut conn = Conn::open(stack.gateway_addr);
        conn.send(&bytes[..begun]);
        let refused = r#"monitor_requests_total{outcome="refused",route="ROUTE"}"#;
        let route = request.path().rsplit('/').next().unwrap();
        let refused = refused.replace("ROUTE", &route.replace("completions", "chat"));
        let ended = bytes[begun..].iter().any(|byte| {
            std::thread::sleep(Duration::from_millis(20));
            conn.try_send(&[*byte]).is_err() || stack.metric(&refused) == 1.0
        });
        assert!(ended, "{} was taken byte by byte", request.path());
        assert_eq!(conn.response().status(), 408);
    }
}

#[test]
fn a_body_that_came_fast_buys_no_time_for_what_drips_in_later() {
    // Six minutes' worth of bytes at once, and then one every now and then.
    let upstream = Upstream::ok();
    let yaml = "limits: {header_timeout: 400ms}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    let text = HELLO.replace("hello", &"h".repeat(200_000));
    let bytes = Request::chat(&text).bytes();
    let begun = bytes.len() - 3_000;
    let mut conn = Conn::open(stack.gateway_addr);
    conn.send(&bytes[..begun]);
    let ended = r#"monitor_connections_ended_total{reason="slow_body"}"#;
    let is_refused = bytes[begun..].iter().any(|byte| {
        std::thread::sleep(Duration::from_millis(20));
        conn.try_send(&[*byte]).is_err() || stack.metric(ended) == 1.0
    });
    assert!(is_refused, "it was taken byte by byte");
    assert_eq!(conn.response().status(), 408);
    assert_eq!(stack.metric(ended), 1.0);
    upstream.assert_untouched();
}

#[test]
fn contract_35_a_reload_changes_the_idle_limit_of_http2_too() {
    let upstream = Upstream::ok();
    let yaml = |limit: &str| format!("limits: {{idle_timeout: {limit}}}\n");
    let stack = Stack::gateway().upstream(&upstream).yaml(&yaml("60s"));
    let stack = stack.start();
    std::fs::write(stack.configuration(), yaml("500ms")).unwrap();
    stack.process.signal("HUP");
    eventually("it is in force", || {
        (stack.metric("monitor_reloads_total{result=\"ok\"}") == 1.0).then_some(())
    });
    Frames::open(stack.gateway_addr, &[]).until_end();
}

#[test]
fn an_idle_kept_connection_is_closed() {
    let upstream = Upstream::ok();
    let stack = impatient(&upstream);
    let mut conn = Conn::open(stack.gateway_addr);
    for _ in 0..2 {
        conn.send(&Request::chat(HELLO).bytes());
        assert_eq!(conn.response().status(), 200);
    }
    assert!(conn.is_closed(), "and until then it was kept");
}

#[test]
fn a_later_head_is_bounded_like_the_first() {
    // limits.header_timeout from its first byte on, though each byte comes well within every other
    // limit; the idle limit is longer than the test is patient.
    let upstream = Upstream::ok();
    let yaml = "limits: {header_timeout: 500ms, idle_timeout: 60s}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    let request = Request::chat(HELLO);
    for early in [0, 10] {
        // Some of the head may have come with the request before it.
        let mut conn = Conn::open(stack.gateway_addr);
        let head = request.clone().header("X-Long", &"x".repeat(1000)).head();
        conn.send(&[&request.bytes(), &head[..early]].concat());
        assert_eq!(conn.response().status(), 200);
        let ended = head[early..].iter().any(|byte| {
            std::thread::sleep(Duration::from_millis(20));
            conn.try_send(&[*byte]).is_err()
        });
        assert!(ended, "the whole head was taken byte by byte");
    }
    let series = r#"monitor_connections_ended_total{reason="slow_head"}"#;
    assert_eq!(stack.metric(series), 2.0);
    assert_eq!(upstream.heads(), 2);
}

#[test]
fn a_later_head_in_prompt_pieces_is_served() {
    let upstream = Upstream::ok();
    let stack = impatient(&upstream);
    let mut conn = Conn::open(stack.gateway_addr);
    for _ in 0..3 {
        for piece in Request::chat(HELLO).bytes().chunks(9) {
            conn.send(piece);
        }
        assert_eq!(conn.response().status(), 200);
    }
    assert_eq!(upstream.heads(), 3);
}
