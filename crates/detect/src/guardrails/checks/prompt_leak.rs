//! Answers that quote the instructions of the model: an announcement ("my instructions are"), and sentences
//! that give orders to an assistant. Either alone also occurs when people write prompts with a model.

use crate::guardrails::reading::{Kind, TokenizedText};
use crate::guardrails::text::Text;
use crate::guardrails::{Category, Finding, Guardrail};

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
/// Tokens after an announcement in which orders are looked for.
const BEHIND: usize = 160;

impl Guardrail for PromptLeak {
    fn category(&self) -> Category {
        Category::SystemPromptLeak
    }

    fn check(&self, text: &Text<'_>) -> Option<Finding> {
        let read = text.read();
        let announced = places(read, ANNOUNCED, read.tokens.len());
        let ordered = places(read, ORDERED, read.tokens.len());
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

fn places(read: &TokenizedText, phrases: &[&str], most: usize) -> Vec<usize> {
    let is = |at: usize, choices: &str| {
        let token = read.tokens.get(at).filter(|token| token.kind != Kind::Line);
        token.is_some_and(|token| {
            choices
                .split('|')
                .any(|choice| read.word(*token).starts_with(choice))
        })
    };
    let stands = |at: usize, phrase: &str| {
        phrase
            .split_whitespace()
            .enumerate()
            .all(|(step, word)| is(at + step, word))
    };
    (0..most)
        .filter(|at| phrases.iter().any(|phrase| stands(*at, phrase)))
        .collect()
}
