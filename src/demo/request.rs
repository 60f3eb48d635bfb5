//! Reads the body of a demo call: only the fields that change the answer. Everything else of the
//! reference format is accepted and ignored.

use super::refusal::Refusal;
use serde_json::{Map, Value};
use std::time::Duration;

/// Most choices of one completion.
const MAX_CHOICES: u64 = 8;

/// Time between two words of a stream when the caller names none.
const DEFAULT_PACE: Duration = Duration::from_millis(30);

/// Longest time between two words.
const MAX_PACE_MS: u64 = 10_000;

/// One message: its role and the text of its text parts, joined by a line break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// `user`, `assistant`, `system` and so on.
    pub(super) role: String,
    /// Empty when there is no text.
    pub(super) text: String,
}

/// What a chat completion call asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChatCall {
    /// The name to answer under.
    pub(super) model: String,
    /// At least one.
    pub(super) messages: Vec<Message>,
    /// 1 to [`MAX_CHOICES`].
    pub(super) choices: u64,
    /// Answer as an event stream.
    pub(super) stream: bool,
    /// `stream_options.include_usage`: send the usage at the end of a stream.
    pub(super) include_usage: bool,
    /// `max_completion_tokens`, else `max_tokens`, in estimated tokens.
    pub(super) max_tokens: Option<u64>,
    /// Time between two words of a stream.
    pub(super) pace: Duration,
}

/// The body as an object.
pub(super) fn object(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    serde_json::from_slice(body).map_err(|_| Refusal::NotAnObject)
}

/// The model's name, unless the name stands for an error.
pub(super) fn model(body: &Map<String, Value>) -> Result<String, Refusal> {
    match body.get("model").and_then(Value::as_str) {
        Some("missing-model") => Err(Refusal::ModelNotFound),
        Some("rate-limited") => Err(Refusal::RateLimited),
        Some("overloaded") => Err(Refusal::Overloaded),
        Some(name) if !name.is_empty() => Ok(name.to_owned()),
        _ => Err(wrong("model", "You must name a model.")),
    }
}

/// A refusal that names a field.
pub(super) fn wrong(param: &'static str, message: &'static str) -> Refusal {
    Refusal::Field { param, message }
}

impl ChatCall {
    /// Reads a body; `pace_ms` of the query goes before `metadata.pace_ms`.
    pub(super) fn read(body: &[u8], query_pace_ms: Option<&str>) -> Result<Self, Refusal> {
        let body = object(body)?;
        let model = model(&body)?;
        let options = body.get("stream_options").unwrap_or(&Value::Null);
        Ok(Self {
            model,
            messages: messages(&body)?,
            choices: choices(&body)?,
            stream: flag(body.get("stream"), "stream")?,
            include_usage: flag(options.get("include_usage"), "stream_options.include_usage")?,
            max_tokens: max_tokens(&body)?,
            pace: pace(&body, query_pace_ms)?,
        })
    }

    /// Text of the last message with role `user`, else of the last message.
    pub(super) fn prompt(&self) -> &str {
        let user = self.messages.iter().rfind(|message| message.role == "user");
        user.or(self.messages.last())
            .map_or("", |message| message.text.as_str())
    }
}

fn messages(body: &Map<String, Value>) -> Result<Vec<Message>, Refusal> {
    let list = body.get("messages").and_then(Value::as_array);
    let list = list.ok_or(wrong("messages", "`messages` must be a list of messages."))?;
    if list.is_empty() {
        return Err(wrong(
            "messages",
            "`messages` must hold at least one message.",
        ));
    }
    list.iter().map(message).collect()
}

fn message(value: &Value) -> Result<Message, Refusal> {
    let role = value.get("role").and_then(Value::as_str);
    let role = role.ok_or(wrong("messages", "Each message needs a `role`."))?;
    let text = match value.get("content") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => text_of(parts),
        Some(_) => {
            return Err(wrong(
                "messages",
                "`content` must be text or a list of parts.",
            ));
        }
    };
    Ok(Message {
        role: role.to_owned(),
        text,
    })
}

fn text_of(parts: &[Value]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter(|part| part.get("type").and_then(Value::as_str) == Some("text"))
        .filter_map(|part| part.get("text").and_then(Value::as_str))
        .collect();
    texts.join("\n")
}

fn choices(body: &Map<String, Value>) -> Result<u64, Refusal> {
    match body.get("n") {
        None | Some(Value::Null) => Ok(1),
        Some(n) => n
            .as_u64()
            .filter(|n| (1..=MAX_CHOICES).contains(n))
            .ok_or(wrong("n", "`n` must be an integer from 1 to 8.")),
    }
}

fn flag(value: Option<&Value>, param: &'static str) -> Result<bool, Refusal> {
    match value {
        None | Some(Value::Null) => Ok(false),
        Some(value) => value
            .as_bool()
            .ok_or(wrong(param, "Must be true or false.")),
    }
}

fn max_tokens(body: &Map<String, Value>) -> Result<Option<u64>, Refusal> {
    for param in ["max_completion_tokens", "max_tokens"] {
        match body.get(param) {
            None | Some(Value::Null) => {}
            Some(value) => {
                let limit = value.as_u64().filter(|limit| *limit > 0);
                return Ok(Some(
                    limit.ok_or(wrong(param, "Must be an integer of 1 or more."))?,
                ));
            }
        }
    }
    Ok(None)
}

fn pace(body: &Map<String, Value>, query: Option<&str>) -> Result<Duration, Refusal> {
    const MESSAGE: &str = "Must be milliseconds, from 0 to 10000.";
    // Values of `metadata` are strings in the reference format, so both forms are read.
    let (text, param) = match (
        query,
        body.get("metadata").and_then(|data| data.get("pace_ms")),
    ) {
        (Some(text), _) => (text.to_owned(), "pace_ms"),
        (None, Some(Value::String(text))) => (text.clone(), "metadata.pace_ms"),
        (None, Some(value)) => (value.to_string(), "metadata.pace_ms"),
        (None, None) => return Ok(DEFAULT_PACE),
    };
    let pace = text.parse().ok().filter(|ms| *ms <= MAX_PACE_MS);
    pace.map(Duration::from_millis).ok_or(wrong(param, MESSAGE))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"{"model":"demo-small","messages":[{"role":"user","content":"Hi"}]"#;

    fn read(rest: &str) -> Result<ChatCall, Refusal> {
        ChatCall::read(format!("{PLAIN}{rest}}}").as_bytes(), None)
    }

    fn param(call: Result<ChatCall, Refusal>) -> &'static str {
        match call {
            Err(Refusal::Field { param, .. }) => param,
            other => panic!("no field is named: {other:?}"),
        }
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
        assert_eq!(ChatCall::read(b"[1]", None), Err(Refusal::NotAnObject));
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
    fn names_that_stand_for_errors_are_refused_before_the_messages_are_read() {
        for (name, refusal) in [
            ("missing-model", Refusal::ModelNotFound),
            ("rate-limited", Refusal::RateLimited),
            ("overloaded", Refusal::Overloaded),
        ] {
            let body = format!(r#"{{"model":"{name}"}}"#);
            assert_eq!(ChatCall::read(body.as_bytes(), None), Err(refusal));
        }
    }
}
