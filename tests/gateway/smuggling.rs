//! Pairs of requests on one connection of which the first can be read in two ways: CONTRACT 10. The
//! second is hidden in, or stands behind, an ambiguous first and must never be served; what is served
//! reaches the upstream in one canonical form. RFC 9112 2.2, 5, 6, 7.1, 11.2.

use support::KEY;
use support::http::Conn;
use support::request::{CHAT, EMBEDDINGS, HELLO, MODELS, Request};
use support::stack::Stack;
use support::upstream::Upstream;

/// A first request with these headers and body, and a second one right behind it.
fn pair(path: &str, headers: &str, body: &str) -> Vec<u8> {
    let first = format!(
        "POST {path} HTTP/1.1\r\nHost: gateway.test\r\nX-Monitor-Api-Key: {KEY}\r\n{headers}\r\n{body}"
    );
    [first.into_bytes(), Request::get(MODELS).bytes()].concat()
}

/// Asserts that the first request is refused and nothing else happens, however the bytes arrive.
#[track_caller]
fn assert_refused(stack: &Stack, upstream: &Upstream, what: &str, bytes: &[u8]) {
    for cut in [0, bytes.len() / 2] {
        let mut conn = Conn::open(stack.gateway_addr);
        conn.send(&bytes[..cut]);
        let _ = conn.try_send(&bytes[cut..]);
        if let Some(head) = conn.try_head() {
            assert_eq!(head.status(), 400, "{what} cut at {cut}");
            conn.rest();
            assert!(conn.is_closed(), "{what} cut at {cut}");
        }
    }
    let seen = upstream.seen();
    assert!(seen.requests.is_empty(), "{what}: {:?}", seen.requests);
    let served = seen.heads.iter().find(|head| head.target() == MODELS);
    assert!(served.is_none(), "{what}: the second request was served");
}

#[test]
fn an_ambiguous_length_is_refused_with_all_that_follows() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let length = HELLO.len();
    let chunked = format!("{length:x}\r\n{HELLO}\r\n0\r\n\r\n");
    let cases = [
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n".to_owned(),
        format!("Content-Length: {length}\r\nContent-Length: 5\r\n"),
        format!("Content-Length: {length}, 5\r\n"),
        format!("Content-Length: {length},\r\n"),
        format!("Content-Length: +{length}\r\n"),
        format!("Content-Length: -{length}\r\n"),
        format!("Content-Length: {length}.0\r\n"),
        "Content-Length: 0x40\r\n".to_owned(),
        "Content-Length: 6 9\r\n".to_owned(),
        "Content-Length:\r\n".to_owned(),
        "Content-Length: 18446744073709551685\r\n".to_owned(),
        format!("Content-Length : {length}\r\n"),
        format!("Content-Length: \u{b}{length}\r\n"),
        format!("Transfer-Encoding: xchunked\r\nContent-Length: {length}\r\n"),
        "Transfer-Encoding: \"chunked\"\r\n".to_owned(),
        "Transfer-Encoding: chunked, identity\r\n".to_owned(),
        "Transfer-Encoding: chunked;q=1\r\n".to_owned(),
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n".to_owned(),
        "Transfer-Encoding: \u{b}chunked\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n".to_owned(),
        format!("Transfer-Encoding:\r\nContent-Length: {length}\r\n"),
        format!("Transfer-Encoding:\r\n chunked\r\nContent-Length: {length}\r\n"),
    ];
    for path in [CHAT, EMBEDDINGS] {
        for headers in &cases {
            for body in [HELLO, &chunked] {
                assert_refused(&stack, &upstream, headers, &pair(path, headers, body));
            }
        }
    }
    upstream.assert_untouched();
}

#[test]
fn a_head_with_odd_lines_is_refused_with_all_that_follows() {
    // Obsolete folding, a bare line feed or carriage return, a NUL, a nameless header.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for odd in [
        "X-A: b\r\n c\r\n",
        "X-A: b\nX-B: c\r\n",
        "X-A: b\nTransfer-Encoding: chunked\r\n",
        "X-A: b\nContent-Length: 3\r\n",
        "X-A: b\rX-B: c\r\n",
        "X-A: b\0c\r\n",
        "X-\0A: b\r\n",
        "X A: b\r\n",
        ": b\r\n",
        "no colon\r\n",
    ] {
        for path in [CHAT, EMBEDDINGS] {
            let headers = format!("{odd}Content-Length: {}\r\n", HELLO.len());
            assert_refused(&stack, &upstream, odd, &pair(path, &headers, HELLO));
        }
    }
    upstream.assert_untouched();
}

#[test]
fn badly_framed_chunks_are_refused_with_all_that_follows() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let size = HELLO.len();
    let (short, long) = (size - 1, size + 1);
    let huge = "a".repeat(200_000);
    for body in [
        format!("\r\n{HELLO}\r\n0\r\n\r\n"),
        format!("-1\r\n{HELLO}\r\n0\r\n\r\n"),
        format!("+{size:x}\r\n{HELLO}\r\n0\r\n\r\n"),
        format!("0x{size:x}\r\n{HELLO}\r\n0\r\n\r\n"),
        format!(" {size:x}\r\n{HELLO}\r\n0\r\n\r\n"),
        format!("{size:x} \r\n{HELLO}\r\n0\r\n\r\n"),
        format!("zz\r\n{HELLO}\r\n0\r\n\r\n"),
        format!("1{size:016x}\r\n{HELLO}\r\n0\r\n\r\n"),
        format!("{size:x};a\nb\r\n{HELLO}\r\n0\r\n\r\n"),
        format!("{size:x};a\rb\r\n{HELLO}\r\n0\r\n\r\n"),
        format!("{size:x};a\0\r\n{HELLO}\r\n0\r\n\r\n"),
        format!("{size:x};{huge}\r\n{HELLO}\r\n0\r\n\r\n"),
        format!("{size:x}\n{HELLO}\r\n0\r\n\r\n"),
        format!("{size:x}\r{HELLO}\r\n0\r\n\r\n"),
        format!("{size:x}\r\n{HELLO}\n0\r\n\r\n"),
        format!("{size:x}\r\n{HELLO}\r\n0\n\n"),
        format!("{short:x}\r\n{HELLO}\r\n0\r\n\r\n"),
        format!("{long:x}\r\n{HELLO}\r\n0\r\n\r\n"),
        format!("{size:x}\r\n{HELLO}\r\n0\r\nX-A: b\n\r\n"),
        format!("{size:x}\r\n{HELLO}\r\n0\r\nX-A: b\0\r\n\r\n"),
    ] {
        for path in [CHAT, EMBEDDINGS] {
            let bytes = pair(path, "Transfer-Encoding: chunked\r\n", &body);
            let what = body[..body.len().min(80)].escape_debug().to_string();
            assert_refused(&stack, &upstream, &what, &bytes);
        }
    }
    // A transparent body is passed on as it comes, so its head may have gone; never a whole request.
    let heads = upstream.seen().heads;
    assert!(heads.iter().all(|head| head.target() == EMBEDDINGS));
}

#[test]
fn a_chunked_request_behind_another_is_followed_no_further() {
    // Its head came with the request before it. It is served, and nothing behind it.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let odd = format!("\r\n{HELLO}\r\n0\r\n\r\n");
    for chunked in [
        pair(CHAT, "Transfer-Encoding: chunked\r\n", &odd),
        [
            Request::chat(HELLO).chunked(9).bytes(),
            Request::get(MODELS).bytes(),
        ]
        .concat(),
    ] {
        let before = upstream.heads();
        let mut conn = Conn::open(stack.gateway_addr);
        conn.send(&[Request::chat(HELLO).bytes(), chunked].concat());
        assert_eq!(conn.response().status(), 200);
        assert!([200, 400].contains(&conn.response().status()));
        assert!(conn.is_closed());
        assert!(upstream.heads() <= before + 2);
    }
    let heads = upstream.seen().heads;
    assert!(heads.iter().all(|head| head.target() == CHAT), "{heads:?}");
}

#[test]
fn lengths_that_agree_reach_the_upstream_as_one() {
    // RFC 9110 8.6 lets them be mended; the upstream must have nothing left to mend.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let length = HELLO.len();
    for path in [CHAT, EMBEDDINGS] {
        for headers in [
            format!("Content-Length: {length}\r\nContent-Length: {length}\r\n"),
            format!("Content-Length: {length}, {length}\r\n"),
            format!("Content-Length: 000{length}\r\n"),
            format!("Content-Length:\t{length} \r\n"),
        ] {
            let before = upstream.heads();
            let mut conn = Conn::open(stack.gateway_addr);
            conn.send(&pair(path, &headers, HELLO));
            assert_eq!(conn.response().status(), 200, "{path} {headers}");
            assert_eq!(conn.response().status(), 200, "{path} {headers}");
            let seen = upstream.seen();
            let first = &seen.heads[before];
            assert_eq!(
                first.values("content-length"),
                [length.to_string()],
                "{path}"
            );
            let targets: Vec<_> = seen.heads[before..]
                .iter()
                .map(|head| head.target())
                .collect();
            assert_eq!(targets, [path, MODELS], "{headers}");
            assert_eq!(seen.requests[before].body, HELLO.as_bytes());
        }
    }
}

#[test]
fn the_underscore_twins_of_framing_headers_stay_here() {
    // Some servers read `_` as `-`.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for request in &Request::every_endpoint()[..2] {
        let request = request
            .clone()
            .header("Transfer_Encoding", "chunked")
            .header("Content_Length", "3")
            .header("Proxy_Authorization", "Basic eA==");
        assert_eq!(stack.call(&request).status(), 200);
        let head = upstream.last().head;
        let twin = head.headers.iter().find(|(name, _)| name.contains('_'));
        assert!(twin.is_none(), "{twin:?}");
    }
}
