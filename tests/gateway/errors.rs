//! The error table: §2.6, §7.1, §7.2, CONTRACT 20 and 40.

use std::io::Write;
use std::time::{Duration, Instant};
use support::assert_envelope;
use support::fault::{refusing_address, unresolvable_host};
use support::http::Conn;
use support::request::{CHAT, EMBEDDINGS, HELLO, HELLO_STREAM, MODELS, Request};
use support::stack::Stack;
use support::upstream::{Upstream, response};

fn chats() -> [Request; 2] {
    [Request::chat(HELLO), Request::chat(HELLO_STREAM)]
}

#[test]
fn an_upstreams_envelope_passes_byte_for_byte_with_its_status() {
    // §2.6, §7.2 rows 400 to 429 and 500, §7.3 rule 1.
    let cases = [
        (
            400,
            r#"{"error" : {"message":"m","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        ),
        (
            401,
            r#"{"error":{"message":"Incorrect API key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
        ),
        (
            403,
            r#"{"error":{"message":"m","type":"permission_error","code":403}}"#,
        ),
        (
            404,
            "{\n  \"error\": {\n \"message\": \"no such model\", \"type\": \"invalid_request_error\", \"code\": null}\n}\n",
        ),
        (
            422,
            r#"{"error":{"message":"m","type":"validation_error","code":422,"details":[1e400]}}"#,
        ),
        (
            429,
            r#"{"error":{"message":"m","type":"rate_limit_error","code":"rate_limit_exceeded"},"more":1}"#,
        ),
        (
            500,
            r#"{"error":{"message":"m","type":"server_error","code":500}}"#,
        ),
        (
            503,
            r#"{"error":{"message":"m","type":"overloaded_error","code":503}}"#,
        ),
    ];
    for (status, body) in cases {
        let headers = "Content-Type: application/json\r\nRetry-After: 7\r\nX-Request-Cost: 3\r\n";
        let upstream = Upstream::raw(response(status, headers, body.as_bytes()));
        let stack = Stack::before(&upstream);
        for request in chats() {
            let answer = stack.call(&request);
            assert_eq!((answer.status(), answer.text().as_str()), (status, body));
            assert_eq!(answer.head.header("retry-after"), Some("7"));
            assert_eq!(answer.head.header("x-request-cost"), Some("3"));
            assert_eq!(answer.head.header("content-type"), Some("application/json"));
        }
    }
}

#[test]
fn a_compressed_envelope_passes_untouched() {
    // §7.3 rule 1, CONTRACT 4.
    let envelope = br#"{"error":{"message":"m","type":"rate_limit_error","code":429}}"#;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(envelope).unwrap();
    let packed = encoder.finish().unwrap();
    let headers = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
    let upstream = Upstream::raw(response(429, headers, &packed));
    let answer = Stack::before(&upstream).call(&Request::chat(HELLO));
    assert_eq!((answer.status(), answer.body), (429, packed));
}

#[test]
fn an_upstreams_other_error_is_put_into_an_envelope_with_its_status() {
    // §7.1 upstream_error, §7.2 rows 413, 500, 503, CONTRACT 40.
    let cases: [(u16, &str, &str); 7] = [
        (
            413,
            "text/html",
            "<html><h1>413 Request Entity Too Large</h1></html>",
        ),
        (500, "text/plain", "boom at the model"),
        (503, "text/plain; charset=utf-8", "down for \"maintenance\""),
        (502, "application/json", r#"{"detail":"bad gateway"}"#),
        (400, "application/json", r#"{"error":"a bare string"}"#),
        (
            429,
            "application/json",
            r#"[{"error":{"message":"m","type":"t","code":1}}]"#,
        ),
        (500, "text/plain", ""),
    ];
    for (status, content_type, body) in cases {
        let headers = format!("Content-Type: {content_type}\r\nRetry-After: 30\r\n");
        let upstream = Upstream::raw(response(status, &headers, body.as_bytes()));
        let stack = Stack::before(&upstream);
        for request in chats() {
            let answer = stack.call(&request);
            assert_eq!(answer.status(), status, "{body}");
            assert_envelope(&answer.body, "upstream_error", status);
            let message = answer.json()["error"]["message"]
                .as_str()
                .unwrap()
                .to_owned();
            assert!(message.contains(body), "{message}");
            assert_eq!(answer.head.header("retry-after"), Some("30"));
            assert_eq!(answer.head.header("content-type"), Some("application/json"));
        }
    }
}

#[test]
fn only_the_first_2_kib_of_an_error_text_are_quoted() {
    // CONTRACT 40. The odd first byte puts the cut inside a character.
    let body = format!("x{}", "я".repeat(40_000));
    let upstream = Upstream::raw(response(
        500,
        "Content-Type: text/plain\r\n",
        body.as_bytes(),
    ));
    let answer = Stack::before(&upstream).call(&Request::chat(HELLO));
    assert_envelope(&answer.body, "upstream_error", 500);
    let message = answer.json()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(message.contains(&"я".repeat(1000)));
    assert!(message.len() < 2048 + 200, "{} bytes", message.len());
}

#[test]
fn transparent_routes_pass_every_upstream_answer_unchanged() {
    // CONTRACT 40 last sentence.
    let body = b"plain \xff trouble";
    for status in [400, 401, 429, 500, 503] {
        let upstream = Upstream::raw(response(
            status,
            "Content-Type: text/plain\r\nRetry-After: 5\r\n",
            body,
        ));
        let stack = Stack::before(&upstream);
        for request in [Request::post(EMBEDDINGS, HELLO), Request::get(MODELS)] {
            let answer = stack.call(&request);
            assert_eq!(
                (answer.status(), answer.body.as_slice()),
                (status, body.as_slice())
            );
            assert_eq!(answer.head.header("retry-after"), Some("5"));
        }
    }
}

/// Asserts 502 in the envelope on every route.
#[track_caller]
fn assert_unreachable(stack: &Stack) {
    for request in Request::every_endpoint()
        .into_iter()
        .chain([Request::chat(HELLO_STREAM)])
    {
        let answer = stack.call(&request);
        assert_eq!(answer.status(), 502, "{}", request.path());
        assert_envelope(&answer.body, "gateway_error", 502);
        assert_eq!(answer.head.header("content-type"), Some("application/json"));
    }
}

#[test]
fn an_upstream_that_refuses_connections_gives_502() {
    // §7.2 row 502.
    let url = format!("http://{}", refusing_address());
    assert_unreachable(&Stack::gateway().env("UPSTREAM_URL", url).start());
}

#[test]
fn a_connection_ends_behind_a_failed_call_only_where_its_answer_says_so() {
    let url = format!("http://{}", refusing_address());
    let stack = Stack::gateway().env("UPSTREAM_URL", url).start();
    let mut kept = 0;
    for request in Request::every_endpoint() {
        let mut conn = Conn::open(stack.gateway_addr);
        conn.send(&request.bytes());
        let answer = conn.response();
        assert_eq!(answer.status(), 502, "{}", request.path());
        if answer.head.header("connection") == Some("close") {
            assert!(conn.is_closed(), "{}", request.path());
            continue;
        }
        // A client may send its next call at any time.
        std::thread::sleep(Duration::from_millis(50));
        conn.send(&request.bytes());
        assert_eq!(conn.response().status(), 502, "{}", request.path());
        kept += 1;
    }
    assert!(
        kept > 0,
        "a chat completion is answered by the gateway, which keeps its connection"
    );
}

#[test]
fn an_upstream_whose_name_has_no_address_gives_502() {
    // §7.2 row 502: DNS. The gateway starts all the same, the name may come later.
    let url = format!("http://{}", unresolvable_host());
    assert_unreachable(&Stack::gateway().env("UPSTREAM_URL", url).start());
}

#[test]
fn an_upstream_that_speaks_no_http_gives_502() {
    // §7.2 row 502.
    let upstream = Upstream::scripted(|peer| {
        if peer.read_request().is_some() {
            peer.send("\x00\x01 this is not HTTP\r\n\r\n");
        }
    });
    assert_unreachable(&Stack::before(&upstream));
}

#[test]
fn no_head_within_the_timeout_gives_502_for_a_stream_too() {
    // §7.2 row 502, CONTRACT 20.
    let upstream = Upstream::scripted(|peer| {
        if peer.read_request().is_some() {
            peer.closed_within(Duration::from_secs(20));
        }
    });
    let stack = Stack::gateway()
        .upstream(&upstream)
        .yaml("upstream: {timeout: 300ms}")
        .start();
    let start = Instant::now();
    assert_unreachable(&stack);
    let took = start.elapsed();
    assert!(
        took >= Duration::from_millis(4 * 300),
        "not before the timeout: {took:?}"
    );
    assert!(took < Duration::from_secs(8), "and soon after it: {took:?}");
    assert_eq!(upstream.heads(), 4, "never retried");
}

#[test]
fn gateway_upstream_timeout_sets_the_same_bound_from_the_environment() {
    // §8.
    let upstream = Upstream::scripted(|peer| {
        if peer.read_request().is_some() {
            peer.closed_within(Duration::from_secs(20));
        }
    });
    let stack = Stack::gateway()
        .upstream(&upstream)
        .env("GATEWAY_UPSTREAM_TIMEOUT", "1")
        .start();
    let start = Instant::now();
    assert_eq!(stack.call(&Request::post(CHAT, HELLO)).status(), 502);
    assert!(start.elapsed() >= Duration::from_secs(1) && start.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_head_that_trickles_in_is_bounded_by_the_same_budget() {
    // CONTRACT 20: one budget from connecting to the whole head, however lively the upstream seems.
    let upstream = Upstream::scripted(|peer| {
        if peer.read_request().is_some() {
            peer.send("HTTP/1.1 200 OK\r\n");
            while peer.closed_within(Duration::from_millis(100)).is_none() {
                peer.send("X-Slow: 1\r\n");
            }
        }
    });
    let stack = Stack::gateway()
        .upstream(&upstream)
        .yaml("upstream: {timeout: 600ms}")
        .start();
    let start = Instant::now();
    let answer = stack.call(&Request::chat(HELLO));
    assert_envelope(&answer.body, "gateway_error", 502);
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_redirection_to_another_address_is_502_on_every_route() {
    // A client that follows it would send its access key and its prompt there, past every policy.
    let elsewhere = Upstream::ok();
    let location = format!("http://{}/v1/chat/completions", elsewhere.address());
    for status in [301, 302, 303, 307, 308] {
        let headers = format!("Location: {location}\r\n");
        let upstream = Upstream::raw(response(status, &headers, b"moved"));
        let stack = Stack::before(&upstream);
        let [plain, stream] = chats();
        for request in [
            plain,
            stream,
            Request::post(EMBEDDINGS, HELLO),
            Request::get(MODELS),
        ] {
            let answer = stack.call(&request);
            assert_eq!(answer.status(), 502, "{status}");
            assert_envelope(&answer.body, "gateway_error", 502);
            assert!(answer.text().contains("upstream.url"), "{}", answer.text());
            assert!(!answer.head.has("location"));
        }
    }
    elsewhere.assert_untouched();
    // A path leads back to the gateway.
    let upstream = Upstream::raw(response(307, "Location: /v1/models/\r\n", b""));
    let answer = Stack::before(&upstream).call(&Request::get(MODELS));
    assert_eq!(
        (answer.status(), answer.head.header("location")),
        (307, Some("/v1/models/"))
    );
}
