//! Records and sessions between domain types and columns.

use super::columns::Columns;
use crate::error::StoreError;
use crate::records::{NewRecord, RecordSummary, StoredRecord, ToolCall};
use crate::sessions::SessionSummary;
use monitor_model::{AnalysisResponse, ApplicationId, RecordId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// A record whose nested values are serialized, so that the writer only binds them. The cleaned text and the
/// entities are taken out of the answer: they have columns of their own.
pub(crate) struct EncodedRecord {
    pub(crate) record: NewRecord,
    pub(crate) cleaned_text: Option<Arc<str>>,
    pub(crate) severity: Option<String>,
    pub(crate) types: String,
    pub(crate) entities: Arc<str>,
    pub(crate) additional_parameters: String,
    pub(crate) answer: String,
    pub(crate) inline_rules: Option<String>,
}

impl EncodedRecord {
    pub(crate) fn new(mut record: NewRecord) -> Result<Self, StoreError> {
        let cleaned_text = record.answer.dataclean.cleaned_text.take();
        let entities = std::mem::take(&mut record.answer.dataclean.entities);
        let severity = record.answer.tokens.usage_severity;
        Ok(Self {
            severity: severity.map(|level| word(&level)).transpose()?,
            types: json(&record.answer.dataclean.types)?,
            entities: json(&entities)?.into(),
            additional_parameters: json(&record.additional_parameters)?,
            answer: json(&record.answer)?,
            inline_rules: record.inline_rules.as_ref().map(json).transpose()?,
            cleaned_text,
            record,
        })
    }

    /// Bytes of the serialized values, without the message and the cleaned text.
    pub(crate) fn encoded_bytes(&self) -> usize {
        let always = [
            self.types.as_str(),
            &self.entities,
            &self.additional_parameters,
            &self.answer,
        ];
        let lengths = always.into_iter().chain(self.inline_rules.as_deref());
        lengths.map(str::len).sum()
    }
}

/// What a list shows, from the columns of `records`.
pub(crate) fn summary(row: &impl Columns) -> Result<RecordSummary, StoreError> {
    Ok(RecordSummary {
        seq: row.number("seq")?,
        id: RecordId(row.id("id")?),
        application_id: ApplicationId(row.id("application_id")?),
        stage: row.stage()?,
        exchange_id: row.optional_text("exchange_id")?,
        tool: tool_call(row)?,
        user_id: row.optional_text("user_id")?,
        session_id: row.optional_text("session_id")?,
        created_at_ms: row.number("created_at_ms")?,
        rules_version: row.optional_number("rules_version")?,
        status: from_word(row.raw("status")?)?,
        flagged_guardrails: row.flag("flagged_guardrails")?,
        flagged_custom_policy: row.flag("flagged_custom_policy")?,
        flagged_dataclean: row.flag("flagged_dataclean")?,
        token_count: row.count("token_count")?,
        severity: row.optional_raw("severity")?.map(from_word).transpose()?,
        types: from_json(row.raw("types")?)?,
        failed: row.flag("failed")?,
        incomplete: row.flag("incomplete")?,
        blocked: row.flag("blocked")?,
        total_us: row.count("total_us")?,
        bytes: row.count("bytes")?,
    })
}

/// The tool call of a record, if it is a part of one.
fn tool_call(row: &impl Columns) -> Result<Option<ToolCall>, StoreError> {
    let Some(name) = row.optional_text("tool_name")? else {
        return Ok(None);
    };
    let call_id = row.text("tool_call_id")?;
    Ok(Some(ToolCall { name, call_id }))
}

/// A whole record, from its summary and the columns of `record_bodies`.
pub(crate) fn stored(
    summary: RecordSummary,
    body: &impl Columns,
) -> Result<StoredRecord, StoreError> {
    let inline_rules = body.optional_raw("inline_rules")?;
    Ok(StoredRecord {
        summary,
        message: body.optional_text("message")?,
        additional_parameters: from_json(body.raw("additional_parameters")?)?,
        inline_rules: inline_rules.map(from_json).transpose()?,
        answer: answer(body)?,
    })
}

/// The answer to the caller, from the columns of `record_bodies`.
pub(crate) fn answer(body: &impl Columns) -> Result<AnalysisResponse, StoreError> {
    let mut answer: AnalysisResponse = from_json(body.raw("answer")?)?;
    answer.dataclean.cleaned_text = body.optional_text("cleaned_text")?.map(Arc::from);
    answer.dataclean.entities = from_json(body.raw("entities")?)?;
    Ok(answer)
}

/// A session, from the columns of `sessions`.
pub(crate) fn session(row: &impl Columns) -> Result<SessionSummary, StoreError> {
    Ok(SessionSummary {
        application_id: ApplicationId(row.id("application_id")?),
        session_id: row.text("session_id")?,
        user_id: row.optional_text("user_id")?,
        first_ms: row.number("first_ms")?,
        last_ms: row.number("last_ms")?,
        messages: row.count("messages")?,
        flagged: row.count("flagged")?,
        tokens: row.count("tokens")?,
    })
}

/// The wire name of an enum variant without content.
fn word(value: &impl Serialize) -> Result<String, StoreError> {
    Ok(json(value)?.trim_matches('"').to_owned())
}

/// The enum variant with this wire name.
pub(crate) fn from_word<T: DeserializeOwned>(word: &str) -> Result<T, StoreError> {
    serde_json::from_value(word.into()).map_err(|_| StoreError::Unreadable("record"))
}

pub(crate) fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|_| StoreError::Unreadable("record"))
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::Unreadable("record"))
}
