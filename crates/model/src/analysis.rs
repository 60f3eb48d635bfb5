//! Request and response of the analysis API (§2.7, §2.9, CONTRACT 28 and 37).

use super::ids::RecordId;
use super::warning::Warning;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

/// Value of `schema_version` (CONTRACT 27).
pub const SCHEMA_VERSION: &str = "2.0.0";

/// `pre`: a user's message, before the model is called; `post`: the model's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
pub enum Stage {
    /// The user's message, registered before the upstream call: record `user_prompt`.
    #[serde(rename = "pre")]
    PreCall,
    /// The model's answer, registered after it: record `llm_answer`.
    #[serde(rename = "post")]
    PostCall,
}

impl Stage {
    /// The record's name.
    pub fn record_name(self) -> &'static str {
        match self {
            Self::PreCall => "user_prompt",
            Self::PostCall => "llm_answer",
        }
    }

    /// The stage's word (§3 "Replacement stage", CONTRACT 15).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreCall => "pre_call",
            Self::PostCall => "post_call",
        }
    }

    /// The endpoint of §4.2.
    pub fn path(self) -> &'static str {
        match self {
            Self::PreCall => "/process_request/",
            Self::PostCall => "/process_response/",
        }
    }
}

/// How far the analysis came (§2.9 `status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Every stage ran.
    Success,
    /// At least one stage failed, at least one ran.
    PartialSuccess,
    /// No stage ran.
    Error,
}

impl Status {
    /// The word used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::PartialSuccess => "partial_success",
            Self::Error => "error",
        }
    }
}

/// How close the tokens came to a limit (§2.9 `tokens.usage_severity`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// At or above the low threshold.
    Low,
    /// At or above the high threshold.
    High,
    /// At or above the critical threshold.
    Critical,
}

impl Severity {
    /// The word used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// The verdict on one message (§2.9, with the additive fields of CONTRACT 37).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Analysis)]
pub struct AnalysisResponse {
    /// The record of the message.
    pub request_id: RecordId,
    /// The version of this shape.
    #[schema(schema_with = schema_version)]
    pub schema_version: String,
    /// Whether every stage ran.
    pub status: Status,
    /// One entry for each stage that failed, naming it.
    pub errors: Vec<String>,
    /// Token count and its severity.
    pub tokens: TokensReport,
    /// What the built-in policies found.
    pub guardrails: GuardrailsReport,
    /// What the custom policies decided.
    pub custom_policy: CustomPolicyReport,
    /// The sensitive data that was found and masked.
    pub dataclean: DatacleanReport,
    /// Things the caller should know that are no errors.
    #[serde(default)]
    #[schema(required = true)]
    pub warnings: Vec<Warning>,
    /// The time each stage took, in microseconds.
    #[serde(default)]
    #[schema(required = true)]
    pub timings: Timings,
}

impl AnalysisResponse {
    /// Takes the parts away that grow with the message: where the findings stand, and the message without them.
    pub fn make_compact(&mut self) {
        self.dataclean.entities = Vec::new();
        self.dataclean.cleaned_text = None;
    }
}

/// Tokens of the message and the limits they are held to (§2.9 `tokens`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokensReport {
    /// Tokens of the message.
    pub count: u64,
    /// Null below the lowest threshold, or if none are set.
    pub usage_severity: Option<Severity>,
}

/// Scores of the built-in policies (§2.9 `guardrails`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GuardrailsReport {
    /// A built-in policy is violated.
    pub flagged: bool,
    /// The highest category score, 0 to 1.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 1)]
    pub score: Option<f64>,
    /// Categories with their scores, from 0.1 on.
    #[serde(default)]
    #[schema(required = true)]
    pub categories: Vec<CategoryScore>,
    /// The highest scores below those, so that with the categories there are three; left out if there is none above 0.
    // Another backend, and a verdict of before, does not have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 3)]
    pub low_scores: Vec<LowScore>,
}

impl GuardrailsReport {
    /// Scores of a report: the categories and the low scores together.
    pub const SCORES: usize = 3;

    /// Leaves out the low scores of categories that have their entry, and those beyond [`Self::SCORES`].
    pub fn settle_low_scores(&mut self) {
        let (categories, low) = (&self.categories, &mut self.low_scores);
        low.retain(|low| !categories.iter().any(|known| known.name == low.name));
        low.truncate(Self::SCORES.saturating_sub(categories.len()));
    }
}

/// A score of one category that is too low for an entry among the categories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LowScore {
    /// The category's name.
    pub name: String,
    /// Above 0, below 0.1.
    #[schema(minimum = 0, maximum = 1)]
    pub score: f64,
    /// The score from which it is flagged.
    #[schema(minimum = 0, maximum = 1)]
    pub threshold: f64,
}

/// The score of one category.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CategoryScore {
    /// The category's name.
    pub name: String,
    /// 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    pub score: f64,
    /// Whether it has reached its threshold.
    pub flagged: bool,
    /// The score from which it is flagged.
    // Another backend may not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(required = true, nullable = false, minimum = 0, maximum = 1)]
    pub threshold: Option<f64>,
    /// A code for the reason, never a part of the message.
    // Another backend may not say it: then it is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schema(required = true)]
    pub reason: String,
}

/// Decisions of the custom policies (§2.9 `custom_policy`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CustomPolicyReport {
    /// A custom policy is violated.
    pub flagged: bool,
    /// One ruling per policy.
    #[serde(default)]
    #[schema(required = true)]
    pub policies: Vec<PolicyRuling>,
}

/// One custom policy's ruling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PolicyRuling {
    /// The policy's name.
    pub name: String,
    /// Whether the message violates it.
    pub flagged: bool,
    /// The judge's reason, without the message's text.
    pub reason: String,
}

/// Sensitive data and the text without it (§2.9 `dataclean`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DatacleanReport {
    /// Sensitive data was found.
    pub flagged: bool,
    /// The message after masking or removal; null only if the stage did not run.
    // Shared: the answer and the record that is stored have one copy of a long text.
    #[schema(value_type = Option<String>)]
    pub cleaned_text: Option<Arc<str>>,
    /// Count per entity type, in the order of first appearance.
    pub types: Vec<TypeCount>,
    /// Where they stand in the message.
    #[serde(default)]
    #[schema(required = true)]
    pub entities: Vec<Entity>,
}

/// How often one type was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TypeCount {
    /// A pattern's name.
    #[serde(rename = "type")]
    pub kind: String,
    /// How often it was found.
    #[schema(minimum = 1)]
    pub count: u64,
}

/// A find: its type and position, never its text (CONTRACT 37).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Entity {
    /// A pattern's name.
    // Shared by all finds of one type: a message may have a hundred thousand.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub kind: Arc<str>,
    /// First Unicode code point.
    pub start: usize,
    /// One past the last Unicode code point.
    pub end: usize,
}

/// Microseconds spent per stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Timings {
    /// Microseconds spent on sensitive data.
    #[serde(default)]
    #[schema(required = true)]
    pub dataclean_us: u64,
    /// Time added by built-in policies; for long messages they run in parallel with sensitive data.
    #[serde(default)]
    #[schema(required = true)]
    pub guardrails_us: u64,
    /// Microseconds spent on counting tokens.
    #[serde(default)]
    #[schema(required = true)]
    pub tokens_us: u64,
    /// In parallel with the others, including the wait for the judge.
    #[serde(default)]
    #[schema(required = true)]
    pub custom_policy_us: u64,
    /// The whole analysis.
    #[serde(default)]
    #[schema(required = true)]
    pub total_us: u64,
}

fn schema_version() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("The version of this shape."))
        .enum_values(Some([SCHEMA_VERSION]))
        .build()
}
