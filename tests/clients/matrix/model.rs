//! The model server that all libraries talk to.

use super::responses;
use serde_json::{Value, json};
use support::upstream::{DONE, Upstream, json as answer, sse};

pub(super) const ANSWER: &str = "Hello from the model.";
/// What the user sees of an answer with a placeholder.
pub(super) const RESTORED: &str = "Writing to anna@example.com.";
pub(super) const WEATHER: &str = "weather Paris";

/// Calls the tool it is offered, unless its result is there, and else says a sentence.
pub(super) fn model() -> Upstream {
    Upstream::answering(|request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        if request.head.target() == "/v1/responses" {
            return responses::answer(&body, text(&body));
        }
        let message = message(&body);
        match body["stream"] == true {
            true => streamed(&message),
            false => whole(&message),
        }
    })
}

fn text(body: &Value) -> &'static str {
    match body.to_string().contains("[EMAILS_1]") {
        true => "Writing to [EMAILS_1].",
        false => ANSWER,
    }
}

fn message(body: &Value) -> Value {
    let text = text(body);
    let mut messages = body["messages"].as_array().unwrap().iter();
    let is_answered = messages.any(|message| message["role"] == "tool");
    let tool = &body["tools"][0]["function"];
    if is_answered || tool.is_null() {
        return json!({"role": "assistant", "content": text});
    }
    let arguments = match tool["parameters"]["properties"].get("city") {
        Some(_) => json!({"city": "Paris"}),
        None => json!({"text": text}),
    };
    let function = json!({"name": tool["name"], "arguments": arguments.to_string()});
    let call = json!({"id": "t-1", "type": "function", "function": function});
    json!({"role": "assistant", "content": null, "tool_calls": [call]})
}

fn reason(message: &Value) -> &'static str {
    match message["tool_calls"].is_array() {
        true => "tool_calls",
        false => "stop",
    }
}

fn whole(message: &Value) -> Vec<u8> {
    let choice = json!({"index": 0, "message": message, "finish_reason": reason(message)});
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3});
    let body = json!({"id": "c-1", "object": "chat.completion", "created": 1, "model": "test-model",
        "choices": [choice], "usage": usage});
    answer(200, &body.to_string())
}

/// The message in two parts, which cut a placeholder.
fn streamed(message: &Value) -> Vec<u8> {
    let function = &message["tool_calls"][0]["function"];
    let said = message["content"]
        .as_str()
        .or(function["arguments"].as_str());
    let (first, rest) = said.unwrap().split_at(said.unwrap().len() * 2 / 3);
    let deltas = match function["name"].as_str() {
        None => [
            json!({"role": "assistant", "content": ""}),
            json!({"content": first}),
            json!({"content": rest}),
        ],
        Some(name) => {
            let part =
                |part: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": part}}]});
            let call = json!({"index": 0, "id": "t-1", "type": "function",
                "function": {"name": name, "arguments": ""}});
            let begin = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            [begin, part(first), part(rest)]
        }
    };
    let mut frames: Vec<String> = deltas.iter().map(|delta| frame(delta, None)).collect();
    frames.extend([frame(&json!({}), Some(reason(message))), DONE.to_owned()]);
    sse(&frames.iter().map(String::as_str).collect::<Vec<_>>())
}

fn frame(delta: &Value, reason: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
    let chunk = json!({"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "test-model",
        "choices": [choice]});
    format!("data: {chunk}\n\n")
}
