//! In which orders words of an answer are read alike by all clients.

use super::WordOrder;
use monitor_wire::protocol::{Messages, Protocol, Responses, Wanted};
use monitor_wire::sse::pieces::Reading;
use serde_json::{Value, json};

/// Whether all events of a stream, each with its type, are read alike by all clients.
fn are_alike(protocol: &dyn Protocol, events: &[(&str, Value)]) -> bool {
    let mut order = WordOrder::default();
    events.iter().all(|(kind, event)| {
        let mut event = event.clone();
        event["type"] = (*kind).into();
        let frame = format!("event: {kind}\ndata: {event}\n\n");
        match protocol.read_frame(frame.as_bytes(), Wanted::Next) {
            Reading::Said(said) => order.differ_at(&said).is_none(),
            other => panic!("{frame}: {other:?}"),
        }
    })
}

fn begin(index: u64, kind: &str) -> (&'static str, Value) {
    let block = match kind {
        "text" => json!({"type": "text", "text": ""}),
        _ => json!({"type": kind}),
    };
    let event = json!({"index": index, "content_block": block});
    ("content_block_start", event)
}

fn say(index: u64, text: &str) -> (&'static str, Value) {
    let delta = json!({"type": "text_delta", "text": text});
    let event = json!({"index": index, "delta": delta});
    ("content_block_delta", event)
}

#[test]
fn blocks_have_their_words_in_their_order() {
    let start = || ("message_start", json!({"message": {"content": []}}));
    for (events, expected) in [
        (
            vec![
                start(),
                begin(0, "text"),
                say(0, "a"),
                begin(3, "text"),
                say(3, "b"),
                say(3, "c"),
            ],
            true,
        ),
        (
            vec![
                begin(0, "thinking"),
                begin(1, "text"),
                begin(2, "tool_use"),
                say(1, "a"),
            ],
            true,
        ),
        (vec![begin(0, "text"), say(0, "a"), say(0, "")], true),
        (
            vec![begin(0, "text"), begin(1, "text"), say(1, "a"), say(0, "b")],
            false,
        ),
        // One number for words and others: these are all words, or there are others.
        (vec![begin(0, "thinking"), say(0, "a")], true),
        (vec![say(0, "a"), begin(0, "tool_use")], true),
        (
            vec![
                begin(0, "thinking"),
                say(0, "a"),
                begin(1, "text"),
                say(1, "b"),
            ],
            false,
        ),
        (vec![begin(0, "text"), say(0, "a"), begin(0, "text")], false),
        (vec![say(0, "a"), begin(0, "tool_use"), say(0, "b")], false),
        (
            vec![
                say(0, "a"),
                begin(1, "text"),
                begin(1, "tool_use"),
                say(1, "b"),
            ],
            false,
        ),
        (vec![start(), begin(0, "text"), say(0, "a"), start()], false),
    ] {
        assert_eq!(are_alike(&Messages, &events), expected, "{events:?}");
    }
}

fn of_part(
    kind: &'static str,
    place: (u64, u64),
    name: &str,
    value: Value,
) -> (&'static str, Value) {
    let (index, part) = place;
    let mut event = json!({"output_index": index, "content_index": part});
    event[name] = value;
    (kind, event)
}

fn delta(place: (u64, u64), text: &str) -> (&'static str, Value) {
    of_part("response.output_text.delta", place, "delta", text.into())
}

fn text_done(place: (u64, u64), text: &str) -> (&'static str, Value) {
    of_part("response.output_text.done", place, "text", text.into())
}

fn message(texts: &[&str]) -> Value {
    let parts = texts
        .iter()
        .map(|text| json!({"type": "output_text", "text": text}));
    json!({"type": "message", "content": parts.collect::<Vec<_>>()})
}

fn item(kind: &'static str, index: u64, item: &Value) -> (&'static str, Value) {
    (kind, json!({"output_index": index, "item": item}))
}

#[test]
fn a_response_that_says_all_words_again_says_none_that_are_new() {
    let thought = json!({"type": "reasoning", "summary": []});
    let whole = |items: Value| ("response.completed", json!({"response": {"output": items}}));
    // The stream has one number for all items.
    for (items, is_new) in [
        (json!([thought, message(&["one two"])]), false),
        (json!([thought, message(&["one two", " three"])]), true),
    ] {
        let mut order = WordOrder::default();
        for (kind, mut event) in [delta((0, 0), "one"), delta((0, 0), " two"), whole(items)] {
            event["type"] = kind.into();
            let frame = format!("event: {kind}\ndata: {event}\n\n");
            match Responses.read_frame(frame.as_bytes(), Wanted::Next) {
                Reading::Said(said) => assert_eq!(order.differ_at(&said), None),
                other => panic!("{frame}: {other:?}"),
            }
        }
        assert_eq!(!order.new.is_empty(), is_new);
    }
}

#[test]
fn ends_of_a_response_say_what_has_come() {
    let (added, done) = ("response.output_item.added", "response.output_item.done");
    let thought = json!({"type": "reasoning", "summary": []});
    let refused = |kind, name| of_part(kind, (0, 1), name, "b".into());
    let whole = |items: Value| ("response.completed", json!({"response": {"output": items}}));
    for (events, expected) in [
        (
            vec![
                item(added, 0, &thought),
                item(done, 0, &thought),
                item(added, 1, &message(&[])),
                delta((1, 0), " one"),
                delta((1, 0), " two"),
                text_done((1, 0), "one two"),
                item(done, 1, &message(&["one two"])),
                whole(json!([message(&["one two"])])),
            ],
            true,
        ),
        (
            vec![text_done((0, 0), "a"), item(done, 0, &message(&["a", "b"]))],
            true,
        ),
        (
            vec![
                delta((0, 0), "a"),
                refused("response.refusal.delta", "delta"),
                refused("response.refusal.done", "refusal"),
            ],
            true,
        ),
        (vec![delta((0, 0), "a"), text_done((0, 0), "")], true),
        (
            vec![
                delta((0, 0), "a"),
                text_done((0, 0), ""),
                delta((1, 0), "b"),
            ],
            false,
        ),
        (vec![delta((0, 0), "a"), text_done((0, 0), "ab")], false),
        (vec![delta((0, 1), "a"), delta((0, 0), "b")], false),
        (
            vec![delta((1, 0), "a"), item(done, 0, &message(&["b"]))],
            false,
        ),
        (vec![item(added, 0, &thought), delta((0, 0), "a")], true),
        (
            vec![
                item(added, 0, &thought),
                delta((0, 0), "a"),
                delta((1, 0), "b"),
            ],
            false,
        ),
        // The parts of the stream are numbered over all items.
        (
            vec![
                item(added, 0, &thought),
                item(added, 1, &message(&[])),
                delta((1, 1), "a"),
                text_done((1, 1), "a"),
                item(done, 1, &message(&["a"])),
                whole(json!([thought, message(&["a"])])),
            ],
            true,
        ),
        (
            vec![
                item(added, 0, &message(&[])),
                delta((0, 0), "a"),
                item(done, 0, &thought),
                text_done((0, 0), "a"),
                item(done, 0, &message(&["a"])),
            ],
            true,
        ),
        (
            vec![
                item(added, 0, &message(&[])),
                delta((0, 0), "a"),
                item(done, 0, &thought),
                delta((0, 0), "b"),
            ],
            false,
        ),
    ] {
        assert_eq!(are_alike(&Responses, &events), expected, "{events:?}");
    }
}
