//! A program that talks to the demo model through the gateway in one of three APIs, and puts streams together after the
//! rules of official clients.

use serde_json::{Value, json};
use support::http::Response;
use support::request::{CHAT, Request};

/// The tool that the program offers.
pub(crate) const TOOL: &str = "read_file";

/// An API with calls of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Chat,
    Responses,
    Messages,
}

pub(crate) const APIS: [Api; 3] = [Api::Chat, Api::Responses, Api::Messages];

impl Api {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => CHAT,
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
        }
    }

    /// In which the API's programs name the session of a call.
    pub(crate) fn session_header(self) -> &'static str {
        match self {
            Self::Chat => "X-Session-Id",
            Self::Responses => "session-id",
            Self::Messages => "X-Claude-Code-Session-Id",
        }
    }

    /// A call with this history, in the form of the API.
    pub(crate) fn request(self, model: &str, streams: bool, history: &[Value]) -> Request {
        let mut body = json!({"model": model, "stream": streams});
        let schema = json!({"type": "object"});
        let (list, tool) = match self {
            Self::Chat => {
                if streams {
                    body["stream_options"] = json!({"include_usage": true});
                }
                let function = json!({"name": TOOL, "parameters": schema});
                (
                    "messages",
                    json!({"type": "function", "function": function}),
                )
            }
            Self::Responses => (
                "input",
                json!({"type": "function", "name": TOOL, "parameters": schema}),
            ),
            Self::Messages => {
                body["max_tokens"] = 1000.into();
                ("messages", json!({"name": TOOL, "input_schema": schema}))
            }
        };
        body[list] = history.into();
        body["tools"] = json!([tool]);
        Request::post(&format!("{}?pace_ms=0", self.path()), body.to_string())
    }

    /// The whole answer, put together where it is a stream.
    #[track_caller]
    pub(crate) fn whole(self, answer: &Response, streams: bool) -> Value {
        assert_eq!(answer.status(), 200, "{self:?}: {}", answer.text());
        let is_stream = answer.head.header("content-type") == Some("text/event-stream");
        assert_eq!(is_stream, streams, "{self:?}: {}", answer.text());
        if !streams {
            return answer.json();
        }
        let events = events(answer);
        match self {
            Self::Chat => completion(&events),
            Self::Responses => events.last().unwrap()["response"].clone(),
            Self::Messages => message(&events),
        }
    }

    /// The text of a whole answer.
    pub(crate) fn said(self, whole: &Value) -> &str {
        let text = match self {
            Self::Chat => &whole["choices"][0]["message"]["content"],
            Self::Responses => &whole["output"][0]["content"][0]["text"],
            Self::Messages => &whole["content"][0]["text"],
        };
        text.as_str().unwrap_or_default()
    }

    /// Tokens of the prompt and of the answer.
    #[track_caller]
    pub(crate) fn usage(self, whole: &Value) -> (u64, u64) {
        let (prompt, answer) = match self {
            Self::Chat => ("prompt_tokens", "completion_tokens"),
            Self::Responses | Self::Messages => ("input_tokens", "output_tokens"),
        };
        let usage = &whole["usage"];
        let tokens = |name: &str| {
            let tokens = usage[name].as_u64();
            tokens.unwrap_or_else(|| panic!("{name}: {whole}"))
        };
        (tokens(prompt), tokens(answer))
    }

    /// The name and the arguments of the call that a whole answer is.
    pub(crate) fn call(self, whole: &Value) -> (&Value, Value) {
        let parsed = |arguments: &Value| {
            let arguments = arguments.as_str().unwrap_or_default();
            serde_json::from_str(arguments).unwrap_or_default()
        };
        match self {
            Self::Chat => {
                let function = &whole["choices"][0]["message"]["tool_calls"][0]["function"];
                (&function["name"], parsed(&function["arguments"]))
            }
            Self::Responses => {
                let item = &whole["output"][0];
                (&item["name"], parsed(&item["arguments"]))
            }
            Self::Messages => {
                let block = &whole["content"][0];
                (&block["name"], block["input"].clone())
            }
        }
    }

    /// What the history gains by such an answer and the result of its call.
    pub(crate) fn ran(self, whole: &Value, result: &str) -> [Value; 2] {
        match self {
            Self::Chat => {
                let calls = &whole["choices"][0]["message"]["tool_calls"];
                [
                    json!({"role": "assistant", "content": null, "tool_calls": calls}),
                    json!({"role": "tool", "tool_call_id": calls[0]["id"], "content": result}),
                ]
            }
            Self::Responses => {
                let call = &whole["output"][0];
                [
                    call.clone(),
                    json!({"type": "function_call_output", "call_id": call["call_id"], "output": result}),
                ]
            }
            Self::Messages => {
                let content = &whole["content"];
                let result = json!({"type": "tool_result", "tool_use_id": content[0]["id"], "content": result});
                [
                    json!({"role": "assistant", "content": content}),
                    json!({"role": "user", "content": [result]}),
                ]
            }
        }
    }
}

#[track_caller]
fn events(answer: &Response) -> Vec<Value> {
    assert!(answer.complete, "{}", answer.text());
    let text = answer.text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let data = data.filter(|data| *data != "[DONE]");
    data.map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// Adds the text of one value to that of another.
fn append(text: &mut Value, more: &Value) {
    if let Some(more) = more.as_str() {
        *text = format!("{}{more}", text.as_str().unwrap_or_default()).into();
    }
}

fn completion(events: &[Value]) -> Value {
    let (mut content, mut usage) = (Value::Null, Value::Null);
    let mut calls: Vec<Value> = Vec::new();
    for event in events {
        if event["usage"].is_object() {
            usage = event["usage"].clone();
        }
        let delta = &event["choices"][0]["delta"];
        append(&mut content, &delta["content"]);
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            match call["id"].is_string() {
                true => calls.push(call.clone()),
                false => {
                    let begun = &mut calls.last_mut().unwrap()["function"]["arguments"];
                    append(begun, &call["function"]["arguments"]);
                }
            }
        }
    }
    let message = json!({"role": "assistant", "content": content, "tool_calls": calls});
    json!({"choices": [{"index": 0, "message": message}], "usage": usage})
}

fn message(events: &[Value]) -> Value {
    let mut message = Value::Null;
    let mut blocks: Vec<Value> = Vec::new();
    let mut arguments = String::new();
    for event in events {
        let delta = &event["delta"];
        match event["type"].as_str().unwrap() {
            "message_start" => message = event["message"].clone(),
            "content_block_start" => blocks.push(event["content_block"].clone()),
            "content_block_delta" => match delta["partial_json"].as_str() {
                Some(piece) => arguments += piece,
                None => append(&mut blocks.last_mut().unwrap()["text"], &delta["text"]),
            },
            "content_block_stop" if !arguments.is_empty() => {
                let input = serde_json::from_str(&std::mem::take(&mut arguments)).unwrap();
                blocks.last_mut().unwrap()["input"] = input;
            }
            "message_delta" => {
                message["usage"]["output_tokens"] = event["usage"]["output_tokens"].clone();
            }
            _ => {}
        }
    }
    message["content"] = blocks.into();
    message
}
