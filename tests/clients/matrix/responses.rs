//! What the model server says by the Responses API.

use serde_json::{Value, json};
use support::upstream::{json as json_answer, sse};

/// The tool that is offered, unless its result is there, and else `text`.
pub(super) fn answer(body: &Value, text: &str) -> Vec<u8> {
    let item = item(body, text);
    if body["stream"] != true {
        return json_answer(200, &response("completed", &json!([item])).to_string());
    }
    let mut events =
        vec![json!({"type": "response.created", "response": response("in_progress", &json!([]))})];
    events.extend(item_events(&item));
    events.push(
        json!({"type": "response.completed", "response": response("completed", &json!([item]))}),
    );
    let frames = (0..).zip(events).map(|(number, mut event)| {
        event["sequence_number"] = Value::from(number);
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap()
        )
    });
    let frames: Vec<String> = frames.collect();
    sse(&frames.iter().map(String::as_str).collect::<Vec<_>>())
}

fn response(status: &str, output: &Value) -> Value {
    let usage = json!({"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 3});
    json!({"id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "test-model",
        "output": output, "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "usage": usage})
}

fn item(body: &Value, text: &str) -> Value {
    let mut input = body["input"].as_array().into_iter().flatten();
    let is_answered = input.any(|item| item["type"] == "function_call_output");
    let tool = &body["tools"][0]["name"];
    if is_answered || tool.is_null() {
        return json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
            "content": [part(text)]});
    }
    let arguments = json!({"city": "Paris"}).to_string();
    json!({"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": tool, "status": "completed",
        "arguments": arguments})
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

/// The text of the item in two parts, which cut a placeholder.
fn item_events(item: &Value) -> Vec<Value> {
    let event = |kind: &str, name: &str, value: Value| {
        let mut event = json!({"type": format!("response.{kind}"), "item_id": item["id"], "output_index": 0,
            "content_index": 0, "logprobs": []});
        event[name] = value;
        event
    };
    let of_item = |kind: &str, item: &Value| json!({"type": format!("response.output_item.{kind}"), "output_index": 0, "item": item});
    let text = item["content"][0]["text"].as_str();
    let (kind, end) = match text {
        Some(_) => ("output_text", "text"),
        None => ("function_call_arguments", "arguments"),
    };
    let said = text.or(item["arguments"].as_str()).unwrap();
    let (first, rest) = said.split_at(said.len() * 2 / 3);
    let mut begun = item.clone();
    begun["status"] = "in_progress".into();
    match text {
        Some(_) => begun["content"] = json!([]),
        None => begun["arguments"] = "".into(),
    }
    let mut events = vec![of_item("added", &begun)];
    if text.is_some() {
        events.push(event("content_part.added", "part", part("")));
    }
    for piece in [first, rest] {
        events.push(event(&format!("{kind}.delta"), "delta", piece.into()));
    }
    events.push(event(&format!("{kind}.done"), end, said.into()));
    if text.is_some() {
        events.push(event("content_part.done", "part", part(said)));
    }
    events.push(of_item("done", item));
    events
}
