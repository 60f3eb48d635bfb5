//! Second attempts: CONTRACT 22. Only when no byte of the request could have been accepted.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use support::assert_envelope;
use support::fault::refusing_address;
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::Stack;
use support::upstream::{ANSWER, Upstream, json};

#[test]
fn a_pooled_connection_that_has_gone_stale_is_replaced_without_the_client_noticing() {
    // CONTRACT 22. Every connection is closed by the upstream right after its first answer, which
    // said nothing of closing; the test goes on only once the close is on the wire.
    let (sender, closed) = channel();
    let sender = Mutex::new(sender);
    let upstream = Upstream::scripted(move |peer| {
        if peer.read_request().is_some() {
            peer.send(json(200, ANSWER));
            peer.close();
            let _ = sender.lock().unwrap().send(());
        }
    });
    let stack = Stack::before(&upstream);
    for turn in 1..=6 {
        for request in Request::every_endpoint() {
            let answer = stack.call(&request);
            assert_eq!(
                (answer.status(), answer.text().as_str()),
                (200, ANSWER),
                "turn {turn}"
            );
            closed.recv().unwrap();
        }
        assert_eq!(
            upstream.heads(),
            turn * 3,
            "each call reaches the upstream exactly once"
        );
    }
}

#[test]
fn a_kept_connection_is_used_again() {
    // What the stale case above rests on.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for _ in 0..10 {
        assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    }
    // A connection may be back in its pool only after its answer is with the client.
    assert_eq!(upstream.heads(), 10);
    assert!(upstream.connections() <= 3, "{}", upstream.connections());
}

#[test]
fn a_call_whose_head_was_read_is_never_sent_again() {
    // CONTRACT 22: the upstream may have begun to work on it.
    let upstream = Upstream::scripted(|peer| {
        peer.read_request();
    });
    let stack = Stack::before(&upstream);
    for (count, body) in [HELLO, HELLO_STREAM, HELLO].iter().enumerate() {
        let answer = stack.call(&Request::chat(body));
        assert_eq!(answer.status(), 502);
        assert_envelope(&answer.body, "gateway_error", 502);
        let seen = upstream.seen();
        assert_eq!((seen.connections, seen.heads.len()), (count + 1, count + 1));
    }
}

#[test]
fn a_call_whose_head_was_read_on_a_kept_connection_is_never_sent_again() {
    // CONTRACT 22: kept or fresh makes no difference once the request was accepted.
    let upstream = Upstream::scripted(|peer| {
        if peer.read_request().is_some() {
            peer.send(json(200, ANSWER));
            peer.read_request();
        }
    });
    for (count, request) in Request::every_endpoint().iter().enumerate() {
        let stack = Stack::before(&upstream);
        assert_eq!(stack.call(request).status(), 200);
        // A connection that is not back in its pool yet is replaced by a fresh one, which answers.
        let status = stack.call(request).status();
        assert!([200, 502].contains(&status), "{}: {status}", request.path());
        assert_eq!(upstream.heads(), 2 * (count + 1), "{}", request.path());
    }
}

#[test]
fn a_reset_after_the_head_is_never_retried() {
    // CONTRACT 22: the head was read, the body was not.
    let upstream = Upstream::scripted(|peer| {
        if peer.read_head().is_some() {
            peer.await_unread();
        }
    });
    let stack = Stack::before(&upstream);
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 502);
    assert_eq!(upstream.heads(), 1);
}

#[test]
fn a_refusing_upstream_gives_502_soon_and_a_returning_one_is_used() {
    // §7.2 row 502; no back-off that outlives the outage.
    let address = refusing_address();
    let stack = Stack::gateway()
        .env("UPSTREAM_URL", format!("http://{address}"))
        .start();
    for _ in 0..3 {
        assert_eq!(stack.call(&Request::chat(HELLO)).status(), 502);
    }
    let listener = std::net::TcpListener::bind(address).unwrap();
    let server = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut socket, _) = listener.accept().unwrap();
        let mut seen = Vec::new();
        let mut buffer = [0; 4096];
        while !seen.ends_with(HELLO.as_bytes()) {
            let count = socket.read(&mut buffer).unwrap();
            assert!(count > 0, "the request arrives whole");
            seen.extend(&buffer[..count]);
        }
        socket.write_all(&json(200, ANSWER)).unwrap();
    });
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    server.join().unwrap();
}
