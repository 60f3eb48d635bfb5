//! Joins the deltas of a streamed answer into the text of a record (CONTRACT 4). `json::answer_text` does the
//! same for whole answers, in the same order: content, else refusal, else tool calls. It never delays the
//! stream: events that it cannot read are counted.

mod calls;

use super::choice_text::{Budget, ChoiceText, short};
use super::delta::{Choice, Chunk, Delta, Part, Usage, index, text, text_of_parts, value};
use super::line::has_event_in_line;
use super::stream_texts::{CheckedText, Members, OUTSIDE, StreamTexts, TextsRead};
use crate::json::{CallTexts, ChoiceForm, JoinedText, content_literals};
use calls::CheckedCalls;
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
    form: ChoiceForm,
    calls: CallTexts,
    /// Present where all texts are wanted, for a check.
    stream_texts: Option<Box<StreamTexts>>,
    /// Present with them: the calls of tools for the record, whose texts the check joins with others.
    checked_calls: Option<Box<CheckedCalls>>,
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
const OF_TEXT_CHOICE: Members = Members {
    of: "choice",
    known: &["index", "text", "finish_reason"],
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
            form: ChoiceForm::default(),
            calls: CallTexts::default(),
            stream_texts: None,
            checked_calls: None,
        }
    }

    /// One that also keeps the texts that a record does without ([`Self::checked_text`]).
    pub fn of_every_text(max_text_bytes: usize) -> Self {
        Self {
            stream_texts: Some(Box::default()),
            checked_calls: Some(Box::new(CheckedCalls::new(max_text_bytes))),
            ..Self::new(max_text_bytes)
        }
    }

    /// Reads choices of this form, instead of those of chat completions.
    pub fn of_choices(self, form: ChoiceForm) -> Self {
        Self { form, ..self }
    }

    /// Reads these texts of calls of tools, instead of all.
    pub fn with_calls(self, calls: CallTexts) -> Self {
        Self { calls, ..self }
    }

    /// Takes the data of one event.
    pub fn push(&mut self, data: &[u8]) {
        if data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return;
        }
        // Most clients stop at the end, and others read on.
        if self.done && self.stream_texts.is_some() {
            self.skipped += 1;
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
        let choices = self.choices.values();
        let texts: Vec<String> = choices.map(|choice| choice.text(self.calls)).collect();
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
        let calls = self.checked_calls.as_ref();
        self.budget.kept() + calls.map_or(0, |calls| calls.budget.kept())
    }

    /// Nothing more is kept; what comes is left out and marked.
    pub fn close(&mut self) {
        self.budget.close();
        if let Some(calls) = &mut self.checked_calls {
            calls.budget.close();
        }
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
        let members = match self.form {
            ChoiceForm::Message => &OF_CHOICE,
            ChoiceForm::Text => &OF_TEXT_CHOICE,
        };
        self.other_members(index, part.map_or("", RawValue::get), members);
        let had_ended = self.choices.get(&index).is_some_and(ChoiceText::has_ended);
        if let Some(reason) = text(choice.finish_reason)
            && let Some(choice) = self.budget.entry(&mut self.choices, index)
        {
            self.budget.keep_reason(choice, &reason);
        }
        match self.form {
            ChoiceForm::Message => self.delta(index, &choice, had_ended),
            ChoiceForm::Text => self.completion(index, choice.text, had_ended),
        }
    }

    fn completion(&mut self, index: u64, text: Part<'_>, had_ended: bool) {
        self.append(index, text, had_ended, |choice| &mut choice.content);
        if let Some(texts) = self.stream_texts.as_mut().filter(|_| text.is_some()) {
            texts.set_delta();
        }
    }

    fn delta(&mut self, index: u64, choice: &Choice<'_>, had_ended: bool) {
        let Some(delta) = self.read::<Delta<'_>>(choice.delta) else {
            return;
        };
        let json = choice.delta.map_or("", RawValue::get);
        self.other_members(index, json, &OF_DELTA);
        self.append(index, delta.content, had_ended, |choice| {
            &mut choice.content
        });
        self.append(index, delta.refusal, had_ended, |choice| {
            &mut choice.refusal
        });
        if let Some(texts) = &mut self.stream_texts {
            texts.set_delta();
        }
        self.calls(index, &delta);
    }

    /// Takes the texts of an object that are not read elsewhere, where they are wanted.
    fn other_members(&mut self, choice: u64, object: &str, members: &Members) {
        if let Some(texts) = &mut self.stream_texts {
            let mut read = TextsRead {
                calls: self.calls,
                budget: &mut self.budget,
            };
            let is_read = texts.push(choice, object, members, &mut read);
            self.skipped += u64::from(!is_read);
        }
    }

    fn append(
        &mut self,
        choice: u64,
        part: Part<'_>,
        had_ended: bool,
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
        if had_ended && self.stream_texts.is_some() && !words.text.is_empty() {
            // Behind its end a text goes on for some clients, and for others it does not.
            let start = words.text.len();
            self.budget.append(&mut words.text, "\n");
            words.add_breaks(start, &[0]);
        }
        let start = words.text.len();
        self.budget.append(&mut words.text, &piece.text);
        if self.stream_texts.is_some() {
            words.add_breaks(start, &piece.breaks);
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
