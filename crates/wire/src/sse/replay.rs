//! A whole chat completion as the event stream that says the same (CONTRACT 43). Values stay as the upstream
//! wrote them, but for line breaks between them, which would end a line of the stream.

use super::writer::DONE;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Members that every event repeats, so that each can be told for one of this answer.
const REPEATED: [&str; 5] = [
    "id",
    "created",
    "model",
    "system_fingerprint",
    "service_tier",
];

/// The events of `completion`, `[DONE]` included; None for a body that is no chat completion. `with_usage` adds the
/// event that `stream_options.include_usage` asks for.
pub fn replay(completion: &[u8], with_usage: bool) -> Option<Vec<u8>> {
    let answer: Members<'_> = serde_json::from_slice(completion).ok()?;
    let choices: Vec<Members<'_>> = serde_json::from_str(answer.get("choices")?).ok()?;
    let mut events = Events {
        answer: &answer,
        with_usage,
        out: Vec::with_capacity(completion.len() + 1024),
    };
    for (place, choice) in choices.iter().enumerate() {
        events.choice(place, choice)?;
    }
    let usage = answer.get("usage").filter(|_| with_usage);
    if let Some(usage) = usage {
        events.event("", usage);
    }
    events.out.extend_from_slice(DONE);
    Some(events.out)
}

struct Events<'a> {
    answer: &'a Members<'a>,
    with_usage: bool,
    out: Vec<u8>,
}

impl Events<'_> {
    /// The events of one choice: its role, what it says, its tool calls, its end.
    fn choice(&mut self, place: usize, choice: &Members<'_>) -> Option<()> {
        let message = match choice.get("message") {
            Some(message) => serde_json::from_str(message).ok()?,
            None => Members(Vec::new()),
        };
        let index = choice.get("index").map_or(place.to_string(), str::to_owned);
        let role = message.get("role").unwrap_or("\"assistant\"");
        let has_text = message
            .get("content")
            .is_some_and(|text| text.starts_with('"'));
        let begun = Object::default().with("role", role);
        let begun = begun.with("content", if has_text { "\"\"" } else { "null" });
        self.delta(&index, begun, &[], "null");
        let said = message.without(&["role", "tool_calls"]);
        let said = said.filter(|(name, value)| *name != "content" || *value != "\"\"");
        let said = said.fold(Object::default(), |said, (name, value)| {
            said.with(name, value)
        });
        let beside = choice.without(&["index", "message", "finish_reason"]);
        let beside: Vec<_> = beside.collect();
        if !said.is_empty() || !beside.is_empty() {
            self.delta(&index, said, &beside, "null");
        }
        if let Some(calls) = message.get("tool_calls") {
            let calls = Object::default().with("tool_calls", &tool_calls(calls)?);
            self.delta(&index, calls, &[], "null");
        }
        // An answer that is complete has ended.
        let reason = choice.get("finish_reason").unwrap_or("\"stop\"");
        self.delta(&index, Object::default(), &[], reason);
        Some(())
    }

    fn delta(&mut self, index: &str, delta: Object, beside: &[(&str, &str)], finish_reason: &str) {
        let choice = Object::default().with("index", index);
        let choice = choice.with("delta", &delta.close());
        let choice = beside
            .iter()
            .fold(choice, |choice, (name, value)| choice.with(name, value));
        let choice = choice.with("finish_reason", finish_reason);
        self.event(&choice.close(), "null");
    }

    fn event(&mut self, choice: &str, usage: &str) {
        let is_first = self.out.is_empty();
        let answer = self.answer.without(&["object", "choices", "usage"]);
        let said = answer.filter(|(name, _)| is_first || REPEATED.contains(name));
        let event = Object::default().with("object", "\"chat.completion.chunk\"");
        let event = said.fold(event, |event, (name, value)| event.with(name, value));
        let event = event.with("choices", &format!("[{choice}]"));
        let event = match self.with_usage {
            true => event.with("usage", usage),
            false => event,
        };
        let data = event.close();
        self.out.extend_from_slice(b"data: ");
        let is_break = |byte: u8| matches!(byte, b'\n' | b'\r');
        let line = data
            .bytes()
            .map(|byte| if is_break(byte) { b' ' } else { byte });
        self.out.extend(line);
        self.out.extend_from_slice(b"\n\n");
    }
}

/// The calls of a message, each with its place, which a stream needs.
fn tool_calls(calls: &str) -> Option<String> {
    let calls: Vec<Members<'_>> = serde_json::from_str(calls).ok()?;
    let placed = calls.iter().enumerate().map(|(place, call)| {
        let place = call.get("index").map_or(place.to_string(), str::to_owned);
        let placed = Object::default().with("index", &place);
        let rest = call.without(&["index"]);
        rest.fold(placed, |call, (name, value)| call.with(name, value))
            .close()
    });
    Some(format!("[{}]", placed.collect::<Vec<_>>().join(",")))
}

/// The members of an object in their order, with their values as written.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl Members<'_> {
    /// The value that most readers take: the last of its name, None for null.
    fn get(&self, name: &str) -> Option<&str> {
        let mut named = self.0.iter().rev().filter(|(own, _)| own == name);
        let value = named.next()?.1.get();
        (value != "null").then_some(value)
    }

    /// The members of other names whose value is not null.
    fn without(&self, names: &'static [&str]) -> impl Iterator<Item = (&str, &str)> {
        let others = self
            .0
            .iter()
            .filter(|(name, _)| !names.contains(&name.as_str()));
        let others = others.map(|(name, value)| (name.as_str(), value.get()));
        others.filter(|(_, value)| *value != "null")
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

/// The text of an object, member by member.
#[derive(Default)]
struct Object(String);

impl Object {
    fn with(mut self, name: &str, value: &str) -> Self {
        self.0.push(if self.is_empty() { '{' } else { ',' });
        // The serialization of a text cannot fail.
        self.0 += &serde_json::to_string(name).unwrap_or_default();
        self.0.push(':');
        self.0 += value;
        self
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn close(mut self) -> String {
        if self.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::replay;
    use crate::sse::{Accumulator, Parser};
    use serde_json::{Value, json};

    fn events(completion: &str, with_usage: bool) -> Vec<Value> {
        let stream = String::from_utf8(replay(completion.as_bytes(), with_usage).unwrap()).unwrap();
        let stream = stream.strip_suffix("data: [DONE]\n\n").unwrap();
        let frames = stream.split_terminator("\n\n");
        let data = frames.map(|frame| frame.strip_prefix("data: ").unwrap());
        data.map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }

    /// The choice of every event.
    fn choices(completion: &str) -> Vec<Value> {
        let events = events(completion, false).into_iter();
        events.map(|mut event| event["choices"][0].take()).collect()
    }

    #[test]
    fn a_completion_becomes_its_role_its_text_and_its_end() {
        let completion = "{\"id\":\"c-1\",\n \"object\":\"chat.completion\",\"created\":1,\r\n\"model\":\"m\",\"x\":{\"y\":2},
            \"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"a\\nb\"},\"finish_reason\":\"length\"}],
            \"usage\":{\"total_tokens\":3}}";
        let expected = json!([
            {"object": "chat.completion.chunk", "id": "c-1", "created": 1, "model": "m", "x": {"y": 2},
             "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]},
            {"object": "chat.completion.chunk", "id": "c-1", "created": 1, "model": "m",
             "choices": [{"index": 0, "delta": {"content": "a\nb"}, "finish_reason": null}]},
            {"object": "chat.completion.chunk", "id": "c-1", "created": 1, "model": "m",
             "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]},
        ]);
        assert_eq!(Value::from(events(completion, false)), expected);
        let with_usage = events(completion, true);
        assert!(with_usage[..3].iter().all(|event| event["usage"].is_null()));
        assert_eq!(with_usage[3]["choices"], json!([]));
        assert_eq!(with_usage[3]["usage"], json!({"total_tokens": 3}));
    }

    #[test]
    fn every_member_of_every_choice_is_in_its_events() {
        let said = choices(
            r#"{"choices":[
                {"index":1,"message":{"role":"assistant","content":null,"refusal":"no","reasoning_content":"r","z":null},
                 "logprobs":{"content":[{"token":"a"}]},"finish_reason":"stop"},
                {"message":{"content":"c","tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{}"}},
                 {"index":7,"id":"u"}],"function_call":{"name":"g"}},"finish_reason":"tool_calls"},
                {"index":4,"text":"t"}]}"#,
        );
        let expected = json!([
            {"index": 1, "delta": {"role": "assistant", "content": null}, "finish_reason": null},
            {"index": 1, "delta": {"refusal": "no", "reasoning_content": "r"},
             "logprobs": {"content": [{"token": "a"}]}, "finish_reason": null},
            {"index": 1, "delta": {}, "finish_reason": "stop"},
            {"index": 1, "delta": {"role": "assistant", "content": ""}, "finish_reason": null},
            {"index": 1, "delta": {"content": "c", "function_call": {"name": "g"}}, "finish_reason": null},
            {"index": 1, "delta": {"tool_calls": [
                {"index": 0, "id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"index": 7, "id": "u"}]}, "finish_reason": null},
            {"index": 1, "delta": {}, "finish_reason": "tool_calls"},
            {"index": 4, "delta": {"role": "assistant", "content": null}, "finish_reason": null},
            {"index": 4, "delta": {}, "text": "t", "finish_reason": null},
            {"index": 4, "delta": {}, "finish_reason": "stop"},
        ]);
        assert_eq!(Value::from(said), expected);
    }

    #[test]
    fn what_is_replayed_says_what_the_completion_says() {
        for completion in [
            r#"{"choices":[]}"#,
            r#"{"choices":[{"message":{"content":"Ж\u0436 \"q\" 1e400"}}],"n":1e400}"#,
            r#"{"choices":[{"index":0,"message":{"content":["a",{"type":"text","text":"b"}]}},{"index":1,"message":{"content":"c"}}]}"#,
            r#"{"choices":[{"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":"{\"x\":1}"}},{"function":{"name":"g","arguments":""}}]}}]}"#,
            r#"{"choices":[{"message":{"refusal":"no"}}],"choices":[{"message":{"content":"last"}}]}"#,
        ] {
            let stream = replay(completion.as_bytes(), true).unwrap();
            let (mut parser, mut said) = (Parser::new(4096), Accumulator::new(4096));
            parser.push(&stream, |event| said.push(event.data));
            let whole = crate::json::answer_text(completion.as_bytes())
                .unwrap()
                .text;
            let expected = match completion.contains("last") {
                true => "last",
                false => &whole,
            };
            assert!(said.is_done() && said.skipped() == 0, "{completion}");
            assert_eq!(said.text(), expected, "{completion}");
        }
    }

    #[test]
    fn what_is_no_completion_is_not_replayed() {
        for body in [
            "",
            "{",
            "<html>",
            "[]",
            "{}",
            r#"{"error":{"message":"x"}}"#,
            r#"{"choices":null}"#,
            r#"{"choices":{}}"#,
            r#"{"choices":[7]}"#,
            r#"{"choices":[{"message":"x"}]}"#,
            r#"{"choices":[{"message":{"tool_calls":{}}}]}"#,
        ] {
            assert!(replay(body.as_bytes(), true).is_none(), "{body}");
        }
    }
}
