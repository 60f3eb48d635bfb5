//! Upstreams that answer before they have the whole request: RFC 9112 9.3, RFC 9113 8.1. The body is
//! larger than what two kernels take without anybody reading, so its write waits.

use crate::http2::{http2_upstream_that, runtime};
use std::io::Write;
use std::net::Shutdown;
use support::backend::Backend;
use support::http::{Conn, Response, connect};
use support::request::{CHAT, EMBEDDINGS, HELLO, Request};
use support::server::Peer;
use support::stack::{Folder, Stack};
use support::tls::Identity;
use support::upstream::{ANSWER, Upstream, json, sse};
use support::{PATIENCE, assert_envelope};

const TOO_LARGE: &str =
    r#"{"error":{"message":"too large","type":"invalid_request_error","code":413}}"#;

fn large_body() -> String {
    let filler = "z".repeat(32 << 20);
    format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"hello"}}],"filler":"{filler}"}}"#
    )
}

/// The answer to a client that reads while it sends.
fn call(stack: &Stack, request: &Request) -> Response {
    let reading = connect(stack.gateway_addr);
    let (mut writing, control) = (reading.try_clone().unwrap(), reading.try_clone().unwrap());
    let bytes = request.bytes();
    let sender = std::thread::spawn(move || {
        let _ = writing.write_all(&bytes);
    });
    let answer = Conn::over(Box::new(reading), control.try_clone().unwrap()).response();
    let _ = control.shutdown(Shutdown::Both);
    sender.join().unwrap();
    answer
}

/// Reads the head alone, answers, and leaves the body where it is.
fn hasty(answer: Vec<u8>, closes: bool) -> impl Fn(&mut Peer) + Send + Sync + 'static {
    move |peer| {
        if peer.read_head().is_some() {
            peer.send(&answer);
            if !closes {
                peer.until_released(PATIENCE);
            }
        }
    }
}

#[test]
fn an_answer_that_comes_before_the_body_is_read_is_relayed_at_once() {
    // The gateway's own timeout is far longer than the patience of the test.
    let body = large_body();
    for closes in [false, true] {
        for (status, answer) in [(413, json(413, TOO_LARGE)), (200, json(200, ANSWER))] {
            let backend = Backend::start();
            let upstream = Upstream::scripted(hasty(answer, closes));
            let stack = Stack::gateway()
                .upstream(&upstream)
                .monitor(&backend)
                .start();
            // Not embeddings: there the proxy library writes and reads by turns, so that whether it
            // sees the answer before its write waits is a matter of luck.
            let answer = call(&stack, &Request::post(CHAT, &body));
            assert_eq!(answer.status(), status, "{closes}");
            let expected = if status == 200 { ANSWER } else { TOO_LARGE };
            assert_eq!(answer.text(), expected, "{closes}");
            assert_eq!(upstream.heads(), 1, "nothing is sent twice");
            let (_, post) = backend.await_exchange();
            if status == 413 {
                assert_eq!(post.parameter("error")["code"], 413, "CONTRACT 17");
            } else {
                assert_eq!(post.message(), "general greeting");
            }
        }
    }
}

#[test]
fn an_early_stream_is_relayed_and_its_connection_is_not_used_again() {
    // Half a request is on that connection: the next one must not be read as its rest.
    let upstream = Upstream::scripted(hasty(sse(&["data: [DONE]\n\n"]), false));
    let stack = Stack::before(&upstream);
    for turn in 1..=2 {
        let answer = stack.call(&Request::chat(large_body()));
        assert_eq!(answer.text(), "data: [DONE]\n\n");
        assert!(answer.complete);
        assert_eq!((upstream.connections(), upstream.heads()), (turn, turn));
    }
}

#[test]
fn interim_responses_do_not_end_the_writing_of_a_body() {
    // 100 and 103 are no answers, whole or in pieces.
    let body = large_body();
    for pieces in [
        vec!["HTTP/1.1 100 Continue\r\n\r\n"],
        vec![
            "HTTP/1.1 10",
            "3 Early Hints\r\nLink: x\r\n\r",
            "\nHTTP/1.1 100 Go On\r\n\r\n",
        ],
    ] {
        let upstream = Upstream::scripted(move |peer| {
            if peer.read_head().is_some() {
                for piece in &pieces {
                    peer.send(piece);
                    peer.read_some_of_body(1 << 20);
                }
                peer.read_rest_of_request();
                peer.send(json(200, ANSWER));
                peer.read_head();
            }
        });
        let stack = Stack::before(&upstream);
        assert_eq!(stack.call(&Request::chat(&body)).text(), ANSWER);
        assert!(upstream.last().body == body.as_bytes());
        assert!(!stack.stderr().contains("panicked"), "{}", stack.stderr());
    }
}

#[test]
fn an_upstream_that_reads_nothing_and_goes_gives_502() {
    // §7.2 row 502: a close while the body is written, with and without a byte of an answer.
    for begun in ["", "HTTP/1.1 2"] {
        let upstream = Upstream::scripted(move |peer| {
            peer.read_head();
            peer.send(begun);
        });
        let stack = Stack::before(&upstream);
        let answer = stack.call(&Request::chat(large_body()));
        assert_eq!(answer.status(), 502, "{begun:?}");
        assert_envelope(&answer.body, "gateway_error", 502);
        assert_eq!(upstream.heads(), 1, "CONTRACT 22");
    }
}

#[test]
fn an_early_answer_over_tls_is_relayed_too() {
    // Where HTTP/2 could have been negotiated the connection is pingora's to make.
    let (identity, folder) = (Identity::new(), Folder::new());
    let ca = folder.write("ca.pem", &identity.cert_pem);
    for http2 in ["auto", "never"] {
        let script = hasty(json(413, TOO_LARGE), false);
        let upstream = Upstream::over("https", identity.wrap(), Box::new(script));
        let yaml = format!("upstream: {{ca: \"{}\", http2: {http2}}}", ca.display());
        let stack = Stack::gateway().upstream(&upstream).yaml(&yaml).start();
        let answer = stack.call(&Request::chat(large_body()));
        assert_eq!((answer.status(), answer.text().as_str()), (413, TOO_LARGE));
    }
}

#[test]
fn a_kept_connection_of_a_negotiating_upstream_is_used_again() {
    // The wrapping above must not keep a connection from its pool.
    let (identity, folder) = (Identity::new(), Folder::new());
    let ca = folder.write("ca.pem", &identity.cert_pem);
    let script = |peer: &mut Peer| {
        while peer.read_request().is_some() {
            peer.send(json(200, ANSWER));
        }
    };
    let upstream = Upstream::over("https", identity.wrap(), Box::new(script));
    let yaml = format!("upstream: {{ca: \"{}\"}}", ca.display());
    let stack = Stack::gateway().upstream(&upstream).yaml(&yaml).start();
    for _ in 0..10 {
        assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    }
    // A connection may be back in its pool only after its answer is with the client.
    assert_eq!(upstream.heads(), 10);
    assert!(upstream.connections() <= 5, "{}", upstream.connections());
}

#[test]
fn an_early_answer_over_http2_is_relayed_and_the_connection_stays() {
    let runtime = runtime();
    let address = http2_upstream_that(&runtime, |head| {
        let large = head
            .headers()
            .get("content-length")
            .is_some_and(|value| value.len() > 4);
        match large {
            true => (413, TOO_LARGE),
            false => (200, ANSWER),
        }
    });
    let stack = Stack::gateway()
        .env("UPSTREAM_URL", format!("http://{address}"))
        .yaml("upstream: {http2: always}")
        .start();
    for path in [CHAT, EMBEDDINGS] {
        let answer = call(&stack, &Request::post(path, large_body()));
        assert_eq!((answer.status(), answer.text().as_str()), (413, TOO_LARGE));
        let answer = stack.call(&Request::post(path, HELLO));
        assert_eq!((answer.status(), answer.text().as_str()), (200, ANSWER));
    }
    assert!(!stack.stderr().contains("panicked"), "{}", stack.stderr());
}
