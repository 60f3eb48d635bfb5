//! Event streams: §2.3, §6.2, CONTRACT 18 to 20.

use serde_json::Value;
use std::time::Duration;
use support::http::Conn;
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::Stack;
use support::upstream::{ANSWER, DONE, Feed, SSE_HEAD, Upstream, delta};

const KEEPALIVE: &str = ": keepalive\n\n";
const BEAT: Duration = Duration::from_millis(200);

/// A gateway with these settings whose stream has begun: its head is with the client.
fn streaming(yaml: &str, head: &str) -> (Stack, Feed, Conn, Upstream) {
    let (upstream, feed) = Upstream::fed();
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    let mut conn = Request::chat(HELLO_STREAM).send(stack.gateway_addr);
    feed.send(head);
    assert_eq!(conn.final_head().status(), 200);
    (stack, feed, conn, upstream)
}

/// Asserts that `tail` is one error frame of CONTRACT 19 and nothing else.
#[track_caller]
fn assert_error_frame(tail: &str, code: u16) {
    let json = tail
        .strip_prefix("data: ")
        .and_then(|t| t.strip_suffix("\n\n"));
    let value: Value =
        serde_json::from_str(json.unwrap_or_else(|| panic!("no frame: {tail:?}"))).unwrap();
    assert_eq!(value["error"]["type"], "upstream_error", "{value}");
    assert_eq!(value["error"]["code"], code, "{value}");
    assert!(value["error"]["message"].is_string());
}

#[track_caller]
fn rest(conn: &mut Conn) -> String {
    let (body, complete) = conn.rest();
    assert!(
        complete,
        "the stream ends properly after {:?}",
        String::from_utf8_lossy(&body)
    );
    String::from_utf8(body).unwrap()
}

#[test]
fn the_head_and_every_chunk_are_relayed_at_once() {
    // CONTRACT 18. The upstream sends the next frame only when the client has the one before.
    let (_stack, feed, mut conn, _upstream) = streaming("", SSE_HEAD);
    for turn in 0..20 {
        let frame = delta(0, &format!("word {turn}"));
        feed.chunk(&frame);
        assert_eq!(conn.read_until(b"\n\n"), frame.as_bytes());
    }
    feed.chunk(DONE);
    feed.end();
    assert_eq!(rest(&mut conn), DONE);
}

#[test]
fn a_piece_of_a_frame_is_relayed_at_once_too() {
    // CONTRACT 18: bytes, not frames.
    let (_stack, feed, mut conn, _upstream) = streaming("", SSE_HEAD);
    for piece in [
        "data: {\"choices\":[{\"del",
        "ta\":{\"content\":\"x\"}}]}",
        "\n",
        "\n",
    ] {
        feed.chunk(piece);
        assert_eq!(conn.read_until(piece.as_bytes()), piece.as_bytes());
    }
    feed.end();
    assert_eq!(rest(&mut conn), "");
}

#[test]
fn chunk_borders_inside_utf8_characters_do_no_harm() {
    // CONTRACT 18.
    let (_stack, feed, mut conn, _upstream) = streaming("", SSE_HEAD);
    let body = delta(0, "Привет, 🙂 é") + DONE;
    for byte in body.as_bytes() {
        feed.chunk([*byte]);
    }
    feed.end();
    assert_eq!(rest(&mut conn), body);
}

#[test]
fn a_silent_stream_gets_keepalive_comments_at_frame_borders_only() {
    // §6.2, CONTRACT 18.
    let (_stack, feed, mut conn, _upstream) = streaming("stream: {heartbeat: 200ms}", SSE_HEAD);
    for _ in 0..3 {
        assert_eq!(conn.read_until(b"\n\n"), KEEPALIVE.as_bytes());
    }
    feed.chunk("data: {\"cut\":");
    let begun = String::from_utf8(conn.read_until(b"\"cut\":")).unwrap();
    assert_eq!(begun.replace(KEEPALIVE, ""), "data: {\"cut\":");
    conn.assert_quiet(BEAT * 4);
    feed.chunk("1}\n");
    assert_eq!(conn.read_until(b"\n"), b"1}\n");
    conn.assert_quiet(BEAT * 4);
    feed.chunk("\n");
    assert_eq!(conn.read_until(b"\n"), b"\n");
    assert_eq!(conn.read_until(b"\n\n"), KEEPALIVE.as_bytes());
    feed.chunk(DONE);
    feed.end();
    assert_eq!(rest(&mut conn).replace(KEEPALIVE, ""), DONE);
}

#[test]
fn no_keepalive_before_the_upstreams_head() {
    // CONTRACT 18: early commit is off by default.
    let (upstream, feed) = Upstream::fed();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .yaml("stream: {heartbeat: 100ms}")
        .start();
    let mut conn = Request::chat(HELLO_STREAM).send(stack.gateway_addr);
    upstream.await_heads(1);
    conn.assert_quiet(BEAT * 3);
    feed.send(SSE_HEAD.to_owned() + &format!("{:x}\r\n{DONE}\r\n0\r\n\r\n", DONE.len()));
    assert_eq!(conn.final_head().status(), 200);
    assert_eq!(rest(&mut conn), DONE);
}

#[test]
fn no_keepalive_in_a_compressed_stream() {
    // CONTRACT 18.
    let packed = SSE_HEAD.replace("Transfer", "Content-Encoding: gzip\r\nTransfer");
    let (_stack, feed, mut conn, _upstream) = streaming("stream: {heartbeat: 100ms}", &packed);
    conn.assert_quiet(BEAT * 3);
    feed.chunk(b"\x1f\x8b\n\n");
    assert_eq!(conn.read_until(b"\n\n"), b"\x1f\x8b\n\n");
    conn.assert_quiet(BEAT * 3);
    feed.end();
    assert_eq!(rest(&mut conn), "");
}

#[test]
fn no_keepalive_in_an_answer_that_is_no_stream() {
    // CONTRACT 18. The pause is the upstream's: it sends half, is silent for some beats, goes on.
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        ANSWER.len()
    );
    let upstream = Upstream::scripted(move |peer| {
        while peer.read_request().is_some() {
            peer.send(&head);
            peer.send(&ANSWER[..9]);
            std::thread::sleep(BEAT * 3);
            peer.send(&ANSWER[9..]);
        }
    });
    let builder = Stack::gateway().upstream(&upstream);
    let stack = builder.yaml("stream: {heartbeat: 100ms}").start();
    for body in [HELLO, HELLO_STREAM] {
        assert_eq!(stack.call(&Request::chat(body)).text(), ANSWER);
    }
}

#[test]
fn silence_past_the_timeout_ends_the_stream_with_an_error_frame() {
    // §7.2 row 504, CONTRACT 19; keepalives do not count as the upstream's life.
    let (_stack, feed, mut conn, _upstream) = streaming(
        "upstream: {timeout: 700ms}\nstream: {heartbeat: 200ms}",
        SSE_HEAD,
    );
    let frame = delta(0, "only");
    feed.chunk(&frame);
    let body = rest(&mut conn).replace(KEEPALIVE, "");
    assert_error_frame(body.strip_prefix(&frame).unwrap(), 504);
    let is_for_users = !body.contains("TIMEOUT") && !body.contains("GATEWAY_");
    assert!(is_for_users, "no setting of the operator: {body}");
    assert!(
        feed.closed_within(Duration::from_secs(2)).is_some(),
        "the upstream is let go"
    );
}

#[test]
fn the_timeout_bounds_silence_and_not_the_length_of_a_stream() {
    // CONTRACT 20. The pauses pace the upstream: together they are over the timeout, each is under.
    let (_stack, feed, mut conn, _upstream) = streaming("upstream: {timeout: 1s}", SSE_HEAD);
    for turn in 0..8 {
        let frame = delta(0, &turn.to_string());
        feed.chunk(&frame);
        assert_eq!(conn.read_until(b"\n\n"), frame.as_bytes());
        std::thread::sleep(Duration::from_millis(200));
    }
    feed.chunk(DONE);
    feed.end();
    assert_eq!(rest(&mut conn), DONE);
}

#[test]
fn a_reset_ends_the_stream_with_an_error_frame() {
    // CONTRACT 19.
    let (stack, feed, mut conn, _upstream) = streaming("", SSE_HEAD);
    let frame = delta(0, "only");
    feed.chunk(&frame);
    assert_eq!(conn.read_until(b"\n\n"), frame.as_bytes());
    feed.reset();
    assert_error_frame(&rest(&mut conn), 502);
    assert!(!stack.stderr().contains("panicked"));
}

#[test]
fn a_close_before_the_last_chunk_is_a_break_and_not_an_end() {
    // CONTRACT 19: a drop must not look like a normal end.
    let (_stack, feed, mut conn, _upstream) = streaming("", SSE_HEAD);
    let frame = delta(0, "only");
    feed.chunk(&frame);
    feed.close();
    assert_error_frame(rest(&mut conn).strip_prefix(&frame).unwrap(), 502);
}

#[test]
fn a_cut_frame_is_closed_before_the_error_frame() {
    // CONTRACT 19.
    for cut in ["data: {\"choices\":[{\"del", "data: {}\n", "da"] {
        let (_stack, feed, mut conn, _upstream) = streaming("", SSE_HEAD);
        feed.chunk(cut);
        assert_eq!(conn.read_until(cut.as_bytes()), cut.as_bytes());
        feed.reset();
        let tail = rest(&mut conn);
        assert!(tail.starts_with('\n'), "{cut:?} then {tail:?}");
        let whole = format!("{cut}{tail}");
        assert!(whole.contains("\n\ndata: {\"error\""), "{whole:?}");
        assert_error_frame(tail.trim_start_matches('\n'), 502);
    }
}

#[test]
fn a_compressed_stream_that_breaks_is_simply_cut() {
    // CONTRACT 19: a clear-text frame inside a compressed body would be noise.
    let head = SSE_HEAD.replace("Transfer", "Content-Encoding: gzip\r\nTransfer");
    let (_stack, feed, mut conn, _upstream) = streaming("", &head);
    feed.chunk(b"\x1f\x8b\x08");
    assert_eq!(conn.read_until(b"\x08"), b"\x1f\x8b\x08");
    feed.reset();
    assert_eq!(conn.rest(), (Vec::new(), false));
}

#[test]
fn a_stream_without_done_gets_none() {
    // CONTRACT 19.
    let frame = delta(0, "x");
    let upstream = Upstream::sse(&[&frame]);
    let stack = Stack::before(&upstream);
    let answer = stack.call(&Request::chat(HELLO_STREAM));
    assert!(answer.complete);
    assert_eq!(answer.text(), frame);
}

#[test]
fn a_stream_that_ends_with_its_connection_ends_properly() {
    // RFC 9112 6.3: without length and chunks the close is the end.
    let frames = delta(0, "x") + DONE;
    let bytes = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{frames}"
    );
    let upstream = Upstream::scripted(move |peer| {
        if peer.read_request().is_some() {
            peer.send(&bytes);
        }
    });
    let stack = Stack::before(&upstream);
    let answer = stack.call(&Request::chat(HELLO_STREAM));
    assert!(answer.complete);
    assert_eq!(answer.text(), frames);
}

#[test]
fn a_body_that_is_no_stream_and_stalls_or_breaks_never_looks_whole() {
    // CONTRACT 20 last sentence: a cut. Where the head was not with the client yet, 502 is as good.
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"half\":";
    for stalls in [true, false] {
        let (upstream, feed) = Upstream::fed();
        let builder = Stack::gateway().upstream(&upstream);
        let stack = builder.yaml("upstream: {timeout: 400ms}").start();
        let mut conn = Request::chat(HELLO).send(stack.gateway_addr);
        feed.send(head);
        if !stalls {
            feed.reset();
        }
        let answer = conn.response();
        match answer.status() {
            200 => assert!(!answer.complete && b"{\"half\":".starts_with(&answer.body)),
            status => assert_eq!((status, stalls), (502, false), "{}", answer.text()),
        }
    }
}

#[test]
fn several_streams_run_side_by_side() {
    // CONTRACT 18: one silent stream holds up no other.
    let (upstream, feed) = Upstream::fed();
    let stack = Stack::before(&upstream);
    let mut held = Request::chat(HELLO_STREAM).send(stack.gateway_addr);
    feed.send(SSE_HEAD);
    assert_eq!(held.final_head().status(), 200);
    let others: Vec<Conn> = (0..8)
        .map(|_| Request::chat(HELLO_STREAM).send(stack.gateway_addr))
        .collect();
    upstream.await_heads(9);
    feed.chunk(DONE);
    feed.end();
    assert_eq!(rest(&mut held), DONE);
    drop(others);
}
