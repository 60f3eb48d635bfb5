//! What of an answer is checked: every text that the client gets, under whatever name. CONTRACT 15, with 4, 12, 13.

use crate::sync::{SYNC, blocked, chat, sync};
use serde_json::{Value, json};
use support::backend::Backend;
use support::http::Response;
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::Stack;
use support::upstream::{ANSWER, Upstream, json as answer_of, sse};

const ON: &str = ", replace_response: true";
const UNREADABLE: &str = r#"monitor_unchecked_total{reason="unreadable"}"#;

/// A message under whose members the word stands that the backend flags.
fn messages() -> Vec<Value> {
    let call = |members: Value| json!([members]);
    let function = json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"n\":\"forbidden\"}"}});
    let custom =
        json!({"id": "1", "type": "custom", "custom": {"name": "f", "input": "forbidden"}});
    vec![
        json!({"content": "forbidden"}),
        json!({"content": "ok", "reasoning": "forbidden"}),
        json!({"content": "ok", "reasoning_content": "forbidden"}),
        json!({"content": "ok", "thinking": "forbidden"}),
        json!({"content": "ok", "reasoning_details": [{"type": "reasoning.text", "text": "forbidden"}]}),
        json!({"content": "ok", "refusal": "forbidden"}),
        json!({"content": "ok", "tool_calls": call(function.clone())}),
        json!({"content": " ", "tool_calls": call(function)}),
        json!({"content": null, "tool_calls": call(custom.clone())}),
        json!({"content": "ok", "tool_calls": call(custom)}),
        json!({"content": null, "function_call": {"name": "f", "arguments": "forbidden"}}),
        json!({"content": "ok", "function_call": {"name": "f", "arguments": "forbidden"}}),
        json!({"content": null, "audio": {"id": "a", "data": "AAAA", "transcript": "forbidden"}}),
        json!({"content": "ok", "words": {"of": ["forbidden"]}}),
    ]
}

#[track_caller]
fn is_blocked(stack_answer: &Response, sent: &str) {
    let text = stack_answer.text();
    assert!(text.contains("monitor-guardrails-"), "{sent}: {text}");
    blocked(stack_answer);
}

/// Calls through a policy that checks answers, one after the other.
fn each_answered(bodies: &[Vec<u8>], fields: &str, mut each: impl FnMut(&Stack, &Backend, usize)) {
    for (at, body) in bodies.iter().enumerate() {
        let (upstream, backend) = (Upstream::raw(body.clone()), Backend::flagging("forbidden"));
        let stack = sync(&upstream, fields).monitor(&backend).start();
        each(&stack, &backend, at);
    }
}

#[test]
fn contract_15_every_text_of_an_answer_is_checked() {
    let whole = |message: Value| json!({"choices": [{"index": 0, "message": message}]});
    let mut shapes: Vec<String> = messages()
        .into_iter()
        .map(|message| whole(message).to_string())
        .collect();
    shapes.extend([
        r#"{"choices":[{"index":0,"text":"forbidden"}]}"#.to_owned(),
        r#"{"choices":[{"index":0,"text":"forbidden","message":{"content":"ok"}}]}"#.to_owned(),
        r#"{"choices":[{"message":{"content":"ok"}},{"message":{"content":"ok","thinking":"forbidden"}}]}"#.to_owned(),
        r#"{"output":[{"type":"message","content":[{"type":"output_text","text":"forbidden"}]}]}"#.to_owned(),
        r#"{"message":{"role":"assistant","content":"forbidden"},"done":true}"#.to_owned(),
        r#""forbidden""#.to_owned(),
    ]);
    let next = std::sync::Mutex::new(shapes.clone().into_iter());
    let upstream = Upstream::answering(move |_| {
        answer_of(200, &next.lock().unwrap().next().unwrap_or_default())
    });
    let backend = Backend::flagging("forbidden");
    let stack = sync(&upstream, ON).monitor(&backend).start();
    for shape in &shapes {
        is_blocked(&stack.call(&chat(HELLO)), shape);
    }
}

#[test]
fn contract_15_every_text_of_a_held_stream_is_checked() {
    let mut streams: Vec<String> = messages()
        .into_iter()
        .map(|delta| json!({"choices": [{"index": 0, "delta": delta}]}).to_string())
        .collect();
    streams.push(r#"{"choices":[{"index":0,"text":"forbidden"}]}"#.to_owned());
    streams.push(r#"{"type":"response.output_text.delta","delta":"forbidden"}"#.to_owned());
    let next = std::sync::Mutex::new(streams.clone().into_iter());
    let ok = r#"{"choices":[{"index":0,"delta":{"content":"ok"}}]}"#;
    let upstream = Upstream::answering(move |_| {
        let event = next.lock().unwrap().next().unwrap_or_default();
        sse(&[
            &format!("data: {ok}\n\n"),
            &format!("data: {event}\n\n"),
            "data: [DONE]\n\n",
        ])
    });
    let backend = Backend::flagging("forbidden");
    let stack = sync(&upstream, ON).monitor(&backend).start();
    for stream in &streams {
        is_blocked(&stack.call(&chat(HELLO)), stream);
    }
}

#[test]
fn contract_15_a_text_that_grows_in_a_held_stream_is_checked_as_a_whole() {
    let event = |text: &str| {
        let delta = json!({"choices": [{"index": 0, "delta": {"reasoning_content": text, "content": "ok"}}]});
        format!("data: {delta}\n\n")
    };
    let stream = sse(&[&event("forb"), &event("idden"), "data: [DONE]\n\n"]);
    each_answered(&[stream], ON, |stack, backend, _| {
        is_blocked(&stack.call(&chat(HELLO)), "reasoning_content");
        let (_, post) = backend.await_exchange();
        assert_eq!(post.message(), "okok\nforbidden");
    });
}

#[test]
fn contract_15_a_value_over_the_parts_of_one_event_is_reported_with_its_breaks() {
    let parts = r#"[{"type":"text","text":"2200 1244 "},{"type":"text","text":"6450 7773"}]"#;
    let event =
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{parts}}}}}]}}\n\n");
    let stream = sse(&[&event, "data: [DONE]\n\n"]);
    let whole = format!(r#"{{"choices":[{{"message":{{"content":{parts}}}}}]}}"#);
    each_answered(
        &[stream, answer_of(200, &whole)],
        ON,
        |stack, backend, _| {
            assert_eq!(stack.call(&chat(HELLO)).status(), 200);
            let (_, post) = backend.await_exchange();
            assert_eq!(post.message(), "2200 1244 \n6450 7773");
            assert_eq!(*post.parameter("part_breaks"), json!([10]));
        },
    );
}

#[test]
fn contract_4_the_record_of_a_checked_answer_begins_with_what_a_record_keeps() {
    let message = json!({"content": "ok", "refusal": "no", "reasoning": "why"});
    let body =
        json!({"id": "x", "object": "chat.completion", "model": "m", "service_tier": "default",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        .to_string();
    for (fields, text) in [(ON, "ok\nno\nwhy"), ("", "ok")] {
        let sent = answer_of(200, &body);
        each_answered(&[sent], fields, |stack, backend, _| {
            assert_eq!(stack.call(&chat(HELLO)).text(), body);
            let (_, post) = backend.await_exchange();
            assert_eq!(post.message(), text);
            assert!(post.parameter("incomplete").is_null(), "{}", post.json);
            assert!(post.parameter("unchecked").is_null(), "{}", post.json);
        });
    }
}

#[test]
fn contract_15_an_answer_in_which_nothing_is_recognized_is_no_verdict() {
    let bodies = [
        answer_of(200, r#"{"id":"x","object":"y"}"#),
        answer_of(200, r#"{"choices":[]}"#),
        answer_of(200, "7"),
        sse(&["data: {\"choices\":[]}\n\n", "data: [DONE]\n\n"]),
    ];
    for (closed, status) in [("", 200), (", on_backend_failure: closed", 502)] {
        each_answered(&bodies, &format!("{ON}{closed}"), |stack, backend, at| {
            let answer = stack.call(&chat(HELLO));
            assert_eq!(answer.status(), status, "{at}");
            assert_eq!(stack.metric(UNREADABLE), 1.0, "{at}");
            let (_, post) = backend.await_exchange();
            assert_eq!(*post.parameter("incomplete"), true, "{at}");
            assert_eq!(post.parameter("unchecked").is_null(), status == 502, "{at}");
        });
    }
    // One that has its shape and no text passes.
    let empty = r#"{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}"#;
    let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let bodies = [answer_of(200, empty), sse(&[end, "data: [DONE]\n\n"])];
    let closed = format!("{ON}, on_backend_failure: closed");
    each_answered(&bodies, &closed, |stack, _, at| {
        assert_eq!(stack.call(&chat(HELLO)).status(), 200, "{at}");
        assert_eq!(stack.metric(UNREADABLE), 0.0, "{at}");
    });
}

#[test]
fn contract_15_an_answer_that_a_client_may_read_in_another_charset_is_no_verdict() {
    // A card number for a reader of UTF-7.
    let text = "+ADQAMQAxADE- 1111 1111 1111";
    let whole =
        json!({"choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}]});
    let event = format!(
        "data: {}\n\n",
        json!({"choices": [{"index": 0, "delta": {"content": text}}]})
    );
    let declared = |answer: Vec<u8>, kind: &str, charset: &str| {
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.contains(kind));
        answer
            .replacen(kind, &format!("{kind}; charset={charset}"), 1)
            .into_bytes()
    };
    let answers = |charset: &str| {
        let stream = sse(&[&event, "data: [DONE]\n\n"]);
        [
            declared(
                answer_of(200, &whole.to_string()),
                "application/json",
                charset,
            ),
            declared(stream, "text/event-stream", charset),
        ]
    };
    for (fields, body) in [(ON, HELLO), (", stream_in_sync: hold_back", HELLO_STREAM)] {
        for (charset, closed, status, unreadable) in [
            ("utf-8", ", on_backend_failure: closed", 200, 0.0),
            ("utf-7", "", 200, 1.0),
            ("UTF-7", ", on_backend_failure: closed", 502, 1.0),
        ] {
            each_answered(
                &answers(charset),
                &format!("{fields}{closed}"),
                |stack, backend, at| {
                    let said = format!("{fields}, {charset}, {at}");
                    assert_eq!(stack.call(&chat(body)).status(), status, "{said}");
                    assert_eq!(stack.metric(UNREADABLE), unreadable, "{said}");
                    let (_, post) = backend.await_exchange();
                    let is_marked = unreadable > 0.0 && status == 200;
                    assert_eq!(*post.parameter("unchecked") == true, is_marked, "{said}");
                },
            );
        }
    }
}

#[test]
fn an_answer_that_a_client_may_read_in_another_charset_is_recorded_as_incomplete() {
    let body = json!({"choices": [{"index": 0, "message": {"content": "ok"}}]}).to_string();
    let answer = String::from_utf8(answer_of(200, &body)).unwrap();
    let kind = "application/json; charset=utf-16";
    let other = answer.replacen("application/json", kind, 1).into_bytes();
    for (answer, is_incomplete) in [(answer.into_bytes(), false), (other, true)] {
        let (upstream, backend) = (Upstream::raw(answer), Backend::start());
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
        let (_, post) = backend.await_exchange();
        assert_eq!(*post.parameter("incomplete") == true, is_incomplete);
    }
}

#[test]
fn contract_41_what_cannot_be_read_for_its_redaction_is_counted_and_marked_in_async_mode() {
    let deep = format!("{}\"a@example.com\"{}", "[".repeat(40), "]".repeat(40));
    let bodies = [
        r#"{"messages":[{"role":"user","content":4111111111111111}]}"#.to_owned(),
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":4111111111111111}]}]}"#
            .to_owned(),
        format!(r#"{{"messages":[{{"role":"user","content":{deep}}}]}}"#),
        r#"{"prompt":"a@example.com"}"#.to_owned(),
        // More parts with digits than are read together.
        format!(
            r#"{{"messages":[{{"role":"user","content":[{}"12 "]}}]}}"#,
            r#""12 ","#.repeat(4_000)
        ),
    ];
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let yaml = format!("applications:\n- {{id: {SYNC}, app_mode: async, redact_upstream: true}}");
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = stack.yaml(&yaml).start();
    for (number, body) in (1..).zip(&bodies) {
        backend.forget();
        assert_eq!(stack.call(&chat(body)).text(), ANSWER, "{body}");
        assert_eq!(stack.metric(UNREADABLE), f64::from(number), "{body}");
        let (pre, post) = backend.await_exchange();
        assert_eq!(*pre.parameter("incomplete") == true, number < 5, "{body}");
        for record in [&pre, &post] {
            assert_eq!(*record.parameter("unchecked"), true, "{body}");
        }
    }
    backend.forget();
    assert_eq!(stack.call(&chat(HELLO)).text(), ANSWER);
    assert_eq!(stack.metric(UNREADABLE), bodies.len() as f64);
    let (pre, post) = backend.await_exchange();
    for record in [&pre, &post] {
        assert!(record.parameter("unchecked").is_null());
    }
}
