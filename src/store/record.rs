//! Analysis records as the rest of the program sees them: one type going in, a short one for lists
//! and a whole one coming out.

use crate::model::{AnalysisResponse, ApplicationId, RecordId, Severity, Stage, Status, TypeCount};
use serde_json::{Map, Value};

/// A record to keep. Its id is the answer's `request_id`.
#[derive(Clone, Debug)]
pub struct NewRecord {
    /// The application it belongs to.
    pub application_id: ApplicationId,
    /// `user_prompt` or `llm_answer`.
    pub stage: Stage,
    /// `additional_parameters.request_id`: the exchange, and the key of idempotency (CONTRACT 5, 23).
    pub exchange_id: Option<String>,
    /// `additional_parameters.user_id`.
    pub user_id: Option<String>,
    /// `additional_parameters.session_id`.
    pub session_id: Option<String>,
    /// When it was received, milliseconds since 1970.
    pub created_at_ms: i64,
    /// Version of the application's rules that judged it (CONTRACT 38).
    pub rules_version: i64,
    /// The message itself, only where the application keeps originals.
    pub message: Option<String>,
    /// As given, with keys this program does not know.
    pub additional_parameters: Map<String, Value>,
    /// What the caller was told.
    pub answer: AnalysisResponse,
}

impl NewRecord {
    /// Whether the exchange failed (CONTRACT 17).
    pub fn failed(&self) -> bool {
        self.additional_parameters
            .get("error")
            .is_some_and(|error| !error.is_null())
    }

    /// Whether the text is only a part (CONTRACT 17).
    pub fn incomplete(&self) -> bool {
        self.additional_parameters.get("incomplete") == Some(&Value::Bool(true))
    }
}

/// What a list shows of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordSummary {
    /// Place in the store's order; the cursor of [`RecordFilter::before`].
    pub seq: i64,
    /// The record.
    pub id: RecordId,
    /// The application it belongs to.
    pub application_id: ApplicationId,
    /// `user_prompt` or `llm_answer`.
    pub stage: Stage,
    /// The exchange.
    pub exchange_id: Option<String>,
    /// The end user.
    pub user_id: Option<String>,
    /// The session.
    pub session_id: Option<String>,
    /// When it was received, milliseconds since 1970.
    pub created_at_ms: i64,
    /// Version of the rules that judged it.
    pub rules_version: i64,
    /// §2.9 `status`.
    pub status: Status,
    /// §2.9 `guardrails.flagged`.
    pub flagged_guardrails: bool,
    /// §2.9 `custom_policy.flagged`.
    pub flagged_custom_policy: bool,
    /// §2.9 `dataclean.flagged`.
    pub flagged_dataclean: bool,
    /// §2.9 `tokens.count`.
    pub token_count: u64,
    /// §2.9 `tokens.usage_severity`.
    pub severity: Option<Severity>,
    /// §2.9 `dataclean.types`.
    pub types: Vec<TypeCount>,
    /// The exchange failed.
    pub failed: bool,
    /// The text is only a part.
    pub incomplete: bool,
}

/// A whole record.
#[derive(Clone, Debug)]
pub struct StoredRecord {
    /// What the list shows.
    pub summary: RecordSummary,
    /// The original message, where it was kept.
    pub message: Option<String>,
    /// As given.
    pub additional_parameters: Map<String, Value>,
    /// What the caller was told.
    pub answer: AnalysisResponse,
}

/// Which records a list shows.
#[derive(Clone, Debug)]
pub struct RecordFilter {
    /// Only this application.
    pub application_id: Option<ApplicationId>,
    /// Only this end user.
    pub user_id: Option<String>,
    /// Only this session.
    pub session_id: Option<String>,
    /// Only prompts or only answers.
    pub stage: Option<Stage>,
    /// Only records before this [`RecordSummary::seq`].
    pub before: Option<i64>,
    /// Records per page.
    pub limit: u32,
}

/// One page of a list.
#[derive(Clone, Debug)]
pub struct RecordPage {
    /// Newest first.
    pub records: Vec<RecordSummary>,
    /// [`RecordFilter::before`] of the next page; None when this is the last one.
    pub next_before: Option<i64>,
}
