//! What one client may have in progress over HTTP/2, where a connection carries a hundred calls
//! (`limits.client_connections` and the descriptors), and the memory that it takes.

use support::backend::Backend;
use support::eventually;
use support::frames::{
    DATA, END_HEADERS, END_STREAM, Frame, Frames, GOAWAY, HEADERS, RST_STREAM, field, frame, head,
};
use support::request::{CHAT, EMBEDDINGS, HELLO, Request};
use support::stack::Stack;
use support::upstream::Upstream;

/// Streams of one connection.
const STREAMS: u32 = 100;
const MEMORY: u64 = 64 << 20;

/// Ids of so many streams of a client.
fn ids(count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(|number| 2 * number + 1)
}

/// A head without an access key.
fn keyless() -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "gateway.test"),
        (":path", CHAT),
    ] {
        block.extend(field(name, value));
    }
    block
}

/// The answers' heads on a connection that asked for so many: whether each is 200, which HPACK has an index for.
fn are_ok(frames: &mut Frames, count: usize) -> Vec<bool> {
    let heads = (0..count).map(|_| frames.find(|frame| frame.kind == HEADERS).unwrap());
    heads
        .map(|head| head.payload.first() == Some(&0x88))
        .collect()
}

#[test]
fn calls_without_a_key_take_a_bounded_part_of_the_memory() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let before = stack.process.peak_memory();
    let begun: Vec<u8> = ids(STREAMS)
        .flat_map(|stream| frame(HEADERS, END_HEADERS, stream, &keyless()))
        .collect();
    // Each of them begins a body that never ends.
    let dripping: Vec<u8> = ids(STREAMS)
        .flat_map(|stream| frame(DATA, 0, stream, b"{"))
        .collect();
    let mut open: Vec<_> = (0..100)
        .map(|_| {
            let mut frames = Frames::open(stack.gateway_addr, &[]);
            frames.send(&begun);
            frames
        })
        .collect();
    for frames in &mut open {
        // It may have been closed for its streams that were refused.
        let _ = frames.try_send(&dripping);
    }
    for frames in &mut open {
        let answered = |frame: &Frame| matches!(frame.kind, HEADERS | RST_STREAM | GOAWAY);
        for _ in 0..STREAMS {
            if frames
                .find(answered)
                .is_none_or(|frame| frame.kind == GOAWAY)
            {
                break;
            }
        }
    }
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let grown = stack.process.peak_memory() - before;
    println!(
        "{} MiB for {} calls",
        grown >> 20,
        open.len() as u32 * STREAMS
    );
    assert!(grown < MEMORY, "{grown} bytes more");
}

#[test]
fn an_address_has_its_calls_and_an_accepted_key_more() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = stack
        .yaml("limits: {client_connections: 8, header_timeout: 60s}")
        .start();
    let held = |count: u32| -> Vec<u8> {
        ids(count)
            .flat_map(|stream| {
                let head = frame(HEADERS, END_HEADERS, stream, &head("POST", EMBEDDINGS));
                [head, frame(DATA, 0, stream, b"{")].concat()
            })
            .collect()
    };
    let mut frames = Frames::open(stack.gateway_addr, &[]);
    frames.send(&held(10));
    assert_eq!(are_ok(&mut frames, 2), [false, false]);
    let series = "monitor_overloaded_total{room=\"client_calls\"}";
    assert_eq!(stack.metric(series), 2.0);
    // Calls over HTTP/1 have their connections' share.
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    backend.await_exchange();
    drop(frames);
    eventually("their places are free", || {
        (stack.operations("/status").json()["in_flight"] == 0).then_some(())
    });
    // The key is accepted now.
    let mut frames = Frames::open(stack.gateway_addr, &[]);
    frames.send(&held(10));
    let last = frame(HEADERS, END_HEADERS, 21, &head("POST", CHAT));
    frames.send(&[last, frame(DATA, END_STREAM, 21, HELLO.as_bytes())].concat());
    assert_eq!(are_ok(&mut frames, 1), [true]);
    assert_eq!(stack.metric(series), 2.0);
}
