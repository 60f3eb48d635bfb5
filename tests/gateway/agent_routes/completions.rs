//! Completions, `POST /v1/completions`: what they alone have, which is several prompts, a suffix, and choices with `text`.
//! The rest of their contract is in the table.

use super::{Api, data, streaming};
use crate::sync::{PHRASE, SYNC, sync};
use serde_json::{Value, json};
use support::backend::Backend;
use support::http::Response;
use support::request::Request;
use support::stack::Stack;
use support::upstream::{DONE, Upstream};

const PATH: &str = "/v1/completions";
const HOLD: &str = ", stream_in_sync: hold_back, on_backend_failure: closed";

/// A request, as odd to the byte as JSON may be.
fn body(prompt: &Value, streams: bool) -> String {
    format!(
        "{{ \"model\":\"m-1\",\r\n\"stream\": {streams},\"max_tokens\":1e2,\"prompt\":{prompt}}} "
    )
}

/// One of the application with a policy.
fn checked(prompt: &Value, streams: bool) -> Request {
    Request::post(PATH, body(prompt, streams)).header("X-Application-Id", SYNC)
}

fn choice(index: u64, text: &str, finish_reason: Option<&str>) -> Value {
    json!({"text": text, "index": index, "logprobs": null, "finish_reason": finish_reason})
}

fn answer(texts: &[&str]) -> String {
    let choices = (0..).zip(texts);
    let choices: Vec<Value> = choices
        .map(|(index, text)| choice(index, text, Some("stop")))
        .collect();
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5});
    json!({"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m-1", "choices": choices, "usage": usage})
        .to_string()
}

fn frame(choices: &Value) -> String {
    data(
        &json!({"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m-1", "choices": choices}),
    )
}

/// What a client puts together of a stream that is complete, and why its choice ended.
#[track_caller]
fn streamed(answer: &Response) -> (String, Value) {
    let (mut text, mut end) = (String::new(), Value::Null);
    for event in Api::Completions.events(answer) {
        for choice in event["choices"].as_array().into_iter().flatten() {
            assert_eq!(event["object"], "text_completion", "{event}");
            assert!(end.is_null(), "{event} behind the end");
            text += choice["text"].as_str().unwrap();
            end = choice["finish_reason"].clone();
        }
    }
    (text, end)
}

#[test]
fn several_prompts_and_their_choices_are_registered() {
    // CONTRACT 3, 4, 46.
    let (prompt, texts) = (json!(["one", "two"]), ["a", "b"]);
    let (upstream, backend) = (Upstream::json(200, &answer(&texts)), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let got = stack.call(&checked(&prompt, false).header("X-Session-Id", "s-1"));
    assert_eq!((got.status(), got.text()), (200, answer(&texts)));
    assert_eq!(upstream.last().body, body(&prompt, false).as_bytes());
    let (pre, post) = backend.await_exchange();
    assert_eq!((pre.message(), post.message()), ("one\ntwo", "a\nb"));
    assert_eq!(*pre.parameter("session_id"), "s-1");
    assert!(pre.parameter("incomplete").is_null() && post.parameter("incomplete").is_null());
}

#[test]
fn any_of_several_prompts_and_the_suffix_are_checked() {
    // §1.3, §2.4, CONTRACT 12, 43.
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("forbidden"));
    let stack = sync(&upstream, "").monitor(&backend).start();
    let prompt = json!(["forbidden", "last"]);
    let got = stack.call(&checked(&prompt, false)).json();
    let expected = json!([choice(0, PHRASE, Some("stop"))]);
    assert_eq!(got["choices"], expected, "{got}");
    assert_eq!(got["object"], "text_completion", "{got}");
    assert_eq!(got["usage"]["total_tokens"], 0);
    let got = stack.call(&checked(&prompt, true));
    assert_eq!(streamed(&got), (PHRASE.to_owned(), json!("stop")));
    let suffix = r#"{"model":"m-1","prompt":"fine","suffix":"forbidden"}"#;
    let got = stack.call(&Request::post(PATH, suffix).header("X-Application-Id", SYNC));
    assert_eq!(got.json()["choices"][0]["text"], PHRASE);
    upstream.assert_untouched();
}

#[test]
fn a_prompt_that_is_no_text_is_no_silent_pass() {
    // CONTRACT 42: numbers of tokens stand for a text that nobody reads.
    let bodies = [
        r#"{"prompt":[1,2,3]}"#,
        r#"{"prompt":[[1,2],[3]]}"#,
        r#"{"prompt":["fine",[1]]}"#,
        r#"{"prompt":{"prompt_string":"x"}}"#,
        r#"{"prompt":"fine","prompt_embeds":"AAAA"}"#,
        r#"{"messages":[{"role":"user","content":"x"}]}"#,
    ];
    for body in bodies {
        let (upstream, backend) = (Upstream::json(200, &answer(&["Hi"])), Backend::start());
        let stack = sync(&upstream, ", on_backend_failure: closed")
            .monitor(&backend)
            .start();
        let closed = stack.call(&Request::post(PATH, body).header("X-Application-Id", SYNC));
        assert_eq!(closed.status(), 502, "{body}");
        upstream.assert_untouched();
        let backend = Backend::start();
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        assert_eq!(stack.call(&Request::post(PATH, body)).status(), 200);
        assert_eq!(upstream.last().body, body.as_bytes());
        let (pre, _) = backend.await_exchange();
        assert_eq!(pre.parameter("incomplete"), &json!(true), "{body}");
    }
}

#[test]
fn an_answer_is_replaced_for_any_of_its_choices() {
    // CONTRACT 15.
    let backend = Backend::flagging("forbidden");
    let whole = Upstream::json(200, &answer(&["fine", "a forbidden word"]));
    let stack = sync(&whole, ", replace_response: true")
        .monitor(&backend)
        .start();
    let got = stack.call(&checked(&json!(["one", "two"]), false)).json();
    assert_eq!(
        got["choices"],
        json!([choice(0, PHRASE, Some("stop"))]),
        "{got}"
    );
    assert_eq!(got["usage"]["prompt_tokens"], 3, "the upstream's usage");
}

#[test]
fn a_stream_that_is_held_back_has_the_choices_that_were_asked_for() {
    // CONTRACT 13, 41: what no client reads for certain, and a choice more than was asked for, does not pass.
    let held = |prompt: &Value, frames: &[String]| {
        let (upstream, backend) = (streaming(frames), Backend::start());
        let stack = sync(&upstream, HOLD).monitor(&backend).start();
        let got = stack.call(&checked(prompt, true));
        (got, backend.await_exchange().1)
    };
    for unread in [
        frame(&json!([{"index": 0, "text": "a", "Text": "b"}])),
        frame(&json!([choice(1, "a", None)])),
    ] {
        let mut frames = Api::Completions.stream("Hello", "");
        frames.insert(2, unread.clone());
        let (got, post) = held(&json!("hello"), &frames);
        assert!(!got.text().contains(&unread), "{}", got.text());
        assert!(!post.parameter("error").is_null(), "{unread}");
    }
    // As many choices as prompts are none too many.
    let two = [
        frame(&json!([choice(0, "a", Some("stop"))])),
        frame(&json!([choice(1, "b", Some("stop"))])),
        DONE.to_owned(),
    ];
    let (got, _) = held(&json!(["one", "two"]), &two);
    assert_eq!(got.text(), two.concat());
}

#[test]
fn a_redacted_prompt_of_several_gets_its_values_back() {
    // CONTRACT 41: the bytes around the values stay.
    let yaml = format!("applications:\n- {{id: {SYNC}, app_mode: async, redact_upstream: true}}");
    let prompt = json!(["Write to anna@example.com.", "And bob@example.com?"]);
    let sent = json!(["Write to [EMAILS_1].", "And [EMAILS_2]?"]);
    let whole = Upstream::json(200, &answer(&["To [EMAILS_1], not [EMAILS_3]."]));
    let stack = Stack::gateway()
        .upstream(&whole)
        .monitor(&Backend::start())
        .yaml(&yaml)
        .start();
    let got = stack.call(&checked(&prompt, false));
    assert_eq!(whole.last().body, body(&sent, false).as_bytes());
    let expected = answer(&["To anna@example.com, not [EMAILS_3]."]);
    assert_eq!(got.text(), expected);
}

#[test]
fn the_demo_answers_completions() {
    let stack = Stack::all().start();
    let asked = json!({"model": "demo-small", "prompt": "echo: one two", "stream": true});
    let got = stack.call(&Request::post(
        &format!("{PATH}?pace_ms=0"),
        asked.to_string(),
    ));
    assert_eq!(streamed(&got), ("one two".to_owned(), json!("stop")));
}
