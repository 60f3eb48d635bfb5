//! However the bytes of a stream are split, the record is the same: text, calls of tools, tokens, model and end.
//! CONTRACT 4, 15, 18, 41. Every split point of one protocol's reader is in crates/wire; here it is the whole way.

use super::{Api, data, frame, orders};
use crate::sync::SYNC;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use support::backend::{Backend, Call};
use support::request::chunk;
use support::stack::Stack;
use support::upstream::{DONE, SSE_HEAD, Upstream};

contract! {
    two_calls_at_once_are_the_same_record_however_the_stream_is_split;
    a_refusal_is_the_same_record_however_the_stream_is_split only [chat, responses, messages]
        because "completions have no refusals";
    a_number_whose_beginning_is_a_finding_passes_however_it_is_split;
}

/// Letters of two to four bytes, and what JSON escapes.
const TEXT: &str = "Привет \u{1f600}, \"so\" it\\goes\n\u{7}on";
const COMMANDS: [&str; 2] = [r#"{"command":"ls é"}"#, r#"{"path":"a\\b\n"}"#];

const POLICIES: [&str; 3] = [
    "async",
    "sync, phrase: x, replace_response: true",
    "sync, phrase: x, stream_in_sync: hold_back, on_backend_failure: closed",
];

/// A stream with a text, and two calls of tools whose arguments come by turns where the API has calls.
fn two_calls(api: Api) -> Vec<String> {
    let parts = |call: usize| {
        let letters: Vec<char> = COMMANDS[call].chars().collect();
        letters.chunks(6).map(String::from_iter).collect::<Vec<_>>()
    };
    let most = parts(0).len().max(parts(1).len());
    let turns = (0..most).flat_map(|part| [(0, part), (1, part)]);
    let part = |(call, part): (usize, usize)| Some((call, parts(call).get(part)?.clone()));
    let turns: Vec<(usize, String)> = turns.filter_map(part).collect();
    match api {
        Api::Chat => of_chat(&turns),
        Api::Completions => api.stream(TEXT, ""),
        Api::Responses => of_responses(&turns),
        Api::Messages => of_messages(&turns),
    }
}

fn chunk_of_chat(delta: &Value, end: &Value) -> String {
    data(
        &json!({"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1",
        "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}),
    )
}

fn end_of_chat(reason: &str) -> [String; 3] {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5});
    let last = json!({"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1", "choices": [],
        "usage": usage});
    [
        chunk_of_chat(&json!({}), &json!(reason)),
        data(&last),
        DONE.to_owned(),
    ]
}

fn of_chat(turns: &[(usize, String)]) -> Vec<String> {
    let said = |delta: Value| chunk_of_chat(&delta, &Value::Null);
    let begun = |call: usize| {
        let function = json!({"name": format!("tool{call}"), "arguments": ""});
        let call = json!({"index": call, "id": format!("call_{call}"), "type": "function", "function": function});
        said(json!({"tool_calls": [call]}))
    };
    let mut frames = vec![said(json!({"role": "assistant", "content": ""}))];
    frames.extend([said(json!({"content": TEXT})), begun(0), begun(1)]);
    for (call, part) in turns {
        let part = json!({"index": call, "function": {"arguments": part}});
        frames.push(said(json!({"tool_calls": [part]})));
    }
    frames.extend(end_of_chat("tool_calls"));
    frames
}

/// A whole response with these items.
fn response(output: &Value) -> Value {
    json!({"id": "resp_1", "object": "response", "status": "completed", "model": "m-1", "output": output,
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}})
}

/// The events that begin and end a response.
fn around(output: &Value, between: Vec<Value>) -> Vec<String> {
    let mut begun = response(&json!([]));
    (begun["status"], begun["usage"]) = ("in_progress".into(), Value::Null);
    let mut events = vec![json!({"type": "response.created", "response": begun})];
    events.extend(between);
    events.push(json!({"type": "response.completed", "response": response(output)}));
    for (number, event) in (0..).zip(&mut events) {
        event["sequence_number"] = Value::from(number);
    }
    events.iter().map(frame).collect()
}

fn of_responses(turns: &[(usize, String)]) -> Vec<String> {
    let call = |call: usize, arguments: &str| {
        json!({"id": format!("fc_{call}"), "type": "function_call", "call_id": format!("call_{call}"),
            "name": format!("tool{call}"), "status": "completed", "arguments": arguments})
    };
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
    let message = |content: Value| json!({"id": "msg_1", "type": "message", "role": "assistant", "content": content});
    let whole = message(json!([part(TEXT)]));
    let text = |kind: &str, name: &str, value: Value| {
        let mut event =
            json!({"type": kind, "output_index": 0, "content_index": 0, "item_id": "msg_1"});
        event[name] = value;
        event
    };
    let item = |kind: &str, index: usize, item: &Value| json!({"type": kind, "output_index": index, "item": item});
    let mut events = vec![
        item("response.output_item.added", 0, &message(json!([]))),
        text("response.content_part.added", "part", part("")),
        text("response.output_text.delta", "delta", TEXT.into()),
        text("response.output_text.done", "text", TEXT.into()),
        text("response.content_part.done", "part", part(TEXT)),
        item("response.output_item.done", 0, &whole),
        item("response.output_item.added", 1, &call(0, "")),
        item("response.output_item.added", 2, &call(1, "")),
    ];
    let place = |kind: &str, call: usize| {
        let item_id = format!("fc_{call}");
        json!({"type": format!("response.function_call_arguments.{kind}"), "output_index": call + 1, "item_id": item_id})
    };
    for (call, part) in turns {
        let mut delta = place("delta", *call);
        delta["delta"] = part.as_str().into();
        events.push(delta);
    }
    for (number, arguments) in COMMANDS.into_iter().enumerate() {
        let mut done = place("done", number);
        done["arguments"] = arguments.into();
        events.push(done);
        let done = call(number, arguments);
        events.push(item("response.output_item.done", number + 1, &done));
    }
    let output = json!([whole, call(0, COMMANDS[0]), call(1, COMMANDS[1])]);
    around(&output, events)
}

/// A message with a text, and what follows it up to its end.
fn message(more: Vec<Value>, end: &Value) -> Vec<String> {
    let begun = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 1}});
    let mut events = vec![
        json!({"type": "message_start", "message": begun}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}}),
        json!({"type": "content_block_stop", "index": 0}),
    ];
    events.extend(more);
    events.push(json!({"type": "message_delta", "delta": end, "usage": {"output_tokens": 2}}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(frame).collect()
}

fn of_messages(turns: &[(usize, String)]) -> Vec<String> {
    let begun = |call: usize| {
        let block = json!({"type": "tool_use", "id": format!("call_{call}"), "name": format!("tool{call}"), "input": {}});
        json!({"type": "content_block_start", "index": call + 1, "content_block": block})
    };
    let delta = |(call, part): &(usize, String)| {
        let delta = json!({"type": "input_json_delta", "partial_json": part});
        json!({"type": "content_block_delta", "index": call + 1, "delta": delta})
    };
    let mut events = vec![begun(0), begun(1)];
    events.extend(turns.iter().map(delta));
    events.extend([1, 2].map(|index| json!({"type": "content_block_stop", "index": index})));
    message(
        events,
        &json!({"stop_reason": "tool_use", "stop_sequence": null}),
    )
}

/// A stream that refuses.
fn refusal(api: Api) -> Vec<String> {
    match api {
        Api::Chat | Api::Completions => {
            let said = |delta: Value| chunk_of_chat(&delta, &Value::Null);
            let begun = json!({"role": "assistant", "content": null, "refusal": ""});
            let mut frames = vec![said(begun), said(json!({"refusal": TEXT}))];
            frames.extend(end_of_chat("stop"));
            frames
        }
        Api::Responses => {
            let part = json!({"type": "refusal", "refusal": TEXT});
            let item = |content: Value| json!({"id": "msg_1", "type": "message", "role": "assistant", "content": content});
            let output = json!([item(json!([part]))]);
            let place = |kind: &str, name: &str, value: Value| {
                let mut event = json!({"type": kind, "output_index": 0, "content_index": 0, "item_id": "msg_1"});
                event[name] = value;
                event
            };
            let empty = json!({"type": "refusal", "refusal": ""});
            let events = vec![
                json!({"type": "response.output_item.added", "output_index": 0, "item": item(json!([]))}),
                place("response.content_part.added", "part", empty),
                place("response.refusal.delta", "delta", TEXT.into()),
                place("response.refusal.done", "refusal", TEXT.into()),
                place("response.content_part.done", "part", part.clone()),
                json!({"type": "response.output_item.done", "output_index": 0, "item": output[0]}),
            ];
            around(&output, events)
        }
        Api::Messages => message(
            Vec::new(),
            &json!({"stop_reason": "refusal", "stop_sequence": null,
                "stop_details": {"type": "refusal", "category": null}}),
        ),
    }
}

/// The places at which a stream is split: inside letters, names of fields and escapes, and evenly in between.
fn places(stream: &str) -> Vec<usize> {
    let inside = |mark: &str, by: usize| -> Vec<usize> {
        let found = stream.match_indices(mark).take(3);
        found.map(|(at, _)| at + by).collect()
    };
    let mut places: Vec<usize> = (1..24).map(|part| part * stream.len() / 24).collect();
    for (mark, by) in [
        ("data:", 2),
        ("data: ", 5),
        ("event:", 3),
        ("\n\n", 1),
        ("\\\"", 1),
        ("\\u0007", 1),
        ("\\u0007", 4),
        ("\u{1f600}", 1),
        ("\u{1f600}", 3),
        ("П", 1),
    ] {
        places.extend(inside(mark, by));
    }
    places.sort_unstable();
    places.dedup();
    places
}

/// A model server that splits the stream where the prompt says.
fn splitting(stream: &str) -> Upstream {
    let stream = stream.as_bytes().to_vec();
    Upstream::scripted(move |peer| {
        while let Some(request) = peer.read_request() {
            let body = String::from_utf8(request.body).unwrap();
            let place = body.split_once("split at ").unwrap().1;
            let place = place.split(' ').next().unwrap().parse().unwrap();
            let (first, second) = stream.split_at(place);
            peer.send([SSE_HEAD.as_bytes(), &chunk(first)].concat());
            peer.send([chunk(second).as_slice(), b"0\r\n\r\n"].concat());
        }
    })
}

/// A record without what is its own: ids and times.
fn without_ids(mut record: Call) -> Value {
    let parameters = record.json["additional_parameters"].as_object_mut();
    let parameters = parameters.unwrap();
    for own in ["request_id", "session_id", "chain", "call"] {
        parameters.remove(own);
    }
    record.json
}

fn application(number: usize) -> String {
    format!("57100000-0000-4000-8000-{number:012}")
}

/// A gateway with an application for each policy.
fn stack(upstream: &Upstream, backend: &Backend) -> Stack {
    let lines = POLICIES.iter().enumerate().map(|(number, policy)| {
        let id = application(number);
        format!("- {{id: {id}, app_mode: {policy}}}\n")
    });
    let yaml = format!("applications:\n{}", lines.collect::<Vec<_>>().concat());
    let builder = Stack::gateway().upstream(upstream).monitor(backend);
    builder.yaml(&yaml).start()
}

/// The record of the answer is as it has to be, and the same for all places.
#[track_caller]
fn assert_same_records(api: Api, frames: &[String], assert_record: impl Fn(&Value)) {
    let stream = frames.concat();
    let (upstream, backend) = (splitting(&stream), Backend::start());
    let stack = stack(&upstream, &backend);
    // Behind the last place comes no more than a line feed.
    let last = stream.len() - 1;
    let mut places = places(&stream);
    places.retain(|place| *place < last);
    places.push(last);
    for (number, policy) in POLICIES.into_iter().enumerate() {
        if api.is_answered_whole() && policy.contains("replace_response") {
            // No stream is asked for (CONTRACT 2).
            continue;
        }
        backend.forget();
        for place in &places {
            let call = api.call(&format!("split at {place} please"), true);
            let call = call.header("X-Session-Id", &place.to_string());
            let got = stack.call(&call.header("X-Application-Id", &application(number)));
            assert_eq!(got.text(), stream, "{policy} {place}");
        }
        let records = backend.await_posts(places.len()).into_iter();
        let named = records.filter(|record| !record.is_pre()).map(|record| {
            let place = record.parameter("session_id").as_str().unwrap().to_owned();
            (place, without_ids(record))
        });
        let records: BTreeMap<String, Value> = named.collect();
        assert_eq!(records.len(), places.len(), "one record of each call");
        let whole = &records[&last.to_string()];
        assert_record(whole);
        for (place, record) in &records {
            assert_eq!(record, whole, "{policy} {place}");
        }
    }
}

fn two_calls_at_once_are_the_same_record_however_the_stream_is_split(api: Api) {
    assert_same_records(api, &two_calls(api), |record| {
        let parameters = &record["additional_parameters"];
        assert!(
            record["message"].as_str().unwrap().starts_with(TEXT),
            "{record}"
        );
        assert_eq!(parameters["model"], "m-1", "{record}");
        for absent in ["incomplete", "error", "unchecked", "response_replaced"] {
            assert!(parameters[absent].is_null(), "{record}");
        }
        if api.has_tools() {
            let calls = [0, 1].map(|call| {
                json!({"call_id": format!("call_{call}"), "name": format!("tool{call}"), "text": COMMANDS[call]})
            });
            assert_eq!(parameters["tool_calls"], json!(calls), "{record}");
            assert_eq!(parameters["usage"]["total_tokens"], 5, "{record}");
        }
    });
}

fn a_refusal_is_the_same_record_however_the_stream_is_split(api: Api) {
    assert_same_records(api, &refusal(api), |record| {
        let parameters = &record["additional_parameters"];
        assert!(
            record["message"].as_str().unwrap().starts_with(TEXT),
            "{record}"
        );
        assert_eq!(parameters["usage"]["total_tokens"], 5, "{record}");
        for absent in ["incomplete", "error", "unchecked", "tool_calls"] {
            assert!(parameters[absent].is_null(), "{record}");
        }
    });
}

/// CONTRACT 41: a text is cut at the same place however it is split, here letter by letter.
fn a_number_whose_beginning_is_a_finding_passes_however_it_is_split(api: Api) {
    let texts = [
        "ts 84951234567890123 ns and more",
        "my INN 77526018115 and more words follow here",
        "call 10.0.0.100.5.7.8 version x y z",
        "card 4111111111111111222222222222222 is no card at all, just digits",
    ];
    let streams = texts.map(|text| api.stream(text, "ls"));
    let backend = Backend::start();
    let (stack, _upstream) = orders::stack(&streams, &backend);
    for (number, stream) in streams.iter().enumerate() {
        let text = orders::ask(&stack, api, SYNC, number);
        assert_eq!(text, stream.concat(), "{}", texts[number]);
    }
}
