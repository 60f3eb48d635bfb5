//! Whole answers and the events that say the same.
#![allow(clippy::unwrap_used)]

use super::{LONGEST_REPEATED, NotReplayed, replay};
use crate::sse::{Accumulator, Parser};
use serde_json::{Value, json};

const LIMIT: usize = 1 << 20;

fn events(completion: &str, with_usage: bool) -> Vec<Value> {
    let stream =
        String::from_utf8(replay(completion.as_bytes(), with_usage, u64::MAX, LIMIT).unwrap())
            .unwrap();
    let stream = stream.strip_suffix("data: [DONE]\n\n").unwrap();
    let frames = stream.split_terminator("\n\n");
    let data = frames.map(|frame| frame.strip_prefix("data: ").unwrap());
    data.map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// The choice of every event.
fn choices(completion: &str) -> Vec<Value> {
    let events = events(completion, false).into_iter();
    events.map(|mut event| event["choices"][0].take()).collect()
}

#[test]
fn a_completion_becomes_its_role_its_text_and_its_end() {
    let completion = "{\"id\":\"c-1\",\n \"object\":\"chat.completion\",\"created\":1,\r\n\"model\":\"m\",\"x\":{\"y\":2},
        \"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"a\\nb\"},\"finish_reason\":\"length\"}],
        \"usage\":{\"total_tokens\":3}}";
    let expected = json!([
        {"object": "chat.completion.chunk", "id": "c-1", "created": 1, "model": "m", "x": {"y": 2},
         "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]},
        {"object": "chat.completion.chunk", "id": "c-1", "created": 1, "model": "m",
         "choices": [{"index": 0, "delta": {"content": "a\nb"}, "finish_reason": null}]},
        {"object": "chat.completion.chunk", "id": "c-1", "created": 1, "model": "m",
         "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]},
    ]);
    assert_eq!(Value::from(events(completion, false)), expected);
    let with_usage = events(completion, true);
    assert!(with_usage[..3].iter().all(|event| event["usage"].is_null()));
    assert_eq!(with_usage[3]["choices"], json!([]));
    assert_eq!(with_usage[3]["usage"], json!({"total_tokens": 3}));
}

#[test]
fn every_member_of_every_choice_is_in_its_events() {
    let said = choices(
        r#"{"choices":[
            {"index":0,"message":{"role":"assistant","content":null,"refusal":"no","reasoning_content":"r","z":null},
             "logprobs":{"content":[{"token":"a"}]},"finish_reason":"stop"},
            {"message":{"content":"c","tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{}"}},
             {"index":7,"id":"u"}],"function_call":{"name":"g"}},"finish_reason":"tool_calls"},
            {"index":4,"text":"t"}]}"#,
    );
    let expected = json!([
        {"index": 0, "delta": {"role": "assistant", "content": null}, "finish_reason": null},
        {"index": 0, "delta": {"refusal": "no", "reasoning_content": "r"},
         "logprobs": {"content": [{"token": "a"}]}, "finish_reason": null},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
        {"index": 1, "delta": {"role": "assistant", "content": ""}, "finish_reason": null},
        {"index": 1, "delta": {"content": "c", "function_call": {"name": "g"}}, "finish_reason": null},
        {"index": 1, "delta": {"tool_calls": [
            {"index": 0, "id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"index": 7, "id": "u"}]}, "finish_reason": null},
        {"index": 1, "delta": {}, "finish_reason": "tool_calls"},
        {"index": 4, "delta": {"role": "assistant", "content": null}, "finish_reason": null},
        {"index": 4, "delta": {}, "text": "t", "finish_reason": null},
        {"index": 4, "delta": {}, "finish_reason": "stop"},
    ]);
    assert_eq!(Value::from(said), expected);
}

#[test]
fn what_is_replayed_says_what_the_completion_says() {
    for completion in [
        r#"{"choices":[]}"#,
        r#"{"choices":[{"message":{"content":"Ж\u0436 \"q\" 1e400"}}],"n":1e400}"#,
        r#"{"choices":[{"index":0,"message":{"content":["a",{"type":"text","text":"b"}]}},{"index":1,"message":{"content":"c"}}]}"#,
        r#"{"choices":[{"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":"{\"x\":1}"}},{"function":{"name":"g","arguments":""}}]}}]}"#,
        r#"{"choices":[{"message":{"refusal":"no"}}],"choices":[{"message":{"content":"last"}}]}"#,
    ] {
        let stream = replay(completion.as_bytes(), true, u64::MAX, LIMIT).unwrap();
        let (mut parser, mut said) = (Parser::new(4096), Accumulator::new(4096));
        parser.push(&stream, |event| said.push(event.data));
        let whole = crate::json::answer_text(completion.as_bytes())
            .unwrap()
            .text;
        let expected = match completion.contains("last") {
            true => "last",
            false => &whole,
        };
        assert!(said.is_done() && said.skipped() == 0, "{completion}");
        assert_eq!(said.text(), expected, "{completion}");
    }
}

#[test]
fn what_is_no_completion_is_not_replayed() {
    for body in [
        "",
        "{",
        "<html>",
        "[]",
        "{}",
        r#"{"error":{"message":"x"}}"#,
        r#"{"choices":null}"#,
        r#"{"choices":{}}"#,
        r#"{"choices":[7]}"#,
        r#"{"choices":[{"message":"x"}]}"#,
        r#"{"choices":[{"message":{"tool_calls":{}}}]}"#,
    ] {
        let replayed = replay(body.as_bytes(), true, u64::MAX, LIMIT);
        assert_eq!(replayed, Err(NotReplayed::Unreadable), "{body}");
    }
}

#[test]
fn what_a_client_of_events_would_join_is_not_replayed() {
    let calls =
        |calls: &str| format!(r#"{{"choices":[{{"message":{{"tool_calls":[{calls}]}}}}]}}"#);
    for (first, second, is_replayed) in [
        ("", "", true),
        (r#""index":0"#, r#""index":1"#, true),
        (r#""index":7"#, r#""index":3.0"#, true),
        (r#""index":1"#, r#""index":1"#, false),
        (r#""index":1"#, r#""index":1e0"#, false),
        (r#""index":1.0"#, r#""index":1"#, false),
        (r#""index":1"#, "", false),
        (r#""index":0,"index":1"#, r#""index":1"#, false),
        (r#""index":"0""#, "", false),
        (r#""index":-1"#, "", false),
        (r#""Index":1"#, r#""index":1"#, false),
        (r#""index":1.5"#, "", false),
    ] {
        let choices = format!(r#"{{"choices":[{{{first}}},{{{second}}}]}}"#);
        for body in [choices, calls(&format!("{{{first}}},{{{second}}}"))] {
            let replayed = replay(body.as_bytes(), false, u64::MAX, LIMIT);
            assert_eq!(replayed.is_ok(), is_replayed, "{body}: {replayed:?}");
        }
    }
    for choice in [
        r#"{"message":{"content":"a"},"delta":{"content":"b"}}"#,
        r#"{"message":{"content":"a"},"Delta":{"content":"b"}}"#,
        r#"{"message":{"tool_calls":[{"index":0,"Function":{"arguments":"a"}}]}}"#,
    ] {
        let body = format!(r#"{{"choices":[{choice}]}}"#);
        let replayed = replay(body.as_bytes(), false, u64::MAX, LIMIT);
        assert_eq!(replayed, Err(NotReplayed::Unreadable), "{body}");
    }
}

#[test]
fn events_over_the_limit_are_none() {
    let body = br#"{"id":"c-1","choices":[{"message":{"content":"a"}}],"usage":{"x":1}}"#;
    let length = replay(body, true, u64::MAX, LIMIT).unwrap().len();
    assert!(replay(body, true, u64::MAX, length).is_ok());
    for limit in [0, 5, length - 1] {
        assert_eq!(
            replay(body, true, u64::MAX, limit),
            Err(NotReplayed::TooLarge)
        );
    }
    let many = format!(r#"{{"choices":[{{}}{}]}}"#, ",{}".repeat(10_000));
    let limit = many.len() * 10;
    assert_eq!(
        replay(many.as_bytes(), false, u64::MAX, limit),
        Err(NotReplayed::TooLarge)
    );
}

#[test]
fn only_short_members_come_in_every_event() {
    for name in ["id", "model", "system_fingerprint", "service_tier"] {
        for (length, is_repeated) in [(LONGEST_REPEATED, true), (LONGEST_REPEATED + 1, false)] {
            let value = "x".repeat(length - 2);
            let choices = vec![r#"{"message":{"content":"a"}}"#; 100].join(",");
            let body = format!(r#"{{"{name}":"{value}","created":1,"choices":[{choices}]}}"#);
            let events = events(&body, false);
            assert_eq!(events.len(), 300);
            assert_eq!(events[0][name], value);
            for event in &events[1..] {
                assert_eq!(event[name] == value, is_repeated, "{name}");
                assert_eq!(event["created"], 1);
            }
        }
    }
    // Of two the last, as most readers take it.
    let twice = r#"{"id":"a","id":"b","choices":[{}]}"#;
    assert_eq!(events(twice, false)[1]["id"], "b");
}

#[test]
fn choices_that_were_not_asked_for_are_not_replayed() {
    let choice = |index: u64| format!(r#"{{"index":{index},"message":{{"content":"a"}}}}"#);
    for (indices, choices, expected) in [
        (&[0][..], 1, true),
        (&[0, 1], 1, false),
        (&[1], 1, false),
        (&[1, 0], 2, true),
        (&[0, 2], 2, false),
    ] {
        let listed: Vec<_> = indices.iter().map(|index| choice(*index)).collect();
        let body = format!(r#"{{"choices":[{}]}}"#, listed.join(","));
        let replayed = replay(body.as_bytes(), false, choices, LIMIT);
        assert_eq!(replayed.is_ok(), expected, "{body} {choices}");
    }
}
