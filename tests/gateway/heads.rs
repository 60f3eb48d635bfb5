//! The memory of long request heads (`limits.client_bytes`), and of answers that nobody reads: what one client
//! takes is bounded and given back, and long heads are served as before.

use crate::memory::{BUFFERED, empty};
use support::frames::{END_HEADERS, END_STREAM, Frames, HEADERS, field, frame, head};
use support::http::Conn;
use support::request::{HELLO, MODELS, Request};
use support::stack::Stack;
use support::upstream::{ANSWER, Upstream, json, response};
use support::{assert_envelope, eventually};

const SETTINGS_INITIAL_WINDOW_SIZE: u16 = 4;
/// Of memory for the heads of one client.
const BYTES: f64 = (2 << 20) as f64;
const REFUSED: &str = r#"monitor_overloaded_total{room="client_memory"}"#;

fn strict(upstream: &Upstream) -> Stack {
    let yaml = "limits: {client_bytes: 2MiB, header_timeout: 60s}";
    Stack::gateway().upstream(upstream).yaml(yaml).start()
}

/// A call with a header of so many bytes.
fn with_head(bytes: usize) -> Request {
    Request::chat(HELLO).header("X-Long", &"h".repeat(bytes))
}

/// So many clients that send 300 KB of a head and do not finish it.
fn unfinished(stack: &Stack, count: usize) -> Vec<Conn> {
    let bytes = with_head(400_000).head();
    let begun = |_| {
        let mut conn = Conn::open(stack.gateway_addr);
        conn.send(&bytes[..300_000]);
        conn
    };
    (0..count).map(begun).collect()
}

#[test]
fn unfinished_heads_of_one_client_take_a_bounded_part_of_the_memory() {
    let upstream = Upstream::ok();
    let stack = strict(&upstream);
    // Each counts twice: it is in two buffers.
    let held = unfinished(&stack, 3);
    eventually("what they sent is counted", || {
        (stack.metric(BUFFERED) >= 6.0 * 290_000.0).then_some(())
    });
    for mut conn in unfinished(&stack, 3) {
        let refused = conn.response();
        assert_eq!(refused.status(), 503);
        assert_eq!(refused.head.header("retry-after"), Some("1"));
        assert_envelope(&refused.body, "gateway_error", 503);
        assert!(refused.text().contains("limits.client_bytes"));
        assert!(conn.is_closed());
    }
    assert_eq!(stack.metric(REFUSED), 3.0);
    assert!(stack.metric(BUFFERED) <= BYTES);
    stack.process.await_stderr("why", |text| {
        text.contains("limits.client_bytes with long request heads")
            .then_some(())
    });
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    drop(held);
    empty(&stack);
    assert_eq!(stack.call(&with_head(900_000)).status(), 200);
    empty(&stack);
}

#[test]
fn the_head_of_a_call_is_counted_until_it_has_ended() {
    let (upstream, feed) = Upstream::fed();
    let stack = strict(&upstream);
    let mut call = with_head(900_000).send(stack.gateway_addr);
    upstream.await_heads(1);
    assert!(stack.metric(BUFFERED) >= 880_000.0);
    feed.send(json(200, ANSWER));
    assert_eq!(call.response().status(), 200);
    drop(call);
    empty(&stack);
}

#[test]
fn a_long_head_is_served_whatever_its_pieces() {
    let upstream = Upstream::ok();
    let stack = strict(&upstream);
    for (size, piece) in [(7_000, 90), (9_000, 90), (70_000, 700), (900_000, 20_000)] {
        // Behind a head this long, chunks end the connection.
        let mut conn = Conn::open(stack.gateway_addr);
        for request in [with_head(size), with_head(size).chunked(10)] {
            for piece in request.bytes().chunks(piece) {
                conn.send(piece);
            }
            assert_eq!(conn.response().status(), 200, "{size}");
            let seen = upstream.last();
            assert_eq!(seen.body, HELLO.as_bytes());
            assert_eq!(seen.head.header("x-long").map(str::len), Some(size));
        }
    }
    // Behind another request, and with the next one in the same piece.
    let two = [with_head(30_000).bytes(), with_head(60_000).bytes()].concat();
    let mut conn = Conn::open(stack.gateway_addr);
    conn.send(&two);
    for _ in 0..2 {
        assert_eq!(conn.response().status(), 200);
    }
    drop(conn);
    empty(&stack);
}

#[test]
fn long_heads_over_http2_have_the_same_part() {
    // Answers that cannot be delivered keep each head of 16 KB.
    let upstream = Upstream::ok();
    let stack = strict(&upstream);
    let mut block = head("GET", "/nowhere");
    for number in 0..100 {
        block.extend(field(&format!("x-{number:03}"), &"h".repeat(120)));
    }
    let mut frames: Vec<_> = (0..2)
        .map(|_| Frames::open(stack.gateway_addr, &[(SETTINGS_INITIAL_WINDOW_SIZE, 0)]))
        .collect();
    for frames in &mut frames {
        for number in 0..100 {
            let stream = number * 2 + 1;
            frames.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &block));
        }
    }
    eventually("some are refused", || {
        // 128 times 16 KiB are 2 MiB.
        (stack.metric(REFUSED) == 72.0).then_some(())
    });
    assert!(stack.metric(BUFFERED) <= BYTES);
    drop(frames);
    empty(&stack);
}

#[test]
fn answers_that_nobody_reads_are_counted_and_those_beyond_the_memory_refused() {
    let body = "z".repeat(1 << 20);
    let answer = response(200, "Content-Type: text/plain\r\n", body.as_bytes());
    let upstream = Upstream::raw(answer);
    let yaml = "limits: {buffered_bytes: 1MiB}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    let mut frames = Frames::open(stack.gateway_addr, &[(SETTINGS_INITIAL_WINDOW_SIZE, 0)]);
    let request = head("GET", MODELS);
    for number in 0..50 {
        let stream = number * 2 + 1;
        frames.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &request));
    }
    for _ in 0..50 {
        let answer = frames.find(|frame| frame.kind == HEADERS);
        assert!(answer.is_some(), "each has its answer");
    }
    let refused = stack.metric(r#"monitor_overloaded_total{room="memory"}"#);
    assert!(refused > 0.0);
    // An eighth of the memory for each that is not read.
    assert!(stack.metric(BUFFERED) >= (512 << 10) as f64);
    drop(frames);
    empty(&stack);
    let read = stack.call(&Request::get(MODELS));
    assert_eq!((read.status(), read.body.len()), (200, body.len()));
    empty(&stack);
}
