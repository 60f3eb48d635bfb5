//! Answers that are checked before the client gets them: `replace_response`, CONTRACT 15.

use crate::sync::{PHRASE, blocked, chat, kind, sync};
use std::io::Write;
use support::backend::{ANALYSIS, Backend, verdict};
use support::request::{HELLO, HELLO_STREAM};
use support::upstream::{ANSWER, Upstream, delta, json, response, sse};
use support::{assert_envelope, eventually};

const ON: &str = ", replace_response: true";

fn gzip(text: &str) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(text.as_bytes()).unwrap();
    response(
        200,
        "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
        &out.finish().unwrap(),
    )
}

#[test]
fn a_flagged_answer_is_replaced_and_the_upstreams_own_usage_stays() {
    // CONTRACT 15, 41.
    let answer = ANSWER.replace(
        r#""total_tokens":3"#,
        r#""total_tokens" :3.0e0, "cost":1e400"#,
    );
    for sent in [json(200, &answer), gzip(&answer)] {
        let (upstream, backend) = (Upstream::raw(sent), Backend::flagging("greeting"));
        let stack = sync(&upstream, ON).monitor(&backend).start();
        let answer = stack.call(&chat(HELLO));
        assert!(!answer.text().contains("greeting"), "{}", answer.text());
        let usage = r#""usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens" :3.0e0, "cost":1e400}"#;
        assert!(answer.text().contains(usage), "{}", answer.text());
        let plain = answer.text().replace("1e400", "1");
        let body: serde_json::Value = serde_json::from_str(&plain).unwrap();
        assert_eq!(body["choices"][0]["message"]["content"], PHRASE);
        assert_eq!(body["model"], "test-model");
        assert_eq!(answer.head.header("content-encoding"), None);
        assert_eq!(kind(&body), "dataclean");
        let monitor = &body["metadata"]["monitor"];
        assert_eq!(monitor["response_replacement"]["stage"], "post_call");
        assert_eq!(monitor["prepared_response"]["analysis_id"], ANALYSIS);
        let (pre, post) = backend.await_exchange();
        assert_eq!(
            (pre.message(), post.message()),
            ("hello", "general greeting")
        );
        assert_eq!(pre.exchange(), post.exchange());
        let series = r#"monitor_verdicts_total{stage="post_call",type="dataclean"}"#;
        assert_eq!(stack.metric(series), 1.0);
        assert_eq!(backend.calls().len(), 2, "each side is registered once");
    }
}

#[test]
fn an_answer_that_is_not_flagged_passes_to_the_byte() {
    // CONTRACT 15.
    let chunked =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunked = format!("{chunked}5\r\n{{\"a\":\r\n4\r\n1.0}}\r\n0\r\n\r\n");
    let cases = [
        (json(200, ANSWER), ANSWER.as_bytes().to_vec()),
        (chunked.into_bytes(), b"{\"a\":1.0}".to_vec()),
        (response(200, "", b""), Vec::new()),
    ];
    for (sent, expected) in cases {
        let (upstream, backend) = (Upstream::raw(sent), Backend::start());
        let stack = sync(&upstream, ON).monitor(&backend).start();
        let answer = stack.call(&chat(HELLO_STREAM));
        assert_eq!((answer.status(), &answer.body), (200, &expected));
        assert_eq!(
            answer.head.values("content-length"),
            [expected.len().to_string()]
        );
        assert!(answer.complete);
        backend.await_posts(1);
        assert_eq!(backend.calls().len(), 2);
    }
}

#[test]
fn off_by_default_and_off_where_the_type_does_not_block() {
    // CONTRACT 15, 41.
    for fields in ["", ", replace_response: true, block_on: {dataclean: false}"] {
        let (upstream, backend) = (Upstream::ok(), Backend::flagging("greeting"));
        let stack = sync(&upstream, fields).monitor(&backend).start();
        assert_eq!(stack.call(&chat(HELLO)).text(), ANSWER, "{fields}");
        let (_, post) = backend.await_exchange();
        assert_eq!(post.message(), "general greeting");
    }
}

#[test]
fn without_a_verdict_on_the_answer_the_policy_decides() {
    // CONTRACT 13.
    for (closed, status) in [("", 200), (", on_backend_failure: closed", 502)] {
        let upstream = Upstream::ok();
        let backend = Backend::judging(|call| match call.is_pre() {
            true => verdict(&[]),
            false => json(503, "{}"),
        });
        let stack = sync(&upstream, &format!("{ON}{closed}"))
            .monitor(&backend)
            .start();
        let answer = stack.call(&chat(HELLO));
        assert_eq!(answer.status(), status);
        if status == 200 {
            assert_eq!(answer.text(), ANSWER);
        } else {
            assert_envelope(&answer.body, "gateway_error", 502);
        }
        assert_eq!(
            stack.metric(r#"monitor_unchecked_total{reason="unavailable"}"#),
            1.0
        );
        // Tried once while the client waited, once more by the queue.
        let posts = backend.await_posts(2);
        let last = posts.last().unwrap();
        assert_eq!(last.message(), "general greeting");
        match status {
            200 => {
                assert_eq!(*last.parameter("unchecked"), true);
                assert!(
                    last.parameter("error").is_null(),
                    "the client got the answer"
                );
            }
            _ => assert_eq!(last.parameter("error")["code"], 502),
        }
    }
}

#[test]
fn an_answer_that_cannot_be_held_or_read_is_no_silent_pass() {
    // CONTRACT 13 for what CONTRACT 15 cannot check.
    let large = ANSWER.replace("general greeting", &"long ".repeat(400));
    for sent in [json(200, &large), response(200, "", b"no JSON")] {
        for (closed, status) in [("", 200), (", on_backend_failure: closed", 502)] {
            let (upstream, backend) = (Upstream::raw(sent.clone()), Backend::start());
            let builder = sync(&upstream, &format!("{ON}{closed}")).monitor(&backend);
            let stack = builder.yaml("limits: {recorded_bytes: 1KiB}").start();
            let answer = stack.call(&chat(HELLO));
            assert_eq!(answer.status(), status);
            if status == 200 {
                assert!(sent.ends_with(&answer.body) && !answer.body.is_empty());
            }
            let series = r#"monitor_unchecked_total{reason="unreadable"}"#;
            eventually("it is counted", || {
                (stack.metric(series) == 1.0).then_some(())
            });
            backend.await_posts(1);
        }
    }
}

#[test]
fn a_stream_that_was_not_asked_for_is_held_and_checked_too() {
    // §3, CONTRACT 15: under a sync policy the client never gets a stream that blocks should have held.
    let stream = sse(&[
        &delta(0, "general gree"),
        &delta(0, "ting"),
        "data: [DONE]\n\n",
    ]);
    let (upstream, backend) = (Upstream::raw(stream), Backend::flagging("greeting"));
    let stack = sync(&upstream, ON).monitor(&backend).start();
    let body = blocked(&stack.call(&chat(HELLO)));
    assert_eq!(body["usage"]["total_tokens"], 0);
}

#[test]
fn an_upstreams_failure_is_told_as_ever() {
    // §7.2, CONTRACT 17.
    let cut = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
        .to_vec();
    let broken = Upstream::scripted(move |peer| {
        peer.read_request();
        peer.send(&cut);
    });
    let busy = r#"{"error":{"message":"slow down","type":"rate_limit_error","code":429}}"#;
    for (upstream, kind, code) in [
        (broken, "gateway_error", 502),
        (Upstream::json(429, busy), "rate_limit_error", 429),
    ] {
        let backend = Backend::start();
        let stack = sync(&upstream, ON).monitor(&backend).start();
        let answer = stack.call(&chat(HELLO));
        assert_eq!(answer.status(), code);
        assert_envelope(&answer.body, kind, code);
        let (_, post) = backend.await_exchange();
        assert_eq!(post.parameter("error")["code"], code);
    }
}

#[test]
fn a_client_never_waits_for_two_late_checks() {
    // CONTRACT 13, 15: after a check of the prompt that was too late the answer is not held for
    // another one. The backend would have answered that: only who waits for it has changed.
    let (upstream, backend) = (Upstream::ok(), Backend::late_on_prompts("greeting"));
    let builder = sync(&upstream, ON).monitor(&backend);
    let stack = builder.env("MONITOR_TIMEOUT", "500ms").start();
    let answer = stack.call(&chat(HELLO_STREAM));
    assert_eq!((answer.status(), answer.text().as_str()), (200, ANSWER));
    let series = r#"monitor_unchecked_total{reason="unavailable"}"#;
    assert_eq!(stack.metric(series), 2.0, "the prompt and the answer");
    backend.recovers();
    let calls = backend.await_posts(1);
    let post = calls.iter().find(|call| !call.is_pre()).unwrap();
    assert_eq!(post.message(), "general greeting");
    assert_eq!(*post.parameter("unchecked"), true);
}

#[test]
fn after_a_quick_failure_the_answer_is_still_checked() {
    // CONTRACT 15: only what costs the client its time is not tried again.
    let upstream = Upstream::ok();
    let backend = Backend::judging(|call| match call.is_pre() {
        true => json(503, "{}"),
        false => verdict(&["dataclean"]),
    });
    let stack = sync(&upstream, ON).monitor(&backend).start();
    blocked(&stack.call(&chat(HELLO)));
    let calls = backend.await_posts(1);
    let post = calls.iter().find(|call| !call.is_pre()).unwrap();
    assert_eq!(*post.parameter("unchecked"), true, "the prompt was not");
}

#[test]
fn an_answer_that_passes_without_a_verdict_is_marked_whatever_the_reason() {
    // CONTRACT 13: too large, unreadable, no verdict on the prompt.
    let large = ANSWER.replace("general greeting", &"long ".repeat(400));
    let no_verdict = json(422, r#"{"error":{"message":"no","type":"x","code":422}}"#);
    for (sent, refuses) in [
        (json(200, &large), false),
        (response(200, "", b"no JSON"), false),
        (json(200, ANSWER), true),
    ] {
        let refusal = no_verdict.clone();
        let backend = Backend::judging(move |call| match call.is_pre() && refuses {
            true => refusal.clone(),
            false => verdict(&[]),
        });
        let upstream = Upstream::raw(sent);
        let builder = sync(&upstream, ON).monitor(&backend);
        let stack = builder.yaml("limits: {recorded_bytes: 1KiB}").start();
        assert_eq!(stack.call(&chat(HELLO)).status(), 200);
        let calls = backend.await_posts(1);
        let post = calls.iter().find(|call| !call.is_pre()).unwrap();
        assert_eq!(*post.parameter("unchecked"), true, "{}", post.json);
    }
}
