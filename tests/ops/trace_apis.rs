//! What the spans say of calls of each API, and of what the checks found, by OpenTelemetry's conventions for generative
//! AI (AGENT_ROUTES 3). No span holds a word of a prompt, an answer or a finding.

use super::trace_attributes::texts;
use super::traces::{attribute, await_spans, collector, gateway, of_kind};
use serde_json::{Value, json};
use support::backend::{Backend, verdict};
use support::request::{CHAT, HELLO, Request};
use support::upstream::{ANSWER, DONE, Upstream, json as answer};

const APPLICATION: &str = "57100000-0000-4000-8000-000000000008";
/// printf %s anna@example.org | openssl dgst -sha256 -hmac mon_test_key_2f6c1b7e -r | cut -c 1-32
const CONVERSATION: &str = "9a5d976cd5532c0276ee35245752145f";

/// What one API is asked and answers.
pub(crate) struct Api {
    pub(crate) path: &'static str,
    pub(crate) provider: &'static str,
    /// Names the session of its programs.
    session: &'static str,
    /// The request, without `stream`.
    pub(crate) request: Value,
    stops: &'static [&'static str],
    choices: Value,
    finish: &'static str,
    pub(crate) whole: Value,
    /// The same as a stream.
    pub(crate) events: Vec<Value>,
}

pub(crate) fn apis() -> [Api; 3] {
    let said = json!({"role": "user", "content": "hello"});
    [
        Api {
            path: CHAT,
            provider: "openai",
            session: "X-Session-Id",
            request: json!({"model": "m", "max_completion_tokens": 50, "temperature": 0.2, "top_p": 1, "n": 2,
                "stop": "END", "response_format": {"type": "json_object"}, "messages": [said]}),
            stops: &["END"],
            choices: "2".into(),
            finish: "stop",
            whole: json!({"id": "id-7", "model": "m-1", "choices": [
                {"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}],
                "usage": chat_usage()}),
            events: vec![
                json!({"id": "id-7", "model": "m-1", "choices": [{"index": 0, "delta": {"content": "a"}}]}),
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
                json!({"choices": [], "usage": chat_usage()}),
            ],
        },
        Api {
            path: "/v1/responses",
            provider: "openai",
            session: "session-id",
            // Names of other APIs say nothing here.
            request: json!({"model": "m", "max_output_tokens": 50, "max_tokens": 1, "temperature": 0.2, "top_p": 1,
                "n": 2, "stop": ["END"], "text": {"format": {"type": "json_schema", "name": "x"}}, "input": [said]}),
            stops: &[],
            choices: Value::Null,
            finish: "completed",
            whole: response(),
            events: vec![
                json!({"type": "response.created", "response": {"id": "id-7", "model": "m-1",
                    "status": "in_progress", "output": [], "usage": null}}),
                json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "a"}),
                json!({"type": "response.completed", "response": response()}),
            ],
        },
        Api {
            path: "/v1/messages",
            provider: "anthropic",
            session: "X-Claude-Code-Session-Id",
            request: json!({"model": "m", "max_tokens": 50, "max_completion_tokens": 1, "temperature": 0.2,
                "top_p": 1, "n": 2, "stop_sequences": ["END", 7, "\n\n"],
                "output_config": {"format": {"type": "json_schema"}}, "messages": [said]}),
            stops: &["END", "\n\n"],
            choices: Value::Null,
            finish: "end_turn",
            whole: message(
                json!([{"type": "text", "text": "a"}]),
                json!("end_turn"),
                message_usage(),
            ),
            events: vec![
                json!({"type": "message_start", "message": message(json!([]), Value::Null, begun_usage())}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                    "usage": {"output_tokens": 7, "output_tokens_details": {"thinking_tokens": 5}}}),
                json!({"type": "message_stop"}),
            ],
        },
    ]
}

fn chat_usage() -> Value {
    json!({"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19,
        "prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 5}})
}

fn response() -> Value {
    json!({"id": "id-7", "object": "response", "model": "m-1", "status": "completed", "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}],
        "usage": {"input_tokens": 12, "output_tokens": 7, "total_tokens": 19,
        "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 3},
        "output_tokens_details": {"reasoning_tokens": 5}}})
}

fn message(content: Value, reason: Value, usage: Value) -> Value {
    json!({"id": "id-7", "type": "message", "role": "assistant", "model": "m-1", "content": content,
        "stop_reason": reason, "usage": usage})
}

/// Those of the cache are none of `input_tokens`: 12 in all.
fn begun_usage() -> Value {
    json!({"input_tokens": 1, "cache_read_input_tokens": 8, "cache_creation_input_tokens": 3, "output_tokens": 1})
}

fn message_usage() -> Value {
    let mut usage = begun_usage();
    usage["output_tokens"] = 7.into();
    usage["output_tokens_details"] = json!({"thinking_tokens": 5});
    usage
}

/// The frames of events; those of chat completions have no names, and an end of their own.
fn frames(events: &[Value]) -> Vec<String> {
    let named = |event: &Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    let mut frames: Vec<String> = events.iter().map(named).collect();
    if events[0]["type"].is_null() {
        frames.push(DONE.to_owned());
    }
    frames
}

pub(crate) fn streaming(events: &[Value]) -> Upstream {
    let frames = frames(events);
    Upstream::sse(&frames.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_call_of_each_api_tells_what_was_asked_for_and_what_was_used() {
    for api in apis() {
        for streams in [false, true] {
            let upstream = match streams {
                true => streaming(&api.events),
                false => Upstream::json(200, &api.whole.to_string()),
            };
            let collector = collector();
            let stack = gateway(&upstream, &collector, ", ratio: 1").start();
            let mut body = api.request.clone();
            body["stream"] = streams.into();
            let call = Request::post(api.path, body.to_string());
            let call = call.header(api.session, "anna@example.org");
            assert_eq!(stack.call(&call).status(), 200, "{}", api.path);
            let spans = await_spans(&collector, 2);
            let client = of_kind(&spans, 3);
            assert_eq!(client["name"], "chat m");
            let stream = if streams { true.into() } else { Value::Null };
            for (name, value) in [
                ("gen_ai.operation.name", "chat".into()),
                ("gen_ai.provider.name", api.provider.into()),
                ("server.address", "127.0.0.1".into()),
                ("server.port", upstream.address().port().to_string().into()),
                ("error.type", Value::Null),
                ("gen_ai.request.model", "m".into()),
                ("gen_ai.request.stream", stream),
                ("gen_ai.request.max_tokens", "50".into()),
                ("gen_ai.request.temperature", 0.2.into()),
                ("gen_ai.request.top_p", 1.0.into()),
                ("gen_ai.request.choice.count", api.choices.clone()),
                ("gen_ai.output.type", "json".into()),
                ("gen_ai.conversation.id", CONVERSATION.into()),
                ("gen_ai.response.id", "id-7".into()),
                ("gen_ai.response.model", "m-1".into()),
                ("gen_ai.usage.input_tokens", "12".into()),
                ("gen_ai.usage.output_tokens", "7".into()),
                ("gen_ai.usage.cache_read.input_tokens", "8".into()),
                ("gen_ai.usage.cache_creation.input_tokens", "3".into()),
                ("gen_ai.usage.reasoning.output_tokens", "5".into()),
            ] {
                assert_eq!(*attribute(client, name), value, "{name} of {client}");
            }
            let stops = texts(client, "gen_ai.request.stop_sequences");
            assert_eq!(stops, api.stops, "{client}");
            let reasons = texts(client, "gen_ai.response.finish_reasons");
            assert_eq!(reasons, [api.finish], "{client}");
        }
    }
}

#[test]
fn what_stands_for_the_default_or_is_unknown_is_no_attribute() {
    let (upstream, collector) = (Upstream::ok(), collector());
    let stack = gateway(&upstream, &collector, ", ratio: 1").start();
    let body = json!({"model": "m", "n": 1, "max_tokens": -1, "stop": 7, "messages": [],
        "response_format": {"type": "s3cret"}});
    assert_eq!(stack.call(&Request::chat(body.to_string())).status(), 200);
    let spans = await_spans(&collector, 2);
    let client = of_kind(&spans, 3);
    for name in [
        "gen_ai.request.choice.count",
        "gen_ai.request.max_tokens",
        "gen_ai.request.stop_sequences",
        "gen_ai.output.type",
    ] {
        assert_eq!(*attribute(client, name), Value::Null, "{name} of {client}");
    }
}

#[test]
fn stop_sequences_are_bounded_in_number_and_length() {
    let (upstream, collector) = (Upstream::ok(), collector());
    let stack = gateway(&upstream, &collector, ", ratio: 1").start();
    let stops = vec!["\u{416}".repeat(1_000); 100];
    let body = json!({"model": "m", "stop": stops, "messages": []});
    assert_eq!(stack.call(&Request::chat(body.to_string())).status(), 200);
    let spans = await_spans(&collector, 2);
    let told = texts(of_kind(&spans, 3), "gen_ai.request.stop_sequences");
    assert_eq!(told, vec!["\u{416}".repeat(64); 16]);
}

#[test]
fn an_error_in_a_stream_fails_the_model_call_without_the_providers_words() {
    for (path, event) in [
        (
            "/v1/messages",
            json!({"type": "error", "error": {"type": "s3cret_error", "message": "s3cret"}}),
        ),
        (
            "/v1/responses",
            json!({"type": "error", "code": "s3cret_error", "message": "s3cret"}),
        ),
        (
            CHAT,
            json!({"error": {"message": "s3cret", "type": "s3cret_error", "code": 500}}),
        ),
    ] {
        let (upstream, collector) = (streaming(&[event]), collector());
        let stack = gateway(&upstream, &collector, ", ratio: 1").start();
        let body =
            json!({"model": "m", "stream": true, "max_tokens": 5, "messages": [], "input": []});
        let call = Request::post(path, body.to_string());
        assert_eq!(stack.call(&call).status(), 200, "{path}");
        let spans = await_spans(&collector, 2);
        let client = of_kind(&spans, 3);
        assert_eq!(client["status"]["code"], 2, "{client}");
        assert_eq!(*attribute(client, "error.type"), "_OTHER", "{client}");
        let all = Value::from(spans).to_string();
        assert!(!all.contains("s3cret"), "{all}");
    }
}

#[test]
fn the_configuration_may_name_another_provider() {
    let (upstream, collector) = (Upstream::ok(), collector());
    let more = ", ratio: 1, provider: aws.bedrock";
    let stack = gateway(&upstream, &collector, more).start();
    let body = r#"{"model":"m","max_tokens":5,"messages":[]}"#;
    assert_eq!(
        stack.call(&Request::post("/v1/messages", body)).status(),
        200
    );
    let spans = await_spans(&collector, 2);
    let provider = attribute(of_kind(&spans, 3), "gen_ai.provider.name");
    assert_eq!(provider, "aws.bedrock");
}

/// The name, the label and the response of each evaluation of a span.
fn evaluations(span: &Value) -> Vec<[Value; 3]> {
    let events = span["events"].as_array().cloned().unwrap_or_default();
    let evaluation = |event: &Value| {
        assert_eq!(event["name"], "gen_ai.evaluation.result", "{event}");
        assert_eq!(event["timeUnixNano"], span["endTimeUnixNano"], "{event}");
        [
            "gen_ai.evaluation.name",
            "gen_ai.evaluation.score.label",
            "gen_ai.response.id",
        ]
        .map(|name| attribute(event, name).clone())
    };
    events.iter().map(evaluation).collect()
}

#[track_caller]
fn named<'s>(spans: &'s [Value], name: &str) -> &'s Value {
    let found = spans.iter().find(|span| span["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {spans:?}"))
}

fn checked(text: &str) -> Request {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": text}]});
    Request::chat(body.to_string()).header("X-Application-Id", APPLICATION)
}

fn policy(fields: &str) -> String {
    format!("applications:\n- {{id: {APPLICATION}, app_mode: sync, phrase: no{fields}}}")
}

#[test]
fn what_a_check_found_is_an_event_of_its_verdict() {
    let (upstream, collector) = (Upstream::ok(), collector());
    let backend = Backend::judging(|call| match call.message() {
        text if text.contains("rival") => verdict(&["custom_policy", "dataclean"]),
        text if text.contains("mild") => verdict(&["guardrails"]),
        _ => verdict(&[]),
    });
    let stack = gateway(&upstream, &collector, ", ratio: 1")
        .monitor(&backend)
        .yaml(&policy(
            ", replace_response: true, block_on: {guardrails: false}",
        ))
        .start();
    let evaluation = |name: &str, label: &str, id: Value| [Value::from(name), label.into(), id];
    assert_eq!(stack.call(&checked("hello")).text(), ANSWER);
    let spans = await_spans(&collector, 4);
    assert_eq!(
        evaluations(named(&spans, "verdict pre_call")),
        [evaluation("policy", "passed", Value::Null)]
    );
    assert_eq!(
        evaluations(named(&spans, "verdict post_call")),
        [evaluation("policy", "passed", "c-1".into())]
    );
    collector.forget();
    // What blocks nothing is told as well.
    assert_eq!(stack.call(&checked("mild")).text(), ANSWER);
    let spans = await_spans(&collector, 4);
    let span = named(&spans, "verdict pre_call");
    assert_eq!(*attribute(span, "monitor.verdict"), "passed");
    assert_eq!(
        evaluations(span),
        [evaluation("guardrails", "flagged", Value::Null)]
    );
    collector.forget();
    assert_eq!(stack.call(&checked("a rival")).status(), 200);
    let spans = await_spans(&collector, 2);
    let span = named(&spans, "verdict pre_call");
    assert_eq!(*attribute(span, "monitor.verdict"), "flagged");
    let flagged = |kind: &str| evaluation(kind, "flagged", Value::Null);
    assert_eq!(
        evaluations(span),
        [flagged("custom_policy"), flagged("dataclean")]
    );
    let all = Value::from(spans).to_string();
    for word in ["s3cret", "no-rivals", "EMAILS", "a rival"] {
        assert!(!all.contains(word), "{word} in {all}");
    }
}

#[test]
fn a_check_that_did_not_look_at_everything_passes_nothing() {
    let partial = json!({
        "request_id": "7d0e3a0e-1a3c-4a53-9d0a-0f1b6c1c8f11", "schema_version": "2.0.0",
        "status": "partial_success", "errors": ["guardrails: s3cret"],
        "tokens": {"count": 1, "usage_severity": null}, "guardrails": {"flagged": false},
        "custom_policy": {"flagged": false},
        "dataclean": {"flagged": false, "cleaned_text": null, "types": []},
    });
    let (upstream, collector) = (Upstream::ok(), collector());
    let backend = Backend::judging(move |_| answer(200, &partial.to_string()));
    let stack = gateway(&upstream, &collector, ", ratio: 1")
        .monitor(&backend)
        .yaml(&policy(", on_backend_failure: open"))
        .start();
    let call = Request::chat(HELLO).header("X-Application-Id", APPLICATION);
    assert_eq!(stack.call(&call).text(), ANSWER);
    let spans = await_spans(&collector, 3);
    let span = named(&spans, "verdict pre_call");
    assert_eq!(*attribute(span, "monitor.verdict"), "unknown");
    assert!(span["events"].is_null(), "{span}");
}
