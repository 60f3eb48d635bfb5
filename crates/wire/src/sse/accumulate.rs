//! Joins the deltas of a streamed answer into the text of a record (CONTRACT 4). `json::answer_text` does the
//! same for whole answers, in the same order: content, else refusal, else tool calls. It never delays the
//! stream: events that it cannot read are counted.

use super::choice_text::{Budget, ChoiceText, short};
use super::delta::{
    Choice, Chunk, Delta, Function, Part, ToolCall, Usage, index, text, text_of_parts, value,
};
use super::line::has_event_in_line;
use super::stream_texts::{CheckedText, Members, OUTSIDE, StreamTexts};
use crate::json::{JoinedText, content_literals};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The answer of one stream so far. No `Debug`: it holds the model's words.
pub struct Accumulator {
    budget: Budget,
    choices: BTreeMap<u64, ChoiceText>,
    id: Option<Box<str>>,
    model: Option<Box<str>>,
    usage: Option<Usage>,
    done: bool,
    error_seen: bool,
    skipped: u64,
    /// Present where all texts are wanted, for a check.
    stream_texts: Option<Box<StreamTexts>>,
}

/// The members of a chunk, a choice and its delta that are read here.
const OF_CHUNK: Members = Members {
    of: "chunk",
    known: &["choices"],
};
const OF_CHOICE: Members = Members {
    of: "choice",
    known: &["index", "delta", "finish_reason"],
};
const OF_DELTA: Members = Members {
    of: "delta",
    known: &["content", "refusal"],
};

impl Accumulator {
    /// `max_text_bytes` bounds all text kept; what comes after it is left out and marked.
    pub fn new(max_text_bytes: usize) -> Self {
        Self {
            budget: Budget::new(max_text_bytes),
            choices: BTreeMap::new(),
            id: None,
            model: None,
            usage: None,
            done: false,
            error_seen: false,
            skipped: 0,
            stream_texts: None,
        }
    }

    /// One that also keeps the texts that a record does without ([`Self::checked_text`]).
    pub fn of_every_text(max_text_bytes: usize) -> Self {
        Self {
            stream_texts: Some(Box::default()),
            ..Self::new(max_text_bytes)
        }
    }

    /// Takes the data of one event.
    pub fn push(&mut self, data: &[u8]) {
        if data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return;
        }
        // A client decodes bytes that are no UTF-8 the same way.
        let data = String::from_utf8_lossy(data);
        let Ok(chunk) = serde_json::from_str::<Chunk<'_>>(&data) else {
            self.skipped += 1;
            return;
        };
        self.error_seen |= chunk.error.is_some();
        self.usage = value(chunk.usage).or(self.usage);
        if self.id.is_none() {
            self.id = text(chunk.id).map(|id| short(&id).into());
        }
        if self.model.is_none() {
            self.model = text(chunk.model).map(|model| short(&model).into());
        }
        self.other_members(OUTSIDE, &data, &OF_CHUNK);
        if self.stream_texts.is_some() && has_event_in_line(data.as_bytes()) {
            self.skipped += 1;
        }
        for (place, choice) in (0..).zip(self.list(chunk.choices)) {
            self.choice(place, choice);
        }
    }

    /// The text of all choices as in a record, and every other text of the stream behind it; None unless it was asked
    /// for all of them.
    pub fn checked_text(&self) -> Option<CheckedText> {
        let texts = self.stream_texts.as_ref()?;
        Some(texts.text(&self.choices))
    }

    /// The text of all choices in the order of their index, joined by line feeds.
    pub fn text(&self) -> String {
        let texts: Vec<String> = self.choices.values().map(ChoiceText::text).collect();
        let texts: Vec<&str> = texts
            .iter()
            .map(String::as_str)
            .filter(|text| !text.is_empty())
            .collect();
        texts.join("\n")
    }

    /// Why each choice ended, by index, as far as it is known.
    pub fn finish_reasons(&self) -> impl Iterator<Item = (u64, &str)> {
        self.choices
            .iter()
            .filter_map(|(index, choice)| Some((*index, choice.finish_reason.as_deref()?)))
    }

    /// The answer's `id`, when it has one.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The model that answered, when it is named.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The upstream's last word on tokens.
    pub fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// Whether `[DONE]` came.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Whether an `error` came in place of a chunk or inside one.
    pub fn error_seen(&self) -> bool {
        self.error_seen
    }

    /// Bytes that are kept.
    pub fn kept(&self) -> usize {
        self.budget.kept()
    }

    /// Nothing more is kept; what comes is left out and marked.
    pub fn close(&mut self) {
        self.budget.close();
    }

    /// Whether text was left out because of the bound.
    pub fn is_truncated(&self) -> bool {
        self.budget.is_exceeded()
    }

    /// Events, or parts of one, that could not be read.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    fn choice(&mut self, place: u64, part: Part<'_>) {
        let Some(choice) = self.read::<Choice<'_>>(part) else {
            return;
        };
        let index = self.index(choice.index, place);
        self.other_members(index, part.map_or("", RawValue::get), &OF_CHOICE);
        if let Some(reason) = text(choice.finish_reason)
            && let Some(choice) = self.budget.entry(&mut self.choices, index)
        {
            self.budget.keep_reason(choice, &reason);
        }
        let Some(delta) = self.read::<Delta<'_>>(choice.delta) else {
            return;
        };
        let json = choice.delta.map_or("", RawValue::get);
        self.other_members(index, json, &OF_DELTA);
        self.append(index, delta.content, |choice| &mut choice.content);
        self.append(index, delta.refusal, |choice| &mut choice.refusal);
        if let Some(texts) = &mut self.stream_texts {
            // Its tool calls are among the other texts.
            texts.set_delta();
            return;
        }
        for (place, call) in (0..).zip(self.list(delta.tool_calls)) {
            self.tool_call(index, place, call);
        }
    }

    /// Takes the texts of an object that are not read elsewhere, where they are wanted.
    fn other_members(&mut self, choice: u64, object: &str, members: &Members) {
        if let Some(texts) = &mut self.stream_texts {
            let is_read = texts.push(choice, object, members, &mut self.budget);
            self.skipped += u64::from(!is_read);
        }
    }

    fn append(
        &mut self,
        choice: u64,
        part: Part<'_>,
        field: fn(&mut ChoiceText) -> &mut JoinedText,
    ) {
        if self.stream_texts.is_some() && part.is_some_and(is_unreadable) {
            self.skipped += 1;
        }
        let Some(piece) = text_of_parts(part).filter(|piece| !piece.text.is_empty()) else {
            return;
        };
        let Some(choice) = self.budget.entry(&mut self.choices, choice) else {
            return;
        };
        let words = field(choice);
        let start = words.text.len();
        self.budget.append(&mut words.text, &piece.text);
        if self.stream_texts.is_some() {
            words.add_breaks(start, &piece.breaks);
        }
    }

    fn tool_call(&mut self, choice: u64, place: u64, call: Part<'_>) {
        let Some(call) = self.read::<ToolCall<'_>>(call) else {
            return;
        };
        let Some(function) = self.read::<Function<'_>>(call.function) else {
            return;
        };
        let index = self.index(call.index, place);
        let Some(choice) = self.budget.entry(&mut self.choices, choice) else {
            return;
        };
        let Some(called) = self.budget.entry(&mut choice.tools, index) else {
            return;
        };
        // Some upstreams repeat the whole name in every delta.
        if let Some(name) = text(function.name).filter(|name| *name != called.name) {
            self.budget.append(&mut called.name, &name);
        }
        if let Some(arguments) = text(function.arguments) {
            self.budget.append(&mut called.arguments, &arguments);
        }
    }

    /// The index of an element, or its place where that is none, which counts as unreadable.
    fn index(&mut self, part: Part<'_>, place: u64) -> u64 {
        let index = index(part, place);
        self.skipped += u64::from(index.is_none());
        index.unwrap_or(place)
    }

    /// None for a part that is missing, and for one that cannot be read, which counts.
    fn read<'a, T: Deserialize<'a>>(&mut self, part: Part<'a>) -> Option<T> {
        let read = serde_json::from_str(part?.get());
        self.skipped += u64::from(read.is_err());
        read.ok()
    }

    fn list<'a>(&mut self, part: Part<'a>) -> Vec<Part<'a>> {
        self.read(part).unwrap_or_default()
    }
}

/// Whether something of a content stands where text is expected and is none.
fn is_unreadable(content: &RawValue) -> bool {
    let json = content.get().as_bytes();
    !json.starts_with(b"\"") && content_literals(json).has_unreadable
}

#[cfg(test)]
mod tests;
