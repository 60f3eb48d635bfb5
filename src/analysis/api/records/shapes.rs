//! Records as JSON (CONTRACT 38): the short form for lists, the full one for single records and exports.
//! The list contains no texts.

use super::attachments::FileOfRecord;
use crate::analysis::api::schemas;
use monitor_model::{
    Amount, AnalysisResponse, ApplicationId, CheckedPart, Entity, Priced, RecordId, Severity,
    Stage, Status, TypeCount,
};
use monitor_store::{Attachment, RecordSummary, StoredRecord, Usage};
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
    /// Sync mode let it pass without a verdict; false for records from before this field.
    unchecked: bool,
    token_count: u64,
    /// Null below the lowest threshold, or if none are set.
    usage_severity: Option<Severity>,
    types: &'a [TypeCount],
    /// The exchange failed.
    failed: bool,
    /// The text is incomplete.
    incomplete: bool,
    /// The model that answered, or that was asked; null if the record is not the answer of a model.
    model: Option<&'a str>,
    /// The tokens of the call; null if the record is not the answer of a model.
    usage: Option<TokensOfCall>,
    /// What the call cost by the prices of that time, a decimal number; null if it is not known, and where the record
    /// repeats a stored answer (`stored_response`).
    #[schema(value_type = Option<String>)]
    cost: Option<Amount>,
    /// The currency of the cost.
    currency: Option<&'a str>,
    /// How the cost is known: from the model server's count of tokens, from one of the recorded texts, or not at all,
    /// because the model had no price or nobody counted the tokens. Null if the record is not the answer of a model, or
    /// repeats a stored one: it is in no sum.
    priced: Option<Priced>,
    /// The model server that answered: its name among the gateway's `upstreams`, or its address. Null, as the four
    /// fields behind it, where the record's sender did not tell it (`additional_parameters.call`).
    provider: Option<&'a str>,
    /// The HTTP status of the answer.
    http_status: Option<u16>,
    /// Milliseconds from the head of the request to the end of the answer.
    latency_ms: Option<u64>,
    /// Milliseconds from the head of the request to the first byte of the answer.
    first_byte_ms: Option<u64>,
    /// The address of the client, if the gateway records it.
    client_address: Option<String>,
    /// The name that the access key of the record's sender had then; null for records from before this field.
    token: Option<&'a str>,
    /// Microseconds of analysis.
    total_us: u64,
}

/// The tokens of a call; null what nobody counted.
#[derive(Serialize, ToSchema)]
struct TokensOfCall {
    prompt_tokens: Option<u64>,
    /// Of the prompt, read from the model server's cache.
    cached_tokens: Option<u64>,
    /// Of the prompt, written to its cache.
    cache_write_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    /// Of the completion, used for reasoning.
    reasoning_tokens: Option<u64>,
    total_tokens: Option<u64>,
    /// Counted in the recorded texts, since the model server reported none.
    estimated: bool,
}

impl From<Usage> for TokensOfCall {
    fn from(usage: Usage) -> Self {
        let tokens = usage.tokens;
        Self {
            prompt_tokens: tokens.prompt_tokens,
            cached_tokens: tokens.cached_tokens,
            cache_write_tokens: tokens.cache_write_tokens,
            completion_tokens: tokens.completion_tokens,
            reasoning_tokens: tokens.reasoning_tokens,
            total_tokens: tokens.total_tokens,
            estimated: usage.estimated,
        }
    }
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
    /// The calls of tools in an answer that a gateway relayed.
    tool_calls: &'a [CheckedPart],
    /// The results of tools that are new in a prompt.
    tool_results: &'a [CheckedPart],
    /// Calls or results beyond those that a record has.
    tools_omitted: u32,
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
        let (cost, call) = (record.cost.as_ref(), record.call.as_ref());
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
            unchecked: record.unchecked,
            token_count: record.token_count,
            usage_severity: record.severity,
            types: &record.types,
            failed: record.failed,
            incomplete: record.incomplete,
            model: cost.and_then(|cost| cost.model.as_deref()),
            usage: cost.map(|cost| cost.usage.into()),
            cost: cost.and_then(|cost| cost.amount),
            currency: cost.and_then(|cost| cost.currency.as_deref()),
            priced: cost.and_then(|cost| cost.priced),
            provider: call.and_then(|call| call.provider.as_deref()),
            http_status: call.and_then(|call| call.status),
            latency_ms: call.and_then(|call| call.latency_ms),
            first_byte_ms: call.and_then(|call| call.first_byte_ms),
            client_address: call
                .and_then(|call| call.client_address)
                .map(|address| address.to_string()),
            token: record.token.as_deref(),
            total_us: record.total_us,
        }
    }
}

impl<'a> From<&'a StoredRecord> for Whole<'a> {
    fn from(record: &'a StoredRecord) -> Self {
        let parts = &record.tool_parts;
        let of = |stage| match record.summary.stage == stage {
            true => parts.parts.as_slice(),
            false => &[],
        };
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
            tool_calls: of(Stage::PostCall),
            tool_results: of(Stage::PreCall),
            tools_omitted: parts.omitted,
            attachments: None,
        }
    }
}
