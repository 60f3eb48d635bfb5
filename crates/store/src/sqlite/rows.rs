//! Records as their columns hold them, and back.

use crate::{NewRecord, RecordSummary, StoreError, StoredRecord};
use monitor_model::{AnalysisResponse, ApplicationId, RecordId, Stage};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

/// A record with its nested values already written as JSON, so that the writer only binds.
pub(super) struct NewRow {
    pub(super) record: NewRecord,
    pub(super) cleaned_text: Option<String>,
    pub(super) severity: Option<String>,
    pub(super) types: String,
    pub(super) entities: String,
    pub(super) additional_parameters: String,
    pub(super) answer: String,
    pub(super) inline_rules: Option<String>,
}

impl NewRow {
    pub(super) fn new(mut record: NewRecord) -> Result<Self, StoreError> {
        let cleaned_text = record.answer.dataclean.cleaned_text.take();
        let entities = std::mem::take(&mut record.answer.dataclean.entities);
        let severity = record.answer.tokens.usage_severity;
        Ok(Self {
            severity: severity.map(|level| word(&level)).transpose()?,
            types: json(&record.answer.dataclean.types)?,
            entities: json(&entities)?,
            additional_parameters: json(&record.additional_parameters)?,
            answer: json(&record.answer)?,
            inline_rules: record.inline_rules.as_ref().map(json).transpose()?,
            cleaned_text,
            record,
        })
    }

    /// Bytes of its texts and lists.
    pub(super) fn bytes(&self) -> i64 {
        let optional = [&self.record.message, &self.cleaned_text, &self.inline_rules];
        let texts = [
            &self.types,
            &self.entities,
            &self.additional_parameters,
            &self.answer,
        ];
        let lengths = optional.into_iter().flatten().chain(texts).map(String::len);
        whole(lengths.sum::<usize>() as u64)
    }
}

/// What a list shows, out of the columns of `records`.
pub(super) fn summary(row: &SqliteRow) -> Result<RecordSummary, StoreError> {
    let severity: Option<&str> = row.try_get("severity")?;
    Ok(RecordSummary {
        seq: row.try_get("seq")?,
        id: RecordId(uuid(row.try_get("id")?)?),
        application_id: ApplicationId(uuid(row.try_get("application_id")?)?),
        stage: from_word(row.try_get("stage")?)?,
        exchange_id: row.try_get("exchange_id")?,
        user_id: row.try_get("user_id")?,
        session_id: row.try_get("session_id")?,
        created_at_ms: row.try_get("created_at_ms")?,
        rules_version: row.try_get("rules_version")?,
        status: from_word(row.try_get("status")?)?,
        flagged_guardrails: row.try_get("flagged_guardrails")?,
        flagged_custom_policy: row.try_get("flagged_custom_policy")?,
        flagged_dataclean: row.try_get("flagged_dataclean")?,
        token_count: count(row, "token_count")?,
        severity: severity.map(from_word).transpose()?,
        types: from_json(row.try_get("types")?)?,
        failed: row.try_get("failed")?,
        incomplete: row.try_get("incomplete")?,
        blocked: row.try_get("blocked")?,
        total_us: count(row, "total_us")?,
        bytes: count(row, "bytes")?,
    })
}

/// A whole record, out of the columns of `records` and `record_bodies`.
pub(super) fn stored(row: &SqliteRow) -> Result<StoredRecord, StoreError> {
    let inline_rules: Option<&str> = row.try_get("inline_rules")?;
    Ok(StoredRecord {
        summary: summary(row)?,
        message: row.try_get("message")?,
        additional_parameters: from_json(row.try_get("additional_parameters")?)?,
        inline_rules: inline_rules.map(from_json).transpose()?,
        answer: answer(row)?,
    })
}

/// What the caller was told, out of the columns of `record_bodies`.
pub(super) fn answer(row: &SqliteRow) -> Result<AnalysisResponse, StoreError> {
    let mut answer: AnalysisResponse = from_json(row.try_get("answer")?)?;
    answer.dataclean.cleaned_text = row.try_get("cleaned_text")?;
    answer.dataclean.entities = from_json(row.try_get("entities")?)?;
    Ok(answer)
}

pub(super) fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::PreCall => "pre",
        Stage::PostCall => "post",
    }
}

/// A word of the wire as its enum.
pub(super) fn from_word<T: DeserializeOwned>(word: &str) -> Result<T, StoreError> {
    serde_json::from_value(word.into()).map_err(|_| StoreError::Unreadable("record"))
}

/// A number that is never negative.
pub(super) fn count(row: &SqliteRow, column: &str) -> Result<u64, StoreError> {
    Ok(row.try_get::<i64, _>(column)?.unsigned_abs())
}

/// No count is larger: sums of millions of them stay within a column's range.
const LARGEST: u64 = 1 << 40;

/// A count as a column holds it.
pub(super) fn whole(number: u64) -> i64 {
    number.min(LARGEST) as i64
}

/// A UUID as its column holds it.
pub(super) fn bytes(id: Uuid) -> Vec<u8> {
    id.as_bytes().to_vec()
}

/// A UUID out of its column.
pub(super) fn uuid(bytes: &[u8]) -> Result<Uuid, StoreError> {
    Uuid::from_slice(bytes).map_err(|_| StoreError::Unreadable("identifier"))
}

/// The wire's word of an enum without content.
fn word(value: &impl Serialize) -> Result<String, StoreError> {
    Ok(json(value)?.trim_matches('"').to_owned())
}

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|_| StoreError::Unreadable("record"))
}

fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::Unreadable("record"))
}
