//! The records of an exchange, by the index that makes them unique.

use super::whole;
use crate::error::StoreError;
use crate::exchanges::{BEGINNING, Exchange, ExchangeStore, RecordLine};
use crate::records::{RecordSummary, StoredRecord, WHOLE_PAGE_BYTES};
use crate::sql::records::{line, summary};
use crate::sqlite::store::SqliteStore;
use crate::sqlite::values::{json_list, stage_word};
use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use monitor_model::ApplicationId;
use std::collections::{HashMap, HashSet};

const MESSAGE: &str = "
    SELECT * FROM records INDEXED BY records_by_exchange
    WHERE application_id = ?1 AND exchange_id = ?2 AND stage = ?3 AND tool_call_id = ''
        AND application_id NOT IN (SELECT id FROM removed_applications)";
/// Records by their positions, a JSON list ?1, with the beginnings of their texts.
const LINES: &str = "
    SELECT r.*, substr(b.cleaned_text, 1, ?2) AS beginning, b.message IS NOT NULL AS has_original, b.answer,
        CASE WHEN b.message = b.cleaned_text THEN b.entities END AS finds
    FROM records AS r JOIN record_bodies AS b ON b.seq = r.seq
    WHERE r.seq IN (SELECT value FROM json_each(?1))";
/// The same of the messages of an exchange.
const MESSAGES: &str = "
    SELECT r.*, substr(b.cleaned_text, 1, ?3) AS beginning, b.message IS NOT NULL AS has_original, b.answer,
        CASE WHEN b.message = b.cleaned_text THEN b.entities END AS finds
    FROM records AS r INDEXED BY records_by_exchange JOIN record_bodies AS b ON b.seq = r.seq
    WHERE r.application_id = ?1 AND r.exchange_id = ?2 AND r.stage IN ('pre', 'post') AND r.tool_call_id = ''";
/// Their texts are read only of those that are wanted.
const TOOL_CALLS: &str = "
    SELECT * FROM records JOIN record_bodies USING (seq)
    WHERE seq IN (SELECT seq FROM records INDEXED BY records_by_exchange
        WHERE application_id = ?1 AND exchange_id = ?2 AND tool_call_id <> ''
            AND application_id NOT IN (SELECT id FROM removed_applications)
        ORDER BY seq LIMIT ?3)
    ORDER BY seq";

#[async_trait]
impl ExchangeStore for SqliteStore {
    async fn message_of(&self, exchange: &Exchange) -> Result<Option<RecordSummary>, StoreError> {
        let row = sqlx::query(MESSAGE)
            .bind(exchange.application_id.0)
            .bind(&*exchange.id)
            .bind(stage_word(exchange.stage))
            .fetch_optional(&self.lookups)
            .await?;
        row.as_ref().map(summary).transpose()
    }

    async fn lines(&self, of: &[RecordSummary]) -> Result<Vec<RecordLine>, StoreError> {
        let seqs = json_list(of.iter().map(|record| record.seq));
        let own = sqlx::query(LINES).bind(seqs).bind(BEGINNING);
        let mut rows = own.fetch_all(&self.readers).await?;
        let mut seen = HashSet::new();
        for record in of {
            let Some(exchange) = record.exchange_id.as_deref() else {
                continue;
            };
            if !seen.insert((record.application_id.0, exchange)) {
                continue;
            }
            let messages = sqlx::query(MESSAGES)
                .bind(record.application_id.0)
                .bind(exchange)
                .bind(BEGINNING);
            rows.extend(messages.fetch_all(&self.readers).await?);
        }
        let lines = rows.iter().map(|row| {
            let line = line(summary(row)?, row)?;
            Ok((line.summary.seq, line))
        });
        let lines: HashMap<i64, RecordLine> = lines.collect::<Result<_, StoreError>>()?;
        Ok(lines.into_values().collect())
    }

    async fn tool_calls(
        &self,
        application: ApplicationId,
        exchange_id: &str,
        limit: u32,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        let mut rows = sqlx::query(TOOL_CALLS)
            .bind(application.0)
            .bind(exchange_id)
            .bind(limit)
            .fetch(&self.readers);
        let (mut found, mut bytes) = (Vec::new(), 0_u64);
        while let Some(row) = rows.try_next().await? {
            let record = whole(&row)?;
            bytes = bytes.saturating_add(record.summary.bytes);
            if !found.is_empty() && bytes > WHOLE_PAGE_BYTES {
                break;
            }
            found.push(record);
        }
        Ok(found)
    }
}
