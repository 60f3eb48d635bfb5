//! Slow readers: a client that stops reading stops the gateway's reading from the upstream, and is
//! served to the last byte when it reads on. (A request body is held whole by design, CONTRACT 1, so
//! a slow upstream slows nobody but its own call.)

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::eventually;
use support::frames::{DATA, END_HEADERS, END_STREAM, Frames, HEADERS, WINDOW_UPDATE, frame, head};
use support::request::{CHAT, HELLO_STREAM, MODELS, Request};
use support::stack::Stack;
use support::upstream::{SSE_HEAD, Upstream, delta};

/// Far more than any buffers between upstream and client take.
const WHOLE: usize = 64 << 20;
/// What the buffers of two kernels and of the gateway may take.
const BUFFERED: usize = 16 << 20;

/// An upstream whose stream is [`WHOLE`] bytes of frames, and how much of it was taken.
fn endless() -> (Upstream, Arc<AtomicUsize>) {
    let taken = Arc::new(AtomicUsize::new(0));
    let count = taken.clone();
    let text = delta(0, &"x".repeat(64 << 10));
    let upstream = Upstream::scripted(move |peer| {
        while peer.read_request().is_some() {
            count.store(0, Ordering::SeqCst);
            peer.send(SSE_HEAD);
            while count.load(Ordering::SeqCst) < WHOLE {
                peer.send_chunk(&text);
                count.fetch_add(text.len(), Ordering::SeqCst);
            }
            peer.send("0\r\n\r\n");
        }
    });
    (upstream, taken)
}

/// Waits until the upstream gets nothing more rid of; how much it has by then.
fn stalled(taken: &AtomicUsize) -> usize {
    let mut last = usize::MAX;
    eventually("the upstream has to wait", || {
        std::thread::sleep(Duration::from_millis(500));
        let now = taken.load(Ordering::SeqCst);
        (std::mem::replace(&mut last, now) == now && now > 0).then_some(now)
    })
}

#[test]
fn a_client_that_stops_reading_stops_the_upstream_and_gets_all_when_it_reads_on() {
    let (upstream, taken) = endless();
    let stack = Stack::before(&upstream);
    for request in [Request::chat(HELLO_STREAM), Request::get(MODELS)] {
        let mut conn = request.send(stack.gateway_addr);
        assert_eq!(conn.final_head().status(), 200);
        let buffered = stalled(&taken);
        assert!(
            buffered < BUFFERED,
            "{buffered} bytes of {}",
            request.path()
        );
        let (body, complete) = conn.rest();
        assert!(complete && body.len() >= WHOLE, "{}", body.len());
        assert!(body.ends_with(b"\n\n") && body.starts_with(b"data: "));
    }
}

#[test]
fn an_http2_client_that_opens_no_window_stops_the_upstream_too() {
    let (upstream, taken) = endless();
    let stack = Stack::before(&upstream);
    for path in [CHAT, MODELS] {
        let mut frames = Frames::open(stack.gateway_addr, &[]);
        if path == CHAT {
            frames.send(&frame(HEADERS, END_HEADERS, 1, &head("POST", path)));
            frames.send(&frame(DATA, END_STREAM, 1, HELLO_STREAM.as_bytes()));
        } else {
            let flags = END_HEADERS | END_STREAM;
            frames.send(&frame(HEADERS, flags, 1, &head("GET", path)));
        }
        let buffered = stalled(&taken);
        assert!(buffered < BUFFERED, "{buffered} bytes of {path}");
        let window = (1_u32 << 30).to_be_bytes();
        frames.send(&frame(WINDOW_UPDATE, 0, 0, &window));
        frames.send(&frame(WINDOW_UPDATE, 0, 1, &window));
        let mut got = 0;
        while let Some(frame) = frames.find(|frame| frame.kind == DATA) {
            got += frame.payload.len();
            if frame.flags & END_STREAM != 0 {
                break;
            }
        }
        assert!(got >= WHOLE, "{got} bytes of {path}");
    }
}
