//! A whole chat completion as the event stream that says the same (CONTRACT 43). Values stay as the upstream
//! wrote them, but for line breaks between them, which would end a line of the stream.

use super::delta::{Choice, KnownNames, ToolCall};
use super::template::LONGEST_REPEATED;
use super::writer::DONE;
use crate::json::{Kind, View, index_of, is_exactly, scan};

/// Members that every event repeats, so that each can be told for one of this answer. Where one is long, only the first
/// event has it.
const REPEATED: [&str; 5] = [
    "id",
    "created",
    "model",
    "system_fingerprint",
    "service_tier",
];

/// Why an answer cannot be sent as a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReplayed {
    /// It is no chat completion.
    Unreadable,
    /// Its events have more bytes than they may.
    TooLarge,
}

/// The events of `completion`, `[DONE]` included. `with_usage` adds the event with the usage, as
/// `stream_options.include_usage` asks for. At most so many choices were asked for: a client that
/// asked for one joins the texts of all.
///
/// # Errors
/// [`NotReplayed`] for a body that is no chat completion, for one in which a client of the events would join what was
/// checked apart, and for one whose events have more than `limit` bytes.
pub fn replay(
    completion: &[u8],
    with_usage: bool,
    most: u64,
    limit: usize,
) -> Result<Vec<u8>, NotReplayed> {
    let scan = scan(completion).map_err(|_| NotReplayed::Unreadable)?;
    let answer = Members::of(scan.root(completion))?;
    let choices = answer.get("choices").ok_or(NotReplayed::Unreadable)?;
    if choices.kind() != Kind::Array {
        return Err(NotReplayed::Unreadable);
    }
    let mut events = Events {
        repeated: repeated(answer),
        answer,
        with_usage,
        limit,
        out: Vec::with_capacity((completion.len() + 1024).min(limit)),
    };
    let indices = different_indices(choices, Choice::NAMES)?;
    if indices.last().is_some_and(|last| *last >= most) {
        return Err(NotReplayed::Unreadable);
    }
    for (place, choice) in choices.elements().enumerate() {
        events.choice(place, Members::of(choice)?)?;
    }
    let usage = answer.get("usage").filter(|_| with_usage);
    if let Some(usage) = usage {
        events.event("", usage.raw())?;
    }
    events.append(DONE)?;
    Ok(events.out)
}

/// The indices of elements, ascending. Refuses those of which two are one to a client of events, as it joins what comes
/// under one index, and those whose index or other `names` only some clients find.
fn different_indices(list: View<'_>, names: &[&str]) -> Result<Vec<u64>, NotReplayed> {
    let mut indices = Vec::new();
    for (place, element) in (0..).zip(list.elements()) {
        let own = Members::of(element)?.raw("index");
        let index = own.map_or(Some(place), index_of);
        if element.has_misspelled(names) {
            return Err(NotReplayed::Unreadable);
        }
        indices.push(index.ok_or(NotReplayed::Unreadable)?);
    }
    indices.sort_unstable();
    match indices.windows(2).all(|pair| pair[0] != pair[1]) {
        true => Ok(indices),
        false => Err(NotReplayed::Unreadable),
    }
}

/// The last of each of the short members that every event repeats.
fn repeated(answer: Members<'_>) -> Object {
    REPEATED.iter().fold(Object::default(), |event, name| {
        let value = answer.get(name).map(View::raw);
        match value.filter(|value| value.len() <= LONGEST_REPEATED) {
            Some(value) => event.with(name, value),
            None => event,
        }
    })
}

struct Events<'a> {
    answer: Members<'a>,
    /// The members that every event repeats.
    repeated: Object,
    with_usage: bool,
    limit: usize,
    out: Vec<u8>,
}

impl Events<'_> {
    /// The events of one choice: its role, what it says, its tool calls, its end.
    fn choice(&mut self, place: usize, choice: Members<'_>) -> Result<(), NotReplayed> {
        let message = match choice.get("message") {
            Some(message) => Members::of(message)?,
            None => Members(View::new(&[], 0..0)),
        };
        let index = choice.raw("index").map_or(place.to_string(), str::to_owned);
        let role = message.raw("role").unwrap_or("\"assistant\"");
        let has_text = message
            .get("content")
            .is_some_and(|content| content.kind() == Kind::String);
        // Its text would stand beside that of the message.
        if choice.get("delta").is_some() {
            return Err(NotReplayed::Unreadable);
        }
        let begun = Object::default().with("role", role);
        let begun = begun.with("content", if has_text { "\"\"" } else { "null" });
        self.delta(&index, begun, Object::default(), "null")?;
        let said = message.without(&["role", "tool_calls"]);
        let said = said.filter(|member| !(member.is("content") && member.value == "\"\""));
        let said = said.fold(Object::default(), Object::with_member);
        let beside = choice.without(&["index", "message", "finish_reason"]);
        let beside = beside.fold(Object::default(), Object::with_member);
        if !said.is_empty() || !beside.is_empty() {
            self.delta(&index, said, beside, "null")?;
        }
        if let Some(calls) = message.get("tool_calls") {
            let calls = Object::default().with("tool_calls", &tool_calls(calls)?);
            self.delta(&index, calls, Object::default(), "null")?;
        }
        // An answer that is complete has ended.
        let reason = choice.raw("finish_reason").unwrap_or("\"stop\"");
        self.delta(&index, Object::default(), Object::default(), reason)
    }

    fn delta(
        &mut self,
        index: &str,
        delta: Object,
        beside: Object,
        finish_reason: &str,
    ) -> Result<(), NotReplayed> {
        let choice = Object::default().with("index", index);
        let choice = choice.with("delta", &delta.close()).with_all(&beside);
        let choice = choice.with("finish_reason", finish_reason);
        self.event(&choice.close(), "null")
    }

    fn event(&mut self, choice: &str, usage: &str) -> Result<(), NotReplayed> {
        let event = Object::default().with("object", "\"chat.completion.chunk\"");
        let event = match self.out.is_empty() {
            true => self
                .answer
                .without(&["object", "choices", "usage"])
                .fold(event, Object::with_member),
            false => event.with_all(&self.repeated),
        };
        let event = event.with_list("choices", choice);
        let event = match self.with_usage {
            true => event.with("usage", usage),
            false => event,
        };
        let is_break = |byte: u8| matches!(byte, b'\n' | b'\r');
        let mut data = event.close().into_bytes();
        for byte in data.iter_mut().filter(|byte| is_break(**byte)) {
            *byte = b' ';
        }
        self.append(b"data: ")?;
        self.append(&data)?;
        self.append(b"\n\n")
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), NotReplayed> {
        if bytes.len() > self.limit - self.out.len() {
            return Err(NotReplayed::TooLarge);
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }
}

/// The calls of a message, each with its place, which a stream needs.
fn tool_calls(calls: View<'_>) -> Result<String, NotReplayed> {
    if calls.kind() != Kind::Array {
        return Err(NotReplayed::Unreadable);
    }
    different_indices(calls, ToolCall::NAMES)?;
    let mut placed = String::from("[");
    for (place, call) in calls.elements().enumerate() {
        let call = Members::of(call)?;
        let place = call.raw("index").map_or(place.to_string(), str::to_owned);
        let own = call.without(&["index"]);
        let call = own.fold(Object::default().with("index", &place), Object::with_member);
        if placed.len() > 1 {
            placed.push(',');
        }
        placed += &call.close();
    }
    placed.push(']');
    Ok(placed)
}

/// The members of a checked object in their order, with their values as written.
#[derive(Clone, Copy)]
struct Members<'a>(View<'a>);

/// A member with its name as written, quotes included.
struct Member<'a> {
    key: &'a [u8],
    value: &'a str,
}

impl Member<'_> {
    fn is(&self, name: &str) -> bool {
        is_exactly(self.key, name)
    }
}

impl<'a> Members<'a> {
    fn of(value: View<'a>) -> Result<Self, NotReplayed> {
        match value.kind() {
            Kind::Object => Ok(Self(value)),
            _ => Err(NotReplayed::Unreadable),
        }
    }

    /// The value that most readers take: the last of its name, None for null.
    fn get(self, name: &'a str) -> Option<View<'a>> {
        let value = self.0.named(name).last()?;
        (value.kind() != Kind::Null).then_some(value)
    }

    fn raw(self, name: &'a str) -> Option<&'a str> {
        self.get(name).map(View::raw)
    }

    /// The members of other names whose value is not null.
    fn without(self, names: &'static [&str]) -> impl Iterator<Item = Member<'a>> {
        let members = self.0.members();
        let members = members.filter(|member| member.value.kind() != Kind::Null);
        let members = members.map(|member| Member {
            key: member.key,
            value: member.value.raw(),
        });
        members.filter(|member| !names.iter().any(|name| member.is(name)))
    }
}

/// The text of an object, member by member.
#[derive(Default)]
struct Object(String);

impl Object {
    fn with(mut self, name: &str, value: &str) -> Self {
        self.0.push(if self.is_empty() { '{' } else { ',' });
        self.0.push('"');
        self.0 += name;
        self.0 += "\":";
        self.0 += value;
        self
    }

    fn with_list(mut self, name: &str, elements: &str) -> Self {
        self = self.with(name, "[");
        self.0 += elements;
        self.0.push(']');
        self
    }

    fn with_member(mut self, member: Member<'_>) -> Self {
        self.0.push(if self.is_empty() { '{' } else { ',' });
        self.0 += std::str::from_utf8(member.key).unwrap_or_default();
        self.0.push(':');
        self.0 += member.value;
        self
    }

    /// With the members of another one.
    fn with_all(mut self, other: &Self) -> Self {
        if !other.is_empty() {
            self.0.push(if self.is_empty() { '{' } else { ',' });
            self.0 += &other.0[1..];
        }
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
mod tests;
