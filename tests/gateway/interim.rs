//! Interim responses in both directions, which must never stop the process: RFC 9110 10.1.1, 15.2.

use support::http::Conn;
use support::request::{CHAT, EMBEDDINGS, HELLO, HELLO_STREAM, Request};
use support::stack::Stack;
use support::upstream::{ANSWER, DONE, Upstream, delta, json, sse};

const EARLY_HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n";
const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";

/// An upstream that sends `interim` and then `answer`, on kept connections.
fn hinting(interim: String, answer: Vec<u8>) -> Upstream {
    Upstream::answering(move |_| [interim.as_bytes(), &answer].concat())
}

#[track_caller]
fn assert_alive(stack: &Stack) {
    assert_eq!(
        stack.call(&Request::chat(HELLO)).status(),
        200,
        "{}",
        stack.stderr()
    );
    assert!(!stack.stderr().contains("panicked"), "{}", stack.stderr());
}

#[test]
fn expect_continue_is_answered_by_the_gateway_and_not_forwarded() {
    // CONTRACT 8: Expect is ours. The body is sent only after the 100.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for path in [CHAT, EMBEDDINGS] {
        let request = Request::post(path, HELLO).header("Expect", "100-continue");
        let mut conn = Conn::open(stack.gateway_addr);
        conn.send(&request.head());
        assert_eq!(conn.head().status(), 100, "{path}");
        conn.send(HELLO.as_bytes());
        let answer = conn.response();
        assert_eq!(
            (answer.status(), answer.text().as_str()),
            (200, ANSWER),
            "{path}"
        );
        let sent = upstream.last();
        assert_eq!(sent.body, HELLO.as_bytes());
        assert!(!sent.head.has("expect"), "{path}");
    }
    assert_alive(&stack);
}

#[test]
fn expect_continue_works_when_the_body_does_not_wait_or_is_chunked() {
    // RFC 9110 10.1.1: a client may send the body at once.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for request in [
        Request::chat(HELLO),
        Request::chat(HELLO).chunked(9),
        Request::chat("{"),
    ] {
        let answer = stack.call(&request.header("Expect", "100-continue"));
        assert!([200, 400].contains(&answer.status()));
    }
    assert_eq!(upstream.heads(), 2);
    assert_alive(&stack);
}

#[test]
fn a_refused_request_that_expects_a_continue_gets_its_refusal() {
    // §4.1 rule 1; nothing invites the body.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let request = Request::chat(HELLO)
        .without_key()
        .header("Expect", "100-continue");
    let mut conn = Conn::open(stack.gateway_addr);
    conn.send(&request.head());
    assert_eq!(conn.head().status(), 401);
    upstream.assert_untouched();
    assert_alive(&stack);
}

#[test]
fn an_upstreams_interim_responses_are_passed_over_to_the_final_one() {
    // Reading the body behind an unread 1xx head panics inside Pingora.
    for interim in [
        EARLY_HINTS.to_owned(),
        CONTINUE.to_owned(),
        EARLY_HINTS.repeat(3) + CONTINUE,
    ] {
        let upstream = hinting(interim, json(200, ANSWER));
        let stack = Stack::before(&upstream);
        for request in Request::every_endpoint() {
            let answer = stack.call(&request);
            assert_eq!(
                (answer.status(), answer.text().as_str()),
                (200, ANSWER),
                "{}",
                request.path()
            );
        }
        assert_alive(&stack);
    }
}

#[test]
fn an_interim_response_before_a_stream_changes_nothing_of_it() {
    // CONTRACT 18.
    let frames = [delta(0, "a"), DONE.to_owned()];
    let upstream = hinting(EARLY_HINTS.to_owned(), sse(&[&frames[0], &frames[1]]));
    let stack = Stack::before(&upstream);
    for _ in 0..2 {
        let answer = stack.call(&Request::chat(HELLO_STREAM));
        assert_eq!(answer.text(), frames.concat());
    }
    assert_alive(&stack);
}

#[test]
fn an_upstream_that_ends_after_an_interim_response_gives_502() {
    // §7.2 row 502.
    let upstream = Upstream::scripted(|peer| {
        if peer.read_request().is_some() {
            peer.send(EARLY_HINTS);
        }
    });
    let stack = Stack::before(&upstream);
    for request in Request::every_endpoint() {
        assert_eq!(stack.call(&request).status(), 502, "{}", request.path());
    }
    assert!(!stack.stderr().contains("panicked"), "{}", stack.stderr());
}

#[test]
fn interim_responses_without_end_are_no_answer() {
    let upstream = hinting(EARLY_HINTS.repeat(65), json(200, ANSWER));
    let answer = Stack::before(&upstream).call(&Request::chat(HELLO));
    assert_eq!(answer.status(), 502);
    let upstream = hinting(EARLY_HINTS.repeat(64), json(200, ANSWER));
    assert_eq!(
        Stack::before(&upstream).call(&Request::chat(HELLO)).text(),
        ANSWER
    );
}
