//! Clients that are slow or silent: `limits.header_timeout` and `limits.idle_timeout` of CONTRACT
//! 34. Connections that never end would add up until none is left.

use crate::support::http::Conn;
use crate::support::request::{EMBEDDINGS, HELLO, Request};
use crate::support::stack::Stack;
use crate::support::upstream::Upstream;

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
