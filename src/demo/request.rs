//! Reads the body of a demo call: only the fields that change the answer. Everything else of the
//! reference format is accepted and ignored.

use super::messages::{Messages, split};
use super::refusal::Refusal;
use super::tool_call::ToolCall;
use serde_json::Value;
use std::time::Duration;

/// Time between two words of a stream when the caller names none.
const DEFAULT_PACE: Duration = Duration::from_millis(30);

/// What a chat completion call asks for.
#[derive(Debug)]
pub(super) struct ChatCall {
    pub(super) model: String,
    pub(super) messages: Messages,
    /// What the prompt orders, until its result is there.
    pub(super) tool: Option<ToolCall>,
    pub(super) choices: u64,
    pub(super) stream: bool,
    /// Send the usage at the end of a stream.
    pub(super) include_usage: bool,
    /// In estimated tokens.
    pub(super) max_tokens: Option<u64>,
    /// Time between two words of a stream.
    pub(super) pace: Duration,
}

/// The body, which must be an object.
pub(super) fn object(body: &[u8]) -> Result<Value, Refusal> {
    let body = serde_json::from_slice(body).ok();
    body.filter(Value::is_object)
        .ok_or_else(|| Refusal::named("body"))
}

/// The field at a path, as `read` takes it; None where it is missing or null.
pub(super) fn field<T>(
    body: &Value,
    path: &str,
    rule: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<Option<T>, Refusal> {
    match path.split('.').fold(body, |at, name| &at[name]) {
        Value::Null => Ok(None),
        value => read(value)
            .map(Some)
            .ok_or_else(|| Refusal::field(path, rule)),
    }
}

/// The model's name, unless the name stands for an error.
pub(super) fn model(body: &Value) -> Result<String, Refusal> {
    match body["model"].as_str() {
        Some(name @ ("missing-model" | "rate-limited" | "overloaded")) => Err(Refusal::named(name)),
        Some(name) if !name.is_empty() => Ok(name.to_owned()),
        _ => Err(Refusal::field("model", "You must name a model.")),
    }
}

impl ChatCall {
    /// Reads a body; `pace_ms` of the query goes before `metadata.pace_ms`.
    pub(super) fn read(body: &[u8], query_pace_ms: Option<&str>) -> Result<Self, Refusal> {
        let (body, messages) = split(body).ok_or_else(|| Refusal::named("body"))?;
        let body = &body;
        let flag = |path| field(body, path, "Must be true or false.", Value::as_bool);
        let limit = |path| {
            let positive = |limit: &Value| limit.as_u64().filter(|limit| *limit > 0);
            field(body, path, "Must be an integer of 1 or more.", positive)
        };
        let up_to_8 = |n: &Value| n.as_u64().filter(|n| (1..=8).contains(n));
        let model = model(body)?;
        let messages =
            Messages::read(messages).map_err(|problem| Refusal::field("messages", problem))?;
        let tool = match messages.ends_with_result {
            true => None,
            false => ToolCall::ordered(&messages.prompt, &body["tools"]),
        };
        Ok(Self {
            model,
            messages,
            tool,
            choices: field(body, "n", "`n` must be an integer from 1 to 8.", up_to_8)?.unwrap_or(1),
            stream: flag("stream")?.unwrap_or(false),
            include_usage: flag("stream_options.include_usage")?.unwrap_or(false),
            max_tokens: match limit("max_completion_tokens")? {
                None => limit("max_tokens")?,
                limit => limit,
            },
            pace: pace(body, query_pace_ms)?,
        })
    }

    /// Text of the last message with role `user`, else of the last message.
    pub(super) fn prompt(&self) -> &str {
        &self.messages.prompt
    }
}

fn pace(body: &Value, query: Option<&str>) -> Result<Duration, Refusal> {
    // Values of `metadata` are strings in the reference format, so both forms are read.
    let (path, text) = match (query, body["metadata"].get("pace_ms")) {
        (Some(text), _) => ("pace_ms", text.to_owned()),
        (None, Some(Value::String(text))) => ("metadata.pace_ms", text.clone()),
        (None, Some(value)) => ("metadata.pace_ms", value.to_string()),
        (None, None) => return Ok(DEFAULT_PACE),
    };
    let pace = text.parse().ok().filter(|ms| *ms <= 10_000);
    pace.map(Duration::from_millis)
        .ok_or_else(|| Refusal::field(path, "Must be milliseconds, from 0 to 10000."))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use serde_json::json;

    const PLAIN: &str = r#"{"model":"demo-small","messages":[{"role":"user","content":"Hi"}]"#;

    fn read(rest: &str) -> Result<ChatCall, Refusal> {
        ChatCall::read(format!("{PLAIN}{rest}}}").as_bytes(), None)
    }

    fn param(call: Result<ChatCall, Refusal>) -> String {
        call.unwrap_err().param.expect("no field is named")
    }

    #[test]
    fn defaults_are_one_plain_choice() {
        let call = read("").unwrap();
        assert_eq!(
            (call.choices, call.stream, call.include_usage),
            (1, false, false)
        );
        assert_eq!((call.max_tokens, call.pace), (None, DEFAULT_PACE));
    }

    #[test]
    fn a_wrong_field_is_named() {
        for (rest, name) in [
            (r#","n":0"#, "n"),
            (r#","n":9"#, "n"),
            (r#","stream":"yes""#, "stream"),
            (
                r#","stream_options":{"include_usage":1}"#,
                "stream_options.include_usage",
            ),
            (r#","max_tokens":0"#, "max_tokens"),
            (r#","metadata":{"pace_ms":"soon"}"#, "metadata.pace_ms"),
            (r#","metadata":{"pace_ms":10001}"#, "metadata.pace_ms"),
        ] {
            assert_eq!(param(read(rest)), name, "{rest}");
        }
    }

    #[test]
    fn missing_or_empty_messages_are_refused() {
        for body in [r#"{"model":"m"}"#, r#"{"model":"m","messages":[]}"#] {
            assert_eq!(param(ChatCall::read(body.as_bytes(), None)), "messages");
        }
        assert_eq!(param(ChatCall::read(br#"{"messages":[]}"#, None)), "model");
        let refused = ChatCall::read(b"[1]", None).unwrap_err();
        assert_eq!(refused, Refusal::named("body"));
    }

    #[test]
    fn the_query_sets_the_pace_before_the_metadata() {
        let body = format!(r#"{PLAIN},"metadata":{{"pace_ms":"5"}}}}"#);
        let pace = |query| ChatCall::read(body.as_bytes(), query).unwrap().pace;
        assert_eq!(pace(None), Duration::from_millis(5));
        assert_eq!(pace(Some("0")), Duration::ZERO);
    }

    #[test]
    fn the_prompt_is_the_last_user_message_with_its_text_parts_only() {
        let body = br#"{"model":"m","messages":[{"role":"user","content":"old"},
            {"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"},
            {"type":"text","text":"b"}]},{"role":"assistant","content":null}]}"#;
        assert_eq!(ChatCall::read(body, None).unwrap().prompt(), "a\nb");
    }

    #[test]
    fn a_tool_is_called_until_its_result_is_there() {
        let order = json!({"role": "user", "content": "tool:ls"});
        let block = json!([{"type": "tool_result", "tool_use_id": "t", "content": "a.txt"}]);
        let chat = json!({"role": "tool", "tool_call_id": "c", "content": "a.txt"});
        let user = json!({"role": "user", "content": block});
        for (last, is_called) in [(&order, true), (&chat, false), (&user, false)] {
            let tools = json!([{"name": "ls"}]);
            let body = json!({"model": "m", "tools": tools, "messages": [order, last]});
            let call = ChatCall::read(body.to_string().as_bytes(), None).unwrap();
            assert_eq!(call.prompt(), "tool:ls", "{last}");
            assert_eq!(call.tool.is_some(), is_called, "{last}");
        }
    }

    #[test]
    fn names_that_stand_for_errors_are_refused_before_the_messages_are_read() {
        for name in ["missing-model", "rate-limited", "overloaded"] {
            let body = format!(r#"{{"model":"{name}"}}"#);
            let refused = ChatCall::read(body.as_bytes(), None).unwrap_err();
            assert_eq!(refused, Refusal::named(name));
        }
    }
}
