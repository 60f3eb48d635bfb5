//! A client that leaves: CONTRACT 17 and 21. The contract's bound is 100 ms; a loaded test machine
//! is given one second, which still excludes every timeout of the gateway.

use std::time::Duration;
use support::backend::{Backend, Call};
use support::http::Conn;
use support::request::{CHAT, HELLO, HELLO_STREAM, Request};
use support::stack::Stack;
use support::upstream::{Feed, SSE_HEAD, Upstream, delta};

const SOON: Duration = Duration::from_secs(1);

struct World {
    stack: Stack,
    backend: Backend,
    upstream: Upstream,
    feed: Feed,
}

fn world() -> World {
    let (upstream, feed) = Upstream::fed();
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    World {
        stack,
        backend,
        upstream,
        feed,
    }
}

/// The only post-call record of the only exchange, after it was given the chance to come twice.
#[track_caller]
fn only_post(backend: &Backend) -> Call {
    let (pre, post) = backend.await_exchange();
    assert_eq!(pre.exchange(), post.exchange());
    assert_eq!(
        post.parameter("error")["closed_by"],
        "client",
        "{}",
        post.json
    );
    post
}

#[test]
fn a_client_that_leaves_before_the_first_byte_ends_the_upstream_call() {
    // CONTRACT 21.
    for body in [HELLO, HELLO_STREAM] {
        let world = world();
        let conn = Request::chat(body).send(world.stack.gateway_addr);
        world.upstream.await_heads(1);
        drop(conn);
        assert!(
            world.feed.closed_within(SOON).is_some(),
            "the upstream is let go"
        );
        assert_eq!(only_post(&world.backend).message(), "");
    }
}

#[test]
fn a_client_that_leaves_in_mid_stream_ends_the_upstream_call_and_the_partial_text_is_kept() {
    // CONTRACT 17, 21. The upstream is silent: only watching the client can notice.
    let world = world();
    let mut conn = Request::chat(HELLO_STREAM).send(world.stack.gateway_addr);
    world.feed.send(SSE_HEAD);
    for word in ["partial ", "answer"] {
        world.feed.chunk(delta(0, word));
        conn.read_head_once_and_until(b"\n\n");
    }
    drop(conn);
    assert!(
        world.feed.closed_within(SOON).is_some(),
        "the upstream is let go"
    );
    let post = only_post(&world.backend);
    assert_eq!(post.message(), "partial answer");
    assert_eq!(*post.parameter("incomplete"), true);
    let series = r#"monitor_requests_total{outcome="client_gone",route="chat"}"#;
    support::eventually("the call is counted as left by its client", || {
        (world.stack.metric(series) == 1.0).then_some(())
    });
}

#[test]
fn a_client_that_leaves_with_bytes_behind_its_request_ends_the_upstream_call() {
    // CONTRACT 21: at any phase, whatever the client has sent ahead.
    let next = Request::chat(HELLO).bytes();
    for behind in [b"\n".as_slice(), b"\r\n\r\n", b"GET /v1/mo", &next] {
        for at_once in [true, false] {
            let world = world();
            let mut request = Request::chat(HELLO_STREAM).bytes();
            if at_once {
                request.extend_from_slice(behind);
            }
            let mut conn = Conn::open(world.stack.gateway_addr);
            conn.send(&request);
            world.upstream.await_heads(1);
            if !at_once {
                conn.send(behind);
            }
            drop(conn);
            let behind = String::from_utf8_lossy(behind);
            assert!(world.feed.closed_within(SOON).is_some(), "{behind:?}");
            only_post(&world.backend);
        }
    }
}

#[test]
fn what_a_client_sends_ahead_during_an_answer_is_served_behind_it() {
    // More than what is kept of it, and in parts.
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = stack.start();
    let next = Request::chat(HELLO).header("X-Long", &"a".repeat(5_000));
    let mut conn = Conn::open(stack.gateway_addr);
    let count = 12;
    for _ in 0..count {
        let (one, other) = (next.bytes(), next.bytes());
        let (first, rest) = one.split_at(700);
        conn.send(first);
        conn.send(rest);
        conn.send(&other);
    }
    for _ in 0..2 * count {
        assert_eq!(conn.response().status(), 200);
    }
}

#[test]
fn a_head_that_begins_behind_a_call_and_goes_on_no_more_is_timed() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let limits = "limits: {header_timeout: 1s, idle_timeout: 300s}";
    let stack = stack.yaml(limits).start();
    for path in [CHAT, "/v1/models"] {
        let request = match path {
            CHAT => Request::chat(HELLO),
            path => Request::get(path),
        };
        let mut conn = Conn::open(stack.gateway_addr);
        let mut bytes = request.bytes();
        bytes.extend_from_slice(b"POST /v1/chat/comp");
        conn.send(&bytes);
        assert_eq!(conn.response().status(), 200, "{path}");
        assert!(conn.is_closed(), "{path}");
    }
}

#[test]
fn a_client_that_leaves_in_an_answer_with_a_length_ends_the_upstream_call() {
    // CONTRACT 21: at any phase. Half an answer is on its way to the gateway, nothing more will be;
    // a refusal is even collected whole before the client sees any of it.
    for (status, half) in [("200 OK", "{\"half\":"), ("500 Oops", "half")] {
        let world = world();
        let conn = Request::chat(HELLO).send(world.stack.gateway_addr);
        world.feed.send(format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{half}"
        ));
        world.feed.settled();
        drop(conn);
        assert!(
            world.feed.closed_within(SOON).is_some(),
            "the upstream is let go"
        );
        only_post(&world.backend);
    }
}

#[test]
fn a_client_that_leaves_while_it_sends_never_reaches_the_upstream() {
    // CONTRACT 1: a body is read whole first.
    let upstream = Upstream::ok();
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    for request in [
        Request::post(CHAT, HELLO),
        Request::post(CHAT, HELLO).chunked(30),
    ] {
        let bytes = request.bytes();
        let mut conn = support::http::Conn::open(stack.gateway_addr);
        conn.send(&bytes[..bytes.len() - 10]);
        drop(conn);
    }
    // A later whole call is the only one to arrive.
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    assert_eq!(upstream.heads(), 1);
    backend.await_exchange();
    assert_eq!(
        backend.calls().iter().filter(|call| call.is_pre()).count(),
        1
    );
}

#[test]
fn a_departure_is_recorded_once() {
    // CONTRACT 21: the next exchange's records arrive after anything the first one still had to say.
    let first = delta(0, "x");
    let upstream = Upstream::scripted(move |peer| {
        while peer.read_request().is_some() {
            if peer.connection == 0 {
                peer.send(SSE_HEAD);
                peer.send_chunk(&first);
                peer.closed_within(SOON * 10);
                return;
            }
            peer.send(support::upstream::json(200, "{}"));
        }
    });
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let mut conn = Request::chat(HELLO_STREAM).send(stack.gateway_addr);
    conn.read_head_once_and_until(b"\n\n");
    drop(conn);
    backend.await_posts(1);
    for turn in 2..=4 {
        assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
        let calls = backend.await_posts(turn);
        assert_eq!(
            calls.len(),
            turn * 2,
            "one pre-call and one post-call record per exchange"
        );
    }
}

#[test]
fn a_half_closed_client_still_gets_its_answer_or_a_clean_end() {
    // Some clients shut down their sending side after the request. Either reading is legal
    // (RFC 9112 9.6); what is not is a hang or a half answer that looks whole.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let mut socket = support::http::connect(stack.gateway_addr);
    std::io::Write::write_all(&mut socket, &Request::chat(HELLO).bytes()).unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let control = socket.try_clone().unwrap();
    let mut conn = support::http::Conn::over(Box::new(socket), control);
    if let Some(head) = conn.try_head() {
        assert_eq!(head.status(), 200);
        let (body, complete) = conn.rest();
        assert!(!complete || body == support::upstream::ANSWER.as_bytes());
    }
}
