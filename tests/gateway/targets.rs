//! Request targets and hosts: one reading only, and what is forwarded is the path that was judged.
//! §4.1, CONTRACT 9 and 10, RFC 9112 3.2.

use support::http::Conn;
use support::message::Head;
use support::request::{CHAT, HELLO, Request};
use support::stack::Stack;
use support::upstream::Upstream;
use support::{KEY, contains};

/// Sends a request of these bytes, once with the access key and once without; gives the status of
/// the former and the heads that reached the upstream by both.
#[track_caller]
fn statuses(stack: &Stack, upstream: &Upstream, line: &str, host: &str) -> (u16, Vec<Head>) {
    let before = upstream.heads();
    let send = |key: &str| {
        let mut conn = Conn::open(stack.gateway_addr);
        let length = HELLO.len();
        let head = format!("{line}\r\n{host}{key}Content-Length: {length}\r\n\r\n{HELLO}");
        conn.send(head.as_bytes());
        conn.final_head().status()
    };
    let without = send("");
    assert!(
        [400, 401, 404, 405].contains(&without),
        "{line}: {without} without an access key"
    );
    assert_eq!(upstream.heads(), before, "{line} without an access key");
    let with = send(&format!("X-Monitor-Api-Key: {KEY}\r\n"));
    (with, upstream.seen().heads.split_off(before))
}

const HOST: &str = "Host: gateway.test\r\n";

#[test]
fn no_variant_of_a_path_is_taken_for_the_path() {
    // CONTRACT 9: compared as it stands, nothing decoded, nothing resolved.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for target in [
        "//v1/chat/completions",
        "/v1//chat/completions",
        "/v1/chat//completions",
        "/v1/../v1/chat/completions",
        "/v1/./chat/completions",
        "/v1/chat/%2e%2e/chat/completions",
        "/v1/chat%2fcompletions",
        "/v1/%63hat/completions",
        "/v1/chat/completions/",
        "/v1/chat/completions/.",
        "/v1/chat/completions;param=1",
        "/v1/chat/completions%20",
        "/v1/chat/completions%00",
        "/v1/chat/completions%3fa",
        "/v1/chat/completions\t",
        "/v1/chat/completions\u{0}",
        "/v1/chat/compl\u{e9}tions",
        "/V1/CHAT/COMPLETIONS",
        "/v1\\chat\\completions",
        "v1/chat/completions",
        "gateway.test:80",
        "*",
        "?",
        "http://gateway.test",
        "http://gateway.test//v1/chat/completions",
        "ftp://gateway.test/v1/chat/completions",
    ] {
        let line = format!("POST {target} HTTP/1.1");
        let (status, heads) = statuses(&stack, &upstream, &line, HOST);
        assert_eq!(status, 404, "{target:?}");
        assert!(heads.is_empty(), "{target:?}: {heads:?}");
    }
    upstream.assert_untouched();
}

#[test]
fn what_is_forwarded_is_the_path_that_was_judged_and_its_query() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let authority = upstream.address();
    for (target, sent) in [
        ("/v1/chat/completions?", "/v1/chat/completions?"),
        (
            "/v1/chat/completions?a=/../b&x=%2e",
            "/v1/chat/completions?a=/../b&x=%2e",
        ),
        ("/v1/chat/completions?a b", "/v1/chat/completions?a%20b"),
        ("/v1/chat/completions?\u{1}", "/v1/chat/completions?%01"),
        ("/v1/chat/completions?a%20", "/v1/chat/completions?a%20"),
        ("/v1/chat/completions#fragment", CHAT),
        ("/v1/chat/completions?q#fragment", "/v1/chat/completions?q"),
        ("http://gateway.test/v1/chat/completions", CHAT),
        (
            "HTTPS://gateway.test/v1/chat/completions?q",
            "/v1/chat/completions?q",
        ),
    ] {
        let line = format!("POST {target} HTTP/1.1");
        let (status, heads) = statuses(&stack, &upstream, &line, HOST);
        assert_eq!(status, 200, "{target:?}");
        let id = heads[0].header("x-request-id").unwrap();
        let length = HELLO.len();
        let expected = format!(
            "POST {sent} HTTP/1.1\r\nContent-Length: {length}\r\nHost: {authority}\r\nx-request-id: {id}\r\n\r\n"
        );
        assert_eq!(heads.len(), 1, "{target:?}");
        assert_eq!(
            sorted(&heads[0].raw),
            sorted(expected.as_bytes()),
            "{target:?}"
        );
    }
}

/// The request line and the headers, whatever their order and case.
fn sorted(head: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(head).into_owned();
    let mut lines: Vec<String> = text.split("\r\n").map(str::to_owned).collect();
    for line in &mut lines[1..] {
        *line = line.to_lowercase();
    }
    lines[1..].sort();
    lines
}

#[test]
fn another_host_an_ambiguous_host_and_a_broken_line_are_refused() {
    // RFC 9112 3.2: 400, and a target names no server but this one.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for (line, host) in [
        ("POST http://other.test/v1/chat/completions HTTP/1.1", HOST),
        ("POST http://127.0.0.1:1/v1/chat/completions HTTP/1.1", HOST),
        (
            "POST http://u:p@gateway.test/v1/chat/completions HTTP/1.1",
            HOST,
        ),
        ("POST http:///v1/chat/completions HTTP/1.1", HOST),
        ("POST http:/v1/chat/completions HTTP/1.1", HOST),
        ("POST  HTTP/1.1", HOST),
        // Other servers skip a second space, so they would read another target.
        ("POST /v1/chat/completions  HTTP/1.1", HOST),
        ("POST /v1/chat/completions?a  HTTP/1.1", HOST),
        ("POST /v1/chat/completions HTTP/2.0", HOST),
        ("POST /v1/chat/completions HTTP/1.2", HOST),
        ("POST /v1/chat/completions", HOST),
        ("POST\t/v1/chat/completions HTTP/1.1", HOST),
        ("POST /v1/chat/completions?a\nX: y HTTP/1.1", HOST),
        (
            "POST /v1/chat/completions HTTP/1.1",
            "Host: a\r\nHost: b\r\n",
        ),
        (
            "POST /v1/chat/completions HTTP/1.1",
            "Host: user@gateway.test\r\n",
        ),
        ("CONNECT gateway.test:80 HTTP/1.1", HOST),
        ("CONNECT /v1/chat/completions HTTP/1.1", HOST),
    ] {
        let (status, heads) = statuses(&stack, &upstream, line, host);
        assert_eq!(status, 400, "{line} {host}");
        assert!(heads.is_empty(), "{line} {host}");
    }
    upstream.assert_untouched();
}

#[test]
fn methods_that_are_not_of_the_table_are_never_forwarded() {
    // CONTRACT 9.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for (line, expected) in [
        ("OPTIONS * HTTP/1.1", 404),
        ("PRI * HTTP/1.1", 404),
        ("TRACE /v1/models HTTP/1.1", 405),
        ("OPTIONS /v1/models HTTP/1.1", 405),
        ("post /v1/chat/completions HTTP/1.1", 405),
    ] {
        let (status, _) = statuses(&stack, &upstream, line, HOST);
        assert_eq!(status, expected, "{line}");
    }
    upstream.assert_untouched();
}

#[test]
fn duplicate_keys_of_a_body_are_forwarded_as_they_are_and_both_are_read() {
    // CONTRACT 1, 3: the upstream judges the bytes; that no occurrence hides the other from the
    // record is shown in `texts`.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let body = r#"{"messages":[],"messages":[{"role":"user","content":"x"}],"messages":1}"#;
    assert_eq!(stack.call(&Request::chat(body)).status(), 200);
    assert!(contains(&upstream.last().body, body.as_bytes()));
}
