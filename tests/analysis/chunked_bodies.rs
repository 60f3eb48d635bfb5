//! Where the body of a request in chunks ends (CONTRACT 10): a request that another server reads behind it is served,
//! or the connection has ended; it is never taken for lines of trailers and passed over.

use support::KEY;
use support::http::Conn;
use support::stack::Stack;

/// A request whose body ends with these lines behind the last chunk, then another one.
fn two_requests(path: &str, end: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: monitor\r\nAuthorization: Bearer {KEY}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n{end}\
         GET /session HTTP/1.1\r\nHost: monitor\r\nConnection: close\r\n\r\n"
    )
}

fn conn(stack: &Stack, path: &str, end: &str) -> Conn {
    let mut conn = Conn::open(stack.analysis_addr);
    conn.send(two_requests(path, end).as_bytes());
    conn
}

#[test]
fn a_request_behind_a_chunked_body_is_served() {
    let stack = Stack::analysis_server().start();
    let mut conn = conn(&stack, "/process_request", "\r\n");
    let first = conn.response();
    assert_eq!(first.status(), 422, "{}", first.text());
    let second = conn.response();
    assert_eq!(second.status(), 404);
    assert!(second.text().contains("/sessions"), "{}", second.text());
}

#[test]
fn behind_a_chunked_body_whose_end_is_uncertain_the_connection_ends() {
    // The first path reads its body, the others do not.
    let stack = Stack::analysis_server().start();
    for (path, status) in [
        ("/process_request", 422),
        ("/nowhere", 404),
        ("/audit", 405),
    ] {
        for end in ["\n", "X-A: b\n\n", "X-A: b\r\n\r\n"] {
            let mut conn = conn(&stack, path, end);
            let answer = conn.response();
            assert_eq!(answer.status(), status, "{}", answer.text());
            assert_eq!(
                answer.head.values("connection"),
                ["close"],
                "{path} {end:?}"
            );
            assert!(conn.is_closed(), "{path} {end:?}");
        }
    }
}
