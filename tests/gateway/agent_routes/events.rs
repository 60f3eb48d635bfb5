//! Answers of the APIs as streams, as model servers write them, and what programs make of such a stream.

use super::Api;
use serde_json::{Value, json};
use support::http::Response;
use support::upstream::{DONE, Upstream, sse};

impl Api {
    /// The answer of [`Api::answer`] as a stream whose texts come letter by letter.
    pub(crate) fn stream(self, text: &str, command: &str) -> Vec<String> {
        let answer: Value = serde_json::from_str(&self.answer(text, command)).unwrap();
        let arguments = json!({"command": command}).to_string();
        match self {
            Self::Chat => chat(text, &arguments),
            Self::Completions => completions(text),
            Self::Responses => responses(&answer, text, &arguments),
            Self::Messages => messages(&answer, text, &arguments),
        }
    }

    /// What keeps a stream alive that has begun (CONTRACT 18, 46).
    pub(crate) fn heartbeat(self) -> &'static str {
        // The form that the libraries of each API know.
        match self {
            Self::Responses => "event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n",
            Self::Messages => "event: ping\ndata: {\"type\":\"ping\"}\n\n",
            Self::Chat | Self::Completions => ": keepalive\n\n",
        }
    }

    /// The frames of a stream that says "Hello" up to the first "l".
    pub(crate) fn up_to_hel(self) -> Vec<String> {
        let mut frames = self.stream("Hello", "ls");
        let last = frames.iter().position(|frame| frame.contains("\"l\""));
        frames.truncate(last.unwrap() + 1);
        frames
    }

    /// The events of a stream that is complete; the last line of a stream without names is one too.
    #[track_caller]
    pub(crate) fn events(self, answer: &Response) -> Vec<Value> {
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert!(answer.complete, "{}", answer.text());
        let text = answer.text();
        if self.names_events() {
            return text.split_terminator("\n\n").map(named_event).collect();
        }
        let frames = text.strip_suffix(DONE).unwrap_or_else(|| panic!("{text}"));
        let event = |frame: &str| -> Value {
            let data = frame.strip_prefix("data: ");
            serde_json::from_str(data.unwrap_or_else(|| panic!("{frame}"))).unwrap()
        };
        let events = frames.split_terminator("\n\n").map(event);
        events.chain([json!({"type": "[DONE]"})]).collect()
    }
}

/// A model server that answers with this stream, one chunk per frame.
pub(crate) fn streaming(frames: &[String]) -> Upstream {
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    Upstream::raw(sse(&frames))
}

/// An event as model servers write it.
pub(crate) fn frame(event: &Value) -> String {
    format!(
        "event: {}\ndata: {event}\n\n",
        event["type"].as_str().unwrap()
    )
}

/// An event of a stream whose events have no names.
pub(crate) fn data(event: &Value) -> String {
    format!("data: {event}\n\n")
}

#[track_caller]
fn named_event(frame: &str) -> Value {
    let (name, data) = frame.split_once('\n').unwrap_or_else(|| panic!("{frame}"));
    let event: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(
        name.strip_prefix("event: "),
        event["type"].as_str(),
        "{frame}"
    );
    event
}

fn letters(text: &str) -> impl Iterator<Item = String> + '_ {
    text.chars().map(String::from)
}

fn chat(text: &str, arguments: &str) -> Vec<String> {
    let chunk = |delta: Value, end: Value| {
        data(&json!({
            "id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1",
            "choices": [{"index": 0, "delta": delta, "finish_reason": end}],
        }))
    };
    let said = |delta: Value| chunk(delta, Value::Null);
    let mut frames = vec![said(json!({"role": "assistant", "content": ""}))];
    frames.extend(letters(text).map(|letter| said(json!({"content": letter}))));
    let call = json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "shell", "arguments": ""}});
    frames.push(said(json!({"tool_calls": [call]})));
    let part =
        |part: String| json!({"tool_calls": [{"index": 0, "function": {"arguments": part}}]});
    frames.extend(letters(arguments).map(|letter| said(part(letter))));
    frames.push(chunk(json!({}), "tool_calls".into()));
    frames.push(DONE.to_owned());
    frames
}

fn completions(text: &str) -> Vec<String> {
    let chunk = |text: &str, end: Value| {
        data(&json!({
            "id": "c-1", "object": "text_completion", "created": 1, "model": "m-1",
            "choices": [{"text": text, "index": 0, "logprobs": null, "finish_reason": end}],
        }))
    };
    let said = letters(text).map(|letter| chunk(&letter, Value::Null));
    let end = [chunk("", "stop".into()), DONE.to_owned()];
    said.chain(end).collect()
}

fn responses(answer: &Value, text: &str, arguments: &str) -> Vec<String> {
    let mut events = Vec::new();
    let mut begun = answer.clone();
    (begun["output"], begun["status"]) = (json!([]), "in_progress".into());
    events.push(json!({"type": "response.created", "response": begun}));
    let added = |index: usize, empty: &str| {
        let mut item = answer["output"][index].clone();
        item[empty] = match empty {
            "arguments" => json!(""),
            _ => json!([]),
        };
        json!({"type": "response.output_item.added", "output_index": index, "item": item})
    };
    let done = |index: usize| {
        let item = &answer["output"][index];
        json!({"type": "response.output_item.done", "output_index": index, "item": item})
    };
    let place = |kind: &str, index: usize| json!({"type": kind, "output_index": index, "content_index": 0, "item_id": "msg_1"});
    events.extend([added(0, "summary"), done(0), added(1, "content")]);
    let mut part = place("response.content_part.added", 1);
    part["part"] = json!({"type": "output_text", "text": "", "annotations": []});
    events.push(part.clone());
    for letter in letters(text) {
        let mut delta = place("response.output_text.delta", 1);
        delta["delta"] = letter.into();
        events.push(delta);
    }
    let mut end = place("response.output_text.done", 1);
    end["text"] = text.into();
    (part["type"], part["part"]["text"]) = ("response.content_part.done".into(), text.into());
    events.extend([end, part, done(1), added(2, "arguments")]);
    for letter in letters(arguments) {
        let mut delta = place("response.function_call_arguments.delta", 2);
        delta["delta"] = letter.into();
        events.push(delta);
    }
    let mut end = place("response.function_call_arguments.done", 2);
    end["arguments"] = arguments.into();
    events.extend([end, done(2)]);
    events.push(json!({"type": "response.completed", "response": answer}));
    for (number, event) in (0..).zip(&mut events) {
        event["sequence_number"] = Value::from(number);
    }
    events.iter().map(frame).collect()
}

fn messages(answer: &Value, text: &str, arguments: &str) -> Vec<String> {
    let mut begun = answer.clone();
    (begun["content"], begun["stop_reason"]) = (json!([]), Value::Null);
    let mut events = vec![json!({"type": "message_start", "message": begun})];
    let mut block = |index: usize, empty: Value, deltas: Vec<Value>| {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": empty}));
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    };
    let thought = [
        json!({"type": "thinking_delta", "thinking": "hm"}),
        json!({"type": "signature_delta", "signature": "c2ln"}),
    ];
    block(
        0,
        json!({"type": "thinking", "thinking": "", "signature": ""}),
        thought.to_vec(),
    );
    let texts = letters(text).map(|text| json!({"type": "text_delta", "text": text}));
    block(1, json!({"type": "text", "text": ""}), texts.collect());
    let parts = letters(arguments);
    let parts = parts.map(|part| json!({"type": "input_json_delta", "partial_json": part}));
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "shell", "input": {}});
    block(2, call, parts.collect());
    events.push(json!({"type": "ping"}));
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null},
        "usage": {"output_tokens": 2}}),
    );
    events.push(json!({"type": "message_stop"}));
    events.iter().map(frame).collect()
}

/// What a program makes of the events, after the rules by which official clients put answers together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    /// What it shows.
    pub(crate) text: String,
    /// The commands that it runs.
    pub(crate) runs: Vec<String>,
    /// The answer has its last event, and nothing behind it.
    pub(crate) is_complete: bool,
}

impl Program {
    #[track_caller]
    pub(crate) fn of(events: &[Value]) -> Self {
        let mut program = Self::default();
        let mut calls: Vec<(u64, String)> = Vec::new();
        // Libraries refuse a response that leaves one open.
        let mut open: Vec<&Value> = Vec::new();
        for event in events {
            assert!(!program.is_complete, "{event} behind the end");
            let index = event["index"].as_u64().unwrap_or_default();
            match event["type"].as_str().unwrap_or_default() {
                "" => program.add_choices(event, &mut calls),
                "response.output_text.delta" => program.text += event["delta"].as_str().unwrap(),
                "response.output_item.added" => open.push(&event["output_index"]),
                "response.output_item.done" => {
                    open.retain(|index| **index != event["output_index"]);
                    if event["item"]["type"] == "function_call" {
                        let arguments = event["item"]["arguments"].as_str().unwrap();
                        program.runs.push(arguments.into());
                    }
                }
                "response.completed" | "message_stop" => {
                    assert!(open.is_empty(), "items without an end: {open:?}");
                    program.is_complete = true;
                }
                "[DONE]" => {
                    program.runs.extend(calls.drain(..).map(|(_, call)| call));
                    program.is_complete = true;
                }
                "content_block_start" if event["content_block"]["type"] == "tool_use" => {
                    calls.push((index, String::new()));
                }
                "content_block_delta" => {
                    let delta = &event["delta"];
                    program.text += delta["text"].as_str().unwrap_or_default();
                    if let (Some(part), Some((_, call))) =
                        (delta["partial_json"].as_str(), calls.last_mut())
                    {
                        *call += part;
                    }
                }
                "content_block_stop" => {
                    if let Some((_, call)) = calls.pop_if(|(begun, _)| *begun == index) {
                        program.runs.push(call);
                    }
                }
                _ => {}
            }
        }
        program
    }

    /// Some programs run what has come of a call whatever its choice ends with.
    fn add_choices(&mut self, event: &Value, calls: &mut Vec<(u64, String)>) {
        for choice in event["choices"].as_array().unwrap() {
            let delta = &choice["delta"];
            let said = delta["content"].as_str().or(choice["text"].as_str());
            self.text += said.unwrap_or_default();
            for part in delta["tool_calls"].as_array().into_iter().flatten() {
                let index = part["index"].as_u64().unwrap();
                if part["id"].is_string() {
                    calls.push((index, String::new()));
                }
                let call = calls.iter_mut().find(|(begun, _)| *begun == index);
                let (_, call) = call.unwrap_or_else(|| panic!("{part} of no call"));
                *call += part["function"]["arguments"].as_str().unwrap_or_default();
            }
        }
    }
}
