//! Records by page and by identifier.

pub(super) mod batch;
mod bodies;
mod chain;
pub(super) mod erased_users;
mod exchanges;
pub(super) mod failure;
mod findings;
mod found_values;
mod ledger;
mod list;
pub(super) mod row;
mod sessions;
mod text_search;
mod value_insert;

use super::store::PostgresStore;
use crate::error::StoreError;
use crate::found_values::{FoundValue, SameValues, ValueFilter};
use crate::record_filter::RecordFilter;
use crate::records::{
    Insertion, NewRecord, PageInProgress, RecordPage, RecordStore, StoredRecord, WHOLE_PAGE_BYTES,
    WholePage,
};
use crate::sessions::{SessionFilter, SessionSummary};
use crate::sql::records::{session, summary};
use async_trait::async_trait;
use monitor_model::RecordId;
use row::RecordRow;

#[async_trait]
impl RecordStore for PostgresStore {
    async fn insert_new(&self, record: NewRecord) -> Result<Insertion, StoreError> {
        self.writer.insert(RecordRow::new(record)?).await
    }

    async fn page(&self, filter: &RecordFilter) -> Result<RecordPage, StoreError> {
        if let Some(text) = &filter.text {
            return self.search(filter, text).await;
        }
        // One more than the page shows tells whether a next page exists.
        let rows = self.newest(filter, "r.*", filter.limit.saturating_add(1));
        let mut page = PageInProgress::new(filter.limit);
        for row in rows.await? {
            if !page.push(summary(&row)?) {
                break;
            }
        }
        Ok(page.finish())
    }

    async fn record(&self, id: RecordId) -> Result<Option<StoredRecord>, StoreError> {
        let Some(row) = self.record_row(id).await? else {
            return Ok(None);
        };
        let found = self.with_bodies(vec![summary(&row)?]).await?;
        Ok(found.into_iter().next())
    }

    async fn whole_page(&self, filter: &RecordFilter) -> Result<WholePage, StoreError> {
        let page = self.page(filter).await?.within(WHOLE_PAGE_BYTES);
        Ok(WholePage {
            records: self.with_bodies(page.records).await?,
            next_before: page.next_before,
        })
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionSummary>, StoreError> {
        let mut query = sessions::query(filter);
        let rows = self.all(query.build().persistent(false)).await?;
        rows.iter().map(session).collect()
    }

    async fn page_by_values(&self, filter: &ValueFilter) -> Result<RecordPage, StoreError> {
        self.records_with_values(filter).await
    }

    async fn found_values(&self, seq: i64) -> Result<Vec<FoundValue>, StoreError> {
        self.values_of_record(seq).await
    }

    async fn same_values(&self, seq: i64) -> Result<Vec<SameValues>, StoreError> {
        self.same_as_record(seq).await
    }
}
