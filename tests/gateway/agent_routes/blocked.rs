//! Sync mode: a forbidden call never reaches the model server, and its client shows the phrase.

use super::{Api, Program, streaming};
use crate::sync::{PHRASE, SYNC, sync};
use serde_json::{Value, json};
use support::backend::Backend;
use support::http::Response;
use support::request::Request;
use support::upstream::Upstream;

const REPLACE: &str = ", replace_response: true";

contract! {
    a_forbidden_prompt_is_answered_with_the_phrase_and_reaches_no_model_server;
    a_prompt_that_passes_goes_on_untouched_and_a_stream_stays_one only [completions, responses, messages]
        because "a call for a stream of chat completions is answered as a whole (4.1.2, CONTRACT 2): sync.rs";
    a_forbidden_answer_is_replaced_in_the_form_it_came_in;
    the_roles_of_a_policy_are_read_out_of_items_and_blocks only [responses, messages]
        because "roles of chat completions are in policies.rs and message_roles.rs, and prompts of completions have none";
    an_echo_of_the_request_in_the_answer_is_no_finding only [responses]
        because "no other API says the instructions again in its answers";
    an_answer_that_another_call_delivers_is_refused_where_answers_are_checked only [responses]
        because "no other API has background: true";
}

/// A whole answer of the gateway's with the phrase, in the form that programs show and go on with.
#[track_caller]
pub(super) fn assert_phrase(api: Api, answer: &Response) -> Value {
    assert_eq!(api.shown(answer), PHRASE);
    assert_eq!(answer.head.header("content-type"), Some("application/json"));
    let body = answer.json();
    assert_eq!(body["model"], "m-1", "programs go on with this model");
    let (end, normal, monitor) = match api {
        Api::Chat | Api::Completions => (
            &body["choices"][0]["finish_reason"],
            "stop",
            &body["metadata"]["monitor"],
        ),
        Api::Responses => (&body["status"], "completed", &body["monitor"]),
        Api::Messages => (
            &body["stop_reason"],
            "end_turn",
            &body["metadata"]["monitor"],
        ),
    };
    assert_eq!(*end, normal);
    assert_eq!(monitor["response_replaced"], true, "{body}");
    assert_eq!(answer.head.header("x-should-retry"), api.advice());
    assert!(
        !answer.text().contains("s3cret"),
        "no text of the verdict: {body}"
    );
    body
}

/// The same as a stream.
#[track_caller]
pub(super) fn assert_phrase_streamed(api: Api, answer: &Response) {
    assert_eq!(
        answer.head.header("content-type"),
        Some("text/event-stream")
    );
    assert_eq!(answer.head.header("x-should-retry"), api.advice());
    let events = api.events(answer);
    let shown = Program::of(&events);
    let expected = Program {
        text: PHRASE.into(),
        runs: Vec::new(),
        is_complete: true,
    };
    assert_eq!(shown, expected);
    let before_last = &events[events.len() - 2];
    let whole = match api {
        Api::Chat | Api::Completions => {
            assert_eq!(before_last["choices"][0]["finish_reason"], "stop");
            before_last
        }
        Api::Responses => {
            assert_eq!(events[0]["type"], "response.created");
            let done = events
                .iter()
                .find(|event| event["type"] == "response.output_item.done");
            assert_eq!(done.unwrap()["item"]["content"][0]["text"], PHRASE);
            let ids = events
                .iter()
                .filter_map(|event| event["response"]["id"].as_str());
            let ids: Vec<&str> = ids.collect();
            assert_eq!(ids[0], ids[1], "one id");
            &events.last().unwrap()["response"]
        }
        Api::Messages => {
            assert_eq!(before_last["delta"]["stop_reason"], "end_turn");
            &events[0]["message"]
        }
    };
    assert_eq!(whole["model"], "m-1");
}

/// The phrase in the form in which plain sync mode answers a call for a stream.
#[track_caller]
fn assert_phrase_for_stream(api: Api, answer: &Response) {
    match api.is_answered_whole() {
        true => drop(assert_phrase(api, answer)),
        false => assert_phrase_streamed(api, answer),
    }
}

/// §1.3, §2.4, CONTRACT 12.
fn a_forbidden_prompt_is_answered_with_the_phrase_and_reaches_no_model_server(api: Api) {
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("hello"));
    let stack = sync(&upstream, "").monitor(&backend).start();
    let first = assert_phrase(api, &stack.call(&api.checked("hello", false)));
    let second = assert_phrase(api, &stack.call(&api.checked("hello", false)));
    assert_ne!(
        first["id"], second["id"],
        "programs merge answers of one id"
    );
    assert_phrase_for_stream(api, &stack.call(&api.checked("hello", true)));
    upstream.assert_untouched();
    assert!(
        backend
            .calls()
            .iter()
            .all(|call| call.is_pre() && call.message() == "hello")
    );
}

/// CONTRACT 46: `stream` is never rewritten; clients of these APIs take a whole answer for an empty stream.
fn a_prompt_that_passes_goes_on_untouched_and_a_stream_stays_one(api: Api) {
    for fields in ["", ", stream_in_sync: replay"] {
        let stream = api.stream("Hello", "ls");
        let (upstream, backend) = (streaming(&stream), Backend::start());
        let stack = sync(&upstream, fields).monitor(&backend).start();
        let got = stack.call(&api.checked("hello", true));
        assert_eq!(got.text(), stream.concat(), "{fields}");
        assert_eq!(upstream.last().body, api.body("hello", true).as_bytes());
        let (pre, post) = backend.await_exchange();
        assert_eq!(pre.message(), "hello");
        assert_eq!(post.message(), api.recorded("Hello", "ls"));
    }
}

/// CONTRACT 15: text, reasoning and the arguments of calls are checked.
fn a_forbidden_answer_is_replaced_in_the_form_it_came_in(api: Api) {
    let backend = Backend::flagging("forbidden");
    let cases = [("a forbidden word", "ls"), ("fine", "a forbidden word")];
    let cases = cases.into_iter().take(1 + usize::from(api.has_tools()));
    for (text, command) in cases {
        let whole = Upstream::json(200, &api.answer(text, command));
        let stack = sync(&whole, REPLACE).monitor(&backend).start();
        let body = assert_phrase(api, &stack.call(&api.checked("hello", false)));
        let usage = &body["usage"][api.prompt_tokens()];
        assert_eq!(*usage, 3, "the upstream's usage: {body}");
        let streamed = match api.is_answered_whole() {
            true => whole,
            false => streaming(&api.stream(text, command)),
        };
        let stack = sync(&streamed, REPLACE).monitor(&backend).start();
        assert_phrase_for_stream(api, &stack.call(&api.checked("hello", true)));
    }
    let (whole, stream) = (api.answer("fine", "ls"), api.stream("fine", "ls"));
    let (upstream, expected) = match api.is_answered_whole() {
        true => (Upstream::json(200, &whole), whole),
        false => (streaming(&stream), stream.concat()),
    };
    let stack = sync(&upstream, REPLACE).monitor(&backend).start();
    let got = stack.call(&api.checked("hello", true));
    assert_eq!(got.text(), expected);
}

/// CONTRACT 3: results of tools are the tool's words, whoever sends them.
fn the_roles_of_a_policy_are_read_out_of_items_and_blocks(api: Api) {
    let body = match api {
        Api::Messages => json!({"system": "sys", "messages": [
            {"role": "user", "content": "user"},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "tool"}]}]}),
        _ => json!({"instructions": "sys", "input": [
            {"role": "user", "content": "user"},
            {"type": "function_call_output", "call_id": "c", "output": "tool"}]}),
    };
    for (roles, message) in [("last_user", "user"), ("system", "sys"), ("tool", "tool")] {
        let (upstream, backend) = (Upstream::ok(), Backend::flagging(message));
        let stack = sync(&upstream, &format!(", scan_roles: [{roles}]"));
        let stack = stack.monitor(&backend).start();
        let call = Request::post(api.path(), body.to_string()).header("X-Application-Id", SYNC);
        assert_eq!(api.shown(&stack.call(&call)), PHRASE, "{roles}");
        assert_eq!(backend.await_calls(1)[0].message(), message);
    }
}

fn an_echo_of_the_request_in_the_answer_is_no_finding(api: Api) {
    let answer = api.answer("fine", "ls");
    assert!(answer.contains("echo@example.com"));
    let (upstream, backend) = (Upstream::json(200, &answer), Backend::flagging("echo@"));
    let stack = sync(&upstream, REPLACE).monitor(&backend).start();
    let got = stack.call(&api.checked("hello", false));
    assert_eq!(got.text(), answer);
}

fn an_answer_that_another_call_delivers_is_refused_where_answers_are_checked(api: Api) {
    let later = api
        .body("hello", false)
        .replacen('{', r#"{"background":true,"#, 1);
    let call = Request::post(api.path(), later).header("X-Application-Id", SYNC);
    for (fields, status) in [
        ("", 200),
        (REPLACE, 400),
        (", stream_in_sync: hold_back", 400),
    ] {
        let upstream = Upstream::json(200, &api.answer("", ""));
        let stack = sync(&upstream, fields).monitor(&Backend::start()).start();
        let answer = stack.call(&call);
        assert_eq!(answer.status(), status, "{fields}");
        if status == 400 {
            let error = api.error(&answer, status);
            assert_eq!(error["type"], "invalid_request_error");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("background: true"), "{message}");
            assert_eq!(
                answer.head.values("x-should-retry"),
                api.advice().as_slice()
            );
            upstream.assert_untouched();
        }
    }
}
