//! Every text of a stream that is checked when it is complete (CONTRACT 15). `json::checked_answer` does the same for
//! whole answers, in the same order: what a record keeps of each choice, then everything else.

use super::choice_text::{Budget, ChoiceText, entry_bytes};
use crate::json::{
    AnswerTexts, CallText, CallTexts, Form, JoinedText, OtherText, Place, TextPath, TopMember,
    arguments_text, other_texts, unescape,
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
    /// The name of a tool as clients read it that append what comes again.
    appended: Option<String>,
}

impl GrowingText {
    /// Some upstreams repeat the whole name in every delta: clients append it, or do not. False where one that was
    /// repeated goes on behind what is kept of it.
    fn append_name(&mut self, piece: &str, budget: &mut Budget) -> bool {
        let is_repeated = self.text == piece;
        if is_repeated && !piece.is_empty() && self.appended.is_none() {
            let mut appended = String::new();
            budget.append(&mut appended, &self.text);
            self.appended = Some(appended);
        }
        // What is kept of it shows every place at which two of them meet.
        let enough = 2 * self.text.len() + LONGEST_FINDING;
        let appended = self.appended.as_ref();
        let is_full = appended.is_some_and(|appended| appended.len() > enough);
        if let Some(appended) = self.appended.as_mut().filter(|_| !is_full) {
            budget.append(appended, piece);
        }
        if !is_repeated {
            budget.append(&mut self.text, piece);
        }
        is_repeated || !is_full
    }

    /// Its text for the check.
    fn read(&self) -> Cow<'_, str> {
        match self.of_call {
            Some(CallText::Arguments) => arguments_text(&self.text),
            _ => (&*self.text).into(),
        }
    }
}

/// No finding in a name is as long.
const LONGEST_FINDING: usize = 256;

/// What a further text costs of the bound besides its bytes: itself, and its place in the list.
const TEXT_BYTES: usize = entry_bytes::<GrowingText>() + entry_bytes::<(TextPath, usize)>();

/// An object of an event, and the members that are read elsewhere.
pub(super) struct Members {
    pub(super) of: &'static str,
    pub(super) known: &'static [&'static str],
}

/// Which texts of an object are read, and how much of them may be kept.
pub(super) struct TextsRead<'b> {
    pub(super) calls: CallTexts,
    pub(super) budget: &'b mut Budget,
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
        read: &mut TextsRead<'_>,
    ) -> bool {
        let object = object.trim_ascii();
        let place = Place::of_object(members.of);
        let others = object
            .starts_with('{')
            .then(|| other_texts(object.as_bytes(), members.known, place));
        let Some(others) = others.flatten() else {
            return false;
        };
        let mut is_clear = true;
        let has_arguments = read.calls.have_arguments();
        for other in others
            .into_iter()
            .filter(|other| has_arguments || !other.in_arguments)
        {
            let token = &object.as_bytes()[other.span.clone()];
            let piece = match other.form() {
                Form::Arguments => unescape(token),
                _ => other.text(object.as_bytes()),
            };
            is_clear &= self.append(choice, &other, &piece, read.budget);
        }
        is_clear
    }

    /// Appends a piece to its text; false where it is not clear what clients read.
    fn append(&mut self, choice: u64, other: &OtherText, piece: &str, budget: &mut Budget) -> bool {
        let key = (choice, other.path);
        let place = match self.places.get(&key) {
            Some(place) => *place,
            None if !budget.charge(TEXT_BYTES) => return true,
            None => {
                self.texts.push(GrowingText {
                    choice,
                    member: other.member,
                    of_call: other.of_call,
                    text: String::new(),
                    appended: None,
                });
                self.places.insert(key, self.texts.len() - 1);
                self.texts.len() - 1
            }
        };
        let growing = &mut self.texts[place];
        if other.stands_alone() && !growing.text.is_empty() {
            budget.append(&mut growing.text, "\n");
        }
        if other.of_call == Some(CallText::Name) {
            return growing.append_name(piece, budget);
        }
        budget.append(&mut growing.text, piece);
        true
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
    /// The older `function_call`, behind them.
    older: AnswerTexts,
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
        if let Some(appended) = &growing.appended {
            self.alone.push(JoinedText::of(appended.clone()));
        }
        let calls = match member {
            TopMember::ToolCalls => Some(&mut self.calls),
            TopMember::FunctionCall => Some(&mut self.older),
            TopMember::Other(_) => None,
        };
        if let Some(calls) = calls {
            return calls.push(JoinedText::of(growing.read().into_owned()));
        }
        if growing.of_call.is_some_and(CallText::stands_alone) {
            self.alone.push(JoinedText::of(growing.text.clone()));
            return;
        }
        if self.last != Some(member) {
            self.others.push(std::mem::take(&mut self.words));
            self.last = Some(member);
        }
        self.words.extend(&growing.read());
    }

    fn into_joined(mut self) -> [JoinedText; 2] {
        self.calls.push(self.older.into_joined());
        self.others.push(self.words);
        self.others.push(self.alone.into_joined());
        [self.calls.into_joined(), self.others.into_joined()]
    }
}
