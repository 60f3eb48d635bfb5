//! Limits of one application's calls (`limits` of its policy, CONTRACT 34): 429 with a time to come
//! back, before a byte of the body is read, and for nobody else.

use support::backend::Backend;
use support::http::Conn;
use support::request::{EMBEDDINGS, HELLO, HELLO_STREAM, MODELS, Request};
use support::stack::{Builder, Stack};
use support::upstream::{DONE, SSE_HEAD, Upstream, delta};
use support::{KEY, assert_envelope, eventually};

const ID: &str = "57100000-0000-4000-8000-00000000000a";
const OTHER: &str = "57100000-0000-4000-8000-00000000000b";

fn applications(limits: &str) -> String {
    let one = format!("{{id: {ID}, name: a, app_mode: async, limits: {limits}}}");
    let other = format!("{{id: {OTHER}, name: b, app_mode: async}}");
    format!("applications:\n  - {one}\n  - {other}\n")
}

fn limited(upstream: &Upstream, limits: &str) -> Builder {
    let yaml = applications(limits);
    Stack::gateway().upstream(upstream).yaml(&yaml)
}

fn by(id: &str, request: Request) -> Request {
    request.header("X-Application-Id", id)
}

fn hello() -> Request {
    by(ID, Request::chat(HELLO))
}

fn refused(stack: &Stack, limit: &str) -> f64 {
    stack.metric(&format!("monitor_rate_limited_total{{limit=\"{limit}\"}}"))
}

#[test]
fn an_application_that_calls_too_often_gets_429_and_a_time_to_come_back() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = limited(&upstream, "{requests_per_minute: 1, burst: 2}");
    let stack = stack.monitor(&backend).start();
    for _ in 0..2 {
        assert_eq!(stack.call(&hello()).status(), 200);
    }
    let answer = stack.call(&hello());
    assert_eq!(answer.status(), 429);
    let wait: u64 = answer.head.header("retry-after").unwrap().parse().unwrap();
    assert!((30..=60).contains(&wait), "{wait}");
    assert_envelope(&answer.body, "rate_limit_error", 429);
    // Every endpoint of §4.1 counts; the contract does not.
    for request in [Request::post(EMBEDDINGS, HELLO), Request::get(MODELS)] {
        assert_eq!(stack.call(&by(ID, request)).status(), 429);
    }
    assert_eq!(
        stack.call(&by(ID, Request::get("/openapi.json"))).status(),
        200
    );
    assert_eq!(refused(&stack, "rate"), 3.0);
    assert_eq!(stack.call(&by(OTHER, Request::chat(HELLO))).status(), 200);
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    assert_eq!(upstream.heads(), 4);
    // As with every refusal before the prompt is read, there is nothing to register.
    let calls = backend.await_calls(8);
    assert_eq!(calls.len(), 8);
    let said = format!("application {ID} is over its limit (rate)");
    stack
        .process
        .await_stderr("whose calls", |text| text.contains(&said).then_some(()));
    stack.process.await_stderr("the access line", |text| {
        text.contains("detail=too_many_calls").then_some(())
    });
}

#[test]
fn contract_35_faster_limits_are_in_force_at_once_whatever_the_slower_ones_were_owed() {
    let upstream = Upstream::ok();
    let stack = limited(&upstream, "{requests_per_minute: 1, burst: 1000}").start();
    for _ in 0..20 {
        assert_eq!(stack.call(&hello()).status(), 200);
    }
    let faster = applications("{requests_per_second: 5}");
    std::fs::write(stack.configuration(), faster).unwrap();
    stack.process.signal("HUP");
    stack.process.await_stderr("the reload", |text| {
        text.contains("configuration reloaded").then_some(())
    });
    let mut wait = 0;
    eventually("a call is let through again", || {
        let answer = stack.call(&hello());
        let told = answer.head.header("retry-after");
        wait = wait.max(told.map_or(0, |seconds| seconds.parse().unwrap()));
        (answer.status() == 200).then_some(())
    });
    assert!(wait <= 1, "told to come back in {wait} s");
}

#[test]
fn the_body_of_a_refused_call_is_not_waited_for() {
    let upstream = Upstream::ok();
    let stack = limited(&upstream, "{requests_per_minute: 1, burst: 1}").start();
    assert_eq!(stack.call(&hello()).status(), 200);
    let mut conn = Conn::open(stack.gateway_addr);
    conn.send(&by(ID, Request::chat("x".repeat(1 << 20))).head());
    assert_eq!(conn.head().status(), 429);
}

#[test]
fn a_stream_holds_its_place_until_its_end() {
    let (upstream, feed) = Upstream::fed();
    let stack = limited(&upstream, "{concurrent: 1}").start();
    let stream = by(ID, Request::chat(HELLO_STREAM));
    let mut first = stream.send(stack.gateway_addr);
    feed.send(SSE_HEAD);
    feed.chunk(delta(0, "one"));
    first.read_head_once_and_until(b"one");
    let answer = stack.call(&hello());
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.head.header("retry-after"), Some("1"));
    assert_eq!(refused(&stack, "concurrent"), 1.0);
    feed.chunk(DONE);
    feed.end();
    assert!(first.rest().1);
    feed.close();
    // Then its place is free, and that of a client who leaves too.
    let next = |what: &str| {
        eventually(what, || {
            let mut conn = stream.send(stack.gateway_addr);
            let place = stack.metric(r#"monitor_in_flight{route="chat"}"#) > 0.0;
            (place && refused_at_once(&mut conn).is_none()).then_some(conn)
        })
    };
    let second = next("the place is free");
    upstream.await_heads(2);
    assert_eq!(stack.call(&hello()).status(), 429);
    drop(second);
    let _third = next("the place of who left is free");
}

/// The refusal, if one comes soon.
fn refused_at_once(conn: &mut Conn) -> Option<u16> {
    let quiet = std::panic::AssertUnwindSafe(|| {
        conn.assert_quiet(std::time::Duration::from_millis(200));
    });
    match std::panic::catch_unwind(quiet) {
        Ok(()) => None,
        Err(_) => Some(conn.head().status()),
    }
}

#[test]
fn contract_35_a_reload_changes_the_limits_and_keeps_what_was_taken() {
    let upstream = Upstream::ok();
    let stack = limited(&upstream, "{requests_per_minute: 1, burst: 1}").start();
    assert_eq!(stack.call(&hello()).status(), 200);
    assert_eq!(stack.call(&hello()).status(), 429);
    let reload = |limits: &str, count: f64| {
        std::fs::write(stack.configuration(), applications(limits)).unwrap();
        stack.process.signal("HUP");
        eventually("it is in force", || {
            (stack.metric("monitor_reloads_total{result=\"ok\"}") == count).then_some(())
        });
    };
    reload("{requests_per_minute: 1, burst: 3}", 1.0);
    let let_through = || {
        eventually("it holds for calls", || {
            (stack.call(&hello()).status() == 200).then_some(())
        });
    };
    let_through();
    for status in [200, 429] {
        assert_eq!(stack.call(&hello()).status(), status);
    }
    reload("null", 2.0);
    let_through();
    for _ in 0..5 {
        assert_eq!(stack.call(&hello()).status(), 200);
    }
}

#[test]
fn a_call_without_an_application_has_the_limits_of_the_default_one() {
    let upstream = Upstream::ok();
    let stack = limited(&upstream, "{requests_per_minute: 1, burst: 1}");
    let stack = stack.env("MONITOR_APPLICATION_ID", ID).start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 429);
    assert_eq!(stack.call(&by(OTHER, Request::chat(HELLO))).status(), 200);
}

#[test]
fn contract_16_limits_that_are_set_in_the_backend_are_in_force_without_a_restart() {
    let stack = Stack::all().start();
    let path = format!("/applications/{}/policy", stack.application_id());
    let bearer = format!("Bearer {KEY}");
    let put = |limits: &str, version: u64| {
        let policy = format!(r#"{{"app_mode":"async","limits":{limits}}}"#);
        let body = format!(r#"{{"version":{version},"policy":{policy}}}"#);
        let request = Request::json("PUT", &path, body).without_key();
        let request = request.header("Authorization", &bearer);
        request.call(stack.analysis_addr)
    };
    let refused = put(r#"{"burst":5}"#, 1);
    assert_eq!(refused.status(), 422);
    assert!(
        refused.text().contains("policy.limits.burst"),
        "{}",
        refused.text()
    );
    let taken = put(r#"{"requests_per_minute":1,"burst":1}"#, 1);
    assert_eq!(taken.status(), 200, "{}", taken.text());
    eventually("it is in force", || {
        (stack.call(&Request::chat(HELLO)).status() == 429).then_some(())
    });
}
