//! Wherever the bytes of a stream are split, the reader of each API knows the same of its answer.

use super::{message_events, response_events, stream};
use crate::json::CallTexts;
use crate::protocol::{Chat, Completions, Messages, Protocol, Responses, Texts};
use crate::sse::{Parser, Usage};
use monitor_model::ToolParts;
use serde_json::{Value, json};

/// Letters of two to four bytes, and what JSON escapes.
const TEXT: &str = "\u{416} \u{20ac} \u{1f600}, \"so\" it\\goes\n\u{7}on";

/// All that is known of an answer.
#[derive(Debug, PartialEq)]
struct Known {
    text: String,
    checked: Option<String>,
    calls: ToolParts,
    ends: Vec<String>,
    id: Option<String>,
    model: Option<String>,
    usage: Option<Usage>,
    flags: [bool; 2],
    skipped: u64,
}

fn known(protocol: &dyn Protocol, texts: Texts, pieces: [&[u8]; 2]) -> Known {
    let mut answer = protocol.stream_answer(texts, CallTexts::Whole, 1 << 20);
    let mut parser = Parser::new(1 << 20);
    for piece in pieces {
        parser.push(piece, |event| {
            answer.push(event.name.unwrap_or_default(), event.data);
        });
    }
    parser.finish(|event| answer.push(event.name.unwrap_or_default(), event.data));
    Known {
        text: answer.text(),
        checked: answer.checked_text().map(|checked| checked.text),
        calls: answer.tool_calls(usize::MAX),
        ends: answer
            .finish_reasons()
            .into_iter()
            .map(str::to_owned)
            .collect(),
        id: answer.id().map(str::to_owned),
        model: answer.model().map(str::to_owned),
        usage: answer.usage(),
        flags: [answer.error_seen(), answer.is_truncated()],
        skipped: answer.skipped(),
    }
}

/// A stream without names whose events have these choices, its tokens and its end.
fn unnamed(choices: Vec<Value>) -> Vec<u8> {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5});
    let event = |choice: Value| {
        json!({"id": "c-1", "model": "m-1", "choices": [choice], "usage": null}).to_string()
    };
    let last = json!({"id": "c-1", "model": "m-1", "choices": [], "usage": usage}).to_string();
    let events = choices.into_iter().map(event);
    let events = events.chain([last, "[DONE]".to_owned()]);
    let frames: Vec<String> = events.map(|event| format!("data: {event}\n\n")).collect();
    frames.concat().into_bytes()
}

fn chat(deltas: &[Value], end: &str) -> Vec<u8> {
    let choice = |delta: &Value| json!({"index": 0, "delta": delta, "finish_reason": null});
    let mut choices: Vec<Value> = deltas.iter().map(choice).collect();
    choices.push(json!({"index": 0, "delta": {}, "finish_reason": end}));
    unnamed(choices)
}

/// Two calls of tools at once, their arguments by turns.
fn calls() -> Vec<u8> {
    let begun = |index: u64, id: &str| json!({"index": index, "id": id, "type": "function", "function": {"name": id, "arguments": ""}});
    let part = |index: u64, part: &str| json!({"tool_calls": [{"index": index, "function": {"arguments": part}}]});
    let deltas = [
        json!({"role": "assistant", "content": TEXT}),
        json!({"tool_calls": [begun(0, "a"), begun(1, "b")]}),
        part(0, "{\"x\":\"\u{416}\\"),
        part(1, "{\"y\":"),
        part(0, "n\"}"),
        part(1, "1}"),
    ];
    chat(&deltas, "tool_calls")
}

/// What each API says: calls of tools, refusals and errors among it.
fn streams() -> [(&'static dyn Protocol, Vec<u8>); 6] {
    let refusal = [json!({"role": "assistant"}), json!({"refusal": TEXT})];
    let text = |text: &str, end: Value| json!({"index": 0, "text": text, "finish_reason": end});
    let texts = vec![text(TEXT, Value::Null), text("", "stop".into())];
    let refused = json!({"type": "response.refusal.delta", "output_index": 7, "content_index": 0, "delta": TEXT});
    let mut refusing = response_events();
    refusing.insert(10, refused);
    let mut failing = message_events();
    failing.truncate(8);
    failing.push(json!({"type": "error", "error": {"type": "overloaded_error", "message": TEXT}}));
    [
        (&Chat, calls()),
        (&Chat, chat(&refusal, "stop")),
        (&Completions, unnamed(texts)),
        (&Responses, stream(&refusing)),
        (&Messages, stream(&message_events())),
        (&Messages, stream(&failing)),
    ]
}

#[test]
fn any_split_of_a_stream_gives_the_same_answer() {
    for (protocol, stream) in streams() {
        let lines = String::from_utf8(stream.clone()).unwrap();
        let with_returns = lines.replace('\n', "\r\n").into_bytes();
        for (stream, texts) in [(stream, Texts::Every), (with_returns, Texts::Record)] {
            let whole = known(protocol, texts, [&stream, b""]);
            assert!(!whole.text.is_empty(), "{protocol:?}");
            assert_eq!(whole.model.as_deref(), Some("m-1"), "{protocol:?}");
            assert!(whole.usage.is_some() && whole.skipped == 0, "{whole:?}");
            for place in 1..stream.len() {
                let (first, second) = stream.split_at(place);
                let split = known(protocol, texts, [first, second]);
                assert_eq!(split, whole, "{protocol:?} {place}");
            }
        }
    }
}

#[test]
fn two_calls_at_once_are_two_calls() {
    let stream = calls();
    let read = known(&Chat, Texts::Record, [&stream, b""]);
    let calls: Vec<_> = read.calls.parts.iter().map(|call| &*call.text).collect();
    assert_eq!(calls, ["{\"x\":\"\u{416}\\n\"}", "{\"y\":1}"]);
    assert_eq!(
        (read.text.as_str(), read.ends),
        (TEXT, vec!["tool_calls".to_owned()])
    );
}
