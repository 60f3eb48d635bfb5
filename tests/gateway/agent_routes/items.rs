//! Items of a response that is held back: each that has begun gets its end.

use super::streams::{CARD, held};
use super::{Api, Program, frame};
use crate::sync::PHRASE;
use serde_json::json;

#[test]
fn a_response_that_fails_inside_a_call_passes_to_the_byte() {
    let call = json!({"id": "fc_0", "type": "function_call", "call_id": "c", "name": "shell", "arguments": ""});
    let of_call = "response.function_call_arguments.delta";
    let events = [
        json!({"type": "response.created", "response": {"id": "r", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": call}),
        json!({"type": of_call, "output_index": 0, "item_id": "fc_0", "delta": "{\"command\""}),
        json!({"type": "response.failed", "response": {"id": "r", "status": "failed", "output": []}}),
    ];
    let stream: Vec<String> = events.iter().map(frame).collect();
    let (answer, _backend) = held(Api::Responses, &stream);
    assert_eq!(answer.text(), stream.concat());
}

#[test]
fn what_has_begun_gets_an_end_at_a_finding_in_reasoning_or_in_another_part() {
    // Libraries take a response for broken where an item that has begun has no end.
    let begin = |kind: &str| {
        json!({"type": "response.output_item.added", "output_index": 0,
        "item": {"id": "item_0", "type": kind, "status": "in_progress", "summary": [], "content": []}})
    };
    let created = json!({"type": "response.created", "response": {"id": "r", "output": []}});
    let say = |kind: &str, part: u64, text: &str| {
        json!({"type": kind, "output_index": 0, "content_index": part,
        "summary_index": part, "item_id": "item_0", "delta": text})
    };
    let done = |text: &str| {
        json!({"type": "response.output_text.done", "output_index": 0, "content_index": 0,
        "item_id": "item_0", "text": text})
    };
    let last = json!({"type": "response.completed", "response": {"output": []}});
    let thought = "response.reasoning_summary_text.delta";
    let said = "response.output_text.delta";
    for (stream, text) in [
        (
            vec![begin("reasoning"), say(thought, 0, CARD)],
            String::new(),
        ),
        (
            vec![
                begin("message"),
                say(said, 0, "Well. "),
                done("Well. "),
                say(said, 1, CARD),
            ],
            "Well. ".to_owned(),
        ),
    ] {
        let events_of_model = [vec![created.clone()], stream, vec![last.clone()]].concat();
        let frames: Vec<String> = events_of_model.iter().map(frame).collect();
        let (answer, _backend) = held(Api::Responses, &frames);
        let program = Program::of(&Api::Responses.events(&answer));
        assert!(program.is_complete, "{}", answer.text());
        assert_eq!(program.text, format!("{text}{PHRASE}"));
        assert!(!answer.text().contains("2200"), "{}", answer.text());
    }
}
