//! Words of one answer that clients would join in different ways: as they come, by their places, or from the events at
//! the end of each. CONTRACT 13, 15, 41.

use super::streams::CARD;
use super::{Api, frame};
use crate::sync::SYNC;
use serde_json::{Value, json};
use support::backend::{Backend, verdict};
use support::stack::Stack;
use support::upstream::{DONE, Upstream, sse};

contract! {
    words_that_clients_join_in_different_ways_are_no_silent_pass only [responses, messages]
        because "the words of the other APIs have no places";
    items_in_their_usual_order_pass_to_the_byte only [responses, messages]
        because "the words of the other APIs have no places";
}

const REPLACED: &str = "57100000-0000-4000-8000-000000000077";
const A: &str = "Your card 2200 1244 ";
const B: &str = "6450 7773.";
const OTHER: &str = "so said the cat, and ";
const ON: &str = ", stream_in_sync: hold_back, on_backend_failure: closed";

/// A gateway before a model server that answers with the stream that the prompt names by its number.
pub(super) fn stack(streams: &[Vec<String>], backend: &Backend) -> (Stack, Upstream) {
    let streams = streams.to_vec();
    let upstream = Upstream::answering(move |request| {
        let body = String::from_utf8(request.body.clone()).unwrap();
        let number = body.split_once("stream number ").unwrap().1;
        let number: usize = number.split(' ').next().unwrap().parse().unwrap();
        let frames: Vec<&str> = streams[number].iter().map(String::as_str).collect();
        sse(&frames)
    });
    let yaml = format!(
        "applications:\n- {{id: {SYNC}, app_mode: sync, phrase: no{ON}}}\n\
         - {{id: {REPLACED}, app_mode: sync, phrase: no, replace_response: true, on_backend_failure: closed}}"
    );
    let stack = Stack::gateway().upstream(&upstream).monitor(backend);
    (stack.yaml(&yaml).start(), upstream)
}

/// The answer to the call of an application.
pub(super) fn ask(stack: &Stack, api: Api, application: &str, number: usize) -> String {
    let call = api.call(&format!("stream number {number} please"), true);
    let answer = stack.call(&call.header("X-Application-Id", application));
    answer.text()
}

fn words_that_clients_join_in_different_ways_are_no_silent_pass(api: Api) {
    let streams = match api {
        Api::Messages => messages_in_odd_orders(),
        _ => responses_in_odd_orders(),
    };
    // Like the backend, it reads parts as if nothing stood between them.
    let backend = Backend::judging(
        |call| match call.message().replace('\n', "").contains(CARD) {
            true => verdict(&["dataclean"]),
            false => verdict(&[]),
        },
    );
    let (stack, _upstream) = stack(&streams, &backend);
    for (number, frames) in streams.iter().enumerate() {
        for application in [SYNC, REPLACED] {
            let text = ask(&stack, api, application, number);
            let is_shown = text.contains("2200 1244") && text.contains("6450 7773");
            assert!(!is_shown, "{application} {frames:?}: {text}");
        }
    }
}

fn items_in_their_usual_order_pass_to_the_byte(api: Api) {
    let stream = match api {
        Api::Messages => messages_in_order(),
        _ => responses_in_order(),
    };
    let backend = Backend::start();
    let (stack, _upstream) = stack(std::slice::from_ref(&stream), &backend);
    for application in [SYNC, REPLACED] {
        let text = ask(&stack, api, application, 0);
        assert_eq!(text, stream.concat(), "{application}");
    }
}

fn block(index: u64, kind: &str) -> String {
    let block = match kind {
        "text" => json!({"type": "text", "text": ""}),
        "thinking" => json!({"type": "thinking", "thinking": "", "signature": ""}),
        _ => json!({"type": "tool_use", "id": "t_1", "name": "look", "input": {}}),
    };
    let event = json!({"type": "content_block_start", "index": index, "content_block": block});
    frame(&event)
}

fn of_block(index: u64, kind: &str, name: &str, text: &str) -> String {
    let mut delta = json!({"type": kind});
    delta[name] = text.into();
    frame(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
}

fn say(index: u64, text: &str) -> String {
    of_block(index, "text_delta", "text", text)
}

fn stop(index: u64) -> String {
    frame(&json!({"type": "content_block_stop", "index": index}))
}

fn start() -> String {
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 1}});
    frame(&json!({"type": "message_start", "message": message}))
}

fn message(blocks: Vec<String>) -> Vec<String> {
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
        "usage": {"output_tokens": 2}});
    let end = [end, json!({"type": "message_stop"})];
    let end = end.iter().map(frame);
    [start()].into_iter().chain(blocks).chain(end).collect()
}

fn messages_in_odd_orders() -> Vec<Vec<String>> {
    let text = |index| block(index, "text");
    let done = || DONE.to_owned();
    let streams = vec![
        // Two blocks take turns.
        vec![text(0), text(1), say(0, A), say(1, OTHER), say(0, B)],
        vec![text(0), text(1), say(0, OTHER), say(1, A), say(0, B)],
        // They come in reverse.
        vec![text(1), say(1, B), stop(1), text(0), say(0, A), stop(0)],
        vec![text(1), say(1, A), stop(1), text(0), say(0, B), stop(0)],
        // Some clients show no words in a block of another kind.
        vec![
            text(0),
            say(0, A),
            stop(0),
            block(1, "tool_use"),
            say(1, OTHER),
            stop(1),
            text(2),
            say(2, B),
        ],
        vec![
            block(0, "thinking"),
            of_block(0, "thinking_delta", "thinking", "x"),
            say(0, A),
            stop(0),
            text(1),
            say(1, B),
        ],
        // A block or the message begins once more.
        vec![
            text(0),
            say(0, OTHER),
            text(0),
            say(0, A),
            stop(0),
            text(1),
            say(1, B),
        ],
        vec![
            text(0),
            say(0, A),
            stop(0),
            start(),
            text(0),
            say(0, B),
            stop(0),
        ],
        // Clients that go by the names of events pass over an end without a name.
        vec![text(0), say(0, A), done(), say(0, B), stop(0)],
        vec![
            block(0, "tool_use"),
            of_block(0, "input_json_delta", "partial_json", "{\"a\":\"2200 1244 "),
            done(),
            of_block(0, "input_json_delta", "partial_json", "6450 7773\"}"),
            stop(0),
        ],
        vec![
            block(0, "thinking"),
            of_block(0, "thinking_delta", "thinking", A),
            done(),
            of_block(0, "thinking_delta", "thinking", B),
            stop(0),
        ],
    ];
    streams.into_iter().map(message).collect()
}

fn messages_in_order() -> Vec<String> {
    message(vec![
        block(0, "thinking"),
        of_block(0, "thinking_delta", "thinking", "hm"),
        stop(0),
        block(1, "text"),
        say(1, "One, "),
        stop(1),
        block(2, "tool_use"),
        of_block(2, "input_json_delta", "partial_json", "{}"),
        stop(2),
        block(3, "text"),
        say(3, "two."),
        stop(3),
    ])
}

/// An item of the model's words.
fn item_of(texts: &[&str]) -> Value {
    let part = |text: &&str| json!({"type": "output_text", "text": text, "annotations": []});
    let parts: Vec<Value> = texts.iter().map(part).collect();
    json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": parts})
}

pub(super) fn call_of(arguments: &str) -> Value {
    json!({"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "look", "arguments": arguments})
}

pub(super) fn item(kind: &str, index: u64, item: &Value) -> String {
    frame(
        &json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item}),
    )
}

/// An event of a part of an item.
pub(super) fn of_part(kind: &str, (index, part): (u64, u64), name: &str, value: Value) -> String {
    let mut event = json!({"type": format!("response.{kind}"), "output_index": index, "content_index": part,
        "item_id": format!("item_{index}")});
    event[name] = value;
    frame(&event)
}

fn delta(index: u64, part: u64, text: &str) -> String {
    of_part("output_text.delta", (index, part), "delta", text.into())
}

fn text_done(index: u64, part: u64, text: &str) -> String {
    of_part("output_text.done", (index, part), "text", text.into())
}

fn part_done(index: u64, part: u64, text: &str) -> String {
    let value = json!({"type": "output_text", "text": text, "annotations": []});
    of_part("content_part.done", (index, part), "part", value)
}

pub(super) fn response(kind: &str, output: &Value) -> String {
    let response = json!({"id": "resp_1", "object": "response", "status": kind, "model": "m-1", "output": output,
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}});
    frame(&json!({"type": format!("response.{kind}"), "response": response}))
}

fn responses_in_odd_orders() -> Vec<Vec<String>> {
    let begin = |index| item("added", index, &item_of(&[]));
    let done = |index, texts: &[&str]| item("done", index, &item_of(texts));
    let streams = vec![
        // Two items or parts take turns, or come in reverse.
        vec![
            begin(0),
            begin(1),
            delta(0, 0, A),
            delta(1, 0, OTHER),
            delta(0, 0, B),
        ],
        vec![begin(0), delta(0, 0, A), delta(0, 1, OTHER), delta(0, 0, B)],
        vec![begin(1), delta(1, 0, A), begin(0), delta(0, 0, B)],
        vec![begin(1), delta(1, 0, B), begin(0), delta(0, 0, A)],
        vec![begin(0), delta(0, 1, A), delta(0, 0, B)],
        // The words come in the events at their end alone, or only some of them.
        vec![done(0, &[A, B])],
        vec![done(0, &[A]), done(1, &[B])],
        vec![begin(0), delta(0, 0, A), done(0, &[A]), done(1, &[B])],
        vec![begin(0), delta(0, 0, A), done(1, &[B])],
        vec![begin(0), part_done(0, 0, A), part_done(0, 1, B)],
        vec![begin(0), text_done(0, 0, A), text_done(0, 1, B)],
        vec![response("completed", &json!([item_of(&[A, B])]))],
        vec![response(
            "completed",
            &json!([item_of(&[A]), item_of(&[B])]),
        )],
        // An end says other words than those that came.
        vec![begin(0), delta(0, 0, A), done(0, &[OTHER]), delta(0, 0, B)],
        vec![
            begin(0),
            delta(0, 0, A),
            begin(1),
            delta(1, 0, OTHER),
            text_done(1, 0, ""),
            begin(2),
            delta(2, 0, B),
        ],
        // Some clients show no words in an item of another kind.
        vec![
            begin(0),
            delta(0, 0, A),
            item("added", 1, &call_of("")),
            delta(1, 0, OTHER),
            begin(2),
            delta(2, 0, B),
        ],
        vec![begin(0), delta(0, 0, A), DONE.to_owned(), delta(0, 0, B)],
    ];
    let whole = |events: Vec<String>| {
        let begun = [response("created", &json!([]))];
        let end = [response("completed", &json!([]))];
        begun.into_iter().chain(events).chain(end).collect()
    };
    streams.into_iter().map(whole).collect()
}

fn responses_in_order() -> Vec<String> {
    let thought = json!({"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]});
    let begun = json!({"id": "rs_1", "type": "reasoning", "summary": []});
    let (one, two) = (item_of(&["One, "]), item_of(&["two."]));
    let arguments = |index, text: &str| {
        of_part(
            "function_call_arguments.delta",
            (index, 0),
            "delta",
            text.into(),
        )
    };
    vec![
        response("created", &json!([])),
        item("added", 0, &begun),
        item("done", 0, &thought),
        item("added", 1, &item_of(&[])),
        of_part(
            "content_part.added",
            (1, 0),
            "part",
            json!({"type": "output_text", "text": ""}),
        ),
        delta(1, 0, "On"),
        delta(1, 0, "e, "),
        text_done(1, 0, "One, "),
        part_done(1, 0, "One, "),
        item("done", 1, &one),
        // Calls of tools take turns.
        item("added", 2, &call_of("")),
        item("added", 3, &call_of("")),
        arguments(2, "{\"a\":"),
        arguments(3, "{\"b\":"),
        arguments(2, "1}"),
        arguments(3, "2}"),
        item("done", 3, &call_of("{\"b\":2}")),
        item("done", 2, &call_of("{\"a\":1}")),
        // What comes at its end alone.
        item("done", 4, &two),
        response(
            "completed",
            &json!([
                thought,
                one,
                call_of("{\"a\":1}"),
                call_of("{\"b\":2}"),
                two
            ]),
        ),
    ]
}
