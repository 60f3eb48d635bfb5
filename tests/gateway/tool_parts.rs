//! Calls of tools and their results go with the records of their call, as parameters of their own (CONTRACT 46).

use crate::agent_routes::{AGENTS, Api};
use crate::sync::{SYNC, sync};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use support::backend::{Backend, Manner};
use support::request::{CHAT, Request};
use support::stack::Stack;
use support::upstream::{DONE, Upstream, sse};

/// The history of a program that has called two tools, one after the other.
pub(crate) fn history(path: &str, streams: bool, result: &str) -> String {
    let body = match path {
        "/v1/responses" => json!({"model": "m-1", "stream": streams, "input": [
            {"role": "user", "content": "go"},
            {"type": "function_call", "call_id": "old", "name": "ls", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "old", "output": "seen before"},
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "call_id": "r1", "name": "cat", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "r1", "output": result},
        ]}),
        "/v1/messages" => json!({"model": "m-1", "max_tokens": 9, "stream": streams, "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "old", "name": "ls", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "old", "content": "seen before"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "r1", "name": "cat", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "r1",
                "content": [{"type": "text", "text": result}]}]},
        ]}),
        _ => json!({"model": "m-1", "stream": streams, "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "tool_calls": [{"id": "old", "type": "function",
                "function": {"name": "ls", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "old", "content": "seen before"},
            {"role": "assistant", "tool_calls": [{"id": "r1", "type": "function",
                "function": {"name": "cat", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "r1", "content": result},
        ]}),
    };
    body.to_string()
}

pub(crate) fn completion() -> String {
    let call = json!({"id": "call_1", "type": "function",
        "function": {"name": "shell", "arguments": r#"{"command":"ls"}"#}});
    let message = json!({"role": "assistant", "content": "Hello", "tool_calls": [call]});
    json!({"id": "c-1", "object": "chat.completion", "created": 1, "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
    .to_string()
}

/// The same answer, its arguments letter by letter.
fn chunks() -> Vec<String> {
    let chunk = |delta: Value| {
        let chunk = json!({"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1",
            "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
        format!("data: {chunk}\n\n")
    };
    let call = json!({"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "shell", "arguments": ""}});
    let mut chunks = vec![
        chunk(json!({"role": "assistant", "content": "Hello"})),
        chunk(json!({"tool_calls": [call]})),
    ];
    for letter in r#"{"command":"ls"}"#.chars() {
        let arguments = json!({"index": 0, "function": {"arguments": letter.to_string()}});
        chunks.push(chunk(json!({"tool_calls": [arguments]})));
    }
    chunks.push(DONE.to_owned());
    chunks
}

/// Each API with its answer, whole and as a stream, and the identifier of its call.
fn apis() -> [(&'static str, String, Vec<String>, &'static str); 3] {
    let [responses, messages] = AGENTS.map(|api| {
        let call_id = match api {
            Api::Messages => "toolu_1",
            _ => "call_1",
        };
        let (whole, stream) = (api.answer("Hello", "ls"), api.stream("Hello", "ls"));
        (api.path(), whole, stream, call_id)
    });
    [
        (CHAT, completion(), chunks(), "call_1"),
        responses,
        messages,
    ]
}

#[test]
fn new_results_go_with_the_prompt_and_calls_with_the_answer_in_every_api() {
    for (path, whole, stream, call_id) in apis() {
        for streams in [false, true] {
            let upstream = match streams {
                false => Upstream::json(200, &whole),
                true => {
                    let frames: Vec<&str> = stream.iter().map(String::as_str).collect();
                    Upstream::sse(&frames)
                }
            };
            let backend = Backend::start();
            let stack = Stack::gateway()
                .upstream(&upstream)
                .monitor(&backend)
                .start();
            let body = history(path, streams, "two\nlines");
            let got = stack.call(&Request::post(path, &body));
            assert_eq!(got.status(), 200, "{path} {}", got.text());
            assert_eq!(upstream.last().body, body.as_bytes());
            let (pre, post) = backend.await_exchange();
            assert_eq!(pre.message(), "go", "the prompt is as before");
            let results = json!([{"call_id": "r1", "name": "cat", "text": "two\nlines"}]);
            assert_eq!(*pre.parameter("tool_results"), results, "{path} {streams}");
            let calls =
                json!([{"call_id": call_id, "name": "shell", "text": r#"{"command":"ls"}"#}]);
            assert_eq!(*post.parameter("tool_calls"), calls, "{path} {streams}");
            for (call, name) in [(&pre, "tool_calls"), (&post, "tool_results")] {
                assert!(call.parameter(name).is_null(), "{path}");
            }
        }
    }
}

#[test]
fn a_backend_that_does_not_offer_to_take_parts_gets_none() {
    // CONTRACT 38, 46: one of the last release would store them as they are, whatever the application keeps.
    let upstream = Upstream::json(200, &completion());
    for batches in [false, true] {
        let backend = Backend::batching(&Arc::new(AtomicBool::new(batches)), |_| 200);
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        for count in 1..=3 {
            let body = history(CHAT, false, "a secret");
            assert_eq!(stack.call(&Request::post(CHAT, body)).status(), 200);
            for record in backend.await_posts(count) {
                for name in ["tool_results", "tool_calls", "tools_omitted"] {
                    assert!(record.parameter(name).is_null(), "{batches} {name}");
                }
            }
        }
    }
}

#[test]
fn records_of_an_outage_go_as_the_backend_offers_when_they_are_delivered() {
    // CONTRACT 39, 46: what is in the spool is whole.
    let upstream = Upstream::json(200, &completion());
    let backend = Backend::that(Manner::Refuses(503));
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let body = history(CHAT, false, "a secret");
    assert_eq!(stack.call(&Request::post(CHAT, body)).status(), 200);
    backend.recovers();
    let calls = backend.await_accepted(2);
    for (is_pre, name, text) in [
        (true, "tool_results", "a secret"),
        (false, "tool_calls", r#"{"command":"ls"}"#),
    ] {
        let record = calls.iter().find(|call| call.is_pre() == is_pre).unwrap();
        assert_eq!(record.parameter(name)[0]["text"], text);
    }
}

#[test]
fn a_checked_answer_has_its_calls_too() {
    // CONTRACT 15, 43: the whole answer is held for its check.
    for (path, whole, stream, call_id) in apis() {
        for streams in [false, true] {
            let frames: Vec<&str> = stream.iter().map(String::as_str).collect();
            let (upstream, backend) = match streams && path != CHAT {
                false => (Upstream::json(200, &whole), Backend::start()),
                true => (Upstream::raw(sse(&frames)), Backend::start()),
            };
            let stack = sync(&upstream, ", replace_response: true")
                .monitor(&backend)
                .start();
            let call = Request::post(path, history(path, streams, "x"));
            let got = stack.call(&call.header("X-Application-Id", SYNC));
            assert_eq!(got.status(), 200, "{path} {}", got.text());
            let (pre, post) = backend.await_exchange();
            assert_eq!(pre.parameter("tool_results")[0]["text"], "x", "{path}");
            let calls = post.parameter("tool_calls");
            assert_eq!(calls[0]["call_id"], call_id, "{path} {streams}");
            assert_eq!(calls.as_array().unwrap().len(), 1, "{path} {streams}");
        }
    }
}

#[test]
fn what_is_too_long_or_too_many_is_cut_and_marked() {
    // CONTRACT 49: parameters stay within 64 KiB and 256 keys.
    let long = history(CHAT, false, &"\u{416}".repeat(60_000));
    let one = json!({"role": "tool", "tool_call_id": "c", "content": "x"});
    let many = json!({"model": "m-1", "messages": vec![one; 100]}).to_string();
    let upstream = Upstream::json(200, &completion());
    for (limit, bytes) in [("", 40 << 10), ("limits: {recorded_bytes: 1KiB}", 0)] {
        let backend = Backend::start();
        let builder = Stack::gateway().upstream(&upstream).monitor(&backend);
        let stack = builder.yaml(limit).start();
        assert_eq!(stack.call(&Request::post(CHAT, &long)).status(), 200);
        let (pre, _) = backend.await_exchange();
        let result = &pre.parameter("tool_results")[0];
        assert_eq!(result["cut"], true, "{limit}");
        let text = result["text"].as_str().unwrap();
        assert!(
            text.len() > bytes && text.len() < 50 << 10,
            "{}",
            text.len()
        );
        assert!(limit.is_empty() || text.len() <= 1 << 10, "{}", text.len());
        backend.forget();
        assert_eq!(stack.call(&Request::post(CHAT, &many)).status(), 200);
        let (pre, _) = backend.await_exchange();
        let results = pre.parameter("tool_results").as_array().unwrap().len();
        assert_eq!(results, 48, "{limit}");
        assert_eq!(*pre.parameter("tools_omitted"), 52, "{limit}");
    }
}

#[test]
fn custom_tools_and_the_older_function_call_are_parts_and_text_of_the_record() {
    // CONTRACT 4: the text of an answer without content is that of its calls.
    let message = json!({"role": "assistant", "content": null,
        "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "exec", "input": "rm -rf /"}}],
        "function_call": {"name": "old", "arguments": "{}"}});
    let choice = |name: &str, said: &Value| {
        json!({"id": "c-1", "model": "m-1", "created": 1,
        "choices": [{"index": 0, name: said, "finish_reason": null}]})
    };
    let whole = choice("message", &message).to_string();
    let event = |delta: Value| format!("data: {}\n\n", choice("delta", &delta));
    let stream = [
        event(
            json!({"role": "assistant", "function_call": {"name": "old", "arguments": "{"},
            "tool_calls": [{"index": 0, "id": "c", "type": "custom", "custom": {"name": "exec", "input": "rm "}}]}),
        ),
        event(json!({"function_call": {"arguments": "}"},
            "tool_calls": [{"index": 0, "custom": {"input": "-rf /"}}]})),
        DONE.to_owned(),
    ];
    let frames: Vec<&str> = stream.iter().map(String::as_str).collect();
    let results = json!([
        {"role": "assistant", "tool_calls": message["tool_calls"]},
        {"role": "tool", "tool_call_id": "c", "content": "gone"},
        {"role": "function", "name": "old", "content": "done"},
        {"role": "assistant", "content": "I begin:"},
    ]);
    for streams in [false, true] {
        for is_checked in [false, true] {
            let upstream = match streams {
                false => Upstream::json(200, &whole),
                true => Upstream::raw(sse(&frames)),
            };
            let backend = Backend::start();
            let body = json!({"model": "m-1", "stream": streams, "messages": results});
            let call = Request::post(CHAT, body.to_string());
            let (stack, call) = match is_checked {
                false => (Stack::gateway().upstream(&upstream), call),
                true => (
                    sync(&upstream, ", replace_response: true"),
                    call.header("X-Application-Id", SYNC),
                ),
            };
            let stack = stack.monitor(&backend).start();
            assert_eq!(stack.call(&call).status(), 200);
            let (pre, post) = backend.await_exchange();
            let calls = json!([{"call_id": "c", "name": "exec", "text": "rm -rf /"},
                {"call_id": "", "name": "old", "text": "{}"}]);
            assert_eq!(
                *post.parameter("tool_calls"),
                calls,
                "{streams} {is_checked}"
            );
            // An answer that is checked is read in the order in which it is written.
            let text = match is_checked {
                true => "rm -rf /\nexec\n{}\nold",
                false => "exec\nrm -rf /\nold\n{}",
            };
            assert_eq!(post.message(), text, "{streams} {is_checked}");
            let results = json!([{"call_id": "c", "name": "exec", "text": "gone"},
                {"call_id": "", "name": "old", "text": "done"}]);
            assert_eq!(
                *pre.parameter("tool_results"),
                results,
                "before the begun answer"
            );
        }
    }
}

#[test]
fn results_that_go_with_each_call_of_one_answer_are_all_new() {
    let item = |kind: &str, id: &str, text: &str| {
        json!({"type": kind, "call_id": id,
        "name": "cat", "arguments": "{}", "output": text})
    };
    let items = json!([{"role": "user", "content": "go"},
        item("function_call", "a", ""), item("function_call_output", "a", "one"),
        item("function_call", "b", ""), item("function_call_output", "b", "two")]);
    let body = json!({"model": "m-1", "input": items}).to_string();
    let upstream = Upstream::json(200, &Api::Responses.answer("Hello", "ls"));
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    assert_eq!(
        stack.call(&Request::post("/v1/responses", &body)).status(),
        200
    );
    let (pre, _) = backend.await_exchange();
    let results = pre.parameter("tool_results").as_array().unwrap();
    let texts: Vec<&Value> = results.iter().map(|result| &result["text"]).collect();
    assert_eq!(texts, ["one", "two"]);
}

#[test]
fn one_id_in_two_answers_names_the_tool_of_the_last() {
    let turn = |name: &str, text: &str| {
        [
            json!({"role": "assistant", "tool_calls": [{"id": "call_0", "type": "function",
            "function": {"name": name, "arguments": "{}"}}]}),
            json!({"role": "tool", "tool_call_id": "call_0", "content": text}),
        ]
    };
    let messages = [turn("ls", "old"), turn("cat", "new")].concat();
    let body = json!({"model": "m-1", "messages": messages}).to_string();
    let backend = Backend::start();
    let upstream = Upstream::json(200, &completion());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    assert_eq!(stack.call(&Request::post(CHAT, &body)).status(), 200);
    let (pre, _) = backend.await_exchange();
    let results = json!([{"call_id": "call_0", "name": "cat", "text": "new"}]);
    assert_eq!(*pre.parameter("tool_results"), results);
}

#[test]
fn completions_have_no_parts_and_plain_answers_have_none() {
    let completion = r#"{"id":"c","object":"text_completion","created":1,"model":"m-1","choices":[{"index":0,"text":"Hello","finish_reason":"stop"}]}"#;
    // As servers write it that have an empty list in each answer.
    let chat = r#"{"id":"c","object":"chat.completion","created":1,"model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hello","tool_calls":[],"function_call":null},"finish_reason":"stop"}]}"#;
    for (path, answer, body) in [
        (
            "/v1/completions",
            completion,
            json!({"model": "m-1", "prompt": "a tool"}),
        ),
        (
            CHAT,
            chat,
            json!({"model": "m-1", "messages": [{"role": "user", "content": "a \"tool\""}]}),
        ),
    ] {
        let backend = Backend::start();
        let upstream = Upstream::json(200, answer);
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        let got = stack.call(&Request::post(path, body.to_string()));
        assert_eq!(got.status(), 200, "{path} {}", got.text());
        let (pre, post) = backend.await_exchange();
        assert_eq!(post.message(), "Hello", "{path}");
        for (call, name) in [
            (&pre, "tool_results"),
            (&post, "tool_calls"),
            (&post, "tools_omitted"),
        ] {
            assert!(call.parameter(name).is_null(), "{path} {name}");
        }
    }
}
