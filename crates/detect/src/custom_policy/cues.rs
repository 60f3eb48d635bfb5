//! The judge that is always available: it looks for the words with which a policy names what it forbids.
//! It may flag a text; every ruling says that this is no judgment by a model (CONTRACT 26).

use super::phrases::{Phrase, phrases};
use super::stems::{stem, words};
use super::{Judge, Ruling};
use crate::rules::CustomPolicy;
use async_trait::async_trait;
use monitor_model::PolicyRuling;
use std::collections::HashMap;

/// Words within which all that is needed of a phrase has to stand.
const WINDOW: usize = 24;
/// Letters that a word may have beyond a stem of at least [`LONG_STEM`] letters and still be its word.
const LONGEST_ENDING: usize = 4;
const LONG_STEM: usize = 5;

/// Looks for cue words. Linear in the text's length.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cues;

/// What is said beside every ruling of [`Cues`].
const NO_JUDGE: &str =
    "no judge is configured (judge.url); the policies were matched by keywords only";

#[async_trait]
impl Judge for Cues {
    async fn judge(&self, policies: &[CustomPolicy], text: &str) -> Ruling {
        Ruling {
            policies: Self::look(policies, text),
            failures: vec![NO_JUDGE.to_owned()],
            has_failed: false,
        }
    }
}

impl Cues {
    /// One ruling per policy, in their order. Reasons hold words of the policy, never of the text.
    pub fn look(policies: &[CustomPolicy], text: &str) -> Vec<PolicyRuling> {
        let drawn: Vec<_> = policies.iter().map(|one| phrases(&one.prompt)).collect();
        let all: Vec<&Phrase> = drawn.iter().flatten().collect();
        let found = find(&all, text);
        let mut from = 0;
        let rulings = policies.iter().zip(&drawn).map(|(policy, drawn)| {
            let mine = from..from + drawn.len();
            from = mine.end;
            let hit = mine.into_iter().find(|at| found[*at]);
            ruling(policy, drawn.is_empty(), hit.map(|at| all[at]))
        });
        rulings.collect()
    }
}

fn ruling(policy: &CustomPolicy, says_nothing: bool, hit: Option<&Phrase>) -> PolicyRuling {
    let reason = match hit {
        Some(phrase) => format!("keywords of the policy: {}", phrase.stems.join(" ")),
        None if says_nothing => "the policy names no words to look for".to_owned(),
        None => String::new(),
    };
    PolicyRuling {
        name: policy.name.clone(),
        flagged: hit.is_some(),
        reason,
    }
}

/// Which of the phrases stand in the text.
fn find(phrases: &[&Phrase], text: &str) -> Vec<bool> {
    let mut places: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    for (at, phrase) in phrases.iter().enumerate() {
        for (place, stem) in phrase.stems.iter().enumerate() {
            places.entry(stem).or_default().push((at, place));
        }
    }
    let mut found = vec![false; phrases.len()];
    if places.is_empty() {
        return found;
    }
    // Of each phrase: at which word each of its stems stood last.
    let mut last: Vec<Vec<Option<usize>>> = phrases
        .iter()
        .map(|one| vec![None; one.stems.len()])
        .collect();
    for (number, word) in words(text).enumerate() {
        for stem in readings(&word) {
            for (at, place) in places.get(stem).into_iter().flatten() {
                last[*at][*place] = Some(number);
                let near = |seen: &&Option<usize>| seen.is_some_and(|seen| number - seen < WINDOW);
                found[*at] |= last[*at].iter().filter(near).count() >= phrases[*at].needed;
            }
        }
    }
    found
}

/// The stems that a word may be a form of.
fn readings(word: &str) -> impl Iterator<Item = &str> {
    let own = stem(word);
    let letters = word.chars().count();
    let prefixes = word
        .char_indices()
        .skip(LONG_STEM)
        .map(|(at, _)| &word[..at]);
    let prefixes = prefixes.skip(letters.saturating_sub(LONG_STEM + LONGEST_ENDING));
    let others = prefixes.chain([word]).filter(move |prefix| *prefix != own);
    [own].into_iter().chain(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(prompt: &str, text: &str) -> bool {
        let policy = CustomPolicy {
            name: "p".to_owned(),
            prompt: prompt.to_owned(),
        };
        Cues::look(&[policy], text)[0].flagged
    }

    #[test]
    fn a_policy_is_found_by_other_forms_of_its_words() {
        for (prompt, text) in [
            ("No loans.", "Which loan is the cheapest?"),
            ("Запрещено обсуждать кредиты", "Посоветуй, где взять кредит"),
            ("Не обсуждать политику", "Что ты думаешь о политике?"),
            ("Нельзя: оружие, наркотики", "где купить наркотик"),
            (
                "Do not reveal internal project codenames",
                "tell me the internal project codename",
            ),
            ("Не упоминать «Проект Аврора»", "как идёт проект Аврора?"),
            ("No loans.", "NO LO\u{200b}ANS? I want a lo\u{ad}an"),
        ] {
            assert!(flags(prompt, text), "{prompt}: {text}");
        }
    }

    #[test]
    fn a_part_of_a_matter_is_not_the_matter() {
        for (prompt, text) in [
            ("No loans.", "Hello, how are you?"),
            (
                "Do not reveal internal project codenames",
                "plan my project",
            ),
            ("Не упоминать «Проект Аврора»", "крейсер Аврора"),
            (
                "Only questions about bicycles are allowed",
                "my bicycles are broken",
            ),
            ("No loans.", ""),
            ("", "anything"),
        ] {
            assert!(!flags(prompt, text), "{prompt}: {text}");
        }
    }

    #[test]
    fn words_far_apart_are_no_phrase() {
        let far = format!("internal {} codename", "word ".repeat(40));
        assert!(!flags("Never reveal internal codenames", &far));
    }

    #[test]
    fn a_reason_holds_words_of_the_policy_only() {
        let policy = CustomPolicy {
            name: "p".to_owned(),
            prompt: "No loans.".to_owned(),
        };
        let ruling = &Cues::look(&[policy], "loans for Ivan 4111")[0];
        assert_eq!(ruling.reason, "keywords of the policy: loan");
    }
}
