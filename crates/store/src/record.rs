//! Analysis records as the rest of the program sees them: one type going in, a short one for lists
//! and a whole one coming out.

use super::ChainEntry;
use monitor_model::{
    AnalysisResponse, ApplicationId, RecordId, Severity, Stage, Status, TypeCount,
};
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
    /// Version of the application that judged it (CONTRACT 38); None where the rules came with the
    /// request (§4.4).
    pub rules_version: Option<i64>,
    /// The rules that came with the request, as JSON, so that the verdict can be explained later.
    pub inline_rules: Option<Value>,
    /// Whether the application's policy blocks on this verdict (CONTRACT 12 and 15).
    pub blocked: bool,
    /// The message itself, only where the application keeps originals.
    pub message: Option<String>,
    /// As given, with keys this program does not know.
    pub additional_parameters: Map<String, Value>,
    /// Its number at the gateway that registered it (CONTRACT 5).
    pub chain: Option<ChainEntry>,
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
    /// Place in the store's order, which is that of receipt or that of insertion: they differ for
    /// records handed over late and between servers whose clocks do. The cursor of
    /// [`RecordFilter::before`].
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
    /// Version of the application that judged it; None where the rules came with the request.
    pub rules_version: Option<i64>,
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
    /// The application's policy blocks on this verdict.
    pub blocked: bool,
    /// Microseconds the analysis took.
    pub total_us: u64,
    /// What the store counts for it, bytes: its texts and lists, and what else it adds.
    pub bytes: u64,
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
    /// The rules that came with the request.
    pub inline_rules: Option<Value>,
    /// What the caller was told.
    pub answer: AnalysisResponse,
}

/// Which verdict a list is narrowed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictFilter {
    /// Any check flagged it.
    Flagged,
    /// No check flagged it.
    Clean,
    /// Guardrails flagged it.
    Guardrails,
    /// A custom policy flagged it.
    CustomPolicy,
    /// Sensitive data was found.
    Dataclean,
    /// The application's policy blocks on it.
    Blocked,
    /// The exchange failed.
    Failed,
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
    /// Only records received before this time.
    pub to_ms: Option<i64>,
    /// Only records with this verdict.
    pub verdict: Option<VerdictFilter>,
    /// Only records in which this entity type was found.
    pub kind: Option<String>,
    /// Only records whose cleaned text or kept original holds this text, in any letter case. No
    /// character has a meaning of its own. A page looks at a bounded number of records and may
    /// therefore be short, or empty, and still have a next one.
    pub text: Option<String>,
    /// Only records before this [`RecordSummary::seq`].
    pub before: Option<i64>,
    /// Records per page, from 1.
    pub limit: u32,
}

/// One page of a list.
#[derive(Clone, Debug)]
pub struct RecordPage {
    /// Newest first.
    pub records: Vec<RecordSummary>,
    /// [`RecordFilter::before`] of the next page; None when this is the last one.
    pub next_before: Option<i64>,
    /// How far a search for a text looked; None without one, and where there was nothing to look at.
    pub searched: Option<Searched>,
}

/// What a page of a search for a text looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searched {
    /// Records.
    pub records: u32,
    /// When the last of them was received, milliseconds since 1970.
    pub until_ms: i64,
}

/// Bytes of whole records that a page holds, at most; one record it holds in any case.
pub(super) const WHOLE_PAGE_BYTES: u64 = 16 << 20;

impl RecordPage {
    /// Its first records, as many as take these bytes together, and one in any case.
    pub(super) fn within(mut self, most: u64) -> Self {
        let mut bytes = 0_u64;
        let fit = self.records.iter().take_while(|record| {
            bytes = bytes.saturating_add(record.bytes);
            bytes <= most
        });
        let fit = fit.count().max(1);
        if fit < self.records.len() {
            self.records.truncate(fit);
            self.next_before = self.records.last().map(|record| record.seq);
        }
        self
    }
}

/// Records of one session, put together (CONTRACT 5 `session_id`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// The application it belongs to: equal names of two applications are two sessions.
    pub application_id: ApplicationId,
    /// As the client named it.
    pub session_id: String,
    /// The user of its latest record that names one.
    pub user_id: Option<String>,
    /// When its first record was received, milliseconds since 1970.
    pub first_ms: i64,
    /// When its latest record was received.
    pub last_ms: i64,
    /// Records, prompts and answers alike.
    pub messages: u64,
    /// Records that any check flagged.
    pub flagged: u64,
    /// Tokens of all its records.
    pub tokens: u64,
}

/// Which sessions a list shows.
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    /// Only this application.
    pub application_id: Option<ApplicationId>,
    /// Only sessions of this end user.
    pub user_id: Option<String>,
    /// The last session of the page before: its `last_ms`, application and name.
    pub before: Option<(i64, ApplicationId, String)>,
    /// Sessions per page, from 1.
    pub limit: u32,
}

/// Which days of statistics a page shows.
#[derive(Clone, Debug)]
pub struct StatisticsFilter {
    /// Only this application.
    pub application_id: Option<ApplicationId>,
    /// The first and the last day, days since 1970.
    pub days: (i64, i64),
    /// The last entry of the page before: its day, application and stage.
    pub after: Option<(i64, ApplicationId, Stage)>,
    /// Entries per page, from 1.
    pub limit: u32,
}

impl StatisticsFilter {
    /// Everything of these days, on one page.
    pub fn whole(days: (i64, i64)) -> Self {
        Self {
            application_id: None,
            days,
            after: None,
            limit: u32::MAX,
        }
    }
}

/// What one application did on one day (UTC), one stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayStatistics {
    /// Days since 1970-01-01.
    pub day: i64,
    /// The application.
    pub application_id: ApplicationId,
    /// Prompts or answers.
    pub stage: Stage,
    /// Records.
    pub messages: u64,
    /// Records that guardrails flagged.
    pub flagged_guardrails: u64,
    /// Records that a custom policy flagged.
    pub flagged_custom_policy: u64,
    /// Records with sensitive data.
    pub flagged_dataclean: u64,
    /// Records that the application's policy blocks on.
    pub blocked: u64,
    /// Records of failed exchanges.
    pub failed: u64,
    /// Tokens.
    pub tokens: u64,
    /// Analysis time of all records together, microseconds.
    pub total_us: u64,
    /// The longest analysis, microseconds.
    pub max_us: u64,
    /// Finds by entity type, by name.
    pub types: Vec<TypeCount>,
}

/// How long records are kept (CONTRACT 38); None is without that bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionLimits {
    /// Days since it was received.
    pub days: Option<u32>,
    /// Records of the store, or of the application.
    pub rows: Option<u64>,
    /// Bytes of their texts and lists together.
    pub bytes: Option<u64>,
}
