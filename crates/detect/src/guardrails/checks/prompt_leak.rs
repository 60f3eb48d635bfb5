//! Answers that quote the instructions of the model: an announcement ("my instructions are"), and sentences
//! that give orders to an assistant. Either alone also occurs when people write prompts with a model.

use crate::guardrails::beginnings::Beginnings;
use crate::guardrails::reading::{Kind, TokenizedText};
use crate::guardrails::text::Text;
use crate::guardrails::{Category, Finding, Guardrail};
use std::sync::LazyLock;

/// The guardrail of leaked instructions.
pub(crate) struct PromptLeak;

/// Beginnings of words that follow each other, as they are read; `|` between choices.
const ANNOUNCED: &[&str] = &[
    "my system prompt|instructions|message",
    "my instructions|initial|original|hidden|internal",
    "here are|is my|the instructions|system|initial|prompt",
    "i was given|instructed|told the|following|to|these",
    "system prompt is|reads|says|:",
    "моя|мои|мой системн|инструкци|промпт|указани",
    "вот мои|мой|моя|системн инструкци|промпт|указани|системн|сообщени",
    "мне было|были дан|велен|указан|предписан",
    "системн промпт|сообщени|инструкци :|гласит|такой|звучит",
];
const ORDERED: &[&str] = &[
    "you are a|an|the",
    "you must",
    "you should",
    "you will",
    "never reveal|disclose|share|mention|discuss",
    "do not reveal|disclose|share|mention|discuss|answer",
    "always answer|respond|reply|use|be",
    "your task|role|name|job|goal",
    "ты - ",
    "ты ассистент|помощник|бот|эксперт|консультант",
    "вы - ",
    "отвечай",
    "не раскрывай|упоминай|сообщай|обсуждай",
    "никогда не",
    "твоя задача|роль",
    "твой",
    "если пользовател",
    "if the|a user",
    "всегда отвечай|используй|будь",
];
static OPENINGS: LazyLock<[Openings; 2]> =
    LazyLock::new(|| [ANNOUNCED, ORDERED].map(Openings::new));

/// Tokens after an announcement in which orders are looked for.
const BEHIND: usize = 160;

impl Guardrail for PromptLeak {
    fn category(&self) -> Category {
        Category::SystemPromptLeak
    }

    fn check(&self, text: &Text<'_>) -> Option<Finding> {
        let read = text.read();
        let announced = OPENINGS[0].places(read);
        let ordered = OPENINGS[1].places(read);
        let behind = announced.first().map_or(0, |at| {
            ordered
                .iter()
                .filter(|order| **order > *at && **order < at + BEHIND)
                .count()
        });
        let starts = ordered.first().is_some_and(|at| *at < 3);
        let (score, reason) = match (behind, ordered.len()) {
            (2.., _) => (0.9, "quotes_instructions"),
            (1, _) => (0.65, "quotes_instructions"),
            (_, 4..) if starts => (0.55, "orders_an_assistant"),
            (_, 2..) if starts => (0.3, "orders_an_assistant"),
            _ => return None,
        };
        Some(Finding { score, reason })
    }
}

/// Phrases of a list, read: the choices of each of their words, and their places by how the first one begins.
struct Openings {
    phrases: Vec<Vec<Vec<&'static str>>>,
    by_first: Beginnings<usize>,
}

impl Openings {
    fn new(list: &[&'static str]) -> Self {
        let words = |phrase: &'static str| phrase.split_whitespace();
        let choices = |word: &'static str| word.split('|').collect();
        let phrases = list
            .iter()
            .map(|phrase| words(phrase).map(choices).collect());
        let phrases: Vec<Vec<Vec<&str>>> = phrases.collect();
        let mut by_first = Beginnings::default();
        for (at, phrase) in phrases.iter().enumerate() {
            for choice in phrase.iter().take(1).flatten() {
                by_first.add(choice, at);
            }
        }
        Self { phrases, by_first }
    }

    /// The tokens at which one of them stands.
    fn places(&self, read: &TokenizedText) -> Vec<usize> {
        let stands = |at: &usize| {
            let mut likely = self.by_first.of(read.word(read.tokens[*at]));
            likely.any(|phrase| begin(read, *at, &self.phrases[*phrase]))
        };
        (0..read.tokens.len()).filter(stands).collect()
    }
}

/// Whether the tokens from here on begin with one of the choices each.
fn begin(read: &TokenizedText, at: usize, phrase: &[Vec<&str>]) -> bool {
    let is = |(step, choices): (usize, &Vec<&str>)| {
        let token = read.tokens.get(at + step);
        let token = token.filter(|token| token.kind != Kind::Line);
        token.is_some_and(|token| {
            let word = read.word(*token);
            choices.iter().any(|choice| word.starts_with(choice))
        })
    };
    phrase.iter().enumerate().all(is)
}
