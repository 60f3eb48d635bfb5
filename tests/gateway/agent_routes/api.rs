//! The APIs of the table: how a client of each asks, how a model server answers as a whole, and what a client shows.

use crate::sync::SYNC;
use serde_json::{Value, json};
use support::http::Response;
use support::request::{CHAT, Request};

/// One of the APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Chat,
    Completions,
    Responses,
    Messages,
}

const APIS: [Api; 4] = [Api::Chat, Api::Completions, Api::Responses, Api::Messages];

/// Those of programs that act on items and blocks.
pub(crate) const AGENTS: [Api; 2] = [Api::Responses, Api::Messages];

impl Api {
    /// The API that a row of the table names, in lower case.
    pub(crate) fn named(name: &str) -> Self {
        let is_named = |api: &Self| format!("{api:?}").eq_ignore_ascii_case(name);
        let api = APIS.into_iter().find(is_named);
        api.unwrap_or_else(|| panic!("no API {name}"))
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => CHAT,
            Self::Completions => "/v1/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
        }
    }

    /// The label `route` of metrics.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            other => other.path().trim_start_matches("/v1/"),
        }
    }

    /// Sync mode answers its calls for streams as a whole (§4.1.2).
    pub(crate) fn is_answered_whole(self) -> bool {
        self == Self::Chat
    }

    /// Each event of its streams has a name.
    pub(crate) fn names_events(self) -> bool {
        AGENTS.contains(&self)
    }

    pub(crate) fn has_tools(self) -> bool {
        self != Self::Completions
    }

    /// What refusals and blocks of the gateway's say in `x-should-retry`.
    pub(crate) fn advice(self) -> Option<&'static str> {
        (self != Self::Chat).then_some("false")
    }

    /// A request whose user says `text`, as odd to the byte as JSON may be.
    pub(crate) fn body(self, text: &str, streams: bool) -> String {
        let text = json!(text);
        match self {
            Self::Chat => format!(
                "{{ \"model\":\"m-1\",\r\n\"stream\": {streams},\"seed\":1e400,\"messages\":[{{\"role\":\"system\",\
                 \"content\":\"rules\"}},{{\"role\":\"user\",\
                 \"content\":[{{\"type\":\"text\",\"text\":{text}}}]}}]}} "
            ),
            Self::Completions => format!(
                "{{ \"model\":\"m-1\",\r\n\"stream\": {streams},\"max_tokens\":1e2,\"prompt\":{text}}} "
            ),
            Self::Responses => format!(
                "{{ \"model\":\"m-1\",\r\n\"stream\": {streams},\"n\":1e400,\"input\":[{{\"role\":\"developer\",\
                 \"content\":\"rules\"}},{{\"type\":\"message\",\"role\":\"user\",\
                 \"content\":[{{\"type\":\"input_text\",\"text\":{text}}}]}}]}} "
            ),
            Self::Messages => format!(
                "{{ \"model\":\"m-1\",\r\n\"max_tokens\":1e2,\"stream\": {streams},\"system\":\"rules\",\
                 \"messages\":[{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":{text},\
                 \"cache_control\":{{\"type\":\"ephemeral\"}}}}]}}]}} "
            ),
        }
    }

    pub(crate) fn call(self, text: &str, streams: bool) -> Request {
        Request::post(self.path(), self.body(text, streams))
    }

    /// The same of the application in sync mode.
    pub(crate) fn checked(self, text: &str, streams: bool) -> Request {
        self.call(text, streams).header("X-Application-Id", SYNC)
    }

    /// A whole answer that says `text`, with reasoning and a call of the tool `shell` where the API has them.
    pub(crate) fn answer(self, text: &str, command: &str) -> String {
        let arguments = json!({"command": command});
        let answer = match self {
            Self::Chat => json!({
                "id": "c-1", "object": "chat.completion", "created": 1, "model": "m-1", "choices": [{
                    "index": 0, "finish_reason": "tool_calls", "message": {
                        "role": "assistant", "content": text, "tool_calls": [{"id": "call_1", "type": "function",
                            "function": {"name": "shell", "arguments": arguments.to_string()}}],
                    },
                }],
                "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
            }),
            Self::Completions => json!({
                "id": "c-1", "object": "text_completion", "created": 1, "model": "m-1",
                "choices": [{"text": text, "index": 0, "logprobs": null, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
            }),
            Self::Responses => json!({
                "id": "resp_1", "object": "response", "status": "completed", "model": "m-1",
                "instructions": "echo@example.com", "output": [
                    {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
                    {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                        "content": [{"type": "output_text", "text": text, "annotations": []}]},
                    {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "shell", "status": "completed",
                        "arguments": arguments.to_string()},
                ],
                "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
            }),
            Self::Messages => json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                    {"type": "text", "text": text},
                    {"type": "tool_use", "id": "toolu_1", "name": "shell", "input": arguments},
                ],
                "stop_reason": "tool_use", "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 2},
            }),
        };
        answer.to_string()
    }

    /// What a record keeps of that answer (CONTRACT 4).
    pub(crate) fn recorded(self, text: &str, command: &str) -> String {
        match self {
            Self::Chat | Self::Completions => text.to_owned(),
            _ => format!("{text}\nshell\n{}", json!({"command": command})),
        }
    }

    /// The member of an answer's usage that counts the prompt.
    pub(crate) fn prompt_tokens(self) -> &'static str {
        match self {
            Self::Chat | Self::Completions => "prompt_tokens",
            _ => "input_tokens",
        }
    }

    /// What a client shows of an answer that is complete.
    #[track_caller]
    pub(crate) fn shown(self, answer: &Response) -> String {
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let content = match self {
            Self::Chat | Self::Completions => "choices",
            Self::Responses => "output",
            Self::Messages => "content",
        };
        let parts = answer.json()[content].as_array().unwrap().clone();
        let text = |part: &Value| {
            let text = match self {
                Self::Chat => &part["message"]["content"],
                Self::Responses => &part["content"][0]["text"],
                Self::Completions | Self::Messages => &part["text"],
            };
            text.as_str().map(str::to_owned)
        };
        parts.iter().filter_map(text).collect()
    }

    /// The error of an answer, after what is the same in every one of this API (§2.6, §7.2).
    #[track_caller]
    pub(crate) fn error(self, answer: &Response, status: u16) -> Value {
        assert_eq!(answer.status(), status, "{}", answer.text());
        assert_eq!(answer.head.header("content-type"), Some("application/json"));
        let body = answer.json();
        match self {
            Self::Chat | Self::Completions => assert_eq!(body["error"]["code"], status),
            Self::Responses => {
                assert!(body["error"]["param"].is_null() && body["error"]["code"] == status);
            }
            Self::Messages => {
                assert_eq!(body["type"], "error");
                assert_eq!(
                    body["request_id"].as_str(),
                    answer.head.header("x-request-id")
                );
            }
        }
        assert!(body["error"]["message"].is_string(), "{body}");
        body["error"].clone()
    }

    /// The word for the kind of an error: the envelope's, and that of the Messages API.
    pub(crate) fn kind(self, of_envelope: &'static str, of_messages: &'static str) -> &'static str {
        match self {
            Self::Messages => of_messages,
            _ => of_envelope,
        }
    }
}
