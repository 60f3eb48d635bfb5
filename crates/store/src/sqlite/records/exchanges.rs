//! The records of an exchange, by the index that makes them unique.

use super::whole;
use crate::error::StoreError;
use crate::exchanges::{Exchange, ExchangeStore};
use crate::records::{RecordSummary, StoredRecord, WHOLE_PAGE_BYTES};
use crate::sql::records::summary;
use crate::sqlite::store::SqliteStore;
use crate::sqlite::values::stage_word;
use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use monitor_model::ApplicationId;

const MESSAGE: &str = "
    SELECT * FROM records INDEXED BY records_by_exchange
    WHERE application_id = ?1 AND exchange_id = ?2 AND stage = ?3 AND tool_call_id = ''
        AND application_id NOT IN (SELECT id FROM removed_applications)";
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
