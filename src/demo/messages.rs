//! The messages of a demo call, read one after the other: a body of many small messages takes no more
//! memory than its bytes.

use super::tokens::estimated_tokens;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::fmt;

/// What the demo has to know of a call's messages.
#[derive(Debug, Default)]
pub(super) struct Messages {
    pub(super) count: u64,
    /// Estimated, of all of them.
    pub(super) tokens: u64,
    /// Text of the last message with role `user`, else of the last message.
    pub(super) prompt: String,
    /// The last message brings what a tool has returned.
    pub(super) ends_with_result: bool,
    has_user: bool,
    problem: Option<&'static str>,
}

/// The members of a body that is an object, and its `messages` unread. Of duplicates the last one counts.
pub(super) fn split(body: &[u8]) -> Option<(Value, Option<&RawValue>)> {
    let Split { rest, messages } = serde_json::from_slice(body).ok()?;
    Some((Value::Object(rest), messages))
}

impl Messages {
    /// Reads the list.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(list: Option<&RawValue>) -> Result<Self, &'static str> {
        let list = list.and_then(|list| serde_json::from_str::<Self>(list.get()).ok());
        let list = list.ok_or("`messages` must be a list of messages.")?;
        match list.problem {
            Some(problem) => Err(problem),
            None if list.count == 0 => Err("`messages` must hold at least one message."),
            None => Ok(list),
        }
    }

    fn add(&mut self, message: &Value) -> Result<(), &'static str> {
        let role = message["role"]
            .as_str()
            .ok_or("Each message needs a `role`.")?;
        let text = match &message["content"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let texts = parts.iter().filter(|part| part["type"] == "text");
                let texts: Vec<_> = texts.filter_map(|part| part["text"].as_str()).collect();
                texts.join("\n")
            }
            _ => return Err("`content` must be text or a list of parts."),
        };
        self.count += 1;
        self.tokens = self.tokens.saturating_add(estimated_tokens(&text));
        self.ends_with_result = role == "tool" || has_result(&message["content"]);
        // Results of tools come from the user in the Messages API.
        let is_user = role == "user" && !(self.ends_with_result && text.is_empty());
        if is_user || !self.has_user {
            self.prompt = text;
        }
        self.has_user |= is_user;
        Ok(())
    }
}

/// Whether a part of a content is a `tool_result`.
fn has_result(content: &Value) -> bool {
    let mut parts = content.as_array().into_iter().flatten();
    parts.any(|part| part["type"] == "tool_result")
}

struct Split<'a> {
    rest: Map<String, Value>,
    messages: Option<&'a RawValue>,
}

impl<'de> Deserialize<'de> for Split<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SplitVisitor)
    }
}

struct SplitVisitor;

impl<'de> Visitor<'de> for SplitVisitor {
    type Value = Split<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Split<'de>, A::Error> {
        let mut split = Split {
            rest: Map::new(),
            messages: None,
        };
        while let Some(name) = map.next_key::<String>()? {
            if name == "messages" {
                split.messages = Some(map.next_value()?);
            } else {
                split.rest.insert(name, map.next_value()?);
            }
        }
        Ok(split)
    }
}

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(MessagesVisitor)
    }
}

struct MessagesVisitor;

impl<'de> Visitor<'de> for MessagesVisitor {
    type Value = Messages;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Messages, A::Error> {
        let mut messages = Messages::default();
        while let Some(message) = list.next_element::<Value>()? {
            if let Err(problem) = messages.add(&message) {
                messages.problem.get_or_insert(problem);
            }
        }
        Ok(messages)
    }
}
