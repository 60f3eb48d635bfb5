//! THE table of guardrail categories (§2.8 `guardrails`, CONTRACT 38): one row per category. A new one is
//! a row here and a [`Guardrail`](super::Guardrail) that finds it. How a score comes about is not
//! decided here.

use super::Guardrail;
use super::learned::{Attack, Harm, HarmfulContent};
use super::prompt_leak::PromptLeak;
use super::secrets::Secrets;
use super::toxicity::Toxicity;
use crate::rules::UnknownName;
use monitor_model::Stage;
use std::fmt;
use std::str::FromStr;

/// What a built-in policy forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// Instructions that want to replace those of the application, also inside documents.
    PromptInjection,
    /// Talking a model out of its rules: personas without limits, wrapped and hidden requests.
    Jailbreak,
    /// Asking for the instructions the model was given.
    SystemPromptExtraction,
    /// Requests for help with hurting people.
    Violence,
    /// Weapons and explosives.
    Weapons,
    /// Making and selling drugs and poisons.
    Drugs,
    /// Suicide and self-harm.
    SelfHarm,
    /// Sexual crimes.
    Sexual,
    /// Hatred of groups.
    Hate,
    /// Terror and overthrow.
    Extremism,
    /// Deception for gain: forgery, theft, bribery, evasion.
    Fraud,
    /// Breaking into machines, harmful programs.
    Cybercrime,
    /// Other crimes.
    Unlawful,
    /// Insults and threats.
    Toxicity,
    /// An answer that quotes the instructions the model was given.
    SystemPromptLeak,
    /// An answer with keys, tokens, passwords.
    SecretLeak,
    /// An answer that helps with a crime.
    HarmfulContent,
}

use Category as C;

/// Which messages a category is looked for in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum In {
    Requests,
    Answers,
    Both,
}

/// The score from which a category is flagged, unless the rules say otherwise. Scores are calibrated to
/// it: see docs/detection.md for what it costs on ordinary messages.
pub const DEFAULT_THRESHOLD: f64 = 0.5;

type Build = fn() -> Box<dyn Guardrail>;

/// Category, word on the wire, messages, what finds it. In the order of the enum.
const TABLE: [(Category, &str, In, Build); 17] = [
    (C::PromptInjection, "prompt_injection", In::Requests, || {
        Box::new(Attack(C::PromptInjection))
    }),
    (C::Jailbreak, "jailbreak", In::Requests, || {
        Box::new(Attack(C::Jailbreak))
    }),
    (
        C::SystemPromptExtraction,
        "system_prompt_extraction",
        In::Requests,
        || Box::new(Attack(C::SystemPromptExtraction)),
    ),
    (C::Violence, "violence", In::Requests, || {
        Box::new(Harm(C::Violence))
    }),
    (C::Weapons, "weapons", In::Requests, || {
        Box::new(Harm(C::Weapons))
    }),
    (C::Drugs, "drugs", In::Requests, || Box::new(Harm(C::Drugs))),
    (C::SelfHarm, "self_harm", In::Requests, || {
        Box::new(Harm(C::SelfHarm))
    }),
    (C::Sexual, "sexual", In::Requests, || {
        Box::new(Harm(C::Sexual))
    }),
    (C::Hate, "hate", In::Requests, || Box::new(Harm(C::Hate))),
    (C::Extremism, "extremism", In::Requests, || {
        Box::new(Harm(C::Extremism))
    }),
    (C::Fraud, "fraud", In::Requests, || Box::new(Harm(C::Fraud))),
    (C::Cybercrime, "cybercrime", In::Requests, || {
        Box::new(Harm(C::Cybercrime))
    }),
    (C::Unlawful, "unlawful", In::Requests, || {
        Box::new(Harm(C::Unlawful))
    }),
    (C::Toxicity, "toxicity", In::Both, || Box::new(Toxicity)),
    (
        C::SystemPromptLeak,
        "system_prompt_leak",
        In::Answers,
        || Box::new(PromptLeak),
    ),
    (C::SecretLeak, "secret_leak", In::Answers, || {
        Box::new(Secrets::new())
    }),
    (C::HarmfulContent, "harmful_content", In::Answers, || {
        Box::new(HarmfulContent)
    }),
];

impl Category {
    /// Every category.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.into_iter().map(|(category, ..)| category)
    }

    /// The categories of one direction.
    pub fn of(stage: Stage) -> impl Iterator<Item = Self> {
        let other = match stage {
            Stage::PreCall => In::Answers,
            Stage::PostCall => In::Requests,
        };
        let rows = TABLE.into_iter().filter(move |row| row.2 != other);
        rows.map(|(category, ..)| category)
    }

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// What finds it.
    pub(super) fn guardrail(self) -> Box<dyn Guardrail> {
        TABLE[self as usize].3()
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Category {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        UnknownName::look_up(
            "category",
            text,
            TABLE.map(|(category, ..)| category),
            Self::as_str,
        )
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_enum_and_know_their_own_category() {
        for (at, category) in Category::all().enumerate() {
            assert_eq!(category as usize, at, "{category}");
            assert_eq!(category.guardrail().category(), category);
            assert_eq!(category.as_str().parse::<Category>().unwrap(), category);
        }
    }

    #[test]
    fn configuration_files_know_the_same_names() {
        let names: Vec<_> = Category::all().map(Category::as_str).collect();
        assert_eq!(names, monitor_model::CATEGORY_NAMES);
    }

    #[test]
    fn each_direction_has_its_own() {
        let requests: Vec<_> = Category::of(Stage::PreCall).collect();
        let answers: Vec<_> = Category::of(Stage::PostCall).collect();
        assert!(requests.contains(&C::PromptInjection) && !requests.contains(&C::SecretLeak));
        assert!(answers.contains(&C::SecretLeak) && !answers.contains(&C::Jailbreak));
        assert!(requests.contains(&C::Toxicity) && answers.contains(&C::Toxicity));
    }
}
