//! The SQL of records.

use super::SqliteStore;
use super::settings::{bytes, uuid};
use super::writer::{Write, Written};
use crate::model::{AnalysisResponse, ApplicationId, RecordId, Stage};
use crate::store::{
    NewRecord, RecordFilter, RecordPage, RecordStore, RecordSummary, StoreError, StoredRecord,
};
use async_trait::async_trait;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection};

/// Both tables in one trip to the connection's thread; the second finds nothing to add when the
/// first kept nothing.
const INSERT: &str = "
    INSERT INTO records (id, application_id, stage, exchange_id, user_id, session_id, created_at_ms,
        rules_version, status, flagged_guardrails, flagged_custom_policy, flagged_dataclean,
        token_count, severity, types, failed, incomplete)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
    ON CONFLICT (application_id, exchange_id, stage) WHERE exchange_id IS NOT NULL DO NOTHING;
    INSERT INTO record_bodies (seq, message, cleaned_text, entities, additional_parameters, answer)
    SELECT seq, ?18, ?19, ?20, ?21, ?22 FROM records WHERE id = ?1";

const EARLIER: &str = "
    SELECT cleaned_text, entities, answer FROM records JOIN record_bodies USING (seq)
    WHERE application_id = ?1 AND exchange_id = ?2 AND stage = ?3";

/// A record with its nested values already written as JSON, so that the writer only binds.
pub(super) struct Row {
    record: NewRecord,
    cleaned_text: Option<String>,
    types: String,
    entities: String,
    additional_parameters: String,
    answer: String,
}

impl Row {
    fn new(mut record: NewRecord) -> Result<Self, StoreError> {
        let cleaned_text = record.answer.dataclean.cleaned_text.take();
        let entities = std::mem::take(&mut record.answer.dataclean.entities);
        Ok(Self {
            types: json(&record.answer.dataclean.types)?,
            entities: json(&entities)?,
            additional_parameters: json(&record.additional_parameters)?,
            answer: json(&record.answer)?,
            cleaned_text,
            record,
        })
    }
}

#[async_trait]
impl RecordStore for SqliteStore {
    async fn insert(&self, record: NewRecord) -> Result<AnalysisResponse, StoreError> {
        let answer = record.answer.clone();
        let row = Row::new(record)?;
        Ok(
            match self.writer.write(Write::Record(Box::new(row))).await? {
                Written::New | Written::Nothing => answer,
                Written::Earlier(earlier) => *earlier,
            },
        )
    }

    async fn page(&self, filter: &RecordFilter) -> Result<RecordPage, StoreError> {
        let rows = page_query(filter).build().fetch_all(&self.readers).await?;
        let limit = filter.limit as usize;
        let records = rows
            .iter()
            .take(limit)
            .map(summary)
            .collect::<Result<Vec<_>, _>>()?;
        // One row more than asked for tells that there is a next page.
        let next_before = if rows.len() > limit {
            records.last().map(|record| record.seq)
        } else {
            None
        };
        Ok(RecordPage {
            records,
            next_before,
        })
    }

    async fn record(&self, id: RecordId) -> Result<Option<StoredRecord>, StoreError> {
        let row = sqlx::query("SELECT * FROM records JOIN record_bodies USING (seq) WHERE id = ?1")
            .bind(bytes(id.0))
            .fetch_optional(&self.readers)
            .await?;
        row.as_ref().map(stored).transpose()
    }

    async fn close(&self) {
        self.close_all().await;
    }
}

pub(super) async fn insert(
    connection: &mut SqliteConnection,
    row: Row,
) -> Result<Written, StoreError> {
    let key = (
        row.record.application_id,
        row.record.exchange_id.clone(),
        row.record.stage,
    );
    if execute_insert(connection, row).await? > 0 {
        return Ok(Written::New);
    }
    let (application_id, exchange_id, stage) = key;
    let earlier = sqlx::query(EARLIER)
        .bind(bytes(application_id.0))
        .bind(exchange_id)
        .bind(stage_word(stage))
        .fetch_one(connection)
        .await?;
    Ok(Written::Earlier(Box::new(answer(&earlier)?)))
}

async fn execute_insert(connection: &mut SqliteConnection, row: Row) -> Result<u64, StoreError> {
    let (failed, incomplete) = (row.record.failed(), row.record.incomplete());
    let record = row.record;
    let verdict = record.answer;
    let done = sqlx::query(INSERT)
        .bind(bytes(verdict.request_id.0))
        .bind(bytes(record.application_id.0))
        .bind(stage_word(record.stage))
        .bind(record.exchange_id)
        .bind(record.user_id)
        .bind(record.session_id)
        .bind(record.created_at_ms)
        .bind(record.rules_version)
        .bind(verdict.status.as_str())
        .bind(verdict.guardrails.flagged)
        .bind(verdict.custom_policy.flagged)
        .bind(verdict.dataclean.flagged)
        .bind(i64::try_from(verdict.tokens.count).unwrap_or(i64::MAX))
        .bind(
            verdict
                .tokens
                .usage_severity
                .map(|level| word(&level))
                .transpose()?,
        )
        .bind(row.types)
        .bind(failed)
        .bind(incomplete)
        .bind(record.message)
        .bind(row.cleaned_text)
        .bind(row.entities)
        .bind(row.additional_parameters)
        .bind(row.answer)
        .execute(connection)
        .await?;
    Ok(done.rows_affected())
}

fn page_query(filter: &RecordFilter) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new("SELECT * FROM records WHERE true");
    if let Some(id) = filter.application_id {
        query.push(" AND application_id = ").push_bind(bytes(id.0));
    }
    if let Some(user) = &filter.user_id {
        query.push(" AND user_id = ").push_bind(user.clone());
    }
    if let Some(session) = &filter.session_id {
        query.push(" AND session_id = ").push_bind(session.clone());
    }
    if let Some(stage) = filter.stage {
        query.push(" AND stage = ").push_bind(stage_word(stage));
    }
    if let Some(before) = filter.before {
        query.push(" AND seq < ").push_bind(before);
    }
    query
        .push(" ORDER BY seq DESC LIMIT ")
        .push_bind(i64::from(filter.limit) + 1);
    query
}

fn summary(row: &SqliteRow) -> Result<RecordSummary, StoreError> {
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
        token_count: row.try_get::<i64, _>("token_count")?.unsigned_abs(),
        severity: severity.map(from_word).transpose()?,
        types: from_json(row.try_get("types")?)?,
        failed: row.try_get("failed")?,
        incomplete: row.try_get("incomplete")?,
        blocked: false,
        total_us: 0,
    })
}

fn stored(row: &SqliteRow) -> Result<StoredRecord, StoreError> {
    Ok(StoredRecord {
        summary: summary(row)?,
        message: row.try_get("message")?,
        additional_parameters: from_json(row.try_get("additional_parameters")?)?,
        inline_rules: None,
        answer: answer(row)?,
    })
}

fn answer(row: &SqliteRow) -> Result<AnalysisResponse, StoreError> {
    let mut answer: AnalysisResponse = from_json(row.try_get("answer")?)?;
    answer.dataclean.cleaned_text = row.try_get("cleaned_text")?;
    answer.dataclean.entities = from_json(row.try_get("entities")?)?;
    Ok(answer)
}

fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::PreCall => "pre",
        Stage::PostCall => "post",
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
