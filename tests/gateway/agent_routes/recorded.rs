//! Async mode: nothing of a call changes, and both sides of it are registered.

use super::{Api, streaming};
use serde_json::json;
use support::backend::Backend;
use support::eventually;
use support::request::Request;
use support::stack::Stack;
use support::upstream::{SSE_HEAD, Upstream, response, sse};

contract! {
    a_call_passes_to_the_byte_and_both_sides_are_registered;
    the_headers_of_providers_pass_in_both_directions;
    a_stream_passes_to_the_byte_and_is_registered_like_the_whole_answer;
    a_stream_that_breaks_off_is_registered_as_far_as_it_came;
    the_session_that_a_program_names_is_kept_where_no_header_of_ours_does only [responses, messages]
        because "programs of the other APIs name no session in a header of their own";
}

/// What programs send to a provider (AGENT_ROUTES 2, 4.2).
const ASKED: [(&str, &str); 19] = [
    ("authorization", "Bearer sk-up"),
    ("x-api-key", "sk-ant-1"),
    ("anthropic-version", "2023-06-01"),
    ("anthropic-beta", "one-2025-04-01,two-2026-01-01"),
    ("openai-beta", "responses=v1"),
    ("openai-organization", "org-1"),
    ("openai-project", "proj-1"),
    ("x-stainless-lang", "python"),
    ("x-stainless-retry-count", "0"),
    ("x-stainless-helper-method", "stream"),
    ("user-agent", "program/2.1 (external, cli)"),
    ("x-claude-code-session-id", "s-1"),
    ("x-claude-code-agent", "a-1"),
    ("x-client-request-id", "thread-1"),
    ("session-id", "thread-1"),
    ("thread-id", "thread-1"),
    ("chatgpt-account-id", "account-1"),
    ("x-codex-turn-metadata", "{\"turn_id\":\"t\"}"),
    ("x-session-affinity", "ses_1"),
];
/// What providers answer with.
const ANSWERED: [(&str, &str); 9] = [
    ("request-id", "req_1"),
    ("anthropic-ratelimit-requests-remaining", "7"),
    ("anthropic-ratelimit-tokens-reset", "2026-11-01T00:00:00Z"),
    ("anthropic-organization-id", "org-2"),
    ("x-ratelimit-limit-requests", "60"),
    ("x-ratelimit-remaining-tokens", "149984"),
    ("openai-processing-ms", "12"),
    ("retry-after", "3"),
    ("x-should-retry", "true"),
];
const BUSY: &str = r#"{"type":"error","error":{"type":"rate_limit_error","message":"busy"}}"#;

/// §1.2, CONTRACT 3, 4, 8.
fn a_call_passes_to_the_byte_and_both_sides_are_registered(api: Api) {
    let body = api.answer("Hello \u{416}", "ls");
    let headers =
        "Content-Type: application/json\r\nrequest-id: req_1\r\nanthropic-ratelimit-x: 1\r\n";
    let answer = response(200, headers, body.as_bytes());
    let (upstream, backend) = (Upstream::raw(answer), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let call = Request::post(
        &format!("{}?beta=true", api.path()),
        api.body("hello", false),
    );
    let secret = "sk-ant-1234567890";
    let got = stack.call(
        &call
            .header("x-api-key", secret)
            .header("anthropic-version", "2023-06-01"),
    );
    assert_eq!((got.status(), got.text()), (200, body));
    assert_eq!(got.head.header("request-id"), Some("req_1"));
    assert_eq!(got.head.header("anthropic-ratelimit-x"), Some("1"));
    let sent = upstream.last();
    assert_eq!(sent.body, api.body("hello", false).as_bytes());
    assert!(
        sent.head
            .start_line
            .starts_with(&format!("POST {}?beta=true ", api.path()))
    );
    assert_eq!(sent.head.values("x-api-key"), [secret]);
    assert_eq!(sent.head.values("anthropic-version"), ["2023-06-01"]);
    assert!(sent.head.values("x-monitor-api-key").is_empty());
    let (pre, post) = backend.await_exchange();
    assert_eq!(pre.message(), "hello");
    assert_eq!(post.message(), api.recorded("Hello \u{416}", "ls"));
    assert!(post.parameter("incomplete").is_null());
    assert!(!stack.stderr().contains(secret));
    let counted = format!(
        "monitor_requests_total{{outcome=\"ok\",route=\"{}\"}}",
        api.label()
    );
    // A call is counted behind its answer.
    eventually("it is counted", || {
        (stack.metric(&counted) == 1.0).then_some(())
    });
}

/// CONTRACT 8, 46. RFC 9110 §7.6.1: Connection may not list what every recipient is meant to get.
fn the_headers_of_providers_pass_in_both_directions(api: Api) {
    let lines = ANSWERED.map(|(name, value)| format!("{name}: {value}\r\n"));
    let lines = lines.concat() + "x-request-id: theirs\r\n";
    let (whole, stream) = (api.answer("Hi", "ls"), api.stream("Hi", "ls").concat());
    let upstream = Upstream::answering(move |request| {
        let answer = |status, kind: &str, body: &str| {
            let headers = format!("Content-Type: {kind}\r\n{lines}");
            response(status, &headers, body.as_bytes())
        };
        let text = String::from_utf8_lossy(&request.body);
        match &*text {
            _ if text.contains("busy") => answer(429, "application/json", BUSY),
            _ if text.contains("\"stream\": true") => answer(200, "text/event-stream", &stream),
            _ => answer(200, "application/json", &whole),
        }
    });
    let backend = Backend::start();
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = stack.start();
    for (text, streams, status) in [
        ("hello", false, 200),
        ("hello", true, 200),
        ("busy", false, 429),
    ] {
        let call = api
            .call(text, streams)
            .header("Connection", "x-api-key, authorization");
        let call = ASKED
            .iter()
            .fold(call, |call, (name, value)| call.header(name, value));
        let got = stack.call(&call);
        assert_eq!(got.status(), status, "{}", got.text());
        let sent = upstream.last().head;
        for (name, value) in ASKED {
            assert_eq!(sent.values(name), [value], "{name}");
        }
        for (name, value) in ANSWERED {
            assert_eq!(got.head.values(name), [value], "{status}: {name}");
        }
        assert_eq!(got.head.values("x-upstream-request-id"), ["theirs"]);
    }
}

/// CONTRACT 4, 18: however it is cut.
fn a_stream_passes_to_the_byte_and_is_registered_like_the_whole_answer(api: Api) {
    let stream = api.stream("Hello \u{416}", "ls").concat();
    for size in [1, 7, stream.len()] {
        let chunks: Vec<_> = stream.as_bytes().chunks(size).map(<[u8]>::to_vec).collect();
        let upstream = Upstream::scripted(move |peer| {
            while peer.read_request().is_some() {
                peer.send(SSE_HEAD.as_bytes());
                for chunk in &chunks {
                    peer.send(support::request::chunk(chunk));
                }
                peer.send(b"0\r\n\r\n");
            }
        });
        let backend = Backend::start();
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        let got = stack.call(&api.call("hello", true));
        assert_eq!(got.text(), stream, "{size}");
        assert_eq!(upstream.last().body, api.body("hello", true).as_bytes());
        let (pre, post) = backend.await_exchange();
        let kept = api.recorded("Hello \u{416}", "ls");
        assert_eq!((pre.message(), post.message()), ("hello", kept.as_str()));
        assert!(post.parameter("incomplete").is_null());
    }
}

/// CONTRACT 19: the last event is missing.
fn a_stream_that_breaks_off_is_registered_as_far_as_it_came(api: Api) {
    let begun = api.up_to_hel();
    let frames: Vec<&str> = begun.iter().map(String::as_str).collect();
    let whole = sse(&frames);
    let cut = whole[..whole.len() - "0\r\n\r\n".len()].to_vec();
    let upstream = Upstream::scripted(move |peer| {
        if peer.read_request().is_some() {
            peer.send(&cut);
        }
    });
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let got = stack.call(&api.call("hello", true));
    assert!(got.text().starts_with(&begun.concat()), "{}", got.text());
    let (_, post) = backend.await_exchange();
    assert_eq!(post.parameter("incomplete"), &json!(true));
    assert_eq!(post.message(), "Hel");
    assert_eq!(post.parameter("error")["closed_by"], "upstream");
}

fn the_session_that_a_program_names_is_kept_where_no_header_of_ours_does(api: Api) {
    let header = match api {
        Api::Messages => "X-Claude-Code-Session-Id",
        _ => "session-id",
    };
    let (upstream, backend) = (streaming(&api.stream("Hi", "ls")), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let call = api.call("hello", true).header(header, "theirs");
    for (call, expected) in [
        (call.clone(), "theirs"),
        (call.header("X-Session-Id", "ours"), "ours"),
    ] {
        backend.forget();
        assert_eq!(stack.call(&call).status(), 200);
        assert_eq!(
            *backend.await_exchange().0.parameter("session_id"),
            expected
        );
        assert_eq!(
            upstream.last().head.values(&header.to_ascii_lowercase()),
            ["theirs"]
        );
    }
}
