//! `check_tool_arguments: false`: names of tools are checked and recorded, their arguments are forwarded and kept as parts
//! of the record. CONTRACT 15, 41, 42, 46.

use crate::agent_routes::{AGENTS, Api};
use crate::hold_back::CLOSED;
use crate::sync::{PHRASE, SYNC, sync};
use serde_json::{Value, json};
use std::sync::Arc;
use support::backend::{Backend, Call};
use support::request::{CHAT, Request};
use support::stack::Stack;
use support::upstream::{DONE, Upstream, json as answer_of, sse};

const OFF: &str = ", check_tool_arguments: false";
const REPLACED: &str = ", replace_response: true";
const CARD: &str = "2200 1244 6450 7773";

/// What an API says whose only finding stands in the arguments of a call.
struct Answered {
    path: &'static str,
    whole: String,
    stream: Vec<String>,
    /// What a record keeps without the arguments.
    names: &'static str,
}

fn arguments() -> String {
    json!({"command": CARD}).to_string()
}

fn answered() -> [Answered; 3] {
    let [responses, messages] = AGENTS.map(|api| Answered {
        path: api.path(),
        whole: api.answer("Fine.", CARD),
        stream: api.stream("Fine.", CARD),
        names: "Fine.\nshell",
    });
    let call = |arguments: &str| {
        json!([{"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "shell", "arguments": arguments}}])
    };
    let message = json!({"role": "assistant", "content": null, "tool_calls": call(&arguments())});
    let whole = json!({"id": "c-1", "object": "chat.completion", "created": 1, "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]});
    let chunk = |delta: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
        let chunk = json!({"id": "c-1", "object": "chat.completion.chunk", "created": 1,
            "model": "m-1", "choices": [choice]});
        format!("data: {chunk}\n\n")
    };
    let mut stream = vec![chunk(json!({"role": "assistant", "tool_calls": call("")}))];
    stream.extend(arguments().chars().map(|letter| {
        let piece = json!({"index": 0, "function": {"arguments": letter.to_string()}});
        chunk(json!({"tool_calls": [piece]}))
    }));
    stream.push(DONE.to_owned());
    let chat = Answered {
        path: CHAT,
        whole: whole.to_string(),
        stream,
        names: "shell",
    };
    [chat, responses, messages]
}

impl Answered {
    /// The call of an application in sync mode, and the answer of the model server.
    fn call(&self, streams: bool) -> (Request, Upstream, String) {
        let body = match self.path {
            "/v1/responses" => json!({"model": "m-1", "stream": streams, "input": "hello"}),
            "/v1/messages" => json!({"model": "m-1", "stream": streams, "max_tokens": 9,
                "messages": [{"role": "user", "content": "hello"}]}),
            _ => json!({"model": "m-1", "stream": streams,
                "messages": [{"role": "user", "content": "hello"}]}),
        };
        let request = Request::post(self.path, body.to_string());
        let frames: Vec<&str> = self.stream.iter().map(String::as_str).collect();
        let (answer, sent) = match streams {
            true => (sse(&frames), frames.concat()),
            false => (answer_of(200, &self.whole), self.whole.clone()),
        };
        let request = request.header("X-Application-Id", SYNC);
        (request, Upstream::raw(answer), sent)
    }
}

/// A record of an answer whose arguments were not checked: they stand in its parts alone.
#[track_caller]
fn assert_names_only(post: &Call, names: &str) {
    assert_eq!(post.message(), names);
    let calls = post.parameter("tool_calls");
    assert_eq!(calls[0]["name"], "shell", "{calls}");
    assert_eq!(calls[0]["text"], arguments(), "{calls}");
    assert_eq!(*post.parameter("tools_unchecked"), true);
    for mark in ["unchecked", "incomplete", "response_replaced"] {
        assert!(post.parameter(mark).is_null(), "{mark}");
    }
}

#[test]
fn contract_41_arguments_are_held_back_only_where_they_are_checked() {
    for answer in answered() {
        for streams in [false, true] {
            if answer.path == CHAT && !streams {
                // An answer to a chat completion without a stream is not checked here.
                continue;
            }
            for (fields, is_checked) in [("", true), (OFF, false)] {
                let (request, upstream, sent) = answer.call(streams);
                let backend = Backend::start();
                let fields = format!("{CLOSED}{fields}");
                let stack = sync(&upstream, &fields).monitor(&backend).start();
                let got = stack.call(&request).text();
                let (_, post) = backend.await_exchange();
                match is_checked {
                    true => {
                        assert_ne!(got, sent, "{} {streams}", answer.path);
                        assert_eq!(*post.parameter("response_replaced"), true, "{got}");
                    }
                    false => {
                        assert_eq!(got, sent, "{} {streams}", answer.path);
                        assert_names_only(&post, answer.names);
                    }
                }
            }
        }
    }
}

#[test]
fn contract_41_names_are_held_back_whatever_is_said_of_arguments() {
    for answer in answered() {
        let named = |text: &String| text.replace("shell", "ivan@example.com");
        let answer = Answered {
            stream: answer.stream.iter().map(named).collect(),
            ..answer
        };
        let (request, upstream, sent) = answer.call(true);
        let backend = Backend::start();
        let fields = format!("{CLOSED}{OFF}");
        let stack = sync(&upstream, &fields).monitor(&backend).start();
        let got = stack.call(&request).text();
        assert_ne!(got, sent, "{}", answer.path);
        assert!(!got.contains("ivan@example.com"), "{got}");
        let (_, post) = backend.await_exchange();
        assert_eq!(*post.parameter("response_replaced"), true, "{got}");
    }
}

#[test]
fn contract_41_the_text_beside_unchecked_arguments_is_held_back() {
    for api in AGENTS {
        let stream = api.stream(&format!("Your card is {CARD}, take care."), "ls");
        let frames: Vec<&str> = stream.iter().map(String::as_str).collect();
        let (upstream, backend) = (Upstream::raw(sse(&frames)), Backend::start());
        let fields = format!("{CLOSED}{OFF}");
        let stack = sync(&upstream, &fields).monitor(&backend).start();
        let got = stack.call(&api.checked("hello", true)).text();
        let phrase = json!(PHRASE).to_string();
        assert!(got.contains(phrase.trim_matches('"')), "{api:?} {got}");
        assert!(!got.contains("7773"), "{api:?} {got}");
    }
}

#[test]
fn contract_15_arguments_are_in_the_text_of_the_check_only_where_they_are_checked() {
    for answer in answered() {
        for streams in [false, true] {
            for (fields, word, is_blocked) in [
                ("", "2200", true),
                (OFF, "2200", false),
                (OFF, "shell", true),
            ] {
                let (request, upstream, sent) = answer.call(streams);
                let backend = Backend::flagging(word);
                let fields = format!("{REPLACED}{fields}");
                let stack = sync(&upstream, &fields).monitor(&backend).start();
                let got = stack.call(&request).text();
                assert_eq!(got != sent, is_blocked, "{} {word} {got}", answer.path);
                let (_, post) = backend.await_exchange();
                let text = post.message();
                // In the order of the answer, where arguments may stand before the name.
                let is_said = |line: &str| text.lines().any(|said| said == line);
                assert!(answer.names.lines().all(is_said), "{} {text}", answer.path);
                let is_read = post.message().contains("2200");
                assert_eq!(is_read, fields == REPLACED, "{}", post.message());
            }
        }
    }
}

/// A conversation in which the assistant has called a tool with these arguments.
fn called(path: &str, text: &str) -> String {
    let arguments = json!({"command": text});
    let body = match path {
        "/v1/responses" => json!({"model": "m-1", "input": [
            {"type": "function_call", "call_id": "1", "name": "shell", "arguments": arguments.to_string()},
            {"type": "custom_tool_call", "call_id": "2", "name": "patch", "input": text},
            {"type": "web_search_call", "id": "3", "action": {"type": "search", "query": text}},
            {"role": "user", "content": "hello"},
        ]}),
        "/v1/messages" => json!({"model": "m-1", "max_tokens": 9, "messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "shell", "input": arguments}]},
            {"role": "user", "content": "hello"},
        ]}),
        _ => json!({"model": "m-1", "messages": [
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "shell", "arguments": arguments.to_string()}},
                {"id": "2", "type": "custom", "custom": {"name": "patch", "input": text}}]},
            {"role": "assistant", "function_call": {"name": "shell", "arguments": arguments}},
            {"role": "user", "content": "hello"},
        ]}),
    };
    body.to_string()
}

const ROLES: &str = ", scan_roles: [assistant, last_user]";

#[test]
fn contract_42_arguments_in_messages_of_the_assistant_are_read_only_where_they_are_checked() {
    for path in [CHAT, "/v1/responses", "/v1/messages"] {
        for (fields, is_checked) in [("", true), (OFF, false)] {
            let (upstream, backend) = (Upstream::ok(), Backend::flagging("2200"));
            let fields = format!("{ROLES}{fields}");
            let stack = sync(&upstream, &fields).monitor(&backend).start();
            let body = called(path, CARD);
            let request = Request::post(path, &body).header("X-Application-Id", SYNC);
            assert_eq!(stack.call(&request).status(), 200);
            let calls = backend.await_calls(1);
            let prompt = calls[0].message();
            assert!(prompt.contains("hello"), "{prompt}");
            assert_eq!(prompt.contains("2200"), is_checked, "{path} {prompt}");
            match is_checked {
                true => upstream.assert_untouched(),
                false => assert_eq!(upstream.last().body, body.as_bytes()),
            }
            if path == CHAT {
                for name in ["shell", "patch"] {
                    assert!(prompt.contains(name), "names stay: {prompt}");
                }
            }
        }
    }
}

#[test]
fn contract_42_only_calls_of_the_assistant_have_arguments_that_are_not_read() {
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("2200"));
    let fields = format!("{ROLES}{OFF}");
    let stack = sync(&upstream, &fields).monitor(&backend).start();
    let block = json!({"type": "tool_use", "name": "f", "input": {"n": CARD}});
    let call = json!({"function": {"name": "f", "arguments": CARD}});
    for (path, messages) in [
        (CHAT, json!([{"role": "user", "content": [block]}])),
        (
            CHAT,
            json!([{"role": "user", "content": "hello", "tool_calls": [call]}]),
        ),
        (
            CHAT,
            json!([{"role": "customer", "content": "hello", "tool_calls": [call]}]),
        ),
        (
            CHAT,
            json!([{"role": "assistant", "content": "ok", "x": {"input": CARD}}, {"role": "user", "content": "hello"}]),
        ),
        (
            CHAT,
            json!([{"role": "assistant", "content": "ok", "input": CARD}, {"role": "user", "content": "hello"}]),
        ),
        (
            "/v1/messages",
            json!([{"role": "assistant", "content": [{"type": "text", "text": CARD}, block]},
                {"role": "user", "content": "hello"}]),
        ),
        (
            "/v1/messages",
            json!([{"role": "user", "content": [block, {"type": "text", "text": "hello"}]}]),
        ),
    ] {
        let body = json!({"model": "m-1", "max_tokens": 9, "messages": messages}).to_string();
        let request = Request::post(path, &body).header("X-Application-Id", SYNC);
        let answer = stack.call(&request).text();
        assert!(answer.contains("monitor-guardrails-"), "{body}: {answer}");
    }
    upstream.assert_untouched();
}

#[test]
fn contract_41_arguments_that_are_not_checked_are_not_redacted() {
    for path in [CHAT, "/v1/responses", "/v1/messages"] {
        for (fields, is_checked) in [("", true), (OFF, false)] {
            let (upstream, backend) = (Upstream::ok(), Backend::start());
            let policy =
                format!("{{id: {SYNC}, app_mode: async, redact_upstream: true{ROLES}{fields}}}");
            let stack = Stack::gateway()
                .upstream(&upstream)
                .monitor(&backend)
                .yaml(&format!("applications:\n- {policy}"))
                .start();
            let body = called(path, "a@example.com");
            let request = Request::post(path, &body).header("X-Application-Id", SYNC);
            assert_eq!(stack.call(&request).status(), 200);
            let sent = upstream.last().body;
            assert_eq!(sent == body.as_bytes(), !is_checked, "{path}");
        }
    }
}

#[test]
fn records_of_async_mode_have_names_in_their_text_and_arguments_in_their_parts() {
    for answer in answered() {
        for streams in [false, true] {
            let (request, upstream, sent) = answer.call(streams);
            let backend = Backend::start();
            let stack = Stack::gateway()
                .upstream(&upstream)
                .monitor(&backend)
                .yaml(&format!(
                    "applications:\n- {{id: {SYNC}, app_mode: async{OFF}}}"
                ))
                .start();
            assert_eq!(stack.call(&request).text(), sent, "{}", answer.path);
            let (pre, post) = backend.await_exchange();
            assert_names_only(&post, answer.names);
            assert!(pre.parameter("tools_unchecked").is_null());
        }
    }
}

#[test]
fn a_backend_that_takes_no_parts_is_not_told_of_them() {
    let answer = Api::Responses.answer("Fine.", CARD);
    let upstream = Upstream::json(200, &answer);
    let backend = Backend::batching(&Arc::default(), |_| 200);
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml(&format!(
            "applications:\n- {{id: {SYNC}, app_mode: async{OFF}}}"
        ))
        .start();
    let request = Api::Responses.checked("hello", false);
    assert_eq!(stack.call(&request).text(), answer);
    let (_, post) = backend.await_exchange();
    assert_eq!(post.message(), "Fine.\nshell");
    for name in ["tool_calls", "tools_unchecked"] {
        assert!(post.parameter(name).is_null(), "{name}");
    }
}
