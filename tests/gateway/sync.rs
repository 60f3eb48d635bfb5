//! Sync mode: what is awaited, what is sent on, and the block answer. §1.3, §1.5, §2.4, §3,
//! CONTRACT 2, 12, 13.

use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use support::backend::{ANALYSIS, Backend, Manner, verdict};
use support::fault::refusing_address;
use support::http::Response;
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::{Builder, Stack};
use support::upstream::{ANSWER, Upstream};
use support::{assert_envelope, contains, eventually};

pub(crate) const SYNC: &str = "6f1c2d4e-8a90-4b1c-9d2e-3f4a5b6c7d8e";
pub(crate) const PHRASE: &str = "No \"quotes\" \u{2014} нет.";

/// A gateway whose only application is in sync mode, with further fields of its policy.
pub(crate) fn sync(upstream: &Upstream, fields: &str) -> Builder {
    let phrase = json!(PHRASE);
    Stack::gateway().upstream(upstream).yaml(&format!(
        "applications:\n- {{id: {SYNC}, app_mode: sync, phrase: {phrase}{fields}}}"
    ))
}

/// A chat completion of that application.
pub(crate) fn chat(body: impl AsRef<[u8]>) -> Request {
    Request::chat(body).header("X-Application-Id", SYNC)
}

/// The block answer as JSON, after what is the same in every one.
#[track_caller]
pub(crate) fn blocked(answer: &Response) -> Value {
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(answer.head.header("content-type"), Some("application/json"));
    let body = answer.json();
    let monitor = &body["metadata"]["monitor"];
    assert_eq!(monitor["response_replaced"], true, "{body}");
    assert!(
        !answer.text().contains("s3cret"),
        "no text of the verdict: {body}"
    );
    body
}

#[track_caller]
pub(crate) fn kind(body: &Value) -> &str {
    let replacement = &body["metadata"]["monitor"]["response_replacement"];
    replacement["type"].as_str().unwrap()
}

#[test]
fn nothing_reaches_the_upstream_before_the_verdict() {
    // CONTRACT 12: not even a connection.
    let (verdicts, waiting) = channel();
    let waiting = Mutex::new(waiting);
    let backend = Backend::judging(move |call| match call.is_pre() {
        true => waiting.lock().unwrap().recv().unwrap(),
        false => verdict(&[]),
    });
    let upstream = Upstream::ok();
    let stack = sync(&upstream, "").monitor(&backend).start();
    let mut conn = chat(HELLO).send(stack.gateway_addr);
    let calls = backend.await_calls(1);
    assert_eq!(
        (calls[0].path.as_str(), calls[0].message()),
        ("/process_request/", "hello")
    );
    assert_eq!(calls[0].json["application_id"], SYNC);
    conn.assert_quiet(Duration::from_millis(200));
    upstream.assert_untouched();
    verdicts.send(verdict(&[])).unwrap();
    let answer = conn.response();
    assert_eq!((answer.status(), answer.text().as_str()), (200, ANSWER));
    assert_eq!(upstream.last().body, HELLO.as_bytes(), "§1.3");
    let (pre, post) = backend.await_exchange();
    assert_eq!(pre.exchange(), post.exchange());
    assert!(post.parameter("unchecked").is_null());
    assert_eq!(backend.calls().len(), 2, "each side is registered once");
}

#[test]
fn a_blocked_call_is_answered_with_the_policys_phrase() {
    // §2.4, field by field; CONTRACT 12.
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("hello"));
    let stack = sync(&upstream, "").monitor(&backend).start();
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs()
    };
    let before = now();
    let body = r#"{"model":"m\u002d1","metadata":{"request_id":"mine-7"},"messages":[{"role":"user","content":"hello"}]}"#;
    let mut body = blocked(&stack.call(&chat(body)));
    let id = body["id"].take();
    let id = id
        .as_str()
        .unwrap()
        .strip_prefix("monitor-guardrails-")
        .unwrap();
    assert_eq!(uuid::Uuid::parse_str(id).unwrap().to_string(), id);
    let created = body["created"].take().as_u64().unwrap();
    assert!((before..=now()).contains(&created), "{created}");
    let expected = json!({
        "id": null, "object": "chat.completion", "created": null, "model": "m-1",
        "choices": [{
            "index": 0, "message": {"role": "assistant", "content": PHRASE}, "finish_reason": "stop",
        }],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        "metadata": {"monitor": {
            "response_replaced": true,
            "response_replacement": {
                "stage": "pre_call", "type": "dataclean", "request_id": "mine-7",
            },
            "prepared_response": {
                "analysis_id": ANALYSIS, "status": "success",
                "guardrails": {
                    "flagged": false, "score": 0.5,
                    "categories": [{"name": "violence", "score": 0.5, "flagged": false}],
                },
                "custom_policy": {
                    "flagged": false, "policies": [{"name": "no-rivals", "flagged": false}],
                },
                "dataclean": {"flagged": true, "types": [{"type": "EMAILS", "count": 2}]},
            },
        }},
    });
    assert_eq!(body, expected);
    upstream.assert_untouched();
}

#[test]
fn a_request_without_model_and_request_id_is_answered_with_unknown_and_the_exchanges_id() {
    // §2.4, CONTRACT 5.
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("x"));
    let stack = sync(&upstream, "").monitor(&backend).start();
    let request = chat(r#"{"model":7,"stream":true,"messages":[{"role":"user","content":"x"}]}"#);
    let body = blocked(&stack.call(&request));
    assert_eq!(body["model"], "unknown");
    let id = &body["metadata"]["monitor"]["response_replacement"]["request_id"];
    assert_eq!(*id, *backend.await_calls(1)[0].parameter("request_id"));
    let series = r#"monitor_verdicts_total{stage="pre_call",type="dataclean"}"#;
    assert_eq!(stack.metric(series), 1.0);
    let calls = r#"monitor_requests_total{outcome="blocked",route="chat"}"#;
    eventually("the call is counted", || {
        (stack.metric(calls) == 1.0).then_some(())
    });
    assert_eq!(backend.calls().len(), 1, "a block has no post-call record");
    upstream.assert_untouched();
}

#[test]
fn only_findings_that_the_policy_blocks_on_block_and_the_first_type_is_reported() {
    // CONTRACT 12.
    const ALL: &[&str] = &["dataclean", "custom_policy", "guardrails"];
    let cases: [(&str, &'static [&str], Option<&str>); 8] = [
        ("", ALL, Some("guardrails")),
        ("", &["dataclean", "custom_policy"], Some("custom_policy")),
        ("", &["dataclean"], Some("dataclean")),
        ("", &[], None),
        (
            ", block_on: {guardrails: false}",
            ALL,
            Some("custom_policy"),
        ),
        (
            ", block_on: {guardrails: false, custom_policy: false}",
            ALL,
            Some("dataclean"),
        ),
        (", block_on: {dataclean: false}", &["dataclean"], None),
        (
            ", block_on: {guardrails: false, custom_policy: false, dataclean: false}",
            ALL,
            None,
        ),
    ];
    for (fields, flagged, expected) in cases {
        let upstream = Upstream::ok();
        let backend = Backend::judging(move |_| verdict(flagged));
        let stack = sync(&upstream, fields).monitor(&backend).start();
        let answer = stack.call(&chat(HELLO));
        match expected {
            Some(expected) => {
                assert_eq!(kind(&blocked(&answer)), expected, "{fields}");
                upstream.assert_untouched();
            }
            None => assert_eq!(answer.text(), ANSWER, "{fields} {flagged:?}"),
        }
    }
}

#[test]
fn stream_true_is_rewritten_to_the_byte() {
    // §1.3, §4.1 rule 2, CONTRACT 2.
    let table = [
        (
            HELLO_STREAM.to_owned(),
            HELLO_STREAM.replace("true", "false"),
        ),
        (
            r#"{"str\u0065am":true,"n":1e400}"#.into(),
            r#"{"str\u0065am":false,"n":1e400}"#.into(),
        ),
        (
            "{ \"stream\" :\ttrue , \"x\":{\"stream\":true},\"stream\":true}\n".into(),
            "{ \"stream\" :\tfalse , \"x\":{\"stream\":true},\"stream\":false}\n".into(),
        ),
        (
            r#"{"messages":[{"role":"user","content":"\"stream\":true"}],"stream":false}"#.into(),
            r#"{"messages":[{"role":"user","content":"\"stream\":true"}],"stream":false}"#.into(),
        ),
        (
            r#"{"stream":"true","Stream":true}"#.into(),
            r#"{"stream":"true","Stream":false}"#.into(),
        ),
        ("[true]".into(), "[true]".into()),
    ];
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = sync(&upstream, "").monitor(&backend).start();
    for (body, expected) in table {
        for request in [chat(&body), chat(&body).chunked(5)] {
            let answer = stack.call(&request.header("Accept", "text/event-stream"));
            assert_eq!(
                (answer.status(), answer.text().as_str()),
                (200, ANSWER),
                "never a stream"
            );
            let sent = upstream.last();
            assert_eq!(String::from_utf8_lossy(&sent.body), expected);
            assert_eq!(
                sent.head.values("content-length"),
                [expected.len().to_string()]
            );
        }
    }
}

/// A backend's failure, and its reason in the metric.
fn failures() -> Vec<(Backend, &'static str)> {
    let status = |word: &'static str| {
        Backend::judging(move |call| {
            let text = String::from_utf8(verdict(&[])).unwrap();
            let stage = if call.is_pre() { word } else { "success" };
            let body = text.split_once("\r\n\r\n").unwrap().1;
            support::upstream::json(200, &body.replace("\"success\"", &format!("{stage:?}")))
        })
    };
    vec![
        (Backend::that(Manner::Refuses(500)), "unavailable"),
        (Backend::that(Manner::Hangs), "unavailable"),
        (Backend::that(Manner::Refuses(422)), "refused"),
        (status("error"), "incomplete"),
        (status("partial_success"), "incomplete"),
    ]
}

#[test]
fn without_a_verdict_an_open_policy_lets_the_call_pass_counted_and_marked() {
    // CONTRACT 13.
    for (backend, reason) in failures() {
        let upstream = Upstream::ok();
        let builder = sync(&upstream, "").monitor(&backend);
        let stack = builder.env("MONITOR_TIMEOUT", "300ms").start();
        let answer = stack.call(&chat(HELLO_STREAM));
        assert_eq!(
            (answer.status(), answer.text().as_str()),
            (200, ANSWER),
            "{reason}"
        );
        assert!(
            contains(&upstream.last().body, b"\"stream\":false"),
            "{reason}"
        );
        let series = format!(r#"monitor_unchecked_total{{reason="{reason}"}}"#);
        assert_eq!(stack.metric(&series), 1.0, "{reason}");
        backend.recovers();
        let post = backend
            .await_posts(1)
            .into_iter()
            .find(|call| !call.is_pre());
        assert_eq!(*post.unwrap().parameter("unchecked"), true, "{reason}");
        let line = |text: &str| text.contains("goes on unchecked").then_some(());
        stack.process.await_stderr("a line about it", line);
    }
}

#[test]
fn without_a_verdict_a_closed_policy_lets_nothing_pass() {
    // CONTRACT 13.
    for (backend, reason) in failures() {
        let upstream = Upstream::ok();
        let builder = sync(&upstream, ", on_backend_failure: closed").monitor(&backend);
        let stack = builder.env("MONITOR_TIMEOUT", "300ms").start();
        let answer = stack.call(&chat(HELLO));
        assert_eq!(answer.status(), 502, "{reason}");
        assert_envelope(&answer.body, "gateway_error", 502);
        upstream.assert_untouched();
        let series = format!(r#"monitor_unchecked_total{{reason="{reason}"}}"#);
        assert_eq!(stack.metric(&series), 1.0, "{reason}");
        backend.recovers();
        let post = backend
            .await_posts(1)
            .into_iter()
            .find(|call| !call.is_pre());
        assert_eq!(post.unwrap().parameter("error")["code"], 502, "CONTRACT 17");
    }
}

#[test]
fn a_refused_access_key_is_no_outage() {
    // CONTRACT 13: an invented key would switch blocking off.
    for (status, fields) in [(401, ""), (403, ""), (401, ", on_backend_failure: closed")] {
        let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Refuses(status)));
        let stack = sync(&upstream, fields).monitor(&backend).start();
        let file = r#"[{"content_base64":"aGk="}]"#;
        let answer = stack.call(&chat(HELLO).header("X-Attached-Files", file));
        assert_eq!(answer.status(), 401);
        assert_envelope(&answer.body, "invalid_request_error", 401);
        assert!(
            answer.text().contains("refused the access key"),
            "{}",
            answer.text()
        );
        upstream.assert_untouched();
        let refused = r#"monitor_telemetry_records_total{outcome="refused",stage="user_prompt"}"#;
        assert_eq!(stack.metric(refused), 1.0);
        let lost = r#"monitor_attachments_total{outcome="no_record"}"#;
        assert_eq!(stack.metric(lost), 1.0);
    }
}

#[test]
fn without_a_backend_the_policy_decides_too() {
    // CONTRACT 13; nothing is reachable at the address, or there is none.
    for (url, reason) in [
        (
            Some(format!("http://{}", refusing_address())),
            "unavailable",
        ),
        (None, "no_backend"),
    ] {
        for (fields, status) in [("", 200), (", on_backend_failure: closed", 502)] {
            let upstream = Upstream::ok();
            let mut builder = sync(&upstream, fields);
            if let Some(url) = &url {
                builder = builder.env("MONITOR_URL", url);
            }
            let stack = builder.start();
            assert_eq!(stack.call(&chat(HELLO)).status(), status, "{reason}");
            let series = format!(r#"monitor_unchecked_total{{reason="{reason}"}}"#);
            assert_eq!(stack.metric(&series), 1.0);
        }
    }
}

#[test]
fn a_client_that_leaves_while_its_check_is_awaited_never_reaches_the_upstream() {
    // CONTRACT 21: at any phase.
    let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Hangs));
    let builder = sync(&upstream, "").monitor(&backend);
    let stack = builder.env("MONITOR_TIMEOUT", "1s").start();
    let conn = chat(HELLO).send(stack.gateway_addr);
    backend.await_calls(1);
    drop(conn);
    let left = Instant::now();
    let series = r#"monitor_requests_total{outcome="client_gone",route="chat"}"#;
    eventually("the call ends with its client", || {
        (stack.metric(series) == 1.0).then_some(())
    });
    assert!(
        left.elapsed() < Duration::from_millis(900),
        "not by MONITOR_TIMEOUT"
    );
    // The awaited call may not have arrived, so the prompt is sent again; then the end.
    backend.recovers();
    let calls = backend.await_posts(1);
    assert!(calls.iter().filter(|call| call.is_pre()).count() >= 2);
    let post = calls.iter().find(|call| !call.is_pre()).unwrap();
    assert_eq!(post.parameter("error")["closed_by"], "client");
    upstream.assert_untouched();
}

#[test]
fn a_connection_is_kept_through_blocked_and_passed_calls() {
    // CONTRACT 12: HTTP 200 like any other.
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("secret"));
    let stack = sync(&upstream, "").monitor(&backend).start();
    let mut conn = chat(HELLO).send(stack.gateway_addr);
    assert_eq!(conn.response().text(), ANSWER);
    conn.send(&chat(HELLO.replace("hello", "a secret")).bytes());
    blocked(&conn.response());
    conn.send(&chat(HELLO).bytes());
    assert_eq!(conn.response().text(), ANSWER);
}
