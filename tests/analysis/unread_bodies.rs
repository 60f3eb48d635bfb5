//! What becomes of a connection whose request was answered before its body was read (CONTRACT 10 and 13).

use support::KEY;
use support::http::Conn;
use support::stack::Stack;

/// A request with an invented token and so many bytes of body.
fn refused(bytes: usize) -> (Vec<u8>, Vec<u8>) {
    let head = format!(
        "POST /process_request/ HTTP/1.1\r\nHost: monitor\r\nAuthorization: Bearer invented\r\n\
         Content-Type: application/json\r\nContent-Length: {bytes}\r\n\r\n"
    );
    (head.into_bytes(), vec![b'a'; bytes])
}

#[test]
fn behind_a_short_body_that_was_not_read_the_connection_goes_on() {
    let stack = Stack::analysis_server().start();
    let mut conn = Conn::open(stack.analysis_addr);
    for bytes in [1, 20_000, 60_000] {
        // The body comes behind the head, as most clients send it.
        let (head, body) = refused(bytes);
        conn.send(&head);
        let (first, rest) = body.split_at(bytes / 2);
        conn.send(first);
        conn.send(rest);
        let answer = conn.response();
        assert_eq!(answer.status(), 401);
        assert!(answer.head.values("connection").is_empty(), "{bytes}");
    }
    let known =
        format!("GET /records HTTP/1.1\r\nHost: monitor\r\nAuthorization: Bearer {KEY}\r\n\r\n");
    conn.send(known.as_bytes());
    assert_eq!(conn.response().status(), 200);
}

#[test]
fn an_answer_before_a_long_body_says_that_the_connection_ends() {
    let stack = Stack::analysis_server().start();
    for (announced, sent) in [
        (70_000, 70_000),
        (1_000_000, 100_000),
        (1_000_000, 0),
        (60_000, 100),
    ] {
        let (head, body) = refused(announced);
        let mut conn = Conn::open(stack.analysis_addr);
        conn.send(&head);
        conn.send(&body[..sent]);
        let answer = conn.response();
        assert_eq!(answer.status(), 401);
        assert_eq!(
            answer.head.values("connection"),
            ["close"],
            "{announced} {sent}"
        );
        assert!(conn.is_closed());
    }
}

#[test]
fn a_body_that_waits_for_100_continue_is_not_asked_for_in_vain() {
    let stack = Stack::analysis_server().start();
    let mut conn = Conn::open(stack.analysis_addr);
    let (head, _) = refused(100);
    let head = String::from_utf8(head).unwrap();
    conn.send(
        head.replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n")
            .as_bytes(),
    );
    let answer = conn.response();
    assert_eq!(answer.status(), 401);
    assert_eq!(answer.head.values("connection"), ["close"]);
}
