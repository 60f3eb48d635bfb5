//! HTTP/2 as RFC 9113 and RFC 7541 have it, at the gateway's port: the cases of h2spec that a server can get
//! wrong, as raw frames. The analysis port speaks HTTP/1.1 alone and says so.

use super::http2_cases::{
    Case, Expected, PROTOCOL_ERROR, accepted, connection_errors, malformed, too_many,
};
use support::frames::{Frame, Frames, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, frame};
use support::http::Conn;
use support::request::{CHAT, HELLO, MODELS, Request};
use support::stack::Stack;
use support::upstream::Upstream;

/// Whether the frame names one of the codes, in its last four bytes or behind the last stream. h2 says the
/// general PROTOCOL_ERROR where the RFCs have a code for a wrong length, a wrong block or a wrong window.
fn names(frame: &Frame, codes: &[u8]) -> bool {
    let at = if frame.kind == GOAWAY { 7 } else { 3 };
    let code = frame.payload.get(at);
    code.is_some_and(|code| {
        codes.contains(code) || (frame.kind == GOAWAY && *code == PROTOCOL_ERROR)
    })
}

/// What is wrong with the outcome of a case.
fn outcome(stack: &Stack, case: &Case) -> Result<(), String> {
    let mut frames = Frames::open(stack.gateway_addr, &[]);
    // The other side may have closed before it has read everything.
    let _ = frames.try_send(&case.bytes);
    let _ = frames.try_send(&frame(PING, 0, 0, b"conforms"));
    let ended = |frame: &Frame| frame.kind == GOAWAY;
    let wrong =
        |frame: Option<Frame>| Err(format!("{}: {:?}, not {frame:?}", case.name, case.expected));
    match case.expected {
        Expected::Connection(codes) => match frames.find(ended) {
            Some(frame) if !names(&frame, codes) => wrong(Some(frame)),
            _ => Ok(()),
        },
        Expected::Stream(codes) => {
            match frames.find(|frame| ended(frame) || matches!(frame.kind, RST_STREAM | HEADERS)) {
                Some(frame) if frame.kind == HEADERS || !names(&frame, codes) => wrong(Some(frame)),
                _ => Ok(()),
            }
        }
        Expected::Served => {
            match frames.find(|frame| ended(frame) || matches!(frame.kind, RST_STREAM | HEADERS)) {
                // :status 200, the eighth field of the static table.
                Some(frame) if frame.kind == HEADERS && frame.payload.first() == Some(&0x88) => {
                    Ok(())
                }
                frame => wrong(frame),
            }
        }
        Expected::Ponged => {
            match frames
                .find(|frame| ended(frame) || (frame.kind == PING && frame.payload == b"conforms"))
            {
                Some(frame) if frame.kind == PING => Ok(()),
                frame => wrong(frame),
            }
        }
    }
}

#[track_caller]
fn assert_all(stack: &Stack, cases: &[Case]) {
    let wrong: Vec<_> = cases
        .iter()
        .filter_map(|case| outcome(stack, case).err())
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    assert!(!stack.stderr().contains("panicked"), "{}", stack.stderr());
}

#[test]
fn what_is_in_order_is_served() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    assert_all(&stack, &accepted());
    // h2 passes over pseudo-headers among trailers; no trailer is forwarded.
    let sent = upstream.seen().heads;
    assert!(
        sent.iter()
            .all(|head| [CHAT, MODELS].contains(&head.target())),
        "{sent:?}"
    );
}

#[test]
fn what_breaks_the_protocol_ends_the_stream_or_the_connection_with_its_code() {
    // The model server has no part in it: what reaches it is answered, and the stream is gone all the same.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    assert_all(&stack, &connection_errors());
}

#[test]
fn malformed_requests_are_not_served() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    assert_all(&stack, &malformed());
    assert_eq!(upstream.heads(), 1, "that of the check at the end");
}

#[test]
fn more_streams_than_the_settings_allow_are_refused() {
    const MAX_CONCURRENT_STREAMS: [u8; 2] = [0, 3];
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let mut frames = Frames::open(stack.gateway_addr, &[]);
    let settings = frames
        .find(|frame| frame.kind == SETTINGS && frame.flags == 0)
        .unwrap();
    let mut said = settings.payload.chunks(6);
    let limit = said
        .find(|setting| setting[..2] == MAX_CONCURRENT_STREAMS)
        .unwrap();
    let limit = u32::from_be_bytes(limit[2..].try_into().unwrap());
    assert!(limit <= 1000, "{limit}");
    assert_all(&stack, &[too_many(limit)]);
}

#[test]
fn the_analysis_port_refuses_http2() {
    // RFC 9113 3.4: a server that does not speak it answers the preface as it likes, and serves nothing.
    let stack = Stack::all().start();
    let mut conn = Conn::open(stack.analysis_addr);
    let _ = conn.try_send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    if let Some(head) = conn.try_head() {
        assert!((400..600).contains(&head.status()), "{}", head.status());
        conn.rest();
    }
    assert!(conn.is_closed());
}
