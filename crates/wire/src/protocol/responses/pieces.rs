//! The texts of one frame of the Responses API, item by item. Most texts come three times: bit by bit, at the end of
//! their item, and at the end of the response.

use super::answer::{
    DONE, ItemKind, OF_EVENT, OF_RESPONSE, is_of_call, is_reasoning, is_run_by_client, of_event,
};
use crate::json::{Form, Kind, View};
use crate::protocol::fields::{each_string, list, number, text};
use crate::protocol::growing::OUTSIDE;
use crate::protocol::said::{FrameTexts, field_of};
use crate::sse::pieces::{Field, PlaceKind, Words, WordsBy};

/// Whether a text that comes with an item is its beginning, or all of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comes {
    Begun,
    Whole,
    InResponse,
}

impl Comes {
    /// The words of a part.
    fn words(self, part: u64, whole: WordsBy) -> Option<Words> {
        let by = match self {
            Self::Begun => WordsBy::Delta,
            Self::Whole => whole,
            Self::InResponse => WordsBy::Response,
        };
        Some(Words { part, by })
    }
}

/// The events that end a stream.
const ENDS: [&str; 3] = [
    "response.completed",
    "response.incomplete",
    "response.failed",
];

/// Reads an event; None where a part of it cannot be read.
pub(super) fn read(texts: &mut FrameTexts<'_>, event: View<'_>) -> Option<()> {
    texts.check_names(event, &OF_EVENT)?;
    let kind = text(event, "type")?;
    let index = number(event, "output_index").unwrap_or_default();
    let comes = match kind.ends_with(".added") {
        true => Comes::Begun,
        false => Comes::Whole,
    };
    if kind == "error" {
        texts.end_all();
    }
    if kind == "response.output_item.done" {
        texts.end(index, Field::ToolArguments(0));
        texts.end(index, Field::ToolInput);
        texts.finish(index);
    }
    if let Some(response) = event.named("response").last() {
        texts.said.begins_answer = kind == "response.created";
        for (index, output) in (0..).zip(list(response, "output")?) {
            item(texts, output, index, Comes::InResponse)?;
            texts.finish(index);
        }
        texts.beside(response, OUTSIDE, &OF_RESPONSE)?;
        if ENDS.contains(&&*kind) {
            texts.end_all();
        }
    }
    if let Some(one) = event.named("item").last() {
        if comes == Comes::Begun && is_run_by_client(one) {
            texts.said.begins_call = Some(index);
        }
        texts.said.kinds.push(PlaceKind {
            choice: index,
            says_words: ItemKind::of(one) == ItemKind::Message,
            begins: comes == Comes::Begun,
        });
        item(texts, one, index, comes)?;
    }
    if let Some(one) = event.named("part").last() {
        let number = number(event, "content_index").unwrap_or_default();
        match is_reasoning(one) {
            true => part(texts, one, index, None)?,
            false => texts.as_words(comes.words(number, WordsBy::Part), |texts| {
                part(texts, one, index, begins(comes, number))
            })?,
        }
    }
    if let Some(name) = kind.strip_suffix(".delta") {
        let (said, field) = (event.named("delta").last()?, field(name, event));
        texts.as_words(words(name, event, WordsBy::Delta), |texts| {
            texts.as_arguments(is_of_call(name), |texts| delta(texts, said, index, field))
        })?;
    }
    if let Some(name) = kind
        .strip_suffix(".done")
        .filter(|name| !name.ends_with("_item"))
    {
        let field = field(name, event);
        texts.end(index, field);
        // A call that is held ends with its item.
        let is_held = texts.wants_every() && name.contains("_call");
        if !is_held {
            texts.finish(index);
        }
        let form = form_of(field);
        let mut said = DONE.into_iter().flat_map(|member| event.named(member));
        texts.as_words(words(name, event, WordsBy::Text), |texts| {
            texts.as_arguments(is_of_call(name), |texts| {
                said.try_for_each(|said| texts.whole(said, index, form))
            })
        })?;
    }
    name_of_call(texts, event, index)?;
    texts.beside(event, OUTSIDE, of_event(&kind))
}

fn delta(texts: &mut FrameTexts<'_>, delta: View<'_>, index: u64, field: Field) -> Option<()> {
    match (delta.kind(), field) {
        (Kind::String, Field::Other(_)) if !texts.wants_every() => Some(()),
        (Kind::String, field) => texts.text(Some(delta), index, field),
        _ => texts.every(delta, index, "delta"),
    }
}

/// The words that an event says, where it says some.
fn words(name: &str, event: View<'_>, by: WordsBy) -> Option<Words> {
    let part = number(event, "content_index").unwrap_or_default();
    let says_words = matches!(name, "response.output_text" | "response.refusal");
    says_words.then_some(Words { part, by })
}

/// What the text of an event continues.
fn field(name: &str, event: View<'_>) -> Field {
    let number = |member| number(event, member).unwrap_or_default();
    match name {
        "response.output_text" => part_field(number("content_index")),
        "response.refusal" => Field::Refusal,
        "response.function_call_arguments" | "response.mcp_call_arguments" => {
            Field::ToolArguments(0)
        }
        "response.custom_tool_call_input" => Field::ToolInput,
        name => {
            let parts = ["content_index", "summary_index", "command_index"];
            field_of(name, parts.into_iter().map(number).sum())
        }
    }
}

fn part_field(number: u64) -> Field {
    match number {
        0 => Field::Content,
        part => Field::Part(part),
    }
}

fn form_of(field: Field) -> Form {
    match field {
        Field::ToolArguments(_) => Form::Arguments,
        _ => Form::Text,
    }
}

/// What the text of a part begins, where it is not all of it.
fn begins(comes: Comes, number: u64) -> Option<Field> {
    (comes == Comes::Begun).then(|| part_field(number))
}

fn item(texts: &mut FrameTexts<'_>, item: View<'_>, index: u64, comes: Comes) -> Option<()> {
    let kind = ItemKind::of(item);
    texts.check_names(item, kind.known())?;
    match kind {
        ItemKind::Reasoning => {
            for name in ["summary", "content"] {
                for said in list(item, name)? {
                    part(texts, said, index, None)?;
                }
            }
        }
        ItemKind::Message => {
            for (number, said) in (0..).zip(list(item, "content")?) {
                texts.as_words(comes.words(number, WordsBy::Item), |texts| {
                    part(texts, said, index, begins(comes, number))
                })?;
            }
        }
        ItemKind::Call => {
            name_of_call(texts, item, index)?;
            texts.as_arguments(true, |texts| call(texts, item, index, comes))?;
        }
        ItemKind::Image => {}
    }
    texts.beside(item, index, kind.known())
}

/// A text of an item, or a refusal; None of what is no object.
fn part(
    texts: &mut FrameTexts<'_>,
    part: View<'_>,
    index: u64,
    begins: Option<Field>,
) -> Option<()> {
    let known = ["type", "text", "refusal"];
    texts.check_names(part, &known)?;
    if part.kind() != Kind::Object {
        return None;
    }
    let mut said = part.named("text").chain(part.named("refusal"));
    said.try_for_each(|said| match begins {
        Some(field) => texts.text(Some(said), index, field),
        None => texts.whole(said, index, Form::Text),
    })?;
    texts.beside(part, index, &known)
}

fn name_of_call(texts: &mut FrameTexts<'_>, item: View<'_>, index: u64) -> Option<()> {
    let is_wanted = texts.wants_every();
    let mut names = item.named("name").filter(|_| is_wanted);
    names.try_for_each(|name| texts.whole(name, index, Form::Text))
}

fn call(texts: &mut FrameTexts<'_>, item: View<'_>, index: u64, comes: Comes) -> Option<()> {
    for (name, field) in [
        ("arguments", Field::ToolArguments(0)),
        ("input", Field::ToolInput),
        ("code", Field::ToolInput),
        ("action", Field::ToolInput),
        ("operation", Field::ToolInput),
        ("queries", Field::ToolInput),
    ] {
        for value in item.named(name) {
            match (value.kind(), comes) {
                (Kind::String, Comes::Begun) => texts.text(Some(value), index, field)?,
                (Kind::String, _) => texts.whole(value, index, form_of(field))?,
                (Kind::Object | Kind::Array, _) if texts.wants_every() => {
                    texts.raw_arguments(value, index)?;
                }
                _ => {
                    let mut strings = Vec::new();
                    each_string(value, |string| strings.push(string));
                    strings
                        .into_iter()
                        .try_for_each(|string| texts.whole(string, index, Form::Text))?;
                }
            }
        }
    }
    Some(())
}
