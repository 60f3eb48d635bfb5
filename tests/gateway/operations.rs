//! Health, metrics and stopping: CONTRACT 32 and 35.

use std::time::Duration;
use support::backend::Backend;
use support::eventually;
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::Stack;
use support::upstream::{DONE, SSE_HEAD, Upstream, delta};

/// An idle process ends this soon.
const SOON: Duration = Duration::from_secs(2);

#[test]
fn livez_and_readyz_answer_200_and_other_paths_404() {
    // CONTRACT 35.
    let stack = Stack::before(&Upstream::ok());
    assert_eq!(stack.operations("/livez").status(), 200);
    assert_eq!(stack.operations("/readyz").status(), 200);
    assert_eq!(stack.operations("/v1/models").status(), 404);
}

#[test]
fn metrics_show_calls_latency_first_byte_overhead_flight_and_telemetry() {
    // CONTRACT 35.
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    for request in Request::every_endpoint() {
        assert_eq!(stack.call(&request).status(), 200);
        assert_eq!(stack.call(&request.without_key()).status(), 401);
    }
    backend.await_posts(1);
    eventually("the last call and the last record are counted", || {
        let counted = [
            r#"monitor_requests_total{outcome="ok",route="chat"}"#,
            r#"monitor_requests_total{outcome="ok",route="embeddings"}"#,
            r#"monitor_requests_total{outcome="ok",route="models"}"#,
            r#"monitor_requests_total{outcome="refused",route="chat"}"#,
            r#"monitor_telemetry_records_total{outcome="delivered",stage="user_prompt"}"#,
            r#"monitor_telemetry_records_total{outcome="delivered",stage="llm_answer"}"#,
        ];
        counted
            .iter()
            .all(|series| stack.metric(series) == 1.0)
            .then_some(())
    });
    let answer = stack.operations("/metrics");
    assert!(
        answer
            .head
            .header("content-type")
            .unwrap()
            .starts_with("text/plain")
    );
    let text = answer.text();
    for name in [
        "monitor_request_duration_seconds",
        "monitor_time_to_first_byte_seconds",
        "monitor_overhead_seconds",
    ] {
        let count = regex::Regex::new(&format!(
            r#"(?m)^{name}_count\{{route="chat"\}} ([1-9]\d*)$"#
        ))
        .unwrap();
        assert!(count.is_match(&text), "{name} in:\n{text}");
        assert!(
            text.contains(&format!("# TYPE {name} histogram"))
                && text.contains(&format!("# HELP {name} "))
        );
    }
    assert!(stack.metric(r#"monitor_overhead_seconds_sum{route="chat"}"#) < 1.0);
}

#[test]
fn a_call_in_flight_is_seen_as_such() {
    // CONTRACT 35.
    let (upstream, feed) = Upstream::fed();
    let stack = Stack::before(&upstream);
    let series = r#"monitor_in_flight{route="chat"}"#;
    assert_eq!(stack.metric(series), 0.0);
    let mut conn = Request::chat(HELLO_STREAM).send(stack.gateway_addr);
    upstream.await_heads(1);
    assert_eq!(stack.metric(series), 1.0);
    feed.send(SSE_HEAD);
    feed.end();
    assert!(conn.response().complete);
    eventually("nothing is in flight", || {
        (stack.metric(series) == 0.0).then_some(())
    });
}

#[test]
fn sigterm_ends_an_idle_process_at_once_with_status_0() {
    // CONTRACT 35. A kept client connection is no call in flight.
    let upstream = Upstream::ok();
    let mut stack = Stack::before(&upstream);
    let mut conn = Request::chat(HELLO).send(stack.gateway_addr);
    assert_eq!(conn.response().status(), 200);
    stack.process.signal("TERM");
    let (status, took) = stack.process.await_exit();
    assert_eq!(status.code(), Some(0), "{}", stack.stderr());
    assert!(took < SOON, "{took:?}");
}

#[test]
fn sigterm_lets_the_calls_in_flight_finish_and_loses_no_record() {
    // CONTRACT 35.
    let (upstream, feed) = Upstream::fed();
    let backend = Backend::start();
    let mut stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let mut conn = Request::chat(HELLO_STREAM).send(stack.gateway_addr);
    feed.send(SSE_HEAD);
    feed.chunk(delta(0, "first "));
    conn.read_head_once_and_until(b"\n\n");
    stack.process.signal("TERM");
    stack.process.await_stderr("the process drains", |text| {
        text.contains("drain").then_some(())
    });
    feed.chunk(delta(0, "last"));
    feed.chunk(DONE);
    feed.end();
    let (tail, complete) = conn.rest();
    assert!(complete);
    assert_eq!(String::from_utf8_lossy(&tail), delta(0, "last") + DONE);
    let (status, took) = stack.process.await_exit();
    assert_eq!(status.code(), Some(0), "{}", stack.stderr());
    assert!(took < SOON, "{took:?}");
    let (_, post) = backend.await_exchange();
    assert_eq!(post.message(), "first last");
}

#[test]
fn readiness_turns_503_before_the_listeners_close() {
    // CONTRACT 35: 503 first when draining; new calls are still served until min_drain is over.
    let upstream = Upstream::ok();
    let mut stack = Stack::gateway()
        .upstream(&upstream)
        .yaml("shutdown: {min_drain: 3s}")
        .start();
    stack.process.signal("TERM");
    eventually("/readyz answers 503", || {
        (Request::get("/readyz")
            .without_key()
            .try_status(stack.operations_addr)?
            == 503)
            .then_some(())
    });
    assert_eq!(stack.operations("/livez").status(), 200);
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let (status, _) = stack.process.await_exit();
    assert_eq!(status.code(), Some(0));
}
