//! Model servers that stand by (`upstream.standby` of CONTRACT 34): a call goes on to the next one only
//! while it cannot have reached the one before (CONTRACT 22), unless it is told otherwise.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::fault::{refusing_address, unresolvable_host};
use support::request::{EMBEDDINGS, HELLO, HELLO_STREAM, MODELS, Request};
use support::stack::{Builder, Stack};
use support::tls::Identity;
use support::upstream::{ANSWER, DONE, Upstream, delta, json, sse};
use support::{assert_envelope, eventually};

const BY_CONNECT: &str = r#"monitor_upstream_failovers_total{reason="connect"}"#;
const BY_STATUS: &str = r#"monitor_upstream_failovers_total{reason="unavailable"}"#;
/// Checks that come so seldom that calls alone decide.
const UNWATCHED: &str = "health: {interval: 1h, unhealthy_after: 100}";

fn yaml(url: &str, standby: &[&Upstream], more: &str) -> String {
    let standby: Vec<String> = standby
        .iter()
        .map(|it| format!("\"{}\"", it.url()))
        .collect();
    let standby = standby.join(", ");
    format!("upstream: {{url: \"{url}\", standby: [{standby}], {more}}}\n")
}

fn stack(url: &str, standby: &[&Upstream], more: &str) -> Builder {
    Stack::gateway().yaml(&yaml(url, standby, more))
}

fn is_up(stack: &Stack, address: SocketAddr) -> f64 {
    stack.metric(&format!("monitor_upstream_up{{upstream=\"{address}\"}}"))
}

#[test]
fn a_call_that_finds_no_connection_goes_to_the_next_server() {
    // Refused; a name that does not resolve; a certificate nobody vouches for.
    let identity = Identity::new();
    let stranger = Upstream::over(
        "https",
        identity.wrap(),
        Box::new(|peer| {
            peer.read_request();
        }),
    );
    for url in [
        format!("http://{}", refusing_address()),
        format!("http://{}", unresolvable_host()),
        stranger.url(),
    ] {
        let standby = Upstream::ok();
        let stack = stack(&url, &[&standby], UNWATCHED).start();
        for request in Request::every_endpoint() {
            let answer = stack.call(&request);
            assert_eq!((answer.status(), answer.text().as_str()), (200, ANSWER));
            let host = standby.last().head.header("host").unwrap().to_owned();
            assert_eq!(host, standby.address().to_string(), "{}", request.path());
        }
        assert_eq!(standby.heads(), 3, "each call once");
        assert_eq!(stack.metric(BY_CONNECT), 3.0);
        assert_eq!(stack.operations("/readyz").status(), 200);
    }
    assert_eq!(stranger.heads(), 0);
}

#[test]
fn contract_22_a_call_that_was_accepted_goes_nowhere_else() {
    let standby = Upstream::ok();
    let first = Upstream::scripted(|peer| {
        peer.read_request();
    });
    let stack = stack(&first.url(), &[&standby], UNWATCHED).start();
    for (count, request) in Request::every_endpoint().iter().enumerate() {
        let answer = stack.call(request);
        assert_eq!(answer.status(), 502);
        assert_envelope(&answer.body, "gateway_error", 502);
        assert_eq!(first.heads(), count + 1);
    }
    assert_eq!(standby.heads(), 0);
    assert_eq!(stack.metric(BY_CONNECT), 0.0);
}

#[test]
fn an_answer_of_503_passes_unless_the_settings_say_otherwise() {
    let (first, standby) = (Upstream::json(503, ANSWER), Upstream::ok());
    let by_default = stack(&first.url(), &[&standby], UNWATCHED).start();
    assert_eq!(by_default.call(&Request::chat(HELLO)).status(), 503);
    assert_eq!(standby.heads(), 0);
    let told = format!("failover_on: unavailable, {UNWATCHED}");
    let told = stack(&first.url(), &[&standby], &told).start();
    assert_eq!(told.call(&Request::chat(HELLO)).text(), ANSWER);
    assert_eq!(standby.last().body, HELLO.as_bytes(), "to the byte");
    assert_eq!(told.metric(BY_STATUS), 1.0);
    told.process.await_stderr("the log line", |text| {
        text.contains("failed a call (unavailable)").then_some(())
    });
    eventually("its body is given back", || {
        (told.metric("monitor_buffered_bytes") == 0.0).then_some(())
    });
    // The last one's answer stands.
    let (other, last) = (Upstream::json(503, ANSWER), Upstream::json(504, ANSWER));
    let all = format!("failover_on: unavailable, {UNWATCHED}");
    let all = stack(&other.url(), &[&last], &all).start();
    assert_eq!(all.call(&Request::chat(HELLO)).status(), 504);
}

#[test]
fn an_answer_of_503_sends_every_endpoint_on_where_the_settings_say_so() {
    let (first, standby) = (Upstream::json(503, ANSWER), Upstream::ok());
    let told = format!("failover_on: unavailable, {UNWATCHED}");
    let told = stack(&first.url(), &[&standby], &told).start();
    for (count, request) in Request::every_endpoint().iter().enumerate() {
        let answer = told.call(request);
        assert_eq!((answer.status(), answer.text().as_str()), (200, ANSWER));
        let seen = standby.last();
        assert_eq!(seen.head.target(), request.path());
        assert_eq!(seen.body, first.last().body, "to the byte");
        assert_eq!(told.metric(BY_STATUS), (count + 1) as f64);
    }
    // Of a body that is passed on as it comes only the beginning is kept.
    let long = format!(r#"{{"model":"m","input":"{}"}}"#, "x".repeat(200 << 10));
    let answer = told.call(&Request::post(EMBEDDINGS, long));
    assert_eq!((answer.status(), standby.heads()), (503, 3));
    // The last one's answer stands.
    let (other, last) = (Upstream::json(503, ANSWER), Upstream::json(504, ANSWER));
    let all = format!("failover_on: unavailable, {UNWATCHED}");
    let all = stack(&other.url(), &[&last], &all).start();
    assert_eq!(all.call(&Request::get(MODELS)).status(), 504);
}

#[test]
fn a_stream_comes_from_the_server_that_stands_by() {
    let standby = Upstream::raw(sse(&[&delta(0, "x"), DONE]));
    let refusing = format!("http://{}", refusing_address());
    let stack = stack(&refusing, &[&standby], UNWATCHED).start();
    let answer = stack.call(&Request::chat(HELLO_STREAM));
    assert_eq!(answer.text(), delta(0, "x") + DONE);
}

#[test]
fn without_any_server_the_answer_is_502_and_one_that_returns_is_used() {
    let (one, two) = (refusing_address(), refusing_address());
    let text = format!(
        "upstream: {{url: \"http://{one}\", standby: [\"http://{two}\"], health: {{interval: 100ms, unhealthy_after: 1, healthy_after: 1}}}}"
    );
    let stack = Stack::gateway().yaml(&text).start();
    eventually("both are known to be out", || {
        (is_up(&stack, one) + is_up(&stack, two) == 0.0).then_some(())
    });
    let answer = stack.call(&Request::chat(HELLO));
    assert_eq!(answer.status(), 502);
    assert_envelope(&answer.body, "gateway_error", 502);
    assert_eq!(stack.operations("/readyz").status(), 200);
    let listener = std::net::TcpListener::bind(two).unwrap();
    eventually("the second is back", || {
        (is_up(&stack, two) == 1.0).then_some(())
    });
    let status = stack.operations("/status").json();
    assert_eq!(status["upstreams"][0]["up"], false, "{status}");
    assert_eq!(status["upstreams"][1]["up"], true);
    assert_eq!(status["upstreams"][1]["address"], two.to_string());
    stack.process.await_stderr("the log line", |text| {
        text.contains("is healthy again").then_some(())
    });
    drop(listener);
}

#[test]
fn a_server_whose_health_is_bad_is_left_alone_until_it_is_good() {
    let ill = Arc::new(AtomicBool::new(true));
    let is_ill = ill.clone();
    let first = Upstream::answering(move |request| {
        let status = match request.head.target() == "/base/health" && is_ill.load(Ordering::SeqCst)
        {
            true => 503,
            false => 200,
        };
        json(status, ANSWER)
    });
    let standby = Upstream::answering(|_| json(200, "{}"));
    let more =
        "health: {path: /base/health, interval: 100ms, unhealthy_after: 2, healthy_after: 2}";
    let stack = stack(&first.url(), &[&standby], more).start();
    eventually("the first is out", || {
        (is_up(&stack, first.address()) == 0.0).then_some(())
    });
    for request in Request::every_endpoint() {
        assert_eq!(stack.call(&request).text(), "{}");
    }
    assert_eq!(stack.metric(BY_CONNECT), 0.0, "nothing had to go on");
    let credentials = first.seen().heads;
    assert!(credentials.iter().all(|head| !head.has("authorization")));
    ill.store(false, Ordering::SeqCst);
    eventually("the first is back", || {
        (is_up(&stack, first.address()) == 1.0).then_some(())
    });
    assert_eq!(stack.call(&Request::get(MODELS)).text(), ANSWER);
    assert_eq!(stack.call(&Request::chat(HELLO)).text(), ANSWER);
}

#[test]
fn contract_35_a_reload_brings_a_server_that_stands_by() {
    let standby = Upstream::ok();
    let refusing = format!("http://{}", refusing_address());
    let stack = stack(&refusing, &[], UNWATCHED).start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 502);
    assert!(stack.operations("/status").json()["upstreams"].is_null());
    assert!(!stack.metrics().contains("monitor_upstream_up{"));
    std::fs::write(
        stack.configuration(),
        yaml(&refusing, &[&standby], UNWATCHED),
    )
    .unwrap();
    stack.process.signal("HUP");
    eventually("it is called", || {
        (stack.call(&Request::chat(HELLO)).status() == 200).then_some(())
    });
    assert_eq!(is_up(&stack, standby.address()), 1.0);
}

#[test]
fn contract_33_servers_that_cannot_be_meant_are_refused_at_the_start() {
    let upstream = Upstream::ok();
    let twice = stack(&upstream.url(), &[&upstream], UNWATCHED);
    let (status, said) = twice.refused();
    assert!(
        !status.success() && said.contains("upstream.standby"),
        "{said}"
    );
    assert!(said.contains("lists a model server twice"), "{said}");
}
