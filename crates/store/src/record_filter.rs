//! What a list of records is narrowed to.

use monitor_model::{ApplicationId, Stage};

/// Which verdict a list is narrowed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictFilter {
    /// Any check flagged it.
    Flagged,
    /// No check flagged it, and it did not pass without a verdict.
    Clean,
    /// Sync mode let it pass without a verdict.
    Unchecked,
    /// Guardrails flagged it.
    Guardrails,
    /// A custom policy flagged it.
    CustomPolicy,
    /// Sensitive data was found.
    Dataclean,
    /// The application's policy blocks it.
    Blocked,
    /// The exchange failed.
    Failed,
}

impl VerdictFilter {
    /// Every verdict that a list can be narrowed to.
    pub const ALL: [Self; 8] = [
        Self::Flagged,
        Self::Clean,
        Self::Unchecked,
        Self::Guardrails,
        Self::CustomPolicy,
        Self::Dataclean,
        Self::Blocked,
        Self::Failed,
    ];

    /// The word in addresses and in the audit log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flagged => "flagged",
            Self::Clean => "clean",
            Self::Unchecked => "unchecked",
            Self::Guardrails => "guardrails",
            Self::CustomPolicy => "custom_policy",
            Self::Dataclean => "dataclean",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
        }
    }
}

/// Which calls and results of tools a list is narrowed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolFilter {
    /// Those of any tool.
    Any,
    /// Those of this tool.
    Named(String),
}

/// Which records a list shows; every condition has to hold.
#[derive(Clone, Debug, Default)]
pub struct RecordFilter {
    /// Only this application.
    pub application_id: Option<ApplicationId>,
    /// Only this end user.
    pub user_id: Option<String>,
    /// Only this session.
    pub session_id: Option<String>,
    /// Only prompts or only answers.
    pub stage: Option<Stage>,
    /// Only records received at this time or later, milliseconds since 1970.
    pub from_ms: Option<i64>,
    /// Only records received before this time, milliseconds since 1970.
    pub to_ms: Option<i64>,
    /// Only records with this verdict.
    pub verdict: Option<VerdictFilter>,
    /// Only records in which this entity type was found.
    pub kind: Option<String>,
    /// Only answers of this model.
    pub model: Option<String>,
    /// Only records that an access key of this name sent.
    pub token: Option<String>,
    /// Only records with calls or results of tools.
    pub tools: Option<ToolFilter>,
    /// Only records whose cleaned text or kept original contains this text, ignoring letter case. No
    /// character is a wildcard. A page examines a bounded number of records: it may be short, or empty,
    /// and still have a next one.
    pub text: Option<String>,
    /// Only records before this `RecordSummary::seq`.
    pub before: Option<i64>,
    /// Only records behind this `RecordSummary::seq`, and the oldest first. Not with [`RecordFilter::text`].
    pub after: Option<i64>,
    /// Records per page, from 1.
    pub limit: u32,
}
