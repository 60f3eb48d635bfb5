//! Requests whose length or purpose is ambiguous: CONTRACT 10.

use support::KEY;
use support::http::{Conn, Response};
use support::request::{CHAT, EMBEDDINGS, HELLO, MODELS, Request};
use support::stack::Stack;
use support::upstream::Upstream;

fn post(path: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("POST {path} HTTP/1.1\r\nHost: gateway.test\r\nX-Monitor-Api-Key: {KEY}\r\n{headers}\r\n{body}").into_bytes()
}

/// Sends bytes that must be refused, and asserts that the connection ends with the refusal.
#[track_caller]
fn refused(stack: &Stack, bytes: &[u8]) -> Response {
    let mut conn = Conn::open(stack.gateway_addr);
    conn.send(bytes);
    let answer = conn.response();
    assert!(
        conn.is_closed(),
        "refused and closed: {}",
        String::from_utf8_lossy(bytes)
    );
    answer
}

#[test]
fn a_length_beside_a_transfer_coding_is_refused_and_the_connection_closed() {
    // CONTRACT 10, RFC 9112 6.3.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for path in [CHAT, EMBEDDINGS] {
        for headers in [
            "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 12\r\n",
        ] {
            let answer = refused(&stack, &post(path, headers, "2\r\n{}\r\n0\r\n\r\n"));
            assert_eq!(answer.status(), 400, "{path} {headers}");
        }
    }
    upstream.assert_untouched();
}

#[test]
fn lengths_that_differ_or_are_no_number_are_refused() {
    // CONTRACT 10.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for path in [CHAT, EMBEDDINGS] {
        for headers in [
            "Content-Length: 2\r\nContent-Length: 3\r\n",
            "Content-Length: 2, 3\r\n",
            "Content-Length: +2\r\n",
            "Content-Length: -2\r\n",
            "Content-Length: 0x2\r\n",
            "Content-Length: two\r\n",
        ] {
            let answer = refused(&stack, &post(path, headers, "{}"));
            assert_eq!(answer.status(), 400, "{path} {headers}");
        }
    }
    upstream.assert_untouched();
}

#[test]
fn a_bad_chunk_is_refused() {
    // CONTRACT 10.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for body in [
        "zz\r\n{}\r\n0\r\n\r\n",
        "-2\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}xx0\r\n\r\n",
    ] {
        let answer = refused(&stack, &post(CHAT, "Transfer-Encoding: chunked\r\n", body));
        assert_eq!(answer.status(), 400, "{body:?}");
    }
    upstream.assert_untouched();
}

#[test]
fn an_unknown_transfer_coding_is_refused() {
    // CONTRACT 10, RFC 9112 6.1.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for coding in ["xchunked", "gzip, chunked", "identity", "chunked, chunked"] {
        let headers = format!("Transfer-Encoding: {coding}\r\n");
        let answer = refused(&stack, &post(CHAT, &headers, "2\r\n{}\r\n0\r\n\r\n"));
        assert!(
            [400, 501].contains(&answer.status()),
            "{coding}: {}",
            answer.status()
        );
    }
    upstream.assert_untouched();
}

#[test]
fn connect_is_refused() {
    // CONTRACT 10.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for target in ["upstream.test:443", &upstream.address().to_string()] {
        let bytes = format!(
            "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nX-Monitor-Api-Key: {KEY}\r\n\r\n"
        );
        let answer = refused(&stack, bytes.as_bytes());
        assert_eq!(answer.status(), 400);
    }
    upstream.assert_untouched();
}

#[test]
fn an_offer_to_upgrade_is_ignored() {
    // CONTRACT 10: clients offer h2c.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for request in Request::every_endpoint() {
        let request = request
            .header("Connection", "Upgrade, HTTP2-Settings")
            .header("Upgrade", "h2c")
            .header("HTTP2-Settings", "AAMAAABkAAQAoAAAAAIAAAAA");
        assert_eq!(stack.call(&request).status(), 200, "{}", request.path());
        let head = upstream.last().head;
        assert!(
            !head.has("upgrade") && !head.has("http2-settings"),
            "{:?}",
            head.headers
        );
    }
}

#[test]
fn nothing_behind_an_upgrade_is_forwarded_before_a_request_of_its_own() {
    // CONTRACT 10: the second request has no key, so it must not reach the upstream.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let mut bytes = Request::get(MODELS)
        .header("Connection", "upgrade")
        .header("Upgrade", "websocket")
        .bytes();
    bytes.extend(Request::chat(HELLO).without_key().bytes());
    let mut conn = Conn::open(stack.gateway_addr);
    conn.send(&bytes);
    assert_eq!(conn.response().status(), 200);
    if let Some(head) = conn.try_head() {
        assert_eq!(head.status(), 401);
    }
    assert_eq!(upstream.heads(), 1);
    assert!(upstream.last().body.is_empty());
}

#[test]
fn a_head_that_is_no_http_is_refused() {
    // CONTRACT 10.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let with = |line: &str| post(CHAT, &format!("{line}\r\nContent-Length: 2\r\n"), "{}");
    for bytes in [
        with("X-Odd : spaced name"),
        with(" folded: line"),
        with("no colon"),
        b"\x16\x03\x01garbage\r\n\r\n".to_vec(),
    ] {
        let mut conn = Conn::open(stack.gateway_addr);
        conn.send(&bytes);
        if let Some(head) = conn.try_head() {
            assert_eq!(head.status(), 400);
        }
    }
    upstream.assert_untouched();
}
