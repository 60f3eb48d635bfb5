//! Every text of a stream that is checked when it is complete (CONTRACT 15). `json::checked_answer` does the same for
//! whole answers, in the same order: what a record keeps of each choice, then everything else.

use super::choice_text::{Budget, ChoiceText, entry_bytes};
use crate::json::{
    AnswerTexts, CallText, Form, JoinedText, OtherText, Place, TextPath, TopMember, arguments_text,
    other_texts, unescape,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// What a stream says beside content and refusal, by the places of its texts. No `Debug`: it holds the model's words.
#[derive(Default)]
pub(super) struct StreamTexts {
    texts: Vec<GrowingText>,
    /// Where in `texts` each stands.
    places: BTreeMap<(u64, TextPath), usize>,
    /// There was a delta, with or without text.
    has_delta: bool,
    /// Texts that were looked at to put them together.
    #[cfg(test)]
    pub(super) looked_at: std::cell::Cell<usize>,
}

/// A text that grows from event to event.
struct GrowingText {
    choice: u64,
    member: TopMember,
    of_call: Option<CallText>,
    text: String,
}

impl GrowingText {
    /// Its text for the check.
    fn read(&self) -> Cow<'_, str> {
        match self.of_call {
            Some(CallText::Arguments) => arguments_text(&self.text),
            _ => (&*self.text).into(),
        }
    }
}

/// What a further text costs of the bound besides its bytes: itself, and its place in the list.
const TEXT_BYTES: usize = entry_bytes::<GrowingText>() + entry_bytes::<(TextPath, usize)>();

/// An object of an event, and the members that are read elsewhere.
pub(super) struct Members {
    pub(super) of: &'static str,
    pub(super) known: &'static [&'static str],
}

/// The place of texts outside the choices: behind them.
pub(super) const OUTSIDE: u64 = u64::MAX;

/// The text of a checked stream.
pub struct CheckedText {
    /// What a record keeps, then everything else, joined by line feeds.
    pub text: String,
    /// Where in `text` a line feed stands between two texts of one member, ascending.
    pub part_breaks: Vec<usize>,
    /// There are more such places than are reported, or there was neither a text nor a delta that may be without one.
    pub has_unreadable: bool,
}

impl StreamTexts {
    pub(super) fn set_delta(&mut self) {
        self.has_delta = true;
    }

    /// Takes the texts of an object that are not read elsewhere; false where it cannot be read.
    pub(super) fn push(
        &mut self,
        choice: u64,
        object: &str,
        members: &Members,
        budget: &mut Budget,
    ) -> bool {
        let object = object.trim_ascii();
        let place = Place::of_object(members.of);
        let others = object
            .starts_with('{')
            .then(|| other_texts(object.as_bytes(), members.known, place));
        let Some(others) = others.flatten() else {
            return false;
        };
        for other in others {
            let token = &object.as_bytes()[other.span.clone()];
            let piece = match other.form() {
                Form::Arguments => unescape(token),
                _ => other.text(object.as_bytes()),
            };
            self.append(choice, &other, &piece, budget);
        }
        true
    }

    fn append(&mut self, choice: u64, other: &OtherText, piece: &str, budget: &mut Budget) {
        let key = (choice, other.path);
        let place = match self.places.get(&key) {
            Some(place) => *place,
            None if !budget.charge(TEXT_BYTES) => return,
            None => {
                self.texts.push(GrowingText {
                    choice,
                    member: other.member,
                    of_call: other.of_call,
                    text: String::new(),
                });
                self.places.insert(key, self.texts.len() - 1);
                self.texts.len() - 1
            }
        };
        let growing = &mut self.texts[place];
        if other.stands_alone() && !growing.text.is_empty() {
            budget.append(&mut growing.text, "\n");
        }
        // Some upstreams repeat the whole name in every delta.
        if !(other.of_call == Some(CallText::Name) && growing.text == piece) {
            budget.append(&mut growing.text, piece);
        }
    }

    /// Puts it behind what a record keeps of the choices.
    pub(super) fn text(&self, choices: &BTreeMap<u64, ChoiceText>) -> CheckedText {
        let mut by_choice: BTreeMap<u64, OtherMembers> = BTreeMap::new();
        for growing in &self.texts {
            #[cfg(test)]
            self.looked_at.set(self.looked_at.get() + 1);
            by_choice.entry(growing.choice).or_default().push(growing);
        }
        let indices: BTreeSet<u64> = choices.keys().chain(by_choice.keys()).copied().collect();
        let (mut texts, mut behind) = (AnswerTexts::default(), AnswerTexts::default());
        for index in indices {
            let [content, refusal] = choices.get(&index).map_or_else(Default::default, |choice| {
                [choice.content.clone(), choice.refusal.clone()]
            });
            let others = by_choice.remove(&index).unwrap_or_default();
            let [calls, others] = others.into_joined();
            let said = [content, refusal, calls].into_iter();
            let mut said = said.filter(|words| !words.is_empty());
            if let Some(main) = said.next() {
                texts.push(main);
            }
            said.chain([others]).for_each(|words| behind.push(words));
        }
        texts.push(behind.into_joined());
        if !self.has_delta {
            texts.require_text();
        }
        let words = texts.into_joined();
        CheckedText {
            text: words.text,
            part_breaks: words.part_breaks,
            has_unreadable: words.has_unreadable,
        }
    }
}

/// The tool calls of a choice, and its other texts.
#[derive(Default)]
struct OtherMembers {
    calls: AnswerTexts,
    others: AnswerTexts,
    /// The texts of the last member.
    words: JoinedText,
    /// Names and numbers, each on a line of its own.
    alone: AnswerTexts,
    last: Option<TopMember>,
}

impl OtherMembers {
    fn push(&mut self, growing: &GrowingText) {
        let member = growing.member;
        if member == TopMember::ToolCalls {
            self.calls.push(JoinedText::of(growing.read().into_owned()));
            return;
        }
        if growing.of_call.is_some_and(CallText::stands_alone) {
            self.alone.push(JoinedText::of(growing.text.clone()));
            return;
        }
        if self.last != Some(member) || member == TopMember::FunctionCall {
            self.others.push(std::mem::take(&mut self.words));
            self.last = Some(member);
        }
        self.words.extend(&growing.read());
    }

    fn into_joined(mut self) -> [JoinedText; 2] {
        self.others.push(self.words);
        self.others.push(self.alone.into_joined());
        [self.calls.into_joined(), self.others.into_joined()]
    }
}
