//! Request bodies in chunks of few bytes (RFC 9112 7.1), each of which costs more than its bytes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::http::Conn;
use support::request::{CHAT, HELLO, Request};
use support::stack::Stack;
use support::upstream::Upstream;

/// Connections that send very many chunks.
const FLOODING: usize = 32;
/// For a program that is not optimized, on a machine with other work.
const LONGEST_CALL: Duration = Duration::from_secs(3);

#[test]
fn a_body_in_chunks_of_one_byte_arrives_as_it_was_sent() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let text = "a, \u{e9} and \\r\\n ".repeat(20_000);
    let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text}"}}]}}"#);
    for size in [1, 3, 700, 5_000] {
        for path in [CHAT, "/v1/embeddings"] {
            let request = Request::post(path, &body).chunked(size);
            assert_eq!(stack.call(&request).status(), 200, "{path} {size}");
            assert!(upstream.last().body == body.as_bytes(), "{path} {size}");
        }
    }
}

/// Sends chunks of one byte until the others are done.
fn flood(stack: &Stack, is_over: &AtomicBool) {
    let mut conn = Conn::open_from("127.0.0.66", stack.gateway_addr);
    let head = Request::chat(HELLO).chunked(1).head();
    conn.send(&head);
    let block = b"1\r\n \r\n".repeat(10_000);
    while !is_over.load(Ordering::Relaxed) && conn.try_send(&block).is_ok() {}
}

#[test]
fn very_many_small_chunks_of_one_client_delay_no_call_of_another() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let is_over = AtomicBool::new(false);
    let slowest = thread::scope(|scope| {
        for _ in 0..FLOODING {
            scope.spawn(|| flood(&stack, &is_over));
        }
        thread::sleep(Duration::from_secs(1));
        let calls = (0..20).map(|_| {
            let since = Instant::now();
            let is_served = stack.call(&Request::chat(HELLO)).status() == 200;
            is_served.then(|| since.elapsed())
        });
        let slowest = calls.map(|time| time.unwrap_or(Duration::MAX)).max();
        is_over.store(true, Ordering::Relaxed);
        slowest
    });
    assert!(slowest < Some(LONGEST_CALL), "{slowest:?}");
}
