//! What to look for and what to do with it (§2.8, CONTRACT 24 and 38), as types that are read and written
//! as JSON. Reading is tolerant: a document of another version keeps what it has. The API checks strictly;
//! `compiled` compiles.

use super::dataclean::PatternName;
use super::tokens::Encoding;
use super::unknown_name::UnknownName;
use monitor_model::Severity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::str::FromStr;

/// Patterns of one direction, predefined and custom together; allowed patterns have as many.
pub const MOST_PATTERNS: usize = 100;
/// Code points of the name of a pattern, a policy or a category.
pub const LONGEST_NAME: usize = 64;
/// Code points of a regex.
pub const LONGEST_REGEX: usize = 2_000;
/// Custom policies of one direction.
pub const MOST_POLICIES: usize = 50;
/// Code points of a custom policy's prompt.
pub const LONGEST_PROMPT: usize = 10_000;
/// Guardrail categories of one direction.
pub const MOST_CATEGORIES: usize = 64;

/// The rules of one direction of one application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// None: the stage is switched off (§2.8 `dataclean.enabled`).
    pub dataclean: Option<DatacleanRules>,
    /// None: the stage is switched off (§2.8 `guardrails.enabled`), the default.
    pub guardrails: Option<GuardrailsRules>,
    /// Empty: the stage is switched off (§2.8 `custom.enabled`), the default.
    pub custom_policies: Vec<CustomPolicy>,
    /// The vocabulary tokens are counted with.
    pub encoding: Encoding,
    /// What makes a token count worth mentioning; None: nothing does.
    pub tokens: Option<TokenThresholds>,
}

impl Rules {
    /// How many regexes they have.
    pub fn regexes(&self) -> usize {
        self.dataclean.as_ref().map_or(0, |rules| {
            let patterns = rules.patterns.iter().flatten();
            let custom = patterns.filter(|pattern| matches!(pattern, Pattern::Custom(_)));
            rules.allowed_patterns.len() + custom.count()
        })
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            dataclean: Some(DatacleanRules::default()),
            guardrails: None,
            custom_policies: Vec::new(),
            encoding: Encoding::default(),
            tokens: None,
        }
    }
}

/// Sensitive-data handling. The default is every pattern that has a detector, masked by labels
/// (CONTRACT 25, 27).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DatacleanRules {
    /// What to look for. None, also when the key is missing: everything that this version can find
    /// by the patterns of §2.8; further ones have to be named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patterns: Option<Vec<Pattern>>,
    /// A find that one of these matches as a whole is no find.
    pub allowed_patterns: Vec<CustomPattern>,
    /// What happens to a find.
    pub clean_type: CleanType,
    /// How a mask looks; used by MASKING only.
    pub mask_style: MaskStyle,
}

/// An element of §2.8 `dataclean.patterns`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Pattern {
    /// One of the predefined names.
    Predefined(PatternName),
    /// A regex of the caller's.
    Custom(CustomPattern),
    /// A name of a later version, in a document that it stored.
    Unknown(String),
}

impl From<PatternName> for Pattern {
    fn from(name: PatternName) -> Self {
        Self::Predefined(name)
    }
}

/// A regex with a name; of a pattern to find, the name is the entity type in the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomPattern {
    /// 1 to [`LONGEST_NAME`] code points.
    pub name: String,
    /// In the syntax of the Rust crate `regex`: no look-around, no back-references.
    pub regex: String,
}

/// Built-in policies that are asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GuardrailsRules {
    /// Category to the score from which it is flagged, 0 to 1; those that are missing: each at its own.
    pub categories: BTreeMap<String, f64>,
    /// Categories that are not looked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disabled: Vec<String>,
}

/// A policy in the words of whoever wrote it (§2.8 `custom.policies[]`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomPolicy {
    /// 1 to [`LONGEST_NAME`] code points.
    pub name: String,
    /// The instruction, 1 to [`LONGEST_PROMPT`] code points.
    pub prompt: String,
}

/// Token counts from which on a message is called low, high or critical (CONTRACT 24). They ascend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenThresholds {
    /// From here on low; below it nothing.
    pub low: u64,
    /// From here on high.
    pub high: u64,
    /// From here on critical.
    pub critical: u64,
}

impl TokenThresholds {
    /// The severity of a count; None below `low`.
    pub fn severity(self, count: u64) -> Option<Severity> {
        [
            (self.critical, Severity::Critical),
            (self.high, Severity::High),
            (self.low, Severity::Low),
        ]
        .into_iter()
        .find_map(|(from, severity)| (count >= from).then_some(severity))
    }
}

/// §2.8 `clean_type`. Read in any letter case, written in upper case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum CleanType {
    /// Replace finds by a mask.
    #[default]
    Masking,
    /// Remove finds, each with one adjoining space.
    Deletion,
    /// Leave the text.
    Detection,
}

impl CleanType {
    /// Every clean type.
    pub const ALL: [Self; 3] = [Self::Masking, Self::Deletion, Self::Detection];

    /// The word of §2.8.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Masking => "MASKING",
            Self::Deletion => "DELETION",
            Self::Detection => "DETECTION",
        }
    }
}

impl FromStr for CleanType {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        UnknownName::look_up("clean_type", text, Self::ALL, Self::as_str)
    }
}

impl TryFrom<String> for CleanType {
    type Error = UnknownName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<CleanType> for &'static str {
    fn from(value: CleanType) -> Self {
        value.as_str()
    }
}

/// How a mask looks (CONTRACT 25).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MaskStyle {
    /// The name of the pattern: `[EMAILS]`.
    #[default]
    Label,
    /// One `x` per character.
    X,
    /// `[EMAILS:12]`, the number of characters.
    Length,
    /// `[EMAILS_1]`: the same number for the same value within one text.
    Pseudonym,
}

impl MaskStyle {
    /// Every mask style.
    pub const ALL: [Self; 4] = [Self::Label, Self::X, Self::Length, Self::Pseudonym];

    /// The word of CONTRACT 25.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::X => "x",
            Self::Length => "length",
            Self::Pseudonym => "pseudonym",
        }
    }
}

impl FromStr for MaskStyle {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        UnknownName::look_up("mask_style", text, Self::ALL, Self::as_str)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn clean_type_reads_any_letter_case_and_writes_upper_case() {
        let rules: DatacleanRules =
            serde_json::from_str(r#"{"clean_type":"deletion","mask_style":"x"}"#).unwrap();
        assert_eq!(
            (rules.clean_type, rules.mask_style),
            (CleanType::Deletion, MaskStyle::X)
        );
        assert_eq!(
            serde_json::to_string(&CleanType::Masking).unwrap(),
            "\"MASKING\""
        );
        assert!(serde_json::from_str::<CleanType>("\"hide\"").is_err());
    }

    #[test]
    fn what_is_missing_takes_its_default_and_null_switches_off() {
        assert_eq!(
            serde_json::from_str::<Rules>("{}").unwrap(),
            Rules::default()
        );
        assert_eq!(
            serde_json::from_str::<Rules>(r#"{"dataclean":null}"#)
                .unwrap()
                .dataclean,
            None
        );
    }

    #[test]
    fn every_kind_of_rule_comes_back_as_it_was_written() {
        let text = r#"{"dataclean":{"patterns":["EMAILS",{"name":"ORDER","regex":"ORD-\\d+"}],
            "allowed_patterns":[{"name":"us","regex":"a@b\\.ru"}],"clean_type":"DELETION"},
            "guardrails":{"categories":{"prompt_injection":0.5}},
            "custom_policies":[{"name":"p","prompt":"no loans"}],
            "encoding":"cl100k_base","tokens":{"low":1,"high":2,"critical":3}}"#;
        let rules: Rules = serde_json::from_str(text).unwrap();
        let again = serde_json::to_string(&rules).unwrap();
        assert_eq!(serde_json::from_str::<Rules>(&again).unwrap(), rules);
        let patterns = rules.dataclean.unwrap().patterns.unwrap();
        assert_eq!(patterns[0], Pattern::Predefined(PatternName::Emails));
        assert!(matches!(&patterns[1], Pattern::Custom(custom) if custom.name == "ORDER"));
    }

    #[test]
    fn a_name_of_a_later_version_is_kept() {
        let text = r#"{"patterns":["EMAILS","OF_TOMORROW"]}"#;
        let rules: DatacleanRules = serde_json::from_str(text).unwrap();
        let expected = [
            PatternName::Emails.into(),
            Pattern::Unknown("OF_TOMORROW".to_owned()),
        ];
        assert_eq!(rules.patterns.as_deref(), Some(&expected[..]));
        let again = serde_json::to_value(&rules).unwrap();
        assert_eq!(again["patterns"][1], "OF_TOMORROW");
    }

    #[test]
    fn contract_24_a_severity_begins_at_its_threshold() {
        let thresholds = TokenThresholds {
            low: 10,
            high: 20,
            critical: 30,
        };
        for (count, severity) in [
            (9, None),
            (10, Some(Severity::Low)),
            (20, Some(Severity::High)),
            (29, Some(Severity::High)),
            (30, Some(Severity::Critical)),
        ] {
            assert_eq!(thresholds.severity(count), severity, "{count}");
        }
    }
}
