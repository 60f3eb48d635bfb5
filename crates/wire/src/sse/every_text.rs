//! Every text of a stream that is checked when it is complete (CONTRACT 15). `json::checked_answer` does the same for
//! whole answers, in the same order: what a record keeps of each choice, then everything else.

use super::choice_text::{Budget, ChoiceText};
use crate::json::{AnswerTexts, Words, first_name, other_texts, unescape};
use std::collections::BTreeMap;

/// What a stream says beside content and refusal, by the places of its texts. No `Debug`: it holds the model's words.
#[derive(Default)]
pub(super) struct EveryText {
    texts: Vec<GrowingText>,
    /// Where in `texts` each stands.
    places: BTreeMap<(u64, String), usize>,
    /// There was a delta, with or without text.
    has_delta: bool,
}

/// A text that grows from event to event.
struct GrowingText {
    choice: u64,
    path: String,
    text: String,
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

impl EveryText {
    pub(super) fn set_delta(&mut self) {
        self.has_delta = true;
    }

    /// Takes the texts of an object whose members `known` are read elsewhere; false where it cannot be read.
    pub(super) fn push(
        &mut self,
        choice: u64,
        object: &str,
        known: &[&str],
        budget: &mut Budget,
    ) -> bool {
        let object = object.trim_ascii();
        let others = object
            .starts_with('{')
            .then(|| other_texts(object.as_bytes(), known));
        let Some(others) = others.flatten() else {
            return false;
        };
        for other in others {
            let piece = unescape(&object.as_bytes()[other.span]);
            self.say(choice, other.path, &piece, budget);
        }
        true
    }

    fn say(&mut self, choice: u64, path: String, piece: &str, budget: &mut Budget) {
        let key = (choice, path);
        let place = match self.places.get(&key) {
            Some(place) => *place,
            None if !budget.charge_entry(key.1.len()) => return,
            None => {
                let (choice, path) = key.clone();
                self.texts.push(GrowingText {
                    choice,
                    path,
                    text: String::new(),
                });
                self.places.insert(key, self.texts.len() - 1);
                self.texts.len() - 1
            }
        };
        let said = &mut self.texts[place];
        // Some upstreams repeat the whole name in every delta.
        if !(said.path.ends_with("/name") && said.text == piece) {
            budget.append(&mut said.text, piece);
        }
    }

    /// Puts it behind what a record keeps of the choices.
    pub(super) fn text(&self, choices: &BTreeMap<u64, ChoiceText>) -> CheckedText {
        let (mut texts, mut beside) = (AnswerTexts::default(), Vec::new());
        let mut indices: Vec<u64> = choices.keys().copied().collect();
        indices.extend(self.texts.iter().map(|text| text.choice));
        indices.sort_unstable();
        indices.dedup();
        for index in indices {
            let spoken = choices.get(&index);
            let content = spoken.map(|spoken| spoken.content.clone());
            let refusal = spoken.map(|spoken| spoken.refusal.clone());
            let [calls, others] = self.beside(index);
            let said = [content.unwrap_or_default(), refusal.unwrap_or_default()];
            let said = said.map(Words::apart).into_iter().chain([calls]);
            let mut said = said.filter(|words| !words.is_empty());
            if let Some(main) = said.next() {
                texts.push(main);
            }
            beside.extend(said.chain([others]));
        }
        beside.into_iter().for_each(|words| texts.push(words));
        if !self.has_delta {
            texts.require_text();
        }
        let words = texts.into_words();
        CheckedText {
            text: words.text,
            part_breaks: words.part_breaks,
            has_unreadable: words.has_unreadable,
        }
    }

    /// The tool calls of a choice, and its other texts.
    fn beside(&self, choice: u64) -> [Words; 2] {
        let (mut calls, mut others) = (AnswerTexts::default(), AnswerTexts::default());
        let mut member = Words::default();
        let mut last = "";
        let of_choice = self.texts.iter().filter(|text| text.choice == choice);
        for said in of_choice {
            let text = said.text.clone();
            match first_name(&said.path) {
                "tool_calls" => calls.push(Words::apart(text)),
                name => {
                    if name != last || name == "function_call" {
                        others.push(std::mem::take(&mut member));
                        last = name;
                    }
                    member.extend(&text);
                }
            }
        }
        others.push(member);
        [calls.into_words(), others.into_words()]
    }
}
