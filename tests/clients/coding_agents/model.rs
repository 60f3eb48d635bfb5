//! The model server of the coding agents: it answers in the API of the path, and what it says depends on nothing but the
//! request, so that an agent may repeat one as often as it likes.

use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use support::contains;
use support::server::Received;
use support::upstream::{DONE, SSE_HEAD, Upstream, json as answer_of, sse};

/// What it says where it answers.
pub(super) const SAID: &str = "All is well.";
/// What it says before it calls a tool.
const BEFORE: &str = "One moment please.";
/// The message of its errors.
pub(super) const REFUSAL: &str = "the quota is used up";
/// The file that the called tool makes in the working folder.
pub(super) const MADE: &str = "made-by-the-tool";
/// What `hold_back` finds in the arguments of [`Model::Pays`].
const CARD: &str = "2200 1244 6450 7773";

#[derive(Clone, Copy, Debug)]
pub(super) enum Model {
    Says,
    /// Calls the tool, and answers once it has its result.
    RunsThenSays,
    /// Calls the tool with a card number in its arguments.
    Pays,
    /// Ends the connection in the middle of a stream.
    Breaks,
    /// Answers each request with this status.
    Fails(u16),
}

/// The tool of an agent that runs commands, and the name of its argument.
#[derive(Clone, Copy)]
pub(super) struct Shell {
    pub(super) name: &'static str,
    pub(super) argument: &'static str,
}

impl Model {
    /// Starts it. The titles that opencode asks for beside its turns are answered by themselves.
    pub(super) fn start(self, shell: Shell) -> Upstream {
        let answers = AtomicUsize::new(0);
        Upstream::scripted(move |peer| {
            while let Some(request) = peer.read_request() {
                // Agents merge answers of one id.
                let number = answers.fetch_add(1, Ordering::Relaxed);
                let is_stream = !contains(&request.body, br#""stream":false"#);
                match self {
                    Self::Fails(status) => peer.send(error(status)),
                    Self::Breaks => {
                        let frames = self.frames(&request, shell, number);
                        peer.send(SSE_HEAD);
                        peer.send_chunk(frames[..frames.len() / 2].concat());
                        return;
                    }
                    _ if is_stream => {
                        let frames = self.frames(&request, shell, number);
                        peer.send(sse(&frames.iter().map(String::as_str).collect::<Vec<_>>()));
                    }
                    _ => peer.send(whole_chat(number)),
                }
            }
        })
    }

    fn frames(self, request: &Received, shell: Shell, number: usize) -> Vec<String> {
        let command = match self {
            Self::Pays => format!("touch {MADE}; pay with card {CARD}"),
            _ => format!("touch {MADE}"),
        };
        // opencode shows a description beside the command.
        let arguments = json!({shell.argument: command, "description": "work"});
        let is_title = contains(&request.body, b"You are a title generator");
        let has_result = contains(&request.body, b"call_tool_1");
        let calls = match self {
            Self::RunsThenSays => !is_title && !has_result,
            Self::Pays => !is_title,
            Self::Says | Self::Breaks | Self::Fails(_) => false,
        };
        let call = calls.then_some((shell.name, arguments));
        let path = request.head.target();
        match path.split_once('?').map_or(path, |(path, _)| path) {
            "/v1/responses" => responses(call.as_ref(), number),
            "/v1/messages" => messages(call.as_ref(), number),
            _ => chat(call.as_ref(), number),
        }
    }
}

fn error(status: u16) -> Vec<u8> {
    let error = json!({"message": REFUSAL, "type": "error", "code": status});
    answer_of(status, &json!({"error": error}).to_string())
}

type Call<'a> = Option<&'a (&'static str, Value)>;

fn text_of(call: Call<'_>) -> &'static str {
    call.map_or(SAID, |_| BEFORE)
}

fn named(events: &[Value]) -> Vec<String> {
    let frame = |event: &Value| {
        let kind = event["type"].as_str().unwrap();
        format!("event: {kind}\ndata: {event}\n\n")
    };
    events.iter().map(frame).collect()
}

fn responses(call: Call<'_>, number: usize) -> Vec<String> {
    let text = text_of(call);
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
    let message = |status: &str, content: Value| json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "status": status, "content": content});
    let response = |status: &str, output: &[Value]| {
        json!({"id": format!("resp_{number}"), "object": "response", "created_at": 1, "model": "m-1", "status": status,
            "output": output, "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5,
            "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}})
    };
    let at = |kind: &str| json!({"type": format!("response.{kind}"), "item_id": format!("msg_{number}"), "output_index": 0, "content_index": 0});
    let with = |mut event: Value, name: &str, value: Value| {
        event[name] = value;
        event
    };
    let item = |kind: &str, index: usize, item: &Value| json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item});
    let said = message("completed", json!([part(text)]));
    let mut events = vec![
        json!({"type": "response.created", "response": response("in_progress", &[])}),
        item("added", 0, &message("in_progress", json!([]))),
        with(at("content_part.added"), "part", part("")),
        with(at("output_text.delta"), "delta", text.into()),
        with(at("output_text.done"), "text", text.into()),
        with(at("content_part.done"), "part", part(text)),
        item("done", 0, &said),
    ];
    let mut output = vec![said];
    if let Some((name, arguments)) = call {
        let id = format!("fc_{number}");
        let arguments = arguments.to_string();
        let called = |status: &str, arguments: &str| json!({"id": id, "type": "function_call", "call_id": "call_tool_1", "name": name, "arguments": arguments, "status": status});
        let kind = |end: &str| json!({"type": format!("response.function_call_arguments.{end}"), "item_id": id, "output_index": 1});
        let whole = called("completed", &arguments);
        events.push(item("added", 1, &called("in_progress", "")));
        events.extend(
            pieces(&arguments).map(|piece| with(kind("delta"), "delta", piece.as_str().into())),
        );
        events.push(with(kind("done"), "arguments", arguments.as_str().into()));
        events.push(item("done", 1, &whole));
        output.push(whole);
    }
    events.push(json!({"type": "response.completed", "response": response("completed", &output)}));
    for (number, event) in (0..).zip(&mut events) {
        event["sequence_number"] = Value::from(number);
    }
    named(&events)
}

fn messages(call: Call<'_>, number: usize) -> Vec<String> {
    let block = |index: usize, block: Value, deltas: Vec<Value>| {
        let start = json!({"type": "content_block_start", "index": index, "content_block": block});
        let delta =
            |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
        let stop = json!({"type": "content_block_stop", "index": index});
        let deltas = deltas.into_iter().map(delta);
        [start]
            .into_iter()
            .chain(deltas)
            .chain([stop])
            .collect::<Vec<_>>()
    };
    let message = json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "m-1", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 0}});
    let mut events = vec![json!({"type": "message_start", "message": message})];
    let text = json!({"type": "text_delta", "text": text_of(call)});
    events.extend(block(0, json!({"type": "text", "text": ""}), vec![text]));
    if let Some((name, arguments)) = call {
        let begun = json!({"type": "tool_use", "id": "call_tool_1", "name": name, "input": {}});
        let delta = |piece: String| json!({"type": "input_json_delta", "partial_json": piece});
        events.extend(block(
            1,
            begun,
            pieces(&arguments.to_string()).map(delta).collect(),
        ));
    }
    let reason = call.map_or("end_turn", |_| "tool_use");
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 2}}));
    events.push(json!({"type": "message_stop"}));
    named(&events)
}

fn chat(call: Call<'_>, number: usize) -> Vec<String> {
    let event = |delta: Value, reason: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        let event = json!({"id": format!("c-{number}"), "object": "chat.completion.chunk", "created": 1, "model": "m-1", "choices": [choice]});
        format!("data: {event}\n\n")
    };
    let tool = |call: Value| json!({"tool_calls": [call]});
    let mut frames = vec![
        event(json!({"role": "assistant", "content": ""}), None),
        event(json!({"content": text_of(call)}), None),
    ];
    if let Some((name, arguments)) = call {
        let begun = json!({"index": 0, "id": "call_tool_1", "type": "function", "function": {"name": name, "arguments": ""}});
        frames.push(event(tool(begun), None));
        let more = |piece: String| tool(json!({"index": 0, "function": {"arguments": piece}}));
        frames.extend(pieces(&arguments.to_string()).map(|piece| event(more(piece), None)));
    }
    let reason = call.map_or("stop", |_| "tool_calls");
    frames.extend([event(json!({}), Some(reason)), DONE.to_owned()]);
    frames
}

fn whole_chat(number: usize) -> Vec<u8> {
    let message = json!({"role": "assistant", "content": SAID});
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let answer = json!({"id": format!("c-{number}"), "object": "chat.completion", "created": 1, "model": "m-1", "choices": [choice]});
    answer_of(200, &answer.to_string())
}

/// Arguments as models send them, a few letters at a time.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = letters.chunks(4).map(String::from_iter).collect();
    pieces.into_iter()
}
