//! Errors, broken streams and signs of life, each in the form of its API.

use super::Api;
use serde_json::{Value, json};
use std::time::Duration;
use support::backend::Backend;
use support::fault::refusing_address;
use support::request::Request;
use support::stack::Stack;
use support::upstream::{SSE_HEAD, Upstream};

contract! {
    errors_of_the_gateways_have_the_form_of_the_api_and_say_whether_to_try_again;
    a_call_that_gets_no_answer_is_registered_with_its_error;
    errors_of_the_upstream_pass_and_other_text_gets_the_form_of_the_api;
    a_stream_that_fails_ends_with_an_error_that_clients_raise;
    a_silent_stream_shows_life_by_a_frame_that_resets_timers;
}

/// §7.2.
fn errors_of_the_gateways_have_the_form_of_the_api_and_say_whether_to_try_again(api: Api) {
    let upstream = Upstream::ok();
    let stack = Stack::gateway().upstream(&upstream).start();
    let keyless = stack.call(&api.call("hello", true).without_key());
    let refused = api.error(&keyless, 401);
    let kind = api.kind("invalid_request_error", "authentication_error");
    assert_eq!(refused["type"], kind);
    assert_eq!(keyless.head.header("x-should-retry"), api.advice());
    let broken = stack.call(&Request::post(api.path(), "{"));
    assert_eq!(api.error(&broken, 400)["type"], "invalid_request_error");
    let wrong = stack.call(&Request::get(api.path()));
    api.error(&wrong, 405);
    let unknown = stack.call(&Request::get(&format!("{}/a/b/c", api.path())));
    api.error(&unknown, 404);
    upstream.assert_untouched();
}

/// §7.2 row 502, CONTRACT 17, 20: there is no model server, and there is one that says nothing.
fn a_call_that_gets_no_answer_is_registered_with_its_error(api: Api) {
    let (silent, _feed) = Upstream::fed();
    let nowhere = format!("http://{}", refusing_address());
    for (url, why, closed_by) in [
        (nowhere, "cannot be reached", "gateway"),
        (silent.url(), "did not answer in time", "upstream"),
    ] {
        let backend = Backend::start();
        let stack = Stack::gateway()
            .env("UPSTREAM_URL", url)
            .monitor(&backend)
            .yaml("upstream: {timeout: 700ms}")
            .start();
        let answer = stack.call(&api.call("hello", true));
        let told = api.error(&answer, 502);
        assert_eq!(told["type"], api.kind("gateway_error", "api_error"));
        assert!(told["message"].as_str().unwrap().contains(why), "{told}");
        assert_eq!(
            answer.head.values("x-should-retry"),
            api.advice().as_slice()
        );
        let (pre, post) = backend.await_exchange();
        assert_eq!((pre.message(), post.message()), ("hello", ""));
        let kept = post.parameter("error");
        assert_eq!(kept["message"], told["message"]);
        assert_eq!(kept["type"], "gateway_error", "{kept}");
        assert_eq!(
            (&kept["code"], &kept["closed_by"]),
            (&json!(502), &json!(closed_by))
        );
    }
}

/// §7.3.1, CONTRACT 17, 40.
fn errors_of_the_upstream_pass_and_other_text_gets_the_form_of_the_api(api: Api) {
    let known =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}, "x": 1});
    for (body, passes) in [(known.to_string(), true), ("<html>busy".to_owned(), false)] {
        let (upstream, backend) = (Upstream::json(529, &body), Backend::start());
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        let answer = stack.call(&api.call("hello", true));
        match passes {
            true => assert_eq!((answer.status(), answer.text()), (529, body)),
            false => assert_eq!(api.error(&answer, 529)["message"], "<html>busy"),
        }
        assert_eq!(
            answer.head.header("x-should-retry"),
            None,
            "the upstream's word counts"
        );
        let (_, post) = backend.await_exchange();
        assert_eq!(post.parameter("error")["code"], 529);
    }
}

/// CONTRACT 17, 19.
fn a_stream_that_fails_ends_with_an_error_that_clients_raise(api: Api) {
    let (upstream, feed) = Upstream::fed();
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml("upstream: {timeout: 700ms}")
        .start();
    let mut conn = api.call("hello", true).send(stack.gateway_addr);
    feed.send(SSE_HEAD);
    let begun = api.stream("Hello", "ls")[0].clone();
    feed.chunk(&begun);
    let answer = conn.response();
    let text = answer.text();
    let (start, end) = text.split_at(begun.len());
    assert_eq!(start, begun);
    let before = match api {
        Api::Chat | Api::Completions => "data: ",
        Api::Responses | Api::Messages => "event: error\ndata: ",
    };
    let data = end.strip_prefix(before).unwrap_or_else(|| panic!("{end}"));
    let event: Value = serde_json::from_str(data.trim_end()).unwrap();
    let message = event["error"]["message"].as_str().unwrap();
    assert!(message.contains("silent"), "{event}");
    match api {
        Api::Chat | Api::Completions => assert_eq!(event["error"]["code"], 504),
        Api::Responses => {
            assert_eq!(event["type"], "error");
            assert_eq!(
                (&event["code"], &event["error"]["code"]),
                (&json!("upstream_error"), &json!(504))
            );
        }
        Api::Messages => {
            assert_eq!(event["type"], "error");
            assert_eq!(event["error"]["type"], "timeout_error");
        }
    }
    let (_, post) = backend.await_exchange();
    assert_eq!(post.parameter("incomplete"), &json!(true));
    let kept = post.parameter("error");
    assert_eq!(kept["type"], "upstream_error", "{kept}");
    assert_eq!(
        (&kept["code"], &kept["closed_by"]),
        (&json!(504), &json!("upstream"))
    );
}

/// §6.2, CONTRACT 18.
fn a_silent_stream_shows_life_by_a_frame_that_resets_timers(api: Api) {
    let (upstream, feed) = Upstream::fed();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .yaml("stream: {heartbeat: 100ms}")
        .start();
    let mut conn = api
        .call("hello", true)
        .send(stack.gateway_addr)
        .patient(Duration::from_secs(20));
    feed.send(SSE_HEAD);
    assert_eq!(conn.final_head().status(), 200);
    // Before the first event it is a comment, which every client passes over.
    conn.read_until(b": keepalive\n\n");
    let begun = api.stream("Hello", "ls")[0].clone();
    feed.chunk(&begun);
    conn.read_until(begun.as_bytes());
    conn.read_until(api.heartbeat().as_bytes());
}
