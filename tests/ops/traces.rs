//! Traces: OTLP over HTTP to a scripted collector, with the conventions for generative AI; parent-based
//! sampling, `traceparent` to the backend and not to the upstream; no cost to a call whatever the
//! collector does.

use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use support::backend::{Backend, verdict};
use support::eventually;
use support::request::{EMBEDDINGS, HELLO, HELLO_STREAM, Request};
use support::server::Received;
use support::stack::{Builder, Stack};
use support::upstream::{ANSWER, DONE, Upstream, delta, json, response};

const APPLICATION: &str = "57100000-0000-4000-8000-000000000008";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A collector that takes everything.
pub(crate) fn collector() -> Upstream {
    Upstream::json(200, "{}")
}

/// Lines of the configuration that lead there, with more of `trace`.
pub(crate) fn tracing(collector: &Upstream, more: &str) -> String {
    let url = collector.url();
    format!("trace: {{endpoint: \"{url}\", interval: 10ms{more}}}")
}

pub(crate) fn gateway(upstream: &Upstream, collector: &Upstream, more: &str) -> Builder {
    Stack::gateway()
        .upstream(upstream)
        .yaml(&tracing(collector, more))
}

fn parent(sampled: bool) -> String {
    format!("00-{TRACE}-{PARENT}-0{}", u8::from(sampled))
}

/// Every span of every export, with the resource's attributes where the tests look at them.
pub(crate) fn spans(collector: &Upstream) -> Vec<Value> {
    let of = |request: &Received| {
        let mut body: Value = serde_json::from_slice(&request.body).expect("OTLP as JSON");
        body["resourceSpans"][0]["scopeSpans"][0]["spans"]
            .take()
            .as_array()
            .expect("spans")
            .clone()
    };
    collector.seen().requests.iter().flat_map(of).collect()
}

#[track_caller]
pub(crate) fn await_spans(collector: &Upstream, count: usize) -> Vec<Value> {
    eventually("the spans", || {
        let spans = spans(collector);
        (spans.len() >= count).then_some(spans)
    })
}

/// The span of that kind: 1 internal, 2 server, 3 client.
#[track_caller]
pub(crate) fn of_kind(spans: &[Value], kind: u64) -> &Value {
    let found = spans.iter().find(|span| span["kind"] == kind);
    found.unwrap_or_else(|| panic!("no span of kind {kind} in {spans:?}"))
}

pub(crate) fn attribute<'s>(span: &'s Value, name: &str) -> &'s Value {
    let all = span["attributes"].as_array().expect("attributes");
    let found = all.iter().find(|attribute| attribute["key"] == name);
    let value = found.and_then(|found| found["value"].as_object());
    value
        .and_then(|value| value.values().next())
        .unwrap_or(&Value::Null)
}

#[test]
fn a_call_is_a_server_span_with_its_model_call_in_it() {
    let (upstream, collector) = (Upstream::ok(), collector());
    let stack = gateway(&upstream, &collector, ", ratio: 1").start();
    let call = Request::chat(HELLO)
        .header("X-Request-Id", "call-1")
        .header("X-Application-Id", APPLICATION);
    assert_eq!(stack.call(&call).text(), ANSWER);
    let spans = await_spans(&collector, 2);
    let (server, client) = (of_kind(&spans, 2), of_kind(&spans, 3));
    assert_eq!(server["name"], "POST /v1/chat/completions");
    assert!(server["parentSpanId"].is_null());
    for (name, value) in [
        ("http.request.method", Value::from("POST")),
        ("http.route", "/v1/chat/completions".into()),
        ("http.response.status_code", "200".into()),
        ("monitor.request_id", "call-1".into()),
        ("monitor.outcome", "ok".into()),
        ("monitor.mode", "async".into()),
        ("monitor.application_id", APPLICATION.into()),
    ] {
        assert_eq!(*attribute(server, name), value, "{name} of {server}");
    }
    assert_eq!(client["name"], "chat test-model");
    assert_eq!(client["parentSpanId"], server["spanId"]);
    assert_eq!(client["traceId"], server["traceId"]);
    for (name, value) in [
        ("gen_ai.operation.name", Value::from("chat")),
        ("gen_ai.provider.name", "openai".into()),
        ("gen_ai.request.model", "test-model".into()),
        ("gen_ai.response.model", "test-model".into()),
        ("gen_ai.usage.input_tokens", "1".into()),
        ("gen_ai.usage.output_tokens", "2".into()),
        ("server.address", "127.0.0.1".into()),
        ("server.port", upstream.address().port().to_string().into()),
    ] {
        assert_eq!(*attribute(client, name), value, "{name} of {client}");
    }
    assert!(client["status"].is_null());
    let time = |span: &Value, name: &str| -> u128 { span[name].as_str().unwrap().parse().unwrap() };
    assert!(time(server, "startTimeUnixNano") <= time(client, "startTimeUnixNano"));
    assert!(time(client, "endTimeUnixNano") <= time(server, "endTimeUnixNano"));
    let export = collector.last();
    assert_eq!(export.head.target(), "/v1/traces");
    assert_eq!(export.head.header("content-type"), Some("application/json"));
    let body: Value = serde_json::from_slice(&export.body).unwrap();
    let resource = &body["resourceSpans"][0]["resource"];
    assert_eq!(*attribute(resource, "service.name"), "monitor-gateway");
    eventually("the export is counted", || {
        (stack.metric("monitor_trace_spans_exported_total") == 2.0).then_some(())
    });
}

#[test]
fn a_stream_tells_its_model_its_tokens_and_its_first_chunk() {
    let usage =
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":9}}\n\n";
    let upstream = Upstream::sse(&[&delta(0, "x"), usage, DONE]);
    let collector = collector();
    let stack = gateway(&upstream, &collector, ", ratio: 1").start();
    assert_eq!(stack.call(&Request::chat(HELLO_STREAM)).status(), 200);
    let spans = await_spans(&collector, 2);
    let client = of_kind(&spans, 3);
    assert_eq!(*attribute(client, "gen_ai.request.stream"), true);
    assert_eq!(*attribute(client, "gen_ai.response.model"), "test-model");
    assert_eq!(*attribute(client, "gen_ai.usage.output_tokens"), "9");
    assert!(attribute(client, "gen_ai.response.time_to_first_chunk").is_number());
}

#[test]
fn transparent_routes_have_spans_too() {
    let (upstream, collector) = (Upstream::ok(), collector());
    let stack = gateway(&upstream, &collector, ", ratio: 1").start();
    let body = r#"{"model":"test-model","input":"s3cret"}"#;
    assert_eq!(stack.call(&Request::post(EMBEDDINGS, body)).status(), 200);
    let spans = await_spans(&collector, 2);
    let client = of_kind(&spans, 3);
    assert_eq!(client["name"], "embeddings");
    assert_eq!(*attribute(client, "gen_ai.operation.name"), "embeddings");
    assert_eq!(
        attribute(of_kind(&spans, 2), "http.route"),
        "/v1/embeddings"
    );
}

#[test]
fn the_verdict_that_a_call_waited_for_is_a_span_and_the_backend_gets_the_trace() {
    let (upstream, collector) = (Upstream::ok(), collector());
    let backend = Backend::judging(|_| verdict(&[]));
    let stack = gateway(&upstream, &collector, ", ratio: 0")
        .monitor(&backend)
        .yaml(&format!(
            "applications:\n- {{id: {APPLICATION}, app_mode: sync, phrase: no, replace_response: true}}"
        ))
        .start();
    let call = Request::chat(HELLO)
        .header("X-Application-Id", APPLICATION)
        .header("traceparent", &parent(true))
        .header("tracestate", "vendor=1");
    assert_eq!(stack.call(&call).status(), 200);
    let spans = await_spans(&collector, 4);
    let server = of_kind(&spans, 2);
    assert_eq!(server["traceId"], TRACE);
    assert_eq!(server["parentSpanId"], PARENT);
    for name in ["verdict pre_call", "verdict post_call"] {
        let span = spans.iter().find(|span| span["name"] == name);
        let span = span.unwrap_or_else(|| panic!("no {name} in {spans:?}"));
        assert_eq!(*attribute(span, "monitor.verdict"), "passed");
        assert_eq!(span["parentSpanId"], server["spanId"]);
    }
    let expected = format!("00-{TRACE}-{}-01", server["spanId"].as_str().unwrap());
    for call in backend.calls() {
        assert_eq!(call.head.header("traceparent"), Some(expected.as_str()));
    }
    let head = upstream.last().head;
    assert!(
        !head.has("traceparent") && !head.has("tracestate"),
        "not relayed"
    );
}

#[test]
fn the_caller_decides_and_an_unsampled_trace_leaves_no_span() {
    let (upstream, collector) = (Upstream::ok(), collector());
    let stack = gateway(
        &upstream,
        &collector,
        ", ratio: 1, propagate_upstream: true",
    )
    .start();
    let call = Request::chat(HELLO)
        .header("traceparent", &parent(false))
        .header("tracestate", "vendor=1");
    assert_eq!(stack.call(&call).status(), 200);
    let head = upstream.last().head;
    let passed = head.header("traceparent").unwrap().to_owned();
    assert!(
        passed.starts_with(&format!("00-{TRACE}-")) && passed.ends_with("-00"),
        "{passed}"
    );
    assert!(
        !passed.contains(PARENT),
        "the upstream call is a span of its own"
    );
    assert_eq!(head.header("tracestate"), Some("vendor=1"));
    // A broken one is as good as none: the ratio decides, and its state goes with it.
    let call = Request::chat(HELLO)
        .header("traceparent", "00-nonsense")
        .header("tracestate", "vendor=1");
    assert_eq!(stack.call(&call).status(), 200);
    let spans = await_spans(&collector, 2);
    assert!(
        spans.iter().all(|span| span["traceId"] != TRACE),
        "{spans:?}"
    );
    let client = of_kind(&spans, 3);
    let head = upstream.last().head;
    let passed = head.header("traceparent").unwrap();
    assert!(passed.contains(client["spanId"].as_str().unwrap()) && passed.ends_with("-01"));
    assert!(!head.has("tracestate"));
}

#[test]
fn without_traces_the_clients_headers_pass_like_any_other() {
    // CONTRACT 5, 8: what is no gateway-extension header is forwarded.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let call = Request::chat(HELLO)
        .header("traceparent", &parent(true))
        .header("tracestate", "vendor=1");
    assert_eq!(stack.call(&call).status(), 200);
    let head = upstream.last().head;
    assert_eq!(head.header("traceparent"), Some(parent(true).as_str()));
    assert_eq!(head.header("tracestate"), Some("vendor=1"));
}

#[test]
fn what_failed_is_marked_and_a_refused_call_called_nobody() {
    let upstream = Upstream::raw(response(503, "", b"busy"));
    let collector = collector();
    let stack = gateway(&upstream, &collector, ", ratio: 1").start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 503);
    let spans = await_spans(&collector, 2);
    let client = of_kind(&spans, 3);
    assert_eq!(client["status"]["code"], 2);
    assert_eq!(*attribute(client, "error.type"), "503");
    collector.forget();
    assert_eq!(
        stack.call(&Request::chat(HELLO).without_key()).status(),
        401
    );
    let spans = await_spans(&collector, 1);
    assert_eq!(spans.len(), 1);
    assert_eq!(*attribute(&spans[0], "monitor.detail"), "access_key");
    assert!(spans[0]["status"].is_null(), "the client's own fault");
}

#[test]
fn a_collector_that_hangs_costs_spans_counted_and_no_call_waits() {
    let upstream = Upstream::ok();
    let (sender, receiver) = channel::<()>();
    let receiver = std::sync::Mutex::new(receiver);
    let collector = Upstream::answering(move |_| {
        let _ = receiver.lock().unwrap().recv();
        json(200, "{}")
    });
    let stack = gateway(&upstream, &collector, ", ratio: 1, queue: 4, batch: 1").start();
    for _ in 0..20 {
        assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    }
    eventually("dropped spans are counted", || {
        let dropped = stack.metric("monitor_trace_spans_dropped_total{reason=\"queue\"}");
        (dropped > 0.0).then_some(())
    });
    assert!(stack.stderr().contains("spans dropped"));
    drop(sender);
}

#[test]
fn a_collector_that_is_busy_gets_the_same_spans_again_and_one_that_refuses_does_not() {
    let upstream = Upstream::ok();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let collector = Upstream::answering(move |_| match counted.fetch_add(1, Ordering::SeqCst) {
        0 => response(503, "Retry-After: 0\r\n", b""),
        1 => json(200, "{}"),
        _ => json(400, "{}"),
    });
    let stack = gateway(&upstream, &collector, ", ratio: 1").start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    eventually("the export is counted", || {
        (stack.metric("monitor_trace_spans_exported_total") == 2.0).then_some(())
    });
    let seen = collector.seen().requests;
    assert_eq!(seen[0].body, seen[1].body);
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    eventually("the refusal is counted", || {
        let refused = stack.metric("monitor_trace_spans_dropped_total{reason=\"refused\"}");
        (refused == 2.0).then_some(())
    });
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[test]
fn a_stop_sends_the_spans_that_wait() {
    let (upstream, collector) = (Upstream::ok(), collector());
    let url = collector.url();
    let mut stack = Stack::gateway()
        .upstream(&upstream)
        .yaml(&format!(
            "trace: {{endpoint: \"{url}\", ratio: 1, interval: 60s}}"
        ))
        .start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    stack.process.signal("TERM");
    stack.process.await_exit();
    assert_eq!(spans(&collector).len(), 2);
}

#[test]
fn a_stop_does_not_wait_long_for_a_collector_that_is_gone() {
    let upstream = Upstream::ok();
    let mut stack = Stack::gateway()
        .upstream(&upstream)
        .yaml("trace: {endpoint: \"http://127.0.0.1:9\", ratio: 1}")
        .start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    stack.process.signal("TERM");
    let (status, _) = stack.process.await_exit();
    assert!(status.success());
}

#[test]
fn contract_33_wrong_settings_of_traces_are_refused() {
    for (yaml, said) in [
        ("trace: {ratio: 2}", "trace.ratio"),
        ("trace: {propagate_upstream: true}", "trace.endpoint"),
        ("trace: {authorization: 's3cret'}", "trace.endpoint"),
        ("trace: {endpoint: 'grpc://c:4317'}", "trace.endpoint"),
        ("trace: {ca: '/nowhere.pem'}", "trace.endpoint"),
        (
            "trace: {endpoint: 'https://c', ca: '/nowhere.pem'}",
            "trace.ca",
        ),
        (
            "trace: {endpoint: 'http://c', ca: '/nowhere.pem'}",
            "trace.ca: is used over https only",
        ),
        ("trace: {endpoint: 'http://c', queue: 0}", "trace.queue"),
    ] {
        let (status, stderr) = Stack::gateway()
            .upstream(&Upstream::ok())
            .yaml(yaml)
            .refused();
        assert_eq!(status.code(), Some(2), "{yaml}: {stderr}");
        assert!(
            stderr.contains(said) && !stderr.contains("s3cret"),
            "{yaml}: {stderr}"
        );
    }
}
