//! Records by page and by identifier.

pub(super) mod chain;
mod earlier;
mod erased_users;
mod exchanges;
pub(super) mod filters;
mod findings;
mod found_values;
pub(super) mod insert;
mod portions;
pub(super) mod sessions;
mod text_search;

use super::store::SqliteStore;
use super::values::json_list;
use crate::error::StoreError;
use crate::found_values::{FoundValue, SameValues, ValueFilter};
use crate::record_filter::RecordFilter;
use crate::records::{
    Durable, Insertion, NewRecord, PageInProgress, RecordPage, RecordStore, StoredRecord,
    WHOLE_PAGE_BYTES, WholePage,
};
use crate::sessions::{SessionFilter, SessionSummary};
use crate::sql::records::{EncodedRecord, stored, summary};
use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use monitor_model::RecordId;
use sqlx::sqlite::SqliteRow;
use std::collections::HashMap;

const ONE: &str = "
    SELECT * FROM records JOIN record_bodies USING (seq)
    WHERE id = ?1 AND application_id NOT IN (SELECT id FROM removed_applications)";

/// By their positions, a JSON list.
const THESE: &str = "
    SELECT * FROM records JOIN record_bodies USING (seq)
    WHERE seq IN (SELECT value FROM json_each(?1))";

#[async_trait]
impl RecordStore for SqliteStore {
    async fn insert_new(&self, record: NewRecord) -> Result<Insertion, StoreError> {
        self.writer.insert(EncodedRecord::new(record)?).await
    }

    async fn begin_insert(&self, record: NewRecord) -> Result<Durable, StoreError> {
        let record = EncodedRecord::new(record)?;
        let outcome = self.writer.begin_insert(record).await?;
        Ok(Box::pin(async {
            outcome.await.map_err(|_| StoreError::Closed)?
        }))
    }

    async fn page(&self, filter: &RecordFilter) -> Result<RecordPage, StoreError> {
        if let Some(text) = &filter.text {
            return text_search::page(self, filter, text).await;
        }
        let mut query = filters::query(filter, "r.*", "", i64::from(filter.limit) + 1);
        let mut rows = query.build().fetch(&self.readers);
        let mut page = PageInProgress::new(filter.limit);
        while let Some(row) = rows.try_next().await? {
            if !page.push(summary(&row)?) {
                break;
            }
        }
        Ok(page.finish())
    }

    async fn record(&self, id: RecordId) -> Result<Option<StoredRecord>, StoreError> {
        let row = sqlx::query(ONE)
            .bind(id.0)
            .fetch_optional(&self.readers)
            .await?;
        row.as_ref().map(whole).transpose()
    }

    async fn whole_page(&self, filter: &RecordFilter) -> Result<WholePage, StoreError> {
        let page = self.page(filter).await?.within(WHOLE_PAGE_BYTES);
        let rows = sqlx::query(THESE)
            .bind(json_list(page.records.iter().map(|record| record.seq)))
            .fetch_all(&self.readers)
            .await?;
        let mut found = HashMap::with_capacity(rows.len());
        for row in &rows {
            let record = whole(row)?;
            found.insert(record.summary.seq, record);
        }
        // A record that retention removed in between is left out.
        let records = page.records.iter();
        Ok(WholePage {
            records: records.filter_map(|one| found.remove(&one.seq)).collect(),
            next_before: page.next_before,
        })
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionSummary>, StoreError> {
        sessions::page(&self.readers, filter).await
    }

    async fn page_by_values(&self, filter: &ValueFilter) -> Result<RecordPage, StoreError> {
        found_values::page(&self.readers, filter).await
    }

    async fn found_values(&self, seq: i64) -> Result<Vec<FoundValue>, StoreError> {
        found_values::of_record(&self.readers, seq).await
    }

    async fn same_values(&self, seq: i64) -> Result<Vec<SameValues>, StoreError> {
        found_values::same(&self.readers, seq).await
    }
}

/// A record from one row of both tables.
fn whole(row: &SqliteRow) -> Result<StoredRecord, StoreError> {
    stored(summary(row)?, row)
}
