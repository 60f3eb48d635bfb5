//! The texts of an answer by their places, which grow from event to event; those of a whole answer come at once.
//! Events that say again what others said before add nothing.

mod order;

use super::Texts;
use super::fields::{ReadText, beside, every, is_plain, text};
use crate::json::{Answer, AnswerTexts, CallTexts, JoinedText, Scan, View, arguments_text};
use crate::sse::{Budget, Usage, entry_bytes, short};
use monitor_model::{ToolPart, ToolParts};
use std::collections::BTreeMap;

/// What a text is to the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What the model says to its user.
    Said,
    /// A call of a tool: its arguments.
    Call,
    /// Anything else that the client gets, such as reasoning; a record keeps none of it.
    Beside,
}

/// Where a text stands: the item or block of the answer, and the part of that.
pub(super) type Key = (u64, u64);

/// The place of texts outside all items.
pub(super) const OUTSIDE: u64 = u64::MAX;

/// The parts of an item from here on are none that clients join.
pub(super) const OTHER_PARTS: u64 = 1 << 31;
/// What an answer says aloud, beside what it writes.
pub(super) const TRANSCRIPT: u64 = (1 << 33) + 1;

/// The most texts of one answer.
const MOST_TEXTS: usize = 4_096;

/// An answer so far. No `Debug`: it holds the model's words.
pub(super) struct GrowingAnswer {
    texts: Texts,
    calls: CallTexts,
    pub(super) budget: Budget,
    grown: BTreeMap<Key, Grown>,
    /// What stood where an event said something else later.
    replaced: Vec<String>,
    /// How many texts belong to no place.
    outside: u64,
    /// The items or blocks that events have named, and what each is.
    items: BTreeMap<u64, Kind>,
    /// It comes event by event.
    is_stream: bool,
    order: SaidOrder,
    /// There is an answer, with or without text.
    pub(super) has_answer: bool,
    pub(super) id: Option<Box<str>>,
    pub(super) model: Option<Box<str>>,
    pub(super) usage: Option<Usage>,
    pub(super) reason: Option<Box<str>>,
    pub(super) error_seen: bool,
    pub(super) skipped: u64,
}

/// The words so far, in the order in which they came.
#[derive(Default)]
struct SaidOrder {
    /// Their first item.
    first: Option<u64>,
    /// Their last place.
    last: Option<Key>,
    /// Further items have some.
    has_several: bool,
    /// An item of words stands where one of another kind does: some clients show no words there.
    is_doubtful: bool,
    /// An event has none for a place where some have come.
    is_emptied: bool,
}

struct Grown {
    kind: Kind,
    /// Of the tool.
    name: String,
    text: String,
    call: Option<Box<Call>>,
}

/// A call of a tool.
struct Call {
    id: String,
    /// What stands for the name of a tool that has none.
    kind: String,
}

impl Grown {
    /// Adds a text of a call to what is known of it.
    fn add_to(&self, part: &mut ToolPart) {
        if let Some(call) = &self.call {
            part.call_id.clone_from(&call.id);
            if part.name.is_empty() {
                part.name.clone_from(&call.kind);
            }
        }
        if !self.name.is_empty() {
            part.name.clone_from(&self.name);
        }
        if !part.text.is_empty() && !self.text.is_empty() {
            part.text.push('\n');
        }
        part.text.push_str(&self.text);
    }
}

impl GrowingAnswer {
    pub(super) fn new(texts: Texts, limit: usize) -> Self {
        Self {
            texts,
            calls: CallTexts::Whole,
            budget: Budget::new(limit),
            grown: BTreeMap::new(),
            replaced: Vec::new(),
            outside: 0,
            items: BTreeMap::new(),
            is_stream: false,
            order: SaidOrder::default(),
            has_answer: false,
            id: None,
            model: None,
            usage: None,
            reason: None,
            error_seen: false,
            skipped: 0,
        }
    }

    /// The same with these texts of its calls.
    pub(super) fn with_calls(self, calls: CallTexts) -> Self {
        Self { calls, ..self }
    }

    /// The same, which comes event by event.
    pub(super) fn streamed(self) -> Self {
        Self {
            is_stream: true,
            ..self
        }
    }

    /// Learns of an item or a block.
    pub(super) fn add_item(&mut self, index: u64, kind: Kind) {
        self.has_answer = true;
        let before = self.items.get(&index);
        if before.is_some_and(|before| *before != kind) {
            self.note_two_kinds(index, kind);
        }
        if self.items.len() < MOST_TEXTS {
            self.items.insert(index, kind);
        }
    }

    /// Whether a text of that kind is kept.
    fn wants(&self, kind: Kind) -> bool {
        kind != Kind::Beside || self.texts == Texts::Every
    }

    pub(super) fn wants_every(&self) -> bool {
        self.texts == Texts::Every
    }

    /// Takes what an answer says of itself: its id, its model and, under `reason`, why it ended.
    pub(super) fn set_head(&mut self, head: View<'_>, reason: &str, is_end: fn(&str) -> bool) {
        let member = |name| text(head, name).map(|text| Box::from(short(&text)));
        if self.id.is_none() {
            self.id = member("id");
        }
        if self.model.is_none() {
            self.model = member("model");
        }
        let ended = text(head, reason).filter(|reason| is_end(reason));
        self.reason = ended
            .map(|reason| short(&reason).into())
            .or(self.reason.take());
    }

    /// Adds to a text.
    pub(super) fn append(&mut self, key: Key, kind: Kind, piece: &str) {
        if kind == Kind::Said {
            self.note_said(key, piece);
        }
        if let Some((budget, grown)) = self.at(key, kind) {
            budget.append(&mut grown.text, piece);
        }
    }

    /// Sets the name of the tool that is called.
    pub(super) fn set_name(&mut self, key: Key, name: &str) {
        if let Some((budget, grown)) = self.at(key, Kind::Call)
            && grown.name != name
        {
            grown.name.clear();
            budget.append(&mut grown.name, name);
        }
    }

    /// Sets what call and result have in common, and what the tool is, which some APIs say in place of a name.
    pub(super) fn set_call(&mut self, key: Key, id: &str, kind: &str) {
        if let Some((budget, grown)) = self.at(key, Kind::Call)
            && grown.call.is_none()
            && budget.charge(entry_bytes::<Call>())
        {
            let (id, kind) = (short(id), short(kind));
            grown.call = Some(Box::new(Call { id, kind }));
        }
    }

    /// The calls of tools, one for each item, within `most` bytes.
    pub(super) fn tool_calls(&self, most: usize) -> ToolParts {
        let mut calls: Vec<(u64, ToolPart)> = Vec::new();
        let grown = self.grown.iter();
        for ((item, _), grown) in grown.filter(|(_, grown)| grown.kind == Kind::Call) {
            if calls.last().is_none_or(|(last, _)| last != item) {
                calls.push((*item, ToolPart::default()));
            }
            if let Some((_, part)) = calls.last_mut() {
                grown.add_to(part);
            }
        }
        if let Some((_, last)) = calls.last_mut() {
            last.is_cut = self.budget.is_exceeded();
        }
        let mut parts = ToolParts::default();
        let calls = calls.into_iter().map(|(_, part)| part);
        calls.for_each(|part| parts.push(part, most));
        parts
    }

    /// Says what a text is as a whole: mostly what it is already.
    pub(super) fn set_whole(&mut self, key: Key, kind: Kind, whole: &str) {
        let is_read = kind != Kind::Call || self.calls.have_arguments();
        let is_checked = self.wants_every() && is_read;
        if kind == Kind::Said && self.is_stream && !self.note_whole(key, whole) {
            return;
        }
        let Some((budget, grown)) = self.at(key, kind) else {
            return;
        };
        if let Some(rest) = whole.strip_prefix(&*grown.text) {
            budget.append(&mut grown.text, rest);
            return;
        }
        // A text that was cut at the limit is the beginning of the whole.
        let before = std::mem::take(&mut grown.text);
        budget.append(&mut grown.text, whole);
        if is_checked && budget.charge(entry_bytes::<String>()) {
            self.replaced.push(before);
        }
    }

    /// Empties the texts of an item from a part on: another text says the whole of them.
    pub(super) fn supersede(&mut self, (item, part): Key) {
        let is_every = self.wants_every() && self.calls.have_arguments();
        let texts = self.grown.range_mut((item, part)..=(item, u64::MAX));
        for (_, grown) in texts.filter(|(_, grown)| grown.kind == Kind::Call) {
            let before = std::mem::take(&mut grown.text);
            let is_checked = is_every && !before.is_empty();
            if is_checked && self.budget.charge(entry_bytes::<String>()) {
                self.replaced.push(before);
            }
        }
    }

    /// Counts an object in which not all readers find the same, where every text is wanted.
    pub(super) fn check_names(&mut self, object: View<'_>, known: &[&str]) {
        self.skipped += u64::from(self.wants_every() && !is_plain(object, known));
    }

    /// Adds what an object says beside the members that are read elsewhere, where every text is wanted.
    pub(super) fn add_beside(&mut self, object: View<'_>, known: &[&str]) {
        if self.wants_every() {
            self.add_outside(beside(object, known));
        }
    }

    /// Adds what a value of any kind says, where every text is wanted.
    pub(super) fn add_every(&mut self, name: &str, value: View<'_>) {
        if self.wants_every() {
            self.add_outside(every(name, value));
        }
    }

    /// Adds a text that belongs to no place.
    fn add_outside(&mut self, read: ReadText) {
        self.skipped += u64::from(!read.is_whole);
        if !read.text.is_empty() {
            self.append((OUTSIDE, self.outside), Kind::Beside, &read.text);
            self.outside += 1;
        }
    }

    /// The same of a text that belongs to a place.
    pub(super) fn set_read(&mut self, key: Key, kind: Kind, read: &ReadText) {
        self.skipped += u64::from(!read.is_whole);
        self.set_whole(key, kind, &read.text);
    }

    fn at(&mut self, key: Key, kind: Kind) -> Option<(&mut Budget, &mut Grown)> {
        if !self.wants(kind) {
            return None;
        }
        if !self.grown.contains_key(&key) {
            if self.grown.len() == MOST_TEXTS {
                self.skipped += 1;
                return None;
            }
            if !self.budget.charge(entry_bytes::<(Key, Grown)>()) {
                return None;
            }
            let grown = Grown {
                kind,
                name: String::new(),
                text: String::new(),
                call: None,
            };
            self.grown.insert(key, grown);
        }
        if self.wants_every() {
            // A text that stands where another kind does is joined with no other.
            let is_other = |grown: &Grown| grown.kind != kind;
            self.skipped += u64::from(self.grown.get(&key).is_some_and(is_other));
        }
        Some((&mut self.budget, self.grown.get_mut(&key)?))
    }

    /// What a record keeps: what was said, then the calls.
    pub(super) fn recorded(&self) -> JoinedText {
        let mut texts = AnswerTexts::default();
        self.push_recorded(&mut texts);
        texts.into_joined()
    }

    fn push_recorded(&self, texts: &mut AnswerTexts) {
        // Clients show the texts of all items without anything between them.
        let mut words = JoinedText::default();
        let said = self.grown.values().filter(|grown| grown.kind == Kind::Said);
        said.filter(|grown| !grown.text.is_empty())
            .for_each(|grown| words.extend(&grown.text));
        texts.push(words);
        for grown in self.grown.values() {
            if grown.kind == Kind::Call {
                texts.push(JoinedText::of(grown.name.clone()));
                if self.calls.have_arguments() {
                    texts.push(JoinedText::of(arguments_text(&grown.text).into_owned()));
                }
            }
        }
    }

    /// The same and everything else.
    pub(super) fn checked(&self) -> JoinedText {
        let mut texts = AnswerTexts::default();
        self.push_recorded(&mut texts);
        let beside = self.grown.values();
        let beside = beside.filter(|grown| grown.kind == Kind::Beside);
        for text in beside.map(|grown| &grown.text).chain(&self.replaced) {
            texts.push(JoinedText::of(text.clone()));
        }
        if !self.has_answer {
            texts.require_text();
        }
        texts.into_joined()
    }

    /// What [`Answer`] says of a whole answer.
    pub(super) fn into_answer(self, body: &[u8], scan: &Scan) -> Answer {
        let words = match self.texts {
            Texts::Record => self.recorded(),
            Texts::Every => self.checked(),
        };
        let usage = scan.members_named(body, "usage").last();
        Answer {
            text: words.text,
            part_breaks: words.part_breaks,
            has_unreadable: words.has_unreadable || self.skipped > 0,
            model: self.model.map(Into::into),
            usage: usage.map(|member| member.value),
        }
    }
}
