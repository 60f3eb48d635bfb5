//! HTTP/2 clients that cost more than they ask for: RFC 9113 10.5, CVE-2023-44487, CVE-2024-27316,
//! CVE-2019-9512 to 9518. Each ends, or is bounded, while others are served.

use std::time::Duration;
use support::eventually;
use support::frames::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, GOAWAY, HEADERS, PING, PRIORITY,
    RST_STREAM, SETTINGS, WINDOW_UPDATE, field, frame, head,
};
use support::request::{CHAT, HELLO, HELLO_STREAM, MODELS, Request};
use support::stack::Stack;
use support::upstream::{SSE_HEAD, Upstream, response};

const SETTINGS_INITIAL_WINDOW_SIZE: u16 = 4;
/// RFC 9113 7.
const ENHANCE_YOUR_CALM: u8 = 0xb;
/// Generous for a debug build that began with a few MiB.
const MEMORY: u64 = 64 << 20;

/// Heads must be whole soon; an idle connection may stay for longer than the test is patient.
fn strict(upstream: &Upstream) -> Stack {
    let yaml = "limits: {header_timeout: 500ms, idle_timeout: 60s}";
    Stack::gateway().upstream(upstream).yaml(yaml).start()
}

fn ended(stack: &Stack, reason: &str) -> f64 {
    stack.metric(&format!(
        "monitor_connections_ended_total{{reason=\"{reason}\"}}"
    ))
}

/// Asserts that others are served and that memory stayed where it was.
#[track_caller]
fn assert_well(stack: &Stack, memory_before: u64) {
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let grown = stack.process.memory().saturating_sub(memory_before);
    assert!(grown < MEMORY, "{grown} bytes more");
    assert!(!stack.stderr().contains("panicked"), "{}", stack.stderr());
}

/// A whole request on that stream.
fn get(stream: u32) -> Vec<u8> {
    frame(
        HEADERS,
        END_HEADERS | END_STREAM,
        stream,
        &head("GET", MODELS),
    )
}

/// Sends the bytes one by one, each after a pause, until the connection ends.
fn trickle(frames: &mut Frames, bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| {
        std::thread::sleep(Duration::from_millis(20));
        frames.try_send(&[*byte]).is_err() || frames.has_ended()
    })
}

#[test]
fn a_head_that_trickles_in_is_bounded_whatever_else_the_connection_does() {
    // limits.header_timeout, in HEADERS and in CONTINUATION, with a stream under way and without.
    for busy in [false, true] {
        for continued in [false, true] {
            let (upstream, feed) = Upstream::fed();
            let stack = strict(&upstream);
            let mut frames = Frames::open(stack.gateway_addr, &[]);
            if busy {
                let request = frame(HEADERS, END_HEADERS, 1, &head("POST", CHAT));
                let body = frame(DATA, END_STREAM, 1, HELLO_STREAM.as_bytes());
                frames.send(&[request, body].concat());
                feed.send(SSE_HEAD);
                frames.find(|frame| frame.kind == HEADERS).unwrap();
            }
            let block = [head("GET", MODELS), field("x-long", &"x".repeat(100))].concat();
            let bytes = match continued {
                false => frame(HEADERS, END_HEADERS | END_STREAM, 3, &block),
                true => {
                    let begun = frame(HEADERS, END_STREAM, 3, &block[..10]);
                    let rest = block[10..].iter();
                    rest.fold(begun, |mut sent, byte| {
                        sent.extend(frame(CONTINUATION, 0, 3, &[*byte]));
                        sent
                    })
                }
            };
            assert!(
                trickle(&mut frames, &bytes),
                "busy {busy} continued {continued}"
            );
            assert_eq!(ended(&stack, "slow_head"), 1.0);
            if busy {
                assert!(
                    feed.closed_within(Duration::from_secs(5)).is_some(),
                    "CONTRACT 21"
                );
            }
            assert_eq!(upstream.heads(), usize::from(busy));
        }
    }
}

#[test]
fn a_head_in_prompt_pieces_is_served() {
    // The bound above is on time and not on pieces.
    let upstream = Upstream::ok();
    let stack = strict(&upstream);
    let mut frames = Frames::open(stack.gateway_addr, &[]);
    for stream in [1, 3, 5] {
        let block = head("GET", MODELS);
        frames.send(&frame(HEADERS, END_STREAM, stream, &block[..7]));
        for piece in block[7..].chunks(block.len() / 3) {
            frames.send(&frame(CONTINUATION, 0, stream, piece));
        }
        frames.send(&frame(CONTINUATION, END_HEADERS, stream, b""));
        let answer = frames.find(|frame| frame.kind == HEADERS).unwrap();
        assert_eq!(
            (answer.stream, answer.payload[0]),
            (stream, 0x88),
            ":status 200"
        );
        frames.find(|frame| frame.kind == DATA && frame.flags & END_STREAM != 0);
    }
    assert_eq!(upstream.heads(), 3);
}

#[test]
fn an_idle_connection_is_closed_and_pings_do_not_keep_it() {
    // limits.idle_timeout.
    let upstream = Upstream::ok();
    let yaml = "limits: {header_timeout: 400ms, idle_timeout: 1s}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    Frames::open(stack.gateway_addr, &[]).until_end();
    let mut frames = Frames::open(stack.gateway_addr, &[]);
    frames.send(&get(1));
    frames.find(|frame| frame.kind == DATA).unwrap();
    eventually("it is closed", || {
        std::thread::sleep(Duration::from_millis(50));
        let sent = frames.try_send(&frame(PING, 0, 0, b"12345678"));
        (sent.is_err() || frames.has_ended()).then_some(())
    });
}

#[test]
fn a_body_that_does_not_come_is_refused() {
    // limits.header_timeout for each silence inside a body. 408 is no indexed status: it is enough
    // that an answer ends the stream and the upstream saw nothing.
    let upstream = Upstream::ok();
    let stack = strict(&upstream);
    for body in ["", "{"] {
        let mut frames = Frames::open(stack.gateway_addr, &[]);
        frames.send(&frame(HEADERS, END_HEADERS, 1, &head("POST", CHAT)));
        frames.send(&frame(DATA, 0, 1, body.as_bytes()));
        let answer = frames.find(|frame| frame.stream == 1).unwrap();
        assert!([HEADERS, RST_STREAM].contains(&answer.kind), "{answer:?}");
    }
    upstream.assert_untouched();
    let series = r#"monitor_requests_total{outcome="refused",route="chat"}"#;
    eventually("both are refused", || {
        (stack.metric(series) == 2.0).then_some(())
    });
}

#[test]
fn streams_that_are_reset_as_they_begin_end_the_connection() {
    // CVE-2023-44487, all in one go: GOAWAY.
    let upstream = Upstream::ok();
    let stack = strict(&upstream);
    let before = stack.process.memory();
    let mut frames = Frames::open(stack.gateway_addr, &[]);
    let mut bytes = Vec::new();
    for stream in (1..4000).step_by(2) {
        bytes.extend(get(stream));
        bytes.extend(frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]));
    }
    let _ = frames.try_send(&bytes);
    let last = frames.until_end().pop();
    if let Some(last) = last {
        assert_eq!(
            (last.kind, last.payload[7]),
            (GOAWAY, ENHANCE_YOUR_CALM),
            "{last:?}"
        );
    }
    assert!(
        upstream.heads() < 500,
        "{} calls went upstream",
        upstream.heads()
    );
    assert_well(&stack, before);
}

#[test]
fn streams_that_are_reset_one_by_one_end_the_connection_too() {
    // CVE-2023-44487 paced so that each is begun before it is reset.
    let upstream = Upstream::ok();
    let stack = strict(&upstream);
    let before = stack.process.memory();
    let mut frames = Frames::open(stack.gateway_addr, &[]);
    let mut rounds = 0;
    for stream in (1..20_000).step_by(2) {
        let ping = frame(PING, 0, 0, b"12345678");
        let reset = frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]);
        if frames.try_send(&[get(stream), ping].concat()).is_err()
            || frames.find(|frame| frame.kind == PING).is_none()
            || frames.try_send(&reset).is_err()
        {
            break;
        }
        rounds += 1;
    }
    assert!(rounds < 5_000, "{rounds} rounds");
    assert_eq!(ended(&stack, "idle_frames"), 1.0);
    eventually("no call of it is left", || {
        let series = r#"monitor_in_flight{route="models"}"#;
        (stack.metric(series) == 0.0).then_some(())
    });
    assert_well(&stack, before);
}

#[test]
fn a_flood_of_continuations_ends_the_connection() {
    // CVE-2024-27316.
    let upstream = Upstream::ok();
    let stack = strict(&upstream);
    let before = stack.process.memory();
    let mut frames = Frames::open(stack.gateway_addr, &[]);
    frames.send(&frame(HEADERS, END_STREAM, 1, &head("GET", MODELS)));
    let more = field("x-more", &"x".repeat(100)).repeat(100);
    frames.flood(&frame(CONTINUATION, 0, 1, &more), 2_000);
    upstream.assert_untouched();
    assert_well(&stack, before);
}

#[test]
fn floods_of_frames_that_ask_for_nothing_end_the_connection() {
    // PING, SETTINGS, their acknowledgements, empty and padded DATA, PRIORITY, windows that nothing was sent
    // for, GOAWAY, unknown frames; their answers are never read.
    const PADDED: u8 = 8;
    let one = &[0, 0, 0, 1][..];
    for (kind, flags, stream, payload) in [
        (PING, 0, 0, &b"12345678"[..]),
        (PING, ACK, 0, b"12345678"),
        (SETTINGS, 0, 0, b""),
        (SETTINGS, 0, 0, &[0, 4, 0, 0, 0xff, 0xff]),
        (SETTINGS, ACK, 0, b""),
        (DATA, 0, 1, b""),
        (DATA, PADDED, 1, &[2, 0, 0]),
        (PRIORITY, 0, 1, &[0, 0, 0, 0, 16]),
        (WINDOW_UPDATE, 0, 0, one),
        (WINDOW_UPDATE, 0, 1, one),
        (GOAWAY, 0, 0, &[0; 8]),
        (0xfa, 0, 0, b"grease"),
    ] {
        let upstream = Upstream::ok();
        let stack = strict(&upstream);
        let (memory, log) = (stack.process.memory(), stack.stderr().len());
        let mut frames = Frames::open(stack.gateway_addr, &[]);
        // The connection has something to wait for.
        frames.send(&frame(HEADERS, END_HEADERS, 1, &head("POST", CHAT)));
        frames.flood(&frame(kind, flags, stream, payload), 2_000_000);
        let flood = format!("type {kind} flags {flags} stream {stream}");
        // h2 ends these by itself: content that ends no stream, an acknowledgement of settings that it did not
        // send, GOAWAY.
        let is_h2s = [DATA, GOAWAY].contains(&kind) || (kind, flags) == (SETTINGS, ACK);
        if !is_h2s {
            assert_eq!(ended(&stack, "idle_frames"), 1.0, "{flood}");
        }
        assert_well(&stack, memory);
        let logged = stack.stderr().len() - log;
        assert!(logged < 4 << 10, "{flood}: {logged} bytes of log");
        assert_eq!(
            upstream.heads(),
            1,
            "the one that shows that others are served"
        );
    }
}

#[test]
fn windows_for_an_answer_that_is_read_end_no_connection() {
    // A reader that opens both windows for each piece that it was sent, however small.
    let (upstream, feed) = Upstream::fed();
    let stack = strict(&upstream);
    let mut frames = Frames::open(stack.gateway_addr, &[]);
    let request = frame(HEADERS, END_HEADERS, 1, &head("POST", CHAT));
    let body = frame(DATA, END_STREAM, 1, HELLO_STREAM.as_bytes());
    frames.send(&[request, body].concat());
    feed.send(SSE_HEAD);
    for _ in 0..3_000 {
        feed.chunk(":\n\n");
        let piece = frames.find(|frame| frame.kind == DATA).expect("a piece");
        let size = u32::try_from(piece.payload.len()).unwrap().to_be_bytes();
        let windows = [0, 1].map(|stream| frame(WINDOW_UPDATE, 0, stream, &size));
        frames.send(&windows.concat());
    }
    assert_eq!(ended(&stack, "idle_frames"), 0.0);
}

#[test]
fn streams_that_never_open_their_window_are_let_go_and_hold_little() {
    // CVE-2019-9517. The bound is the upstream's timeout, for each piece that waits for the client.
    let body = "z".repeat(4 << 20);
    let upstream = Upstream::raw(response(
        200,
        "Content-Type: text/plain\r\n",
        body.as_bytes(),
    ));
    let stack = Stack::gateway()
        .upstream(&upstream)
        .env("GATEWAY_UPSTREAM_TIMEOUT", "1s")
        .start();
    let before = stack.process.memory();
    let mut frames = Frames::open(stack.gateway_addr, &[(SETTINGS_INITIAL_WINDOW_SIZE, 0)]);
    let streams = 50;
    for number in 0..streams {
        frames.send(&get(number * 2 + 1));
    }
    for _ in 0..streams {
        let reset = frames.find(|frame| frame.kind == RST_STREAM);
        assert!(
            reset.is_some(),
            "each stream is reset, the connection stays"
        );
    }
    let grown = stack.process.memory().saturating_sub(before);
    assert!(
        grown < MEMORY,
        "{grown} bytes more for {streams} answers of 4 MiB"
    );
    frames.send(&frame(WINDOW_UPDATE, 0, 0, &[0, 1, 0, 0]));
    assert_eq!(stack.call(&Request::get(MODELS)).body.len(), body.len());
}

#[test]
fn built_in_files_that_nobody_reads_are_in_memory_once() {
    // 1.7 MB decoded, for a client that accepts no coding and gives no window.
    let upstream = Upstream::ok();
    let stack = strict(&upstream);
    let before = stack.process.memory();
    let mut frames = Frames::open(stack.gateway_addr, &[(SETTINGS_INITIAL_WINDOW_SIZE, 0)]);
    let streams = 100;
    for number in 0..streams {
        let file = head("GET", "/docs/swagger-ui-bundle.js");
        frames.send(&frame(
            HEADERS,
            END_HEADERS | END_STREAM,
            number * 2 + 1,
            &file,
        ));
    }
    for _ in 0..streams {
        let answer = frames.find(|frame| frame.kind == HEADERS);
        assert!(answer.is_some(), "each answer has begun");
    }
    assert_well(&stack, before);
}
