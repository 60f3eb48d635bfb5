//! A call of a tool in an answer of the Responses or the Messages API, in the place of its text.

use super::tool_call::ToolCall;
use serde_json::{Value, json};
use uuid::Uuid;

/// A call, and what its ids have in common.
pub(super) struct AgentCall {
    unique: String,
    tool: ToolCall,
}

impl AgentCall {
    pub(super) fn new(tool: ToolCall) -> Self {
        Self {
            unique: Uuid::new_v4().simple().to_string(),
            tool,
        }
    }

    /// A whole answer, with the call in the place of its text.
    pub(super) fn in_answer(&self, answer: &[u8]) -> Vec<u8> {
        let mut answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        if answer["object"] == "response" {
            answer["output"] = json!([self.item("completed", &self.tool.arguments)]);
        } else {
            let input: Value = serde_json::from_str(&self.tool.arguments).unwrap_or_default();
            answer["content"] = json!([self.block(&input)]);
            answer["stop_reason"] = "tool_use".into();
        }
        answer.to_string().into_bytes()
    }

    /// The events that stand for one of a stream of text.
    pub(super) fn in_event(&self, mut event: Value) -> Vec<Value> {
        let arguments = self.tool.arguments.as_str();
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "response.output_item.added" => event["item"] = self.item("in_progress", ""),
            "response.content_part.added" | "response.content_part.done" => return Vec::new(),
            "response.output_text.delta" => {
                let pieces = self.tool.pieces();
                let deltas = pieces.iter().map(|piece| self.arguments("delta", piece));
                return deltas.collect();
            }
            "response.output_text.done" => event = self.arguments("arguments", arguments),
            "response.output_item.done" => event["item"] = self.item("completed", arguments),
            "response.completed" => {
                event["response"]["output"] = json!([self.item("completed", arguments)]);
            }
            "content_block_start" => event["content_block"] = self.block(&json!({})),
            "content_block_delta" => {
                let delta = |piece: String| {
                    let mut event = event.clone();
                    event["delta"] = json!({"type": "input_json_delta", "partial_json": piece});
                    event
                };
                return self.tool.pieces().into_iter().map(delta).collect();
            }
            "message_delta" => event["delta"]["stop_reason"] = "tool_use".into(),
            _ => {}
        }
        vec![event]
    }

    /// An item of the Responses API.
    fn item(&self, status: &str, arguments: &str) -> Value {
        json!({
            "id": self.id("fc"), "type": "function_call", "status": status, "call_id": self.id("call"),
            "name": self.tool.name, "arguments": arguments,
        })
    }

    /// An event of that item: arguments as a `delta`, or all `arguments`.
    fn arguments(&self, field: &str, text: &str) -> Value {
        let end = match field {
            "delta" => "delta",
            _ => "done",
        };
        json!({
            "type": format!("response.function_call_arguments.{end}"), "sequence_number": 0,
            "item_id": self.id("fc"), "output_index": 0, field: text,
        })
    }

    /// A block of the Messages API.
    fn block(&self, input: &Value) -> Value {
        json!({"type": "tool_use", "id": self.id("toolu"), "name": self.tool.name, "input": input})
    }

    fn id(&self, prefix: &str) -> String {
        format!("{prefix}_{}", self.unique)
    }
}
