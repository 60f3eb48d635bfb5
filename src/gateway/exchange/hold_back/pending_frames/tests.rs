//! How many texts and choices of a stream are followed.

use super::{Event, MOST_TEXTS, PendingFrames, Reading};
use crate::gateway::exchange::hold_back::tests::{Never, detectors};
use monitor_wire::protocol::Chat;
use monitor_wire::sse::pieces::read;
use serde_json::{Value, json};

fn is_taken(choices: Value) -> bool {
    let event = format!("data: {}\n\n", json!({"choices": choices}));
    let Reading::Said(said) = read(event.as_bytes()) else {
        panic!("not readable: {event}");
    };
    let event = Event {
        raw: event.as_bytes(),
        said,
        is_new: &|_| false,
    };
    PendingFrames::new(&Chat).push(event, &detectors(Never))
}

#[test]
fn only_texts_and_choices_that_begin_count_and_each_once() {
    let parts = json!([{"index": 0, "delta": {"content": vec!["a "; 1_000]}}]);
    assert!(is_taken(parts));
    let again = |index: usize| json!({"index": index % MOST_TEXTS, "delta": {"content": "a "}});
    assert!(is_taken((0..1_000).map(again).collect()));
    for (count, expected) in [(MOST_TEXTS, true), (MOST_TEXTS + 1, false)] {
        let words = (0..count).map(|at| (format!("w{at}"), json!("a ")));
        let delta = Value::Object(words.collect());
        assert_eq!(is_taken(json!([{"index": 0, "delta": delta}])), expected);
        let choice = |index: usize| json!({"index": index, "delta": {}});
        assert_eq!(is_taken((0..count).map(choice).collect()), expected);
    }
}
