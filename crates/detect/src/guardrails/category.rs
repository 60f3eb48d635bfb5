//! THE table of guardrail categories (§2.8 `guardrails`, CONTRACT 38): the names on the wire and the
//! direction each applies to. `registry` says which guardrail finds which.

use crate::unknown_name::UnknownName;
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
    /// Sexual crimes and abuse.
    Sexual,
    /// Hatred of groups.
    Hate,
    /// Terror and overthrow.
    Extremism,
    /// Deception for gain: forgery, theft, bribery, evasion.
    Fraud,
    /// Breaking into machines, harmful programs.
    Cybercrime,
    /// Crimes of no other category.
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

/// A category that the rules ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CategoryThreshold {
    /// What is looked for.
    pub category: Category,
    /// The score from which a message is flagged, 0 to 1.
    pub threshold: f64,
}

/// Category, word on the wire, messages. In the order of the enum.
const TABLE: [(Category, &str, In); 17] = [
    (C::PromptInjection, "prompt_injection", In::Requests),
    (C::Jailbreak, "jailbreak", In::Requests),
    (
        C::SystemPromptExtraction,
        "system_prompt_extraction",
        In::Requests,
    ),
    (C::Violence, "violence", In::Requests),
    (C::Weapons, "weapons", In::Requests),
    (C::Drugs, "drugs", In::Requests),
    (C::SelfHarm, "self_harm", In::Requests),
    (C::Sexual, "sexual", In::Requests),
    (C::Hate, "hate", In::Requests),
    (C::Extremism, "extremism", In::Requests),
    (C::Fraud, "fraud", In::Requests),
    (C::Cybercrime, "cybercrime", In::Requests),
    (C::Unlawful, "unlawful", In::Requests),
    (C::Toxicity, "toxicity", In::Both),
    (C::SystemPromptLeak, "system_prompt_leak", In::Answers),
    (C::SecretLeak, "secret_leak", In::Answers),
    (C::HarmfulContent, "harmful_content", In::Answers),
];

impl Category {
    /// Every category, in the order of the table.
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
    fn rows_stand_in_the_order_of_the_enum_and_names_parse_back() {
        for (at, category) in Category::all().enumerate() {
            assert_eq!(category as usize, at, "{category}");
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
