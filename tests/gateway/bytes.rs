//! Bodies pass byte for byte: §1.3, §2.3, §4.1 rule 3, §8.1, CONTRACT 1.

use std::io::Write;
use support::request::{CHAT, EMBEDDINGS, HELLO, HELLO_STREAM, Request, chunk};
use support::stack::Stack;
use support::upstream::{DONE, Upstream, response};
use support::{assert_envelope, contains};

/// Valid JSON that a parser with values would spoil.
fn delicate_bodies() -> Vec<Vec<u8>> {
    let mut bodies: Vec<Vec<u8>> = [
        r#"{"messages":[{"role":"user","content":"x"}],"temperature":1e400,"seed":-0.0e-0}"#,
        r#"{"messages":[{"role":"user","content":"x"}],"id":12345678901234567890123}"#,
        r#"{"messages":[{"role":"user","content":"lone \ud800 and \udc00 \uDBFF"}]}"#,
        r#"{"messages":[],"model":"a","model":"b","messages":[{"role":"user","content":"x"}]}"#,
        "\r\n\t {\n\t\"messages\" : [ { \"role\":\"user\" , \"content\":\"x\" } ] \r\n}\n \t",
        r#"{"messages":[{"role":"user","content":"\/\b\f\u0000 é 😀"}],"stream" : false}"#,
        r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"text","text":"x"},{"type":"odd","n":[1,2.50]}]}]}"#,
        r#"{"messages":"not a list","model":7}"#,
        r#"{"messages":[1,null,{"role":9,"content":{}}]}"#,
        "{}",
        "[]",
        "null",
        "1e400",
        "\"text\"",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    bodies.push(format!(r#"{{"messages":[],"deep":{open}{close}}}"#).into_bytes());
    bodies
}

fn twelve_megabytes() -> Vec<u8> {
    let filler = "Zm9v".repeat(3_000_000);
    format!(r#"{{"messages":[{{"role":"user","content":"{filler}"}}]}}"#).into_bytes()
}

#[test]
fn a_request_body_reaches_the_upstream_byte_for_byte() {
    // §1.3, CONTRACT 1.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for path in [CHAT, EMBEDDINGS] {
        for body in delicate_bodies() {
            let answer = stack.call(&Request::post(path, &body));
            assert_eq!(
                answer.status(),
                200,
                "{path} {}",
                String::from_utf8_lossy(&body[..body.len().min(90)])
            );
            let sent = upstream.last();
            assert!(
                sent.body == body,
                "{path}: {:?}",
                String::from_utf8_lossy(&body[..body.len().min(90)])
            );
            assert_eq!(sent.head.header("content-type"), Some("application/json"));
        }
    }
}

#[test]
fn a_body_of_12_mb_passes_on_every_route_that_has_one() {
    // §8.1, CONTRACT 1: no size limit of the gateway's own.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let body = twelve_megabytes();
    for path in [CHAT, EMBEDDINGS] {
        for request in [
            Request::post(path, &body),
            Request::post(path, &body).chunked(300_001),
        ] {
            assert_eq!(stack.call(&request).status(), 200, "{path}");
            assert!(upstream.last().body == body, "{path}");
        }
    }
}

#[test]
fn a_chunked_request_body_passes_whatever_its_cuts() {
    // CONTRACT 1; one byte per chunk cuts every UTF-8 character and every escape.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let body = r#"{"messages":[{"role":"user","content":"é😀\ud83d\ude00 1e400"}]}"#;
    for path in [CHAT, EMBEDDINGS] {
        for size in [1, 7, 4096] {
            let answer = stack.call(&Request::post(path, body).chunked(size));
            assert_eq!(answer.status(), 200, "{path} in chunks of {size}");
            let sent = upstream.last();
            assert_eq!(sent.body, body.as_bytes());
            assert!(
                sent.head.has("content-length") != sent.head.has("transfer-encoding"),
                "one framing"
            );
        }
    }
}

#[test]
fn invalid_json_gives_400_and_never_reaches_the_upstream() {
    // §7.2 row "400 gateway", CONTRACT 1: RFC 8259 and UTF-8, strictly.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let invalid: [&[u8]; 26] = [
        b"",
        b" ",
        b"{",
        b"}",
        b"{\"a\":1,}",
        b"[1,]",
        b"[,]",
        b"{'a':1}",
        b"{\"a\":01}",
        b"{\"a\":+1}",
        b"{\"a\":1.}",
        b"{\"a\":.5}",
        b"{\"a\":1e}",
        b"nul",
        b"NaN",
        b"Infinity",
        b"{} {}",
        b"{}x",
        b"{\"a\" 1}",
        b"{a:1}",
        b"\"\\x\"",
        b"\"\\u12g4\"",
        b"\"tab\there\"",
        b"\"\xff\"",
        b"\"\xed\xa0\x80\"",
        b"\xef\xbb\xbf{}",
    ];
    for body in invalid {
        for request in [Request::chat(body), Request::chat(body).chunked(3)] {
            let answer = stack.call(&request);
            assert_eq!(answer.status(), 400, "{:?}", String::from_utf8_lossy(body));
            assert_envelope(&answer.body, "invalid_request_error", 400);
        }
    }
    upstream.assert_untouched();
}

#[test]
fn transparent_routes_do_not_judge_the_body() {
    // §4.1: transparent proxy.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for body in ["", "{", "\u{0}odd"] {
        assert_eq!(stack.call(&Request::post(EMBEDDINGS, body)).status(), 200);
        assert_eq!(upstream.last().body, body.as_bytes());
    }
}

#[test]
fn an_answer_is_relayed_with_its_status_headers_and_bytes() {
    // §2.3: body and status equal the upstream's.
    let body = b"{\"choices\" : [],\n\t\"n\":1e400,\"id\":12345678901234567890123, \"s\":\"\\ud800\"}\r\n ";
    let headers = "Content-Type: application/json; charset=utf-8\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\
        X-RateLimit-Remaining-Requests: 9\r\nopenai-processing-ms: 12\r\n";
    let upstream = Upstream::raw(response(203, headers, body));
    let stack = Stack::before(&upstream);
    for request in Request::every_endpoint() {
        let answer = stack.call(&request);
        assert_eq!(answer.status(), 203, "{}", request.path());
        assert_eq!(answer.body, body);
        assert_eq!(
            answer.head.header("content-length"),
            Some(body.len().to_string().as_str())
        );
        assert!(!answer.head.has("transfer-encoding"));
        assert_eq!(
            answer.head.header("content-type"),
            Some("application/json; charset=utf-8")
        );
        assert_eq!(answer.head.values("set-cookie"), ["a=1", "b=2"]);
        assert_eq!(
            answer.head.header("x-ratelimit-remaining-requests"),
            Some("9")
        );
        assert_eq!(answer.head.header("openai-processing-ms"), Some("12"));
    }
}

#[test]
fn hop_by_hop_headers_of_the_upstream_are_not_relayed() {
    // CONTRACT 8: the upstream's `Connection: close` is between it and the gateway.
    let headers = "Content-Type: application/json\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n";
    let upstream = Upstream::scripted(move |peer| {
        if peer.read_request().is_some() {
            peer.send(response(200, headers, b"{}"));
        }
    });
    let stack = Stack::before(&upstream);
    for request in Request::every_endpoint() {
        let mut conn = request.send(stack.gateway_addr);
        for _ in 0..2 {
            let answer = conn.response();
            assert_eq!(answer.status(), 200);
            assert!(
                !answer.head.has("x-hop")
                    && !answer.head.values("keep-alive").contains(&"timeout=5")
            );
            // The client's connection is kept.
            conn.send(&request.bytes());
        }
    }
}

#[test]
fn an_answer_of_12_mb_and_an_empty_one_pass() {
    // §2.3.
    let big = format!(r#"{{"choices":[],"x":"{}"}}"#, "y".repeat(12_000_000));
    for body in [big.as_str(), ""] {
        let upstream = Upstream::json(200, body);
        let stack = Stack::before(&upstream);
        for request in Request::every_endpoint() {
            let answer = stack.call(&request);
            assert!(
                answer.complete && answer.body == body.as_bytes(),
                "{}",
                request.path()
            );
        }
    }
}

#[test]
fn a_chunked_answer_passes() {
    // §2.3; no length is invented and none is lost.
    let mut bytes =
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            .to_vec();
    for piece in ["{\"choices\"", ":[]", " }"] {
        bytes.extend(chunk(piece.as_bytes()));
    }
    bytes.extend(b"0\r\n\r\n");
    let upstream = Upstream::raw(bytes);
    let stack = Stack::before(&upstream);
    for request in Request::every_endpoint() {
        let answer = stack.call(&request);
        assert!(answer.complete);
        assert_eq!(answer.text(), "{\"choices\":[] }");
    }
}

#[test]
fn an_event_stream_is_relayed_byte_for_byte_and_never_by_length() {
    // §2.3, CONTRACT 18. Odd but legal frames: CRLF, no space after the colon, comments, event lines.
    let frames = [
        ": opening comment\n\n",
        "event: x\r\ndata:{\"a\" :1}\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"\u{e9}\u{1f600}\"}}]}\n\n",
        "data: not json\n\n\n",
        DONE,
    ];
    let body: String = frames.concat();
    let by_length = response(200, "Content-Type: text/event-stream\r\n", body.as_bytes());
    for upstream in [Upstream::sse(&frames), Upstream::raw(by_length)] {
        let stack = Stack::before(&upstream);
        let answer = stack.call(&Request::chat(HELLO_STREAM));
        assert!(answer.complete);
        assert_eq!(answer.text(), body);
        assert_eq!(
            answer.head.header("content-type"),
            Some("text/event-stream")
        );
        assert!(!answer.head.has("content-length"));
        assert!(
            contains(&upstream.last().body, b"\"stream\":true"),
            "async mode leaves it (§1.3)"
        );
    }
}

#[test]
fn a_compressed_answer_passes_untouched() {
    // CONTRACT 4: decoded for the record only.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder
        .write_all(support::upstream::ANSWER.as_bytes())
        .unwrap();
    let packed = encoder.finish().unwrap();
    let headers = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
    let upstream = Upstream::raw(response(200, headers, &packed));
    let stack = Stack::before(&upstream);
    let answer = stack.call(&Request::chat(HELLO).header("Accept-Encoding", "gzip"));
    assert_eq!(answer.body, packed);
    assert_eq!(answer.head.header("content-encoding"), Some("gzip"));
}
