//! The answers of the Responses and the Messages API, whole and as streams.
#![allow(clippy::unwrap_used)]

mod nesting;
mod orders;
mod splits;

use super::{
    Chat, Completions, Embeddings, Messages, OwnAnswer, OwnError, Protocol, Responses,
    StreamAnswer, Texts,
};
use crate::json::CallTexts;
use crate::sse::Parser;
use monitor_model::ErrorType;
use serde_json::{Value, json};

/// A stream whose events have names, as model servers write it.
fn stream(events: &[Value]) -> Vec<u8> {
    let frame = |event: &Value| {
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap()
        )
    };
    events.iter().map(frame).collect::<String>().into_bytes()
}

fn read(protocol: &dyn Protocol, texts: Texts, stream: &[u8]) -> Box<dyn StreamAnswer> {
    let mut answer = protocol.stream_answer(texts, CallTexts::Whole, 1 << 20);
    let mut parser = Parser::new(1 << 20);
    parser.push(stream, |event| {
        answer.push(event.name.unwrap_or_default(), event.data)
    });
    parser.finish(|event| answer.push(event.name.unwrap_or_default(), event.data));
    answer
}

/// A response with reasoning, two parts of text and a call.
fn response() -> Value {
    json!({
        "id": "resp_1", "object": "response", "status": "completed", "model": "m-1", "instructions": "echoed",
        "tools": [{"type": "function", "name": "f", "description": "echoed"}], "error": null,
        "output": [
            {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "thought"}]},
            {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "one", "annotations": []},
                {"type": "output_text", "text": "two \u{416}", "annotations": []},
            ]},
            {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "shell", "arguments": "{\"a\":\"\\u0041\"}"},
        ],
        "usage": {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12, "input_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1},
            "output_tokens_details": {"reasoning_tokens": 2}},
    })
}

/// The events that bring it.
fn response_events() -> Vec<Value> {
    let whole = response();
    let mut begun = whole.clone();
    (begun["output"], begun["status"], begun["usage"]) =
        (json!([]), "in_progress".into(), Value::Null);
    let delta = |kind: &str, index: u64, part: u64, text: &str| json!({"type": kind, "output_index": index, "content_index": part, "item_id": "i", "delta": text});
    let item = |kind: &str, index: usize| json!({"type": kind, "output_index": index, "item": whole["output"][index]});
    vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "thou"}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "ght"}),
        item("response.output_item.done", 0),
        json!({"type": "response.output_item.added", "output_index": 1, "item": {"id": "msg_1", "type": "message", "content": []}}),
        delta("response.output_text.delta", 1, 0, "on"),
        delta("response.output_text.delta", 1, 0, "e"),
        json!({"type": "response.output_text.done", "output_index": 1, "content_index": 0, "text": "one"}),
        delta("response.output_text.delta", 1, 1, "two \u{416}"),
        item("response.output_item.done", 1),
        json!({"type": "response.output_item.added", "output_index": 2,
            "item": {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "shell", "arguments": ""}}),
        delta(
            "response.function_call_arguments.delta",
            2,
            0,
            "{\"a\":\"\\u00",
        ),
        delta("response.function_call_arguments.delta", 2, 0, "41\"}"),
        item("response.output_item.done", 2),
        json!({"type": "response.tomorrow", "sequence_number": 1}),
        json!({"type": "response.completed", "response": whole}),
    ]
}

fn message() -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "thought", "signature": "c2ln"},
            {"type": "text", "text": "one"},
            {"type": "tool_use", "id": "t_1", "name": "shell", "input": {"a": "A"}},
            {"type": "text", "text": "two"},
        ],
        "usage": {"input_tokens": 4, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1, "output_tokens": 5,
            "output_tokens_details": {"thinking_tokens": 2}},
    })
}

fn message_events() -> Vec<Value> {
    let mut begun = message();
    (begun["content"], begun["stop_reason"]) = (json!([]), Value::Null);
    begun["usage"]["output_tokens"] = 1.into();
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    vec![
        json!({"type": "message_start", "message": begun}),
        start(
            0,
            json!({"type": "thinking", "thinking": "", "signature": ""}),
        ),
        delta(0, json!({"type": "thinking_delta", "thinking": "thought"})),
        delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
        stop(0),
        json!({"type": "ping"}),
        start(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "on"})),
        delta(1, json!({"type": "text_delta", "text": "e"})),
        stop(1),
        start(
            2,
            json!({"type": "tool_use", "id": "t_1", "name": "shell", "input": {}}),
        ),
        delta(
            2,
            json!({"type": "input_json_delta", "partial_json": "{\"a\":"}),
        ),
        delta(
            2,
            json!({"type": "input_json_delta", "partial_json": "\"A\"}"}),
        ),
        stop(2),
        start(3, json!({"type": "text", "text": "t"})),
        delta(3, json!({"type": "text_delta", "text": "wo"})),
        stop(3),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 5, "output_tokens_details": {"thinking_tokens": 2}}}),
        json!({"type": "message_stop"}),
    ]
}

#[test]
fn a_stream_says_what_the_whole_answer_says() {
    let responses = (&Responses as &dyn Protocol, response(), response_events());
    let messages = (&Messages as &dyn Protocol, message(), message_events());
    for ((protocol, whole, events), recorded) in [
        (responses, "one\ntwo \u{416}\nshell\n{\"a\":\"A\"}"),
        (messages, "one\ntwo\nshell\n{\"a\":\"A\"}"),
    ] {
        let body = whole.to_string().into_bytes();
        let kept = protocol.answer(&body, CallTexts::Whole).unwrap();
        assert_eq!(kept.text, recorded, "{protocol:?}");
        let checked = protocol.checked_answer(&body, CallTexts::Whole).unwrap();
        assert_eq!(checked.text, format!("{recorded}\nthought"), "{protocol:?}");
        assert!(!kept.has_unreadable && !checked.has_unreadable);
        assert_eq!(kept.model.as_deref(), Some("m-1"));
        let usage = protocol.usage(&body[kept.usage.unwrap()]).unwrap();
        let names = recorded.replace("\n{\"a\":\"A\"}", "");
        let of_names = protocol.answer(&body, CallTexts::Names).unwrap();
        assert_eq!(of_names.text, names, "{protocol:?}");
        let of_names = protocol.checked_answer(&body, CallTexts::Names).unwrap();
        assert_eq!(of_names.text, format!("{names}\nthought"), "{protocol:?}");
        let bytes = stream(&events);
        for texts in [Texts::Record, Texts::Every] {
            let answer = read(protocol, texts, &bytes);
            assert_eq!(answer.text(), recorded, "{protocol:?}");
            assert_eq!(
                (answer.skipped(), answer.error_seen()),
                (0, false),
                "{protocol:?}"
            );
            assert_eq!(answer.model(), Some("m-1"));
            assert_eq!(answer.usage(), Some(usage), "{protocol:?}");
            assert_eq!(
                (usage.prompt_tokens, usage.completion_tokens),
                (Some(7), Some(5))
            );
            let (input, output) = (usage.prompt_tokens_details, usage.completion_tokens_details);
            let cached = input.cached_tokens.zip(input.cache_creation_tokens);
            assert_eq!(cached, Some((2, 1)), "{protocol:?}");
            assert_eq!(output.reasoning_tokens, Some(2), "{protocol:?}");
            // One reader is enough for the check and for the parts of the record.
            let calls = answer.tool_calls(usize::MAX);
            assert_eq!((calls.parts.len(), &*calls.parts[0].name), (1, "shell"));
            assert_eq!(calls, protocol.tool_calls(&body, usize::MAX), "{texts:?}");
            let end = protocol.answer_end(&body, 9);
            assert_eq!(answer.id(), end.id.as_deref());
            assert_eq!(answer.finish_reasons(), end.finish_reasons);
            if let Some(all) = answer.checked_text() {
                assert_eq!(
                    (all.text, all.has_unreadable),
                    (checked.text.clone(), false),
                    "{protocol:?}"
                );
            }
        }
    }
}

#[test]
fn a_stream_without_its_end_says_what_came() {
    for (protocol, events, recorded) in [
        (
            &Responses as &dyn Protocol,
            &response_events()[..9],
            "one\ntwo \u{416}",
        ),
        (&Messages, &message_events()[..12], "one\nshell\n{\"a\":"),
    ] {
        assert_eq!(
            read(protocol, Texts::Record, &stream(events)).text(),
            recorded,
            "{protocol:?}"
        );
    }
}

#[test]
fn a_message_without_its_end_has_no_tokens_of_the_answer() {
    let mut events = message_events();
    let ended = read(&Messages, Texts::Record, &stream(&events)).usage();
    events.truncate(12);
    let usage = read(&Messages, Texts::Record, &stream(&events)).usage();
    assert_eq!(usage, ended.map(crate::sse::Usage::of_prompt));
    assert_eq!(usage.unwrap().prompt_tokens, Some(7));
}

#[test]
fn text_that_an_event_says_differently_later_is_checked_in_both_forms() {
    let events = [
        json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "first"}),
        json!({"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "then"}),
        json!({"type": "response.completed", "response": {"output": null}}),
    ];
    let answer = read(&Responses, Texts::Every, &stream(&events));
    assert_eq!(answer.text(), "then");
    assert_eq!(answer.checked_text().unwrap().text, "then\nfirst");
}

#[test]
fn what_cannot_be_read_is_counted_and_errors_are_seen() {
    for (protocol, event, skipped, failed) in [
        (&Responses as &dyn Protocol, "not json", 1, false),
        (
            &Responses,
            r#"{"type":"response.output_text.delta","Delta":"x"}"#,
            2,
            false,
        ),
        (
            &Responses,
            r#"{"type":"error","code":"c","message":"m"}"#,
            0,
            true,
        ),
        (
            &Responses,
            r#"{"type":"response.failed","response":{"output":[]}}"#,
            0,
            true,
        ),
        (
            &Messages,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","Text":"x"}}"#,
            2,
            false,
        ),
        (
            &Messages,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
            0,
            true,
        ),
        (&Messages, "[]", 1, false),
    ] {
        let mut answer = protocol.stream_answer(Texts::Every, CallTexts::Whole, 1 << 20);
        let value: Value = serde_json::from_str(event).unwrap_or_default();
        let name = value["type"].as_str().unwrap_or_default();
        answer.push(name.as_bytes(), event.as_bytes());
        assert_eq!(
            (answer.skipped(), answer.error_seen()),
            (skipped, failed),
            "{event}"
        );
    }
}

#[test]
fn an_item_counts_once_where_the_numbers_of_items_have_gaps() {
    let mut events = response_events();
    for event in &mut events {
        if let Some(index) = event["output_index"].as_u64() {
            event["output_index"] = (index * index + 1).into();
        }
    }
    for texts in [Texts::Record, Texts::Every] {
        let usual = read(&Responses, texts, &stream(&response_events()));
        let answer = read(&Responses, texts, &stream(&events));
        assert_eq!(answer.text(), usual.text(), "{texts:?}");
    }
}

#[test]
fn the_text_that_is_kept_is_bounded() {
    for (protocol, events) in [
        (&Responses as &dyn Protocol, response_events()),
        (&Messages, message_events()),
    ] {
        let mut answer = protocol.stream_answer(Texts::Every, CallTexts::Whole, 200);
        for event in &events {
            let name = event["type"].as_str().unwrap();
            answer.push(name.as_bytes(), event.to_string().as_bytes());
        }
        assert!(
            answer.is_truncated() && answer.kept() <= 200,
            "{protocol:?}"
        );
    }
}

#[test]
fn an_answer_of_the_gateways_is_read_like_a_models() {
    for protocol in [&Responses as &dyn Protocol, &Messages] {
        let answer = OwnAnswer {
            id: "monitor-guardrails-7",
            created: 1,
            model: "m-1",
            text: "Not \"here\".\n",
            usage: None,
            with_usage: false,
            monitor: Some(
                json!({"response_replacement": {"type": "dataclean", "request_id": "r"}}),
            ),
        };
        let whole = protocol
            .answer(&protocol.own_answer(&answer), CallTexts::Whole)
            .unwrap();
        assert_eq!(whole.text, answer.text);
        let own = protocol.own_stream(&answer);
        let read = read(protocol, Texts::Record, &own);
        assert_eq!((read.text().as_str(), read.skipped()), (answer.text, 0));
        assert_eq!((read.id(), read.model()), (Some(answer.id), Some("m-1")));
        assert_eq!(read.usage().unwrap().prompt_tokens, Some(0));
        let error = OwnError {
            kind: ErrorType::UpstreamError,
            status: 504,
            message: "late",
            request_id: "r",
            reason: None,
        };
        assert!(protocol.is_error(&protocol.error(&error)));
        let frame = protocol.error_frame(&error);
        assert!(frame.starts_with(b"event: error\ndata: {") && frame.ends_with(b"}\n\n"));
    }
}

#[test]
fn an_error_says_its_reason_beside_the_status_in_every_protocol() {
    let error = |reason| OwnError {
        kind: ErrorType::RateLimitError,
        status: 429,
        message: "spent",
        request_id: "r",
        reason,
    };
    for protocol in [
        &Chat as &dyn Protocol,
        &Completions,
        &Embeddings,
        &Responses,
        &Messages,
    ] {
        let body = |reason| -> serde_json::Value {
            serde_json::from_slice(&protocol.error(&error(reason))).unwrap()
        };
        let (plain, mut reasoned) = (body(None), body(Some("budget_exceeded")));
        let fields = reasoned["error"].as_object_mut().unwrap();
        assert_eq!(fields.remove("reason"), Some("budget_exceeded".into()));
        assert_eq!(reasoned, plain, "{protocol:?}");
    }
}
