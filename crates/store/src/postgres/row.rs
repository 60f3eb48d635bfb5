//! Records between the program's types and their columns.

use super::order::numbered_place;
use super::text::{exchange_key, session_key, shield, text_key, unshield};
use crate::{NewRecord, RecordSummary, StoreError, StoredRecord};
use monitor_model::{AnalysisResponse, ApplicationId, RecordId, Stage};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

/// What a record's rows and their indexes take beside its texts, on average.
const ROWS_BYTES: usize = 700;

/// A record with everything written as its columns take it.
pub(super) struct Row {
    pub(super) record: NewRecord,
    /// Its key in the ledger: that of its exchange and stage, or its own.
    pub(super) key: Uuid,
    /// Added to the time in its place, where others have taken all places of its millisecond.
    pub(super) shift_ms: i64,
    pub(super) exchange_id: Option<String>,
    pub(super) user_id: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) message: Option<String>,
    pub(super) cleaned_text: Option<String>,
    pub(super) severity: Option<String>,
    pub(super) types: String,
    pub(super) entities: String,
    pub(super) additional_parameters: String,
    pub(super) inline_rules: Option<String>,
    pub(super) answer: String,
    pub(super) bytes: i64,
}

impl Row {
    pub(super) fn new(mut record: NewRecord) -> Result<Self, StoreError> {
        let verdict = &mut record.answer;
        let cleaned_text = verdict.dataclean.cleaned_text.take();
        let entities = std::mem::take(&mut verdict.dataclean.entities);
        let owned = |text: &Option<String>| text.as_deref().map(|t| shield(t).into_owned());
        let mut row = Self {
            key: match record.exchange_id.as_deref() {
                Some(id) => exchange_key(record.application_id, record.stage, id),
                None => record.answer.request_id.0,
            },
            shift_ms: 0,
            exchange_id: owned(&record.exchange_id),
            user_id: owned(&record.user_id),
            session_id: owned(&record.session_id),
            message: owned(&record.message),
            cleaned_text: owned(&cleaned_text),
            severity: record
                .answer
                .tokens
                .usage_severity
                .map(|s| word(&s))
                .transpose()?,
            types: json(&record.answer.dataclean.types)?,
            entities: json(&entities)?,
            additional_parameters: json(&record.additional_parameters)?,
            inline_rules: record.inline_rules.as_ref().map(json).transpose()?,
            answer: json(&record.answer)?,
            bytes: 0,
            record,
        };
        row.record.message = None;
        row.bytes = row.size();
        Ok(row)
    }

    pub(super) fn place(&self, number: i64) -> i64 {
        numbered_place(self.record.created_at_ms + self.shift_ms, number)
    }

    /// The answer as the caller is told it.
    pub(super) fn whole_answer(&self) -> Result<AnalysisResponse, StoreError> {
        let mut answer = self.record.answer.clone();
        answer.dataclean.cleaned_text = self.cleaned_text.clone().map(unshield);
        answer.dataclean.entities = from_json(&self.entities)?;
        Ok(answer)
    }

    pub(super) fn user_key(&self) -> Option<i64> {
        self.user_id.as_deref().map(text_key)
    }

    pub(super) fn session_key(&self) -> Option<Uuid> {
        self.session_id.as_deref().map(session_key)
    }

    pub(super) fn flagged(&self) -> bool {
        let verdict = &self.record.answer;
        verdict.guardrails.flagged || verdict.custom_policy.flagged || verdict.dataclean.flagged
    }

    pub(super) fn total_us(&self) -> i64 {
        number(self.record.answer.timings.total_us)
    }

    pub(super) fn token_count(&self) -> i64 {
        number(self.record.answer.tokens.count)
    }

    fn size(&self) -> i64 {
        let optional = [
            &self.exchange_id,
            &self.user_id,
            &self.session_id,
            &self.message,
            &self.cleaned_text,
            &self.inline_rules,
        ];
        let always = [
            &self.types,
            &self.entities,
            &self.additional_parameters,
            &self.answer,
        ];
        let optional = optional.into_iter().flatten().map(String::len);
        let always = always.into_iter().map(String::len);
        (optional.chain(always).sum::<usize>() + ROWS_BYTES) as i64
    }
}

/// A count as its column holds it.
pub(super) fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A column's count.
pub(super) fn count(row: &PgRow, column: &str) -> Result<u64, StoreError> {
    Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or(0))
}

/// A text column.
pub(super) fn text(row: &PgRow, column: &str) -> Result<String, StoreError> {
    Ok(unshield(row.try_get(column)?))
}

/// A text column that may be null.
pub(super) fn optional(row: &PgRow, column: &str) -> Result<Option<String>, StoreError> {
    Ok(row.try_get::<Option<String>, _>(column)?.map(unshield))
}

pub(super) fn summary(row: &PgRow) -> Result<RecordSummary, StoreError> {
    let severity: Option<&str> = row.try_get("severity")?;
    Ok(RecordSummary {
        seq: row.try_get("seq")?,
        id: RecordId(row.try_get("id")?),
        application_id: ApplicationId(row.try_get("application_id")?),
        stage: stage(row)?,
        exchange_id: optional(row, "exchange_id")?,
        user_id: optional(row, "user_id")?,
        session_id: optional(row, "session_id")?,
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

/// A record out of its row in the list and the one with its texts.
pub(super) fn stored(summary: RecordSummary, body: &PgRow) -> Result<StoredRecord, StoreError> {
    let inline_rules: Option<&str> = body.try_get("inline_rules")?;
    Ok(StoredRecord {
        summary,
        message: optional(body, "message")?,
        additional_parameters: from_json(body.try_get("additional_parameters")?)?,
        inline_rules: inline_rules.map(from_json).transpose()?,
        answer: answer(body)?,
    })
}

pub(super) fn answer(body: &PgRow) -> Result<AnalysisResponse, StoreError> {
    let mut answer: AnalysisResponse = from_json(body.try_get("answer")?)?;
    answer.dataclean.cleaned_text = optional(body, "cleaned_text")?;
    answer.dataclean.entities = from_json(body.try_get("entities")?)?;
    Ok(answer)
}

pub(super) fn stage(row: &PgRow) -> Result<Stage, StoreError> {
    match row.try_get::<i16, _>("stage")? {
        0 => Ok(Stage::PreCall),
        1 => Ok(Stage::PostCall),
        _ => Err(StoreError::Unreadable("record")),
    }
}

pub(super) fn stage_number(stage: Stage) -> i16 {
    match stage {
        Stage::PreCall => 0,
        Stage::PostCall => 1,
    }
}

/// The wire's word of an enum without content.
fn word(value: &impl Serialize) -> Result<String, StoreError> {
    Ok(json(value)?.trim_matches('"').to_owned())
}

fn from_word<T: DeserializeOwned>(word: &str) -> Result<T, StoreError> {
    serde_json::from_value(word.into()).map_err(|_| StoreError::Unreadable("record"))
}

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|_| StoreError::Unreadable("record"))
}

fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::Unreadable("record"))
}
