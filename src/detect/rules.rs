//! What to look for and what to do with it: the dataclean part of §2.8 and the encoding of
//! CONTRACT 24, as the engine takes them. Where rules are stored and who may change them stands elsewhere.

use super::dataclean::PatternName;
use super::tokens::Encoding;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The rules of one direction of one application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// None: the stage is switched off (§2.8 `dataclean.enabled`).
    pub dataclean: Option<DatacleanRules>,
    /// The vocabulary tokens are counted with.
    pub encoding: Encoding,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            dataclean: Some(DatacleanRules::default()),
            encoding: Encoding::default(),
        }
    }
}

/// Sensitive-data handling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DatacleanRules {
    /// The predefined patterns to look for.
    pub patterns: Vec<PatternName>,
    /// What happens to a find.
    pub clean_type: CleanType,
    /// How a mask looks; used by MASKING only.
    pub mask_style: MaskStyle,
}

impl Default for DatacleanRules {
    /// Every pattern that has a detector, masked by labels (CONTRACT 25, 27).
    fn default() -> Self {
        Self {
            patterns: PatternName::available().collect(),
            clean_type: CleanType::default(),
            mask_style: MaskStyle::default(),
        }
    }
}

/// §2.8 `clean_type`. Read in any letter case, written in upper case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum CleanType {
    /// Replace finds by a mask.
    #[default]
    Masking,
    /// Remove them.
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
    /// `[EMAILS]`.
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

/// A word that is none of those a field takes. Its text names the field, the word, and the choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    field: &'static str,
    given: String,
    choices: Vec<&'static str>,
}

impl UnknownName {
    /// Finds the value whose name is `text`, in any letter case.
    pub(crate) fn look_up<T: Copy, const N: usize>(
        field: &'static str,
        text: &str,
        all: [T; N],
        name: fn(T) -> &'static str,
    ) -> Result<T, Self> {
        let given = text.trim();
        let same = |value: &T| name(*value).eq_ignore_ascii_case(given);
        all.into_iter()
            .find(same)
            .ok_or_else(|| Self::new(field, text, all.map(name).to_vec()))
    }

    /// Says that `given` is none of `choices`.
    pub(crate) fn new(field: &'static str, given: &str, choices: Vec<&'static str>) -> Self {
        Self {
            field,
            given: given.to_owned(),
            choices,
        }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown {} `{}`; one of {}",
            self.field,
            self.given,
            self.choices.join(", ")
        )
    }
}

impl std::error::Error for UnknownName {}

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
    fn an_unknown_name_says_what_would_do() {
        let error = "stars".parse::<MaskStyle>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown mask_style `stars`; one of label, x, length, pseudonym"
        );
    }
}
