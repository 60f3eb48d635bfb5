//! Records as JSON (CONTRACT 38): the short form for lists, the full one for single records and exports.
//! The list contains no texts.

use super::attachments::FileOfRecord;
use crate::analysis::api::schemas;
use monitor_model::{
    AnalysisResponse, ApplicationId, Entity, RecordId, Severity, Stage, Status, TypeCount,
};
use monitor_store::{Attachment, RecordSummary, StoredRecord};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::Object;

/// A record in a list.
#[derive(Serialize, ToSchema)]
#[schema(as = RecordItem)]
pub(crate) struct Item<'a> {
    /// Its position in the list.
    seq: i64,
    request_id: RecordId,
    #[schema(schema_with = record_name)]
    record: &'static str,
    stage: Stage,
    application_id: ApplicationId,
    exchange_id: Option<&'a str>,
    /// The tool call whose arguments or result it is; null for a message.
    tool: Option<Tool<'a>>,
    user_id: Option<&'a str>,
    session_id: Option<&'a str>,
    /// Milliseconds since 1970.
    created_at_ms: i64,
    /// The version of the application's rules; null if the rules came with the request.
    rules_version: Option<i64>,
    status: Status,
    flagged: Flagged,
    /// The application's policy blocks on this verdict.
    blocked: bool,
    token_count: u64,
    /// Null below the lowest threshold, or if none are set.
    usage_severity: Option<Severity>,
    types: &'a [TypeCount],
    /// The exchange failed.
    failed: bool,
    /// The text is incomplete.
    incomplete: bool,
    /// Microseconds of analysis.
    total_us: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ToolOfRecord)]
struct Tool<'a> {
    name: &'a str,
    call_id: &'a str,
}

#[derive(Serialize, ToSchema)]
#[schema(as = FlaggedChecks)]
struct Flagged {
    guardrails: bool,
    custom_policy: bool,
    dataclean: bool,
}

/// A full record.
#[derive(Serialize, ToSchema)]
#[schema(as = Record)]
pub(crate) struct Whole<'a> {
    #[serde(flatten)]
    item: Item<'a>,
    /// The original message, if the application keeps originals.
    message: Option<&'a str>,
    cleaned_text: Option<&'a str>,
    entities: &'a [Entity],
    #[schema(value_type = Object)]
    additional_parameters: &'a Map<String, Value>,
    /// The rules of the request.
    #[schema(value_type = Option<Object>)]
    inline_rules: Option<&'a Value>,
    /// The value of `additional_parameters.error`.
    #[schema(required = true)]
    error: Option<&'a Value>,
    answer: &'a AnalysisResponse,
    /// Its files; not in exports.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    attachments: Option<Vec<FileOfRecord<'a>>>,
}

fn record_name() -> Object {
    schemas::words(RecordSummary::NAMES)
}

impl<'a> Whole<'a> {
    /// A record with its files.
    pub(crate) fn with_files(record: &'a StoredRecord, files: &'a [Attachment]) -> Self {
        Self {
            attachments: Some(files.iter().map(FileOfRecord::from).collect()),
            ..Self::from(record)
        }
    }
}

impl<'a> From<&'a RecordSummary> for Item<'a> {
    fn from(record: &'a RecordSummary) -> Self {
        Self {
            seq: record.seq,
            request_id: record.id,
            record: record.name(),
            stage: record.stage,
            application_id: record.application_id,
            exchange_id: record.exchange_id.as_deref(),
            tool: record.tool.as_ref().map(|tool| Tool {
                name: &tool.name,
                call_id: &tool.call_id,
            }),
            user_id: record.user_id.as_deref(),
            session_id: record.session_id.as_deref(),
            created_at_ms: record.created_at_ms,
            rules_version: record.rules_version,
            status: record.status,
            flagged: Flagged {
                guardrails: record.flagged_guardrails,
                custom_policy: record.flagged_custom_policy,
                dataclean: record.flagged_dataclean,
            },
            blocked: record.blocked,
            token_count: record.token_count,
            usage_severity: record.severity,
            types: &record.types,
            failed: record.failed,
            incomplete: record.incomplete,
            total_us: record.total_us,
        }
    }
}

impl<'a> From<&'a StoredRecord> for Whole<'a> {
    fn from(record: &'a StoredRecord) -> Self {
        Self {
            item: Item::from(&record.summary),
            message: record.message.as_deref(),
            cleaned_text: record.answer.dataclean.cleaned_text.as_deref(),
            entities: &record.answer.dataclean.entities,
            additional_parameters: &record.additional_parameters,
            inline_rules: record.inline_rules.as_ref(),
            error: record
                .additional_parameters
                .get("error")
                .filter(|error| !error.is_null()),
            answer: &record.answer,
            attachments: None,
        }
    }
}
