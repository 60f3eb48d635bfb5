//! What a client that asked for a stream gets for a blocked call, and what strictly typed clients get: §2.4,
//! CONTRACT 12, 43.

use crate::sync::{PHRASE, blocked, chat, sync};
use serde_json::{Value, json};
use support::backend::{ANALYSIS, Backend};
use support::http::Response;
use support::request::{HELLO, HELLO_STREAM};
use support::upstream::{DONE, Upstream};

const STREAMS: [&str; 2] = [", stream_in_sync: hold_back", ", stream_in_sync: replay"];

/// The events of an answer that is a stream.
#[track_caller]
pub(crate) fn events(answer: &Response) -> Vec<Value> {
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert!(answer.complete);
    let kind = answer.head.header("content-type");
    assert_eq!(kind, Some("text/event-stream"), "{}", answer.text());
    assert_eq!(answer.head.header("content-length"), None);
    let text = answer.text();
    let events = text.strip_suffix(DONE).expect("[DONE] at the end");
    events
        .split_terminator("\n\n")
        .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
        .collect()
}

fn with_usage() -> String {
    HELLO_STREAM.replace(
        r#""stream":true"#,
        r#""stream":true,"stream_options":{"include_usage":true},"metadata":{"request_id":"mine-7"}"#,
    )
}

#[test]
fn a_blocked_prompt_is_a_stream_for_who_asked_for_one() {
    for fields in STREAMS {
        let (upstream, backend) = (Upstream::ok(), Backend::flagging("hello"));
        let stack = sync(&upstream, fields).monitor(&backend).start();
        let mut events = events(&stack.call(&chat(HELLO_STREAM)));
        let id = events[0]["id"].as_str().unwrap().to_owned();
        assert!(id.starts_with("monitor-guardrails-"), "{id}");
        for event in &mut events {
            assert_eq!(event["id"], id);
            assert!(event["created"].take().is_u64());
        }
        let prepared = events[0]["metadata"]["monitor"]["prepared_response"].take();
        assert_eq!(prepared["analysis_id"], ANALYSIS);
        let replacement = &mut events[0]["metadata"]["monitor"]["response_replacement"];
        assert!(uuid::Uuid::parse_str(replacement["request_id"].take().as_str().unwrap()).is_ok());
        let monitor = json!({"response_replaced": true, "prepared_response": null,
            "response_replacement": {"stage": "pre_call", "type": "dataclean", "request_id": null}});
        let event = |delta: Value, reason: Option<&str>| {
            json!({"id": id, "object": "chat.completion.chunk", "created": null, "model": "test-model",
                "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
        };
        let mut said = event(json!({"role": "assistant", "content": PHRASE}), None);
        said["metadata"] = json!({"monitor": monitor});
        assert_eq!(events, [said, event(json!({}), Some("stop"))], "{fields}");
        upstream.assert_untouched();
        let series = r#"monitor_verdicts_total{stage="pre_call",type="dataclean"}"#;
        assert_eq!(stack.metric(series), 1.0);
    }
}

#[test]
fn usage_is_in_the_stream_where_it_was_asked_for() {
    for fields in STREAMS {
        let backend = Backend::flagging("hello");
        let upstream = Upstream::ok();
        let stack = sync(&upstream, fields).monitor(&backend).start();
        let events = events(&stack.call(&chat(with_usage())));
        assert_eq!(events.len(), 3);
        assert!(events[..2].iter().all(|event| event["usage"].is_null()));
        assert_eq!(events[2]["choices"], json!([]));
        let none = json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0});
        assert_eq!(events[2]["usage"], none);
        let replacement = &events[0]["metadata"]["monitor"]["response_replacement"];
        assert_eq!(replacement["request_id"], "mine-7");
    }
}

#[test]
fn a_blocked_prompt_is_a_completion_for_who_asked_for_none_and_in_plain_sync_mode() {
    // §2.4, §3.
    for (fields, body) in [(STREAMS[0], HELLO), (STREAMS[1], HELLO), ("", HELLO_STREAM)] {
        let backend = Backend::flagging("hello");
        let upstream = Upstream::ok();
        let stack = sync(&upstream, fields).monitor(&backend).start();
        let body = blocked(&stack.call(&chat(body)));
        assert_eq!(body["object"], "chat.completion");
    }
}

#[test]
fn a_stream_of_a_block_can_be_followed_by_another_call_on_its_connection() {
    let backend = Backend::flagging("hello");
    let upstream = Upstream::ok();
    let stack = sync(&upstream, STREAMS[0]).monitor(&backend).start();
    let mut conn = chat(HELLO_STREAM).send(stack.gateway_addr);
    assert_eq!(events(&conn.response()).len(), 2);
    conn.send(&chat(HELLO_STREAM).bytes());
    assert_eq!(events(&conn.response()).len(), 2);
}

#[test]
fn a_header_can_say_what_metadata_says() {
    for (fields, body) in [
        ("", HELLO.to_owned()),
        (STREAMS[0], with_usage()),
        (STREAMS[1], with_usage()),
    ] {
        let backend = Backend::flagging("hello");
        let fields = format!("{fields}, block_details: header");
        let upstream = Upstream::ok();
        let stack = sync(&upstream, &fields).monitor(&backend).start();
        let answer = stack.call(&chat(&body));
        let said = answer.head.header("x-monitor-replaced").unwrap();
        let known = "stage=pre_call; type=dataclean; request_id=";
        let id = said.strip_prefix(known).unwrap();
        assert!(!answer.text().contains("metadata"), "{}", answer.text());
        assert!(answer.text().contains("monitor-guardrails-"));
        match body == HELLO {
            true => assert!(uuid::Uuid::parse_str(id).is_ok()),
            false => assert_eq!((id, events(&answer).len()), ("mine-7", 3)),
        }
    }
}

#[test]
fn only_the_gateway_says_that_it_replaced_an_answer_or_that_a_budget_is_spent() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Monitor-Replaced: stage=pre_call\r\nX_Monitor_Replaced: x\r\n\
                X-Monitor-Budget: warn;budget=user_day\r\nX_Monitor_Budget: x\r\n\r\n{}";
    let (upstream, backend) = (Upstream::raw(head), Backend::start());
    let stack = sync(&upstream, "").monitor(&backend).start();
    let answer = stack.call(&chat(HELLO));
    assert_eq!(answer.text(), "{}");
    for name in ["monitor-replaced", "monitor-budget"] {
        assert_eq!(answer.head.header(&format!("x-{name}")), None);
        let spelled = format!("x_{}", name.replace('-', "_"));
        assert_eq!(answer.head.header(&spelled), None);
    }
}
