//! `stream_in_sync: replay`: the whole answer of sync mode as a stream, CONTRACT 43 with 2, 12, 13, 15, 41.

use crate::stream_blocks::events;
use crate::sync::{PHRASE, SYNC, chat, sync};
use serde_json::{Value, json};
use std::io::Write;
use support::assert_envelope;
use support::backend::Backend;
use support::request::{HELLO, HELLO_STREAM, Request};
use support::upstream::{ANSWER, Upstream, response, sse};

const ON: &str = ", stream_in_sync: replay";
const CHECKED: &str = ", stream_in_sync: replay, replace_response: true";

/// Two choices with everything that a choice can hold.
const FULL: &str = r#"{"id":"c-1","object":"chat.completion","created":1,"model":"test-model","system_fingerprint":"fp",
 "choices":[
  {"index":0,"message":{"role":"assistant","content":"one\ntwo","refusal":null,"annotations":[]},
   "logprobs":{"content":[{"token":"one","logprob":-1.5e0}]},"finish_reason":"length"},
  {"index":1,"message":{"role":"assistant","content":null,"refusal":"no","tool_calls":[
    {"id":"t-1","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}},
    {"id":"t-2","type":"function","function":{"name":"g","arguments":""}}]},
   "logprobs":null,"finish_reason":"tool_calls"}],
 "usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#;

/// A call that asks for so many choices.
fn asking_for_choices(n: usize) -> String {
    HELLO_STREAM.replacen('{', &format!(r#"{{"n":{n},"#), 1)
}

fn asking_for_usage() -> String {
    HELLO_STREAM.replace(
        r#""stream":true"#,
        r#""n":2,"stream_options": {"include_usage": true},"stream":true"#,
    )
}

/// What the client's own library would put together of the choices.
fn joined(events: &[Value]) -> Value {
    let mut choices = json!({});
    for choice in events
        .iter()
        .flat_map(|event| event["choices"].as_array().unwrap())
    {
        let whole = &mut choices[choice["index"].to_string()];
        for field in ["content", "refusal"] {
            if let Some(text) = choice["delta"][field].as_str() {
                let so_far = whole[field].as_str().unwrap_or_default().to_owned();
                whole[field] = (so_far + text).into();
            }
        }
        for call in choice["delta"]["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
        {
            whole["tool_calls"][call["index"].to_string()] = call["function"].clone();
        }
        for field in ["finish_reason", "logprobs"] {
            if !choice[field].is_null() {
                whole[field] = choice[field].clone();
            }
        }
    }
    choices
}

#[test]
fn a_whole_answer_becomes_a_stream_with_everything_in_it() {
    let (upstream, backend) = (Upstream::json(200, FULL), Backend::start());
    let stack = sync(&upstream, ON).monitor(&backend).start();
    let request = asking_for_choices(2);
    let answer = stack.call(&chat(&request).header("Accept-Encoding", "gzip"));
    let events = events(&answer);
    let expected = json!({
        "0": {"content": "one\ntwo", "finish_reason": "length",
            "logprobs": {"content": [{"token": "one", "logprob": -1.5}]}},
        "1": {"refusal": "no", "finish_reason": "tool_calls",
            "tool_calls": {"0": {"name": "f", "arguments": "{\"x\": 1}"}, "1": {"name": "g", "arguments": ""}}},
    });
    assert_eq!(joined(&events), expected);
    assert!(events.iter().all(|event| event.get("usage").is_none()));
    for event in &events {
        assert_eq!(event["object"], "chat.completion.chunk");
        assert_eq!(
            (&event["id"], &event["system_fingerprint"]),
            (&"c-1".into(), &"fp".into())
        );
    }
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    let sent = upstream.last();
    let rewritten = request.replace("true", "false");
    assert_eq!(sent.body, rewritten.as_bytes());
    assert_eq!(sent.head.values("accept-encoding"), ["identity"]);
    let (_, post) = backend.await_exchange();
    assert!(post.message().contains("one\ntwo"), "{}", post.message());
    assert_eq!(
        stack.metric(r#"monitor_sync_streams_total{handling="replayed"}"#),
        1.0
    );
}

#[test]
fn usage_comes_where_it_was_asked_for_and_the_model_server_is_not_asked_for_it() {
    // Model servers refuse stream_options without a stream.
    let (upstream, backend) = (Upstream::json(200, ANSWER), Backend::start());
    let stack = sync(&upstream, ON).monitor(&backend).start();
    let events = events(&stack.call(&chat(asking_for_usage())));
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3});
    let (last, before) = events.split_last().unwrap();
    assert_eq!((&last["choices"], &last["usage"]), (&json!([]), &usage));
    assert!(before.iter().all(|event| event["usage"].is_null()));
    let sent: Value = serde_json::from_slice(&upstream.last().body).unwrap();
    assert_eq!(
        (&sent["stream"], &sent["stream_options"]),
        (&false.into(), &Value::Null)
    );
}

#[test]
fn a_flagged_answer_is_the_phrase_as_a_stream() {
    // CONTRACT 15.
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("greeting"));
    let stack = sync(&upstream, CHECKED).monitor(&backend).start();
    let answer = stack.call(&chat(asking_for_usage()));
    assert!(!answer.text().contains("greeting"));
    let events = events(&answer);
    assert_eq!(events[0]["choices"][0]["delta"]["content"], PHRASE);
    let replacement = &events[0]["metadata"]["monitor"]["response_replacement"];
    assert_eq!(replacement["stage"], "post_call");
    assert_eq!(events[2]["usage"]["total_tokens"], 3, "the upstream's own");
    let clean = Backend::start();
    let stack = sync(&upstream, CHECKED).monitor(&clean).start();
    let answer = stack.call(&chat(HELLO_STREAM));
    assert_eq!(
        joined(&self::events(&answer))["0"]["content"],
        "general greeting"
    );
}

#[test]
fn a_redacted_prompt_and_its_answer_are_restored_in_the_stream() {
    // CONTRACT 41.
    let upstream = Upstream::answering(|request| {
        let body = String::from_utf8_lossy(&request.body);
        assert!(body.contains("[EMAILS_1]"), "{body}");
        support::upstream::json(200, &ANSWER.replace("greeting", "[EMAILS_1]"))
    });
    let fields = format!("{ON}, redact_upstream: true");
    let backend = Backend::start();
    let stack = sync(&upstream, &fields).monitor(&backend).start();
    let body = HELLO_STREAM.replace("hello", "to anna@example.com");
    let events = events(&stack.call(&chat(body)));
    assert_eq!(joined(&events)["0"]["content"], "general anna@example.com");
}

#[test]
fn who_asked_for_no_stream_gets_none_and_other_modes_are_as_ever() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = sync(&upstream, ON).monitor(&backend).start();
    assert_eq!(stack.call(&chat(HELLO)).text(), ANSWER);
    let twice = HELLO_STREAM.replace(r#""stream":true"#, r#""stream":true,"stream":false"#);
    assert_eq!(stack.call(&chat(twice)).text(), ANSWER);
}

#[test]
fn an_answer_that_is_no_completion_passes_as_it_is_and_is_counted() {
    let frames = "data: {\"choices\":[]}\n\n";
    let html = response(200, "Content-Type: application/json\r\n", b"<html>");
    let error = response(200, "", b"{\"error\":{}}");
    for (sent, body, counted) in [
        (html, "<html>", 1.0),
        (error, "{\"error\":{}}", 1.0),
        (sse(&[frames]), frames, 0.0),
    ] {
        let (upstream, backend) = (Upstream::raw(sent), Backend::start());
        let stack = sync(&upstream, ON).monitor(&backend).start();
        let answer = stack.call(&chat(HELLO_STREAM));
        assert_eq!((answer.status(), &*answer.text()), (200, body));
        let series = r#"monitor_unreplayed_answers_total{reason="unreadable"}"#;
        assert_eq!(stack.metric(series), counted);
    }
}

#[test]
fn an_answer_of_very_many_choices_becomes_no_larger_stream_than_may_be_held() {
    // CONTRACT 43: each of them takes two events.
    let choices = vec!["{}"; 1_000].join(",");
    let model = "m".repeat(20_000);
    let few = format!(r#"{{"model":"{model}","choices":[{{}},{{}},{{}}]}}"#);
    let many = format!(r#"{{"model":"m","choices":[{choices}]}}"#);
    let bodies = [(few, true), (many, false)];
    let sent: Vec<String> = bodies.iter().map(|(body, _)| body.clone()).collect();
    let next = std::sync::Mutex::new(sent.into_iter());
    let upstream = Upstream::answering(move |_| {
        support::upstream::json(200, &next.lock().unwrap().next().unwrap_or_default())
    });
    let backend = Backend::start();
    let stack = sync(&upstream, ON)
        .yaml("limits: {recorded_bytes: 64KiB}")
        .monitor(&backend)
        .start();
    let series = r#"monitor_unreplayed_answers_total{reason="too_large"}"#;
    for (body, is_replayed) in bodies {
        let answer = stack.call(&chat(asking_for_choices(1_000_000)));
        match is_replayed {
            // What is long comes once.
            true => {
                let events = events(&answer);
                let with_model = events.iter().filter(|event| event["model"].is_string());
                assert_eq!((events.len(), with_model.count()), (6, 1));
            }
            false => assert_eq!(answer.text(), body),
        }
        assert_eq!(stack.metric(series), f64::from(u8::from(!is_replayed)));
    }
}

#[test]
fn the_events_of_an_answer_are_counted_in_the_memory_of_the_calls() {
    let large = ANSWER.replace("greeting", &"x".repeat(600_000));
    let (upstream, backend) = (Upstream::json(200, &large), Backend::start());
    for (limit, status) in [("1MiB", 503), ("2MiB", 200)] {
        let stack = sync(&upstream, ON)
            .yaml(&format!(
                "limits: {{recorded_bytes: 1MiB, buffered_bytes: {limit}}}"
            ))
            .monitor(&backend)
            .start();
        let answer = stack.call(&chat(HELLO_STREAM));
        assert_eq!(answer.status(), status);
        assert_eq!(
            answer.text().contains("limits.buffered_bytes"),
            status == 503
        );
    }
}

#[test]
fn a_compressed_answer_is_replayed_and_one_that_is_too_large_is_not() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(ANSWER.as_bytes()).unwrap();
    let head = "Content-Type: application/json\r\nContent-Encoding: gzip\r\nETag: \"x\"\r\n";
    let sent = response(200, head, &packed.finish().unwrap());
    let (upstream, backend) = (Upstream::raw(sent), Backend::start());
    let stack = sync(&upstream, ON).monitor(&backend).start();
    let answer = stack.call(&chat(HELLO_STREAM));
    assert_eq!(joined(&events(&answer))["0"]["content"], "general greeting");
    assert_eq!(answer.head.header("content-encoding"), None);
    assert_eq!(answer.head.header("etag"), None);
    let large = ANSWER.replace("greeting", &"x".repeat(70_000));
    let (upstream, backend) = (Upstream::json(200, &large), Backend::start());
    let stack = sync(&upstream, ON)
        .yaml("limits: {recorded_bytes: 64KiB}")
        .monitor(&backend)
        .start();
    assert_eq!(stack.call(&chat(HELLO_STREAM)).text(), large);
    let series = r#"monitor_unreplayed_answers_total{reason="too_large"}"#;
    assert_eq!(stack.metric(series), 1.0);
}

#[test]
fn errors_stay_errors() {
    // §7, CONTRACT 13, 40.
    let envelope = r#"{"error":{"message":"m","type":"rate_limit_error","code":429}}"#;
    let (upstream, backend) = (Upstream::json(429, envelope), Backend::start());
    let stack = sync(&upstream, ON).monitor(&backend).start();
    let answer = stack.call(&chat(HELLO_STREAM));
    assert_eq!((answer.status(), answer.text().as_str()), (429, envelope));
    let fields = format!("{CHECKED}, on_backend_failure: closed");
    let sent = Upstream::json(200, "{\"choices\":[{\"message\":{\"content\":7}}]}");
    let (upstream, backend) = (sent, Backend::start());
    let stack = sync(&upstream, &fields).monitor(&backend).start();
    let answer = stack.call(&chat(HELLO_STREAM));
    assert_eq!(answer.status(), 502);
    assert_envelope(&answer.body, "gateway_error", 502);
}

#[test]
fn streams_that_plain_sync_mode_rewrites_are_counted_and_warned_about_once_for_each_application() {
    // §3, CONTRACT 2.
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let other = "6f1c2d4e-8a90-4b1c-9d2e-3f4a5b6c7d8f";
    let second = format!("- {{id: {other}, app_mode: sync, phrase: no}}");
    let stack = sync(&upstream, "").yaml(&second).monitor(&backend);
    let stack = stack.start();
    for _ in 0..3 {
        assert_eq!(stack.call(&chat(HELLO_STREAM)).text(), ANSWER);
        let call = Request::chat(HELLO_STREAM).header("X-Application-Id", other);
        assert_eq!(stack.call(&call).text(), ANSWER);
    }
    stack.call(&chat(HELLO));
    assert_eq!(
        stack.metric(r#"monitor_sync_streams_total{handling="rewritten"}"#),
        6.0
    );
    let warned = stack.stderr();
    for application in [SYNC, other] {
        let line = format!("a call of application {application} asked for a stream");
        assert_eq!(warned.matches(&line).count(), 1, "{warned}");
    }
}

#[test]
fn an_answer_that_cannot_be_replayed_is_logged_with_its_application() {
    // CONTRACT 43.
    let upstream = Upstream::json(200, "{\"error\":{}}");
    let stack = sync(&upstream, ON).monitor(&Backend::start()).start();
    stack.call(&chat(HELLO_STREAM));
    let said = stack.stderr();
    let line = format!("an answer to application {SYNC} could not be sent as a stream");
    assert!(said.contains(&line), "{said}");
}
