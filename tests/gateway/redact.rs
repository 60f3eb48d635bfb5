//! Redaction on the way up and restoring on the way down: `redact_upstream`, CONTRACT 41.

use crate::sync::{PHRASE, SYNC, blocked, chat};
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::backend::Backend;
use support::eventually;
use support::http::Response;
use support::request::{HELLO, Request};
use support::stack::{Builder, Stack};
use support::upstream::{ANSWER, DONE, SSE_HEAD, Upstream, delta, json, response, sse};

/// An application whose policy redacts nothing.
const OTHER: &str = "6f1c2d4e-8a90-4b1c-9d2e-3f4a5b6c7d8f";
/// A prompt with an address, twice, a card and an IP address.
const PROMPT: &str = r#"{"model":"m","messages":[{"role":"user","content":"anna@example.com anna@example.com 4111 1111 1111 1111 10.0.0.1"}]}"#;
const MODES: [&str; 2] = ["async", "sync, phrase: x"];

fn redacting(upstream: &Upstream, backend: &Backend, policy: &str) -> Builder {
    let yaml = format!(
        "applications:\n- {{id: {SYNC}, app_mode: {policy}, redact_upstream: true}}\n\
         - {{id: {OTHER}, app_mode: async}}"
    );
    let builder = Stack::gateway().upstream(upstream).monitor(backend);
    builder.yaml(&yaml)
}

/// A whole answer whose only choice says `text`, a JSON string.
fn saying(text: &str) -> String {
    ANSWER.replace("\"general greeting\"", text)
}

/// What an event stream says, choice by choice.
#[track_caller]
fn said(answer: &Response) -> String {
    let mut text = monitor_wire::sse::Accumulator::new(1 << 20);
    let mut parser = monitor_wire::sse::Parser::new(1 << 20);
    parser.push(&answer.body, |event| text.push(event.data));
    assert_eq!(text.skipped(), 0, "{}", answer.text());
    text.text()
}

/// Bodies and what reaches the model server.
const BODIES: [(&str, &str); 8] = [
    (
        PROMPT,
        r#"{"model":"m","messages":[{"role":"user","content":"[EMAILS_1] [EMAILS_1] [BANK_CARD_NUMBER_1] [IP_1]"}]}"#,
    ),
    (
        "{ \"n\" :12345678901234567890123,\r\n\t\"messages\":[ {\"content\" : \"to anna@example.com\" ,\"role\":\"user\"}],\"n\":1e400, \"e\":\"bob@example.com\"}\n",
        "{ \"n\" :12345678901234567890123,\r\n\t\"messages\":[ {\"content\" : \"to [EMAILS_1]\" ,\"role\":\"user\"}],\"n\":1e400, \"e\":\"bob@example.com\"}\n",
    ),
    (
        r#"{"messages":[{"role":"user","content":"\u00e9\ud83d\ude00 \u0061nna\u0040example.com\/\"x\" \ud800"}]}"#,
        r#"{"messages":[{"role":"user","content":"\u00e9\ud83d\ude00 [EMAILS_1]\/\"x\" \ud800"}]}"#,
    ),
    (
        r#"{"messages":[{"role":"user","content":"bob@example.com"}],"m\u0065ssages":[{"role":"user","content":[{"type":"text","text":"anna@example.com"},{"type":"image_url","image_url":{"url":"http://10.0.0.1/"}},{"type":"text","text":"bob@example.com"}]}]}"#,
        r#"{"messages":[{"role":"user","content":"[EMAILS_1]"}],"m\u0065ssages":[{"role":"user","content":[{"type":"text","text":"[EMAILS_2]"},{"type":"image_url","image_url":{"url":"http://10.0.0.1/"}},{"type":"text","text":"[EMAILS_1]"}]}]}"#,
    ),
    (
        r#"{"messages":[{"role":"system","content":"[EMAILS_1] \u005bIP_1] cc@example.com"},{"role":"user","content":"anna@example.com 10.0.0.1"}]}"#,
        r#"{"messages":[{"role":"system","content":"[EMAILS_1] \u005bIP_1] cc@example.com"},{"role":"user","content":"[EMAILS_2] [IP_2]"}]}"#,
    ),
    (
        r#"{"messages":[{"role":"user","name":"4111111111111111","content":"10.0.0.1"}]}"#,
        r#"{"messages":[{"role":"user","name":"BANK_CARD_NUMBER_1","content":"[IP_1]"}]}"#,
    ),
    (HELLO, HELLO),
    (r#"["anna@example.com"]"#, r#"["anna@example.com"]"#),
];

#[test]
fn no_byte_besides_the_finds_changes() {
    for mode in MODES {
        let (upstream, backend) = (Upstream::ok(), Backend::start());
        let stack = redacting(&upstream, &backend, mode).start();
        for (body, expected) in BODIES {
            for request in [chat(body), chat(body).chunked(7)] {
                assert_eq!(stack.call(&request).text(), ANSWER, "{mode}");
                let sent = upstream.last();
                assert_eq!(String::from_utf8_lossy(&sent.body), expected, "{mode}");
                let length = expected.len().to_string();
                assert_eq!(sent.head.values("content-length"), [length]);
            }
        }
        assert_eq!(stack.metric("monitor_redacted_prompts_total"), 12.0);
    }
}

#[test]
fn stream_and_finds_are_rewritten_together_in_sync_mode() {
    // CONTRACT 2 and 41.
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = redacting(&upstream, &backend, "sync, phrase: x").start();
    let body =
        r#"{"stream":true,"messages":[{"role":"user","content":"a@example.com"}],"stream" : true}"#;
    assert_eq!(stack.call(&chat(body)).text(), ANSWER);
    let expected =
        r#"{"stream":false,"messages":[{"role":"user","content":"[EMAILS_1]"}],"stream" : false}"#;
    assert_eq!(String::from_utf8_lossy(&upstream.last().body), expected);
}

#[test]
fn the_scanned_parts_are_those_of_scan_roles_and_the_patterns_those_of_local_patterns() {
    // CONTRACT 3.
    const BODY: &str = r#"{"messages":[{"role":"system","content":"a@example.com"},{"role":"user","content":"b@example.com 10.0.0.1"},{"role":"assistant","content":"c@example.com"},{"role":"user","content":"d@example.com b@example.com"}]}"#;
    for (fields, expected) in [
        (
            "",
            [
                "a@example.com",
                "b@example.com 10.0.0.1",
                "c@example.com",
                "[EMAILS_1] [EMAILS_2]",
            ],
        ),
        (
            ", scan_roles: [all_user, assistant]",
            [
                "a@example.com",
                "[EMAILS_1] [IP_1]",
                "[EMAILS_2]",
                "[EMAILS_3] [EMAILS_1]",
            ],
        ),
        (
            ", scan_roles: [system, all_user], local_patterns: [IP]",
            [
                "a@example.com",
                "b@example.com [IP_1]",
                "c@example.com",
                "d@example.com b@example.com",
            ],
        ),
    ] {
        let (upstream, backend) = (Upstream::ok(), Backend::start());
        let stack = redacting(&upstream, &backend, &format!("async{fields}")).start();
        stack.call(&chat(BODY));
        let sent: Value = serde_json::from_slice(&upstream.last().body).unwrap();
        let messages = sent["messages"].as_array().unwrap();
        let contents: Vec<_> = messages.iter().map(|message| &message["content"]).collect();
        assert_eq!(contents, expected, "{fields}");
    }
}

#[test]
fn a_whole_answer_gets_its_values_back_and_the_record_says_what_the_client_got() {
    let answer = r#"{"id":"[IP_1]", "choices":[{"index":0,"message":{"content":"Mail [EMAILS_1], \u005bEMAILS_1] or [EMAILS_2].\n"}},
        {"index":1,"message":{"content":null,"refusal":"not [IP_1]"}},{"index":2,"message":{"tool_calls":[{"id":"t","type":"function","function":{"name":"[IP_1]","arguments":"{\"to\": \"[EMAILS_1]\"}"}}]}}],"n":1e400}"#;
    let expected = answer
        .replace(
            "Mail [EMAILS_1], \\u005bEMAILS_1]",
            "Mail anna@example.com, anna@example.com",
        )
        .replace("not [IP_1]", "not 10.0.0.1")
        .replace("\\\"[EMAILS_1]\\\"", "\\\"anna@example.com\\\"");
    let sent = response(
        200,
        "Content-Type: application/json\r\nETag: \"x\"\r\n",
        answer.as_bytes(),
    );
    for mode in MODES
        .into_iter()
        .chain(["sync, phrase: x, replace_response: true"])
    {
        let (upstream, backend) = (Upstream::raw(sent.clone()), Backend::start());
        let stack = redacting(&upstream, &backend, mode).start();
        let got = stack.call(&chat(PROMPT));
        assert_eq!(got.text(), expected, "{mode}");
        assert_eq!(
            got.head.values("content-length"),
            [expected.len().to_string()]
        );
        assert!(
            !got.head.has("etag"),
            "it was the upstream's body that it named"
        );
        let (pre, post) = backend.await_exchange();
        assert!(
            pre.message()
                .starts_with("anna@example.com anna@example.com 4111"),
            "the original"
        );
        assert_eq!(
            post.message(),
            "Mail anna@example.com, anna@example.com or [EMAILS_2].\n\nnot 10.0.0.1\n[IP_1]\n{\"to\": \"anna@example.com\"}"
        );
        assert!(post.parameter("error").is_null());
        assert!(!stack.stderr().contains("anna@") && !stack.metrics().contains("anna@"));
    }
}

#[test]
fn a_placeholder_split_over_frames_is_restored_at_every_split_point() {
    const TEXT: &str = "[EMAILS_1], [IP_1][EMAILS_12] [EMAILS_";
    const SAID: &str = "anna@example.com, 10.0.0.1[EMAILS_12] [EMAILS_";
    let cut = AtomicUsize::new(0);
    let upstream = Upstream::answering(move |_| {
        let cut = cut.fetch_add(1, Ordering::SeqCst);
        let (first, second) = TEXT.split_at(cut % (TEXT.len() + 1));
        let crlf = |frame: String| match cut % 2 {
            0 => frame,
            _ => frame.replace("\n\n", "\r\n\r\n"),
        };
        let end = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned();
        let frames = [
            crlf(delta(1, "[IP_1")),
            crlf(delta(0, first)),
            crlf(delta(0, second)),
            crlf(delta(1, "]!")),
            crlf(end + "\n\n"),
            DONE.to_owned(),
        ];
        // Chunks of every size over frames of every size.
        let stream = frames.concat();
        let chunks = stream.as_bytes().chunks(1 + cut * 7 % 200);
        let chunks: Vec<_> = chunks
            .map(|chunk| std::str::from_utf8(chunk).unwrap())
            .collect();
        sse(&chunks)
    });
    let backend = Backend::start();
    let stack = redacting(&upstream, &backend, "async").start();
    for cut in 0..2 * (TEXT.len() + 1) {
        let answer = stack.call(&chat(PROMPT));
        assert_eq!(said(&answer), format!("{SAID}\n10.0.0.1!"), "cut at {cut}");
        assert!(answer.text().ends_with(DONE));
    }
    let calls = backend.await_posts(2 * (TEXT.len() + 1));
    for post in calls.iter().filter(|call| !call.is_pre()) {
        assert_eq!(post.message(), format!("{SAID}\n10.0.0.1!"));
    }
}

#[test]
fn text_that_cannot_become_a_placeholder_is_not_delayed() {
    // CONTRACT 18: the upstream sends the next frame only when the client has the one before.
    let (upstream, feed) = Upstream::fed();
    let backend = Backend::start();
    let stack = redacting(&upstream, &backend, "async").start();
    let mut conn = chat(PROMPT).send(stack.gateway_addr);
    feed.send(SSE_HEAD);
    assert_eq!(conn.final_head().status(), 200);
    for text in ["word", "[EMAILS_12]", "[x", "]", "[EMAILS_1x", "\u{1f600}["] {
        let frame = delta(0, text);
        feed.chunk(&frame);
        let passed = delta(0, text.trim_end_matches('['));
        assert_eq!(conn.read_until(b"\n\n"), passed.as_bytes(), "{text}");
    }
    feed.chunk(delta(0, "EMAILS_1] and"));
    assert_eq!(
        conn.read_until(b"\n\n"),
        delta(0, "anna@example.com and").as_bytes()
    );
    feed.chunk(delta(0, "the [IP"));
    assert_eq!(conn.read_until(b"\n\n"), delta(0, "the ").as_bytes());
    // CONTRACT 19: what is held is said before the stream is told to have broken.
    feed.reset();
    let (rest, _) = conn.rest();
    let rest = String::from_utf8(rest).unwrap();
    let (own, error) = rest.split_at(delta(0, "[IP").len());
    assert_eq!(
        serde_json::from_str::<Value>(&own[6..]).unwrap(),
        serde_json::from_str::<Value>(&delta(0, "[IP")[6..]).unwrap()
    );
    assert!(error.contains("\"code\":502"), "{error}");
}

#[test]
fn tool_arguments_are_restored_as_json_inside_a_string() {
    let frame = |arguments: &str| {
        let arguments = serde_json::json!(arguments);
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":{arguments}}}}}]}}}}]}}\n\n"
        )
    };
    let frames = [frame("{\"to\":\"[EMAI"), frame("LS_1]\"}"), DONE.to_owned()];
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    let (upstream, backend) = (Upstream::sse(&frames), Backend::start());
    let stack = redacting(&upstream, &backend, "async").start();
    let answer = stack.call(&chat(PROMPT));
    let arguments: Value = serde_json::from_str(said(&answer).trim()).unwrap();
    assert_eq!(arguments["to"], "anna@example.com");
}

#[test]
fn an_application_that_does_not_redact_is_untouched_while_another_does() {
    // LESSONS: a rule of one application never changes bytes of another.
    let frames = [
        delta(0, "[EMAILS_1] [EMAI"),
        delta(0, "LS_1]"),
        DONE.to_owned(),
    ];
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    let stream = frames.concat();
    let (upstream, backend) = (Upstream::sse(&frames), Backend::start());
    let stack = redacting(&upstream, &backend, "async").start();
    let coded = |request: Request| request.header("Accept-Encoding", "gzip, br");
    std::thread::scope(|scope| {
        let redacted = scope.spawn(|| {
            for _ in 0..20 {
                let answer = stack.call(&coded(chat(PROMPT)));
                assert_eq!(said(&answer), "anna@example.com anna@example.com");
            }
        });
        for application in [OTHER, "", "6f1c2d4e-0000-4b1c-9d2e-3f4a5b6c7d8f"] {
            for _ in 0..7 {
                let request = coded(Request::chat(PROMPT));
                let answer = stack.call(&request.header("X-Application-Id", application));
                assert_eq!(answer.text(), stream, "{application}");
            }
        }
        redacted.join().unwrap();
    });
    for request in upstream.seen().requests {
        let codings = request.head.values("accept-encoding");
        match request.body == PROMPT.as_bytes() {
            true => assert_eq!(codings, ["gzip, br"]),
            false => assert_eq!(codings, ["identity"], "the answer has to be read"),
        }
    }
    stack.call(&coded(chat(HELLO)));
    let nothing_found = upstream.last();
    assert_eq!(nothing_found.head.values("accept-encoding"), ["gzip, br"]);
}

#[test]
fn what_cannot_be_read_passes_untouched_counted_and_said() {
    let large = saying(&format!("\"[EMAILS_1] {}\"", "x".repeat(70_000)));
    let coded = "Content-Type: application/json\r\nContent-Encoding: br\r\n";
    let stream = "Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n";
    let cases = [
        (response(200, coded, b"\x0b[EMAILS_1]"), "compressed"),
        (response(200, stream, b"data: [EMAILS_1]\n\n"), "compressed"),
        (json(200, &large), "too_large"),
        (json(200, "[EMAILS_1]"), "unreadable"),
        (sse(&["data: [EMAILS_1]\n\n", DONE]), "unreadable"),
    ];
    for (sent, reason) in cases {
        for mode in MODES
            .into_iter()
            .chain(["sync, phrase: x, replace_response: true"])
        {
            let (upstream, backend) = (Upstream::raw(sent.clone()), Backend::start());
            let plain = Stack::before(&upstream).call(&Request::chat(HELLO));
            let builder = redacting(&upstream, &backend, mode);
            let stack = builder.yaml("limits: {recorded_bytes: 64KiB}").start();
            let answer = stack.call(&chat(PROMPT));
            assert_eq!(
                (answer.status(), &answer.body),
                (200, &plain.body),
                "{mode} {reason}"
            );
            assert!(answer.complete);
            let series = format!(r#"monitor_unrestored_answers_total{{reason="{reason}"}}"#);
            eventually("it is counted", || {
                (stack.metric(&series) == 1.0).then_some(())
            });
            let line = |text: &str| text.contains("keeps its placeholders").then_some(());
            stack.process.await_stderr("a line about it", line);
        }
    }
}

#[test]
fn refusals_of_the_upstream_keep_their_placeholders() {
    let refusal = r#"{"error":{"message":"[EMAILS_1] is no address","type":"invalid_request_error","code":400}}"#;
    for (sent, expected) in [
        (json(400, refusal), refusal),
        (json(500, "[EMAILS_1]"), "[EMAILS_1]"),
        (response(204, "", b""), ""),
    ] {
        let (upstream, backend) = (Upstream::raw(sent), Backend::start());
        let stack = redacting(&upstream, &backend, "async").start();
        let answer = stack.call(&chat(PROMPT));
        assert!(answer.text().contains(expected), "{}", answer.text());
        assert!(!answer.text().contains("anna@"), "{}", answer.text());
    }
}

#[test]
fn the_checks_of_sync_mode_see_the_values() {
    // §2.4, CONTRACT 15: the prompt before it is redacted, the answer when it is restored.
    for (word, stage) in [
        ("4111 1111", "pre_call"),
        ("is anna@example.com", "post_call"),
    ] {
        let upstream = Upstream::json(200, &saying("\"It is [EMAILS_1]\""));
        let backend = Backend::flagging(word);
        let phrase = serde_json::json!(PHRASE);
        let mode = format!("sync, phrase: {phrase}, replace_response: true");
        let stack = redacting(&upstream, &backend, &mode).start();
        let body = blocked(&stack.call(&chat(PROMPT)));
        let replacement = &body["metadata"]["monitor"]["response_replacement"];
        assert_eq!(replacement["stage"], stage);
        assert!(!body.to_string().contains("anna@"), "{body}");
    }
}
