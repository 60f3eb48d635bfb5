//! What surrounds a call: attached files, second attempts, verdicts that do not come, clients that leave, and limits.

use super::{Api, streaming};
use crate::attachments::{self, HEADER};
use crate::sync::{SYNC, sync};
use serde_json::json;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;
use support::backend::{Backend, Manner, verdict};
use support::eventually;
use support::http::Conn;
use support::request::Request;
use support::stack::Stack;
use support::upstream::{SSE_HEAD, Upstream, json};

/// The contract's bound is 100 ms; a loaded machine is given one second, which excludes every timeout.
const SOON: Duration = Duration::from_secs(1);
const CLOSED: &str = ", on_backend_failure: closed";
const REPLACE: &str = ", replace_response: true";
const NOBODYS: &str = "57100000-0000-4000-8000-0000000000ff";

contract! {
    files_that_a_header_lists_are_attached_to_the_record;
    a_stale_connection_is_replaced_without_the_client_noticing;
    a_call_that_was_read_is_never_sent_again_and_is_registered;
    a_prompt_without_a_verdict_passes_marked_or_is_refused;
    an_answer_without_a_verdict_passes_or_is_refused;
    a_client_that_leaves_before_the_answer_ends_the_call;
    a_client_that_leaves_in_mid_stream_leaves_the_partial_text;
    a_limit_of_calls_that_passes_is_worth_another_try;
    a_call_beyond_the_concurrent_ones_is_worth_another_try;
    a_body_that_is_too_large_or_a_form_is_refused_in_the_form_of_the_api;
    an_application_that_nobody_knows_is_refused;
}

/// §2.2, §4.1.4, CONTRACT 29.
fn files_that_a_header_lists_are_attached_to_the_record(api: Api) {
    let answer = api.answer("Hi", "ls");
    let (upstream, backend) = (Upstream::json(200, &answer), Backend::start());
    let stack = attachments::local(&upstream, &backend, "").start();
    let listed = json!([{"content_base64": "aGk=", "name": "hi.txt"}]).to_string();
    let got = stack.call(&api.call("hello", false).header(HEADER, &listed));
    assert_eq!((got.status(), got.text()), (200, answer));
    attachments::await_outcome(&stack, "attached", 1.0);
    let files = backend.files();
    assert_eq!(files.len(), 1);
    assert_eq!(
        (files[0].name.as_str(), files[0].content.as_slice()),
        ("hi.txt", b"hi".as_slice())
    );
    let sent = upstream.last();
    assert_eq!(sent.body, api.body("hello", false).as_bytes());
    assert!(!sent.head.has(HEADER));
}

/// CONTRACT 22: the upstream closes each connection behind its answer, and says nothing of it.
fn a_stale_connection_is_replaced_without_the_client_noticing(api: Api) {
    let (sender, closed) = channel();
    let sender = Mutex::new(sender);
    let answer = api.answer("Hi", "ls");
    let bytes = json(200, &answer);
    let upstream = Upstream::scripted(move |peer| {
        if peer.read_request().is_some() {
            peer.send(&bytes);
            peer.close();
            let _ = sender.lock().unwrap().send(());
        }
    });
    let stack = Stack::before(&upstream);
    for turn in 1..=4 {
        let got = stack.call(&api.call("hello", false));
        assert_eq!((got.status(), got.text()), (200, answer.clone()), "{turn}");
        closed.recv().unwrap();
        assert_eq!(upstream.heads(), turn, "each call arrives exactly once");
    }
}

/// CONTRACT 17, 22: the upstream may have begun to work on it.
fn a_call_that_was_read_is_never_sent_again_and_is_registered(api: Api) {
    let upstream = Upstream::scripted(|peer| {
        peer.read_request();
    });
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    for (count, streams) in [false, true].into_iter().enumerate() {
        backend.forget();
        let answer = stack.call(&api.call("hello", streams));
        let kind = api.kind("gateway_error", "api_error");
        assert_eq!(api.error(&answer, 502)["type"], kind);
        assert_eq!(upstream.heads(), count + 1);
        let (_, post) = backend.await_exchange();
        let error = post.parameter("error");
        assert_eq!(
            (&error["code"], &error["closed_by"]),
            (&json!(502), &json!("upstream"))
        );
    }
}

/// CONTRACT 13, 17.
fn a_prompt_without_a_verdict_passes_marked_or_is_refused(api: Api) {
    let answer = api.answer("Hi", "ls");
    for (fields, passes) in [("", true), (CLOSED, false)] {
        let upstream = Upstream::json(200, &answer);
        let backend = Backend::that(Manner::Refuses(500));
        let stack = sync(&upstream, fields).monitor(&backend).start();
        let got = stack.call(&api.checked("hello", false));
        if passes {
            assert_eq!((got.status(), got.text()), (200, answer.clone()));
            assert_eq!(upstream.last().body, api.body("hello", false).as_bytes());
        } else {
            let kind = api.kind("gateway_error", "api_error");
            assert_eq!(api.error(&got, 502)["type"], kind);
            assert_eq!(got.head.header("x-should-retry"), api.advice());
            upstream.assert_untouched();
        }
        backend.recovers();
        let calls = backend.await_posts(1);
        let post = calls.iter().find(|call| !call.is_pre()).unwrap();
        assert_eq!(post.parameter("unchecked") == true, passes);
        assert_eq!(post.parameter("error").is_null(), passes);
    }
}

/// CONTRACT 13, 15: nothing of an answer that has to be checked passes unchecked.
fn an_answer_without_a_verdict_passes_or_is_refused(api: Api) {
    let (whole, stream) = (
        api.answer("unheard of", "ls"),
        api.stream("unheard of", "ls"),
    );
    for (fields, passes) in [
        (REPLACE.to_owned(), true),
        (format!("{REPLACE}{CLOSED}"), false),
    ] {
        for streams in [false, true] {
            let is_stream = streams && !api.is_answered_whole();
            let (upstream, expected) = match is_stream {
                true => (streaming(&stream), stream.concat()),
                false => (Upstream::json(200, &whole), whole.clone()),
            };
            let backend = Backend::judging(|call| match call.is_pre() {
                true => verdict(&[]),
                false => json(500, "{}"),
            });
            let stack = sync(&upstream, &fields).monitor(&backend).start();
            let got = stack.call(&api.checked("hello", streams));
            if passes {
                assert_eq!((got.status(), got.text()), (200, expected), "{streams}");
            } else {
                let kind = api.kind("gateway_error", "api_error");
                assert_eq!(api.error(&got, 502)["type"], kind, "{streams}");
                assert!(!got.text().contains("unheard"), "{}", got.text());
            }
        }
    }
}

/// CONTRACT 17, 21.
fn a_client_that_leaves_before_the_answer_ends_the_call(api: Api) {
    let (upstream, feed) = Upstream::fed();
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let conn = api.call("hello", true).send(stack.gateway_addr);
    upstream.await_heads(1);
    drop(conn);
    assert!(feed.closed_within(SOON).is_some(), "the upstream is let go");
    let (pre, post) = backend.await_exchange();
    assert_eq!((pre.message(), post.message()), ("hello", ""));
    assert_eq!(post.parameter("error")["closed_by"], "client");
}

/// CONTRACT 17, 21: the upstream is silent, so only a look at the client shows it.
fn a_client_that_leaves_in_mid_stream_leaves_the_partial_text(api: Api) {
    let (upstream, feed) = Upstream::fed();
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let mut conn = api.call("hello", true).send(stack.gateway_addr);
    feed.send(SSE_HEAD);
    let begun = api.up_to_hel();
    feed.chunk(begun.concat());
    conn.read_head_once_and_until(begun.last().unwrap().as_bytes());
    drop(conn);
    assert!(feed.closed_within(SOON).is_some(), "the upstream is let go");
    let (_, post) = backend.await_exchange();
    assert_eq!(post.message(), "Hel");
    assert_eq!(post.parameter("incomplete"), &json!(true));
    assert_eq!(post.parameter("error")["closed_by"], "client");
    let label = api.label();
    let series = format!("monitor_requests_total{{outcome=\"client_gone\",route=\"{label}\"}}");
    eventually("the call is counted as left by its client", || {
        (stack.metric(&series) == 1.0).then_some(())
    });
}

fn limited(upstream: &Upstream, limits: &str) -> Stack {
    let yaml = format!("applications:\n- {{id: {SYNC}, app_mode: async, limits: {limits}}}");
    Stack::gateway().upstream(upstream).yaml(&yaml).start()
}

fn a_limit_of_calls_that_passes_is_worth_another_try(api: Api) {
    let upstream = Upstream::json(200, &api.answer("Hi", "ls"));
    let stack = limited(&upstream, "{requests_per_minute: 1, burst: 1}");
    assert_eq!(stack.call(&api.checked("hello", false)).status(), 200);
    let answer = stack.call(&api.checked("hello", false));
    assert_eq!(api.error(&answer, 429)["type"], "rate_limit_error");
    assert!(answer.head.header("retry-after").is_some());
    assert_eq!(answer.head.header("x-should-retry"), None);
    assert_eq!(upstream.heads(), 1);
}

fn a_call_beyond_the_concurrent_ones_is_worth_another_try(api: Api) {
    let (upstream, feed) = Upstream::fed();
    let stack = limited(&upstream, "{concurrent: 1}");
    let frames = api.stream("Hello", "ls");
    let mut first = api.checked("hello", true).send(stack.gateway_addr);
    feed.send(SSE_HEAD);
    feed.chunk(&frames[0]);
    first.read_head_once_and_until(frames[0].as_bytes());
    let answer = stack.call(&api.checked("hello", true));
    assert_eq!(api.error(&answer, 429)["type"], "rate_limit_error");
    assert_eq!(answer.head.header("retry-after"), Some("1"));
    assert_eq!(answer.head.header("x-should-retry"), None);
    feed.chunk(frames[1..].concat());
    feed.end();
    let (rest, is_complete) = first.rest();
    assert!(is_complete);
    assert_eq!(String::from_utf8(rest).unwrap(), frames[1..].concat());
    assert_eq!(upstream.heads(), 1);
}

/// §7.2 rows 413 and 415.
fn a_body_that_is_too_large_or_a_form_is_refused_in_the_form_of_the_api(api: Api) {
    let upstream = Upstream::ok();
    let yaml = "limits: {buffered_bytes: 1MiB}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    let bytes = api.call(&"m".repeat(3 << 20), false).bytes();
    let mut conn = Conn::open(stack.gateway_addr);
    conn.send(&bytes[..1 << 20]);
    let too_large = conn.response();
    let kind = api.kind("invalid_request_error", "request_too_large");
    assert_eq!(api.error(&too_large, 413)["type"], kind);
    assert_eq!(too_large.head.header("x-should-retry"), api.advice());
    let form = api.call("hello", false);
    let form = stack.call(&form.content_type("application/x-www-form-urlencoded"));
    assert_eq!(api.error(&form, 415)["type"], "invalid_request_error");
    assert_eq!(form.head.header("x-should-retry"), api.advice());
    upstream.assert_untouched();
}

/// CONTRACT 44.
fn an_application_that_nobody_knows_is_refused(api: Api) {
    let upstream = Upstream::json(200, &api.answer("Hi", "ls"));
    let yaml = format!(
        "applications:\n- {{id: {SYNC}, name: bot, app_mode: async}}\nmonitor: {{unknown_application: refuse}}"
    );
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml(&yaml)
        .start();
    let call = |id: &str| -> Request { api.call("hello", true).header("X-Application-Id", id) };
    let answer = stack.call(&call(NOBODYS));
    let kind = api.kind("invalid_request_error", "permission_error");
    assert_eq!(api.error(&answer, 403)["type"], kind);
    assert_eq!(answer.head.header("x-should-retry"), api.advice());
    upstream.assert_untouched();
    assert_eq!(stack.call(&call(SYNC)).status(), 200);
}
