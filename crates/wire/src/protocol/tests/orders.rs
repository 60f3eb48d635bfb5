//! Words of a stream that clients would put together in different ways are no checked answer.

use super::{read, stream};
use crate::protocol::{Messages, Protocol, Responses, Texts};
use serde_json::{Value, json};

fn block(index: u64, kind: &str) -> Value {
    let block = match kind {
        "text" => json!({"type": "text", "text": ""}),
        kind => json!({"type": kind, "name": "f", "input": {}}),
    };
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn say(index: u64, text: &str) -> Value {
    let delta = json!({"type": "text_delta", "text": text});
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn delta(index: u64, part: u64, text: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": index, "content_index": part, "delta": text})
}

fn done(index: u64, text: &str) -> Value {
    json!({"type": "response.output_text.done", "output_index": index, "content_index": 0, "text": text})
}

fn item(kind: &str, index: u64, item: &Value) -> Value {
    json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item})
}

#[test]
fn words_that_clients_join_in_different_ways_are_unreadable() {
    let start = json!({"type": "message_start", "message": {"content": []}});
    let created = json!({"type": "response.created", "response": {"output": []}});
    let part = |text: &str| json!({"type": "output_text", "text": text});
    let message = |text: &str| json!({"type": "message", "content": [part(text)]});
    let thought = json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]});
    let call = json!({"type": "function_call", "name": "f", "arguments": "{}"});
    let think = json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0,
        "delta": "hm"});
    let whole =
        |output: Value| json!({"type": "response.completed", "response": {"output": output}});
    let messages = [
        (
            vec![
                start.clone(),
                block(0, "text"),
                say(0, "a"),
                block(2, "text"),
                say(2, "b"),
            ],
            true,
        ),
        (
            vec![block(0, "tool_use"), block(1, "text"), say(1, "a")],
            true,
        ),
        (
            vec![block(0, "text"), block(1, "text"), say(1, "a"), say(0, "b")],
            false,
        ),
        (vec![block(0, "tool_use"), say(0, "a")], false),
        (
            vec![block(0, "text"), say(0, "a"), block(0, "text"), say(0, "b")],
            false,
        ),
        (vec![start.clone(), say(0, "a"), start], false),
    ];
    let responses = [
        // What the end of a text, of an item and of the response says again, trimmed or without some items.
        (
            vec![
                created.clone(),
                item("added", 0, &thought),
                item("added", 1, &message("")),
                delta(1, 0, " a"),
                done(1, "a"),
                item("done", 1, &message("a")),
                whole(json!([message("a")])),
            ],
            true,
        ),
        (vec![think, delta(0, 0, "a"), delta(0, 1, "b")], true),
        (
            vec![
                delta(1, 0, "a"),
                item("added", 2, &call),
                item("done", 2, &call),
                whole(json!([message("a"), call])),
            ],
            true,
        ),
        (vec![delta(0, 0, "a"), done(0, "")], true),
        (vec![delta(0, 0, "a"), done(0, ""), delta(1, 0, "b")], false),
        (vec![delta(0, 0, "a"), done(0, "b")], false),
        (vec![delta(0, 0, "a"), done(0, "ab")], false),
        (vec![delta(0, 1, "a"), delta(0, 0, "b")], false),
        (
            vec![delta(1, 0, "a"), item("done", 0, &message("b"))],
            false,
        ),
        // One number for reasoning, words and calls: these are all words, or there are others.
        (vec![item("added", 0, &thought), delta(0, 0, "a")], true),
        (
            vec![
                item("added", 0, &thought),
                item("added", 0, &message("")),
                delta(0, 0, "a"),
                item("added", 0, &call),
                item("done", 0, &thought),
                done(0, "a"),
                item("done", 0, &message("a")),
                whole(json!([thought, message("a"), call])),
            ],
            true,
        ),
        (
            vec![
                item("added", 0, &thought),
                delta(0, 0, "a"),
                delta(1, 0, "b"),
            ],
            false,
        ),
        (
            vec![delta(0, 0, "a"), item("added", 0, &call), delta(0, 0, "b")],
            false,
        ),
        (
            vec![item("added", 0, &call), item("done", 0, &message("a"))],
            true,
        ),
        (
            vec![
                item("added", 0, &message("")),
                delta(0, 0, "a"),
                item("added", 0, &call),
                item("done", 0, &call),
                whole(json!([call])),
            ],
            true,
        ),
        // The parts of the stream are numbered over all items.
        (
            vec![
                item("added", 0, &thought),
                item("added", 1, &message("")),
                delta(1, 1, "a"),
                item("done", 1, &message("a")),
                whole(json!([thought, message("a")])),
            ],
            true,
        ),
        (vec![created.clone(), delta(0, 0, "a"), created], false),
    ];
    let of = |protocol: &dyn Protocol, events: &[Value], expected: bool| {
        let answer = read(protocol, Texts::Every, &stream(events));
        assert_eq!(answer.skipped() == 0, expected, "{events:?}");
        assert_eq!(read(protocol, Texts::Record, &stream(events)).skipped(), 0);
    };
    messages
        .iter()
        .for_each(|(events, expected)| of(&Messages, events, *expected));
    responses
        .iter()
        .for_each(|(events, expected)| of(&Responses, events, *expected));
}

#[test]
fn what_follows_the_end_of_a_stream_is_unreadable() {
    let begun = stream(&[block(0, "text"), say(0, "a")]);
    let end = b"data: [DONE]\n\n".to_vec();
    let ended = [&*begun, &*end].concat();
    let more = stream(&[say(0, "b")]);
    for (events, expected) in [(ended.clone(), true), ([&*ended, &*more].concat(), false)] {
        let answer = read(&Messages, Texts::Every, &events);
        assert_eq!(answer.skipped() == 0, expected);
    }
}
