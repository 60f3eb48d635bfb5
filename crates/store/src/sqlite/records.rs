//! Records by page and by identifier; what else the trait asks for is in the files beside.

use super::rows::{NewRow, bytes, stored, summary};
use super::write::Write;
use super::writer::Written;
use super::{SqliteStore, filters, retention, sessions, statistics, text, traffic};
use crate::record::WHOLE_PAGE_BYTES;
use crate::{
    DayStatistics, Durable, HourTraffic, NewRecord, RecordFilter, RecordPage, RecordStore,
    RetentionLimits, SessionFilter, SessionSummary, StatisticsFilter, StoreError, StoreFacts,
    StoredRecord, WholePage,
};
use async_trait::async_trait;
use monitor_model::{AnalysisResponse, ApplicationId, RecordId, TypeCount};
use std::collections::HashMap;

const ONE: &str = "
    SELECT * FROM records JOIN record_bodies USING (seq)
    WHERE id = ?1 AND application_id NOT IN (SELECT id FROM removed_applications)";

/// The places as a JSON list.
const THESE: &str = "
    SELECT * FROM records JOIN record_bodies USING (seq)
    WHERE seq IN (SELECT value FROM json_each(?1))";

const FACTS: &str = "
    SELECT sqlite_version(), page_count * page_size FROM pragma_page_count(), pragma_page_size()";

#[async_trait]
impl RecordStore for SqliteStore {
    async fn insert(&self, record: NewRecord) -> Result<AnalysisResponse, StoreError> {
        let answer = record.answer.clone();
        let row = NewRow::new(record)?;
        Ok(
            match self.writer.write(Write::Record(Box::new(row))).await? {
                Written::Earlier(earlier) => *earlier,
                _ => answer,
            },
        )
    }

    async fn begin_insert(&self, record: NewRecord) -> Result<Durable, StoreError> {
        let row = NewRow::new(record)?;
        let outcome = self.writer.begin(Write::Record(Box::new(row))).await?;
        Ok(Box::pin(async {
            outcome.await.map_err(|_| StoreError::Closed)?.map(drop)
        }))
    }

    async fn page(&self, filter: &RecordFilter) -> Result<RecordPage, StoreError> {
        if let Some(text) = &filter.text {
            return text::page(self, filter, text).await;
        }
        let mut query = filters::query(filter, "r.*", "", i64::from(filter.limit) + 1);
        let rows = query.build().fetch_all(&self.readers).await?;
        let records = rows.iter().map(summary).collect::<Result<_, _>>()?;
        Ok(text::cut(records, filter.limit))
    }

    async fn record(&self, id: RecordId) -> Result<Option<StoredRecord>, StoreError> {
        let row = sqlx::query(ONE)
            .bind(bytes(id.0))
            .fetch_optional(&self.readers)
            .await?;
        row.as_ref().map(stored).transpose()
    }

    async fn whole_page(&self, filter: &RecordFilter) -> Result<WholePage, StoreError> {
        let page = self.page(filter).await?.within(WHOLE_PAGE_BYTES);
        let places: Vec<i64> = page.records.iter().map(|record| record.seq).collect();
        let rows = sqlx::query(THESE)
            .bind(serde_json::Value::from(places).to_string())
            .fetch_all(&self.readers)
            .await?;
        let mut whole = HashMap::with_capacity(rows.len());
        for row in &rows {
            let record = stored(row)?;
            whole.insert(record.summary.seq, record);
        }
        // One that retention has taken meanwhile is left out.
        let records = page.records.iter();
        Ok(WholePage {
            records: records.filter_map(|one| whole.remove(&one.seq)).collect(),
            next_before: page.next_before,
        })
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionSummary>, StoreError> {
        sessions::page(&self.readers, filter).await
    }

    async fn statistics(
        &self,
        filter: &StatisticsFilter,
    ) -> Result<Vec<DayStatistics>, StoreError> {
        statistics::days(&self.readers, filter).await
    }

    async fn traffic(
        &self,
        application: Option<ApplicationId>,
        hours: (i64, i64),
    ) -> Result<Vec<HourTraffic>, StoreError> {
        traffic::hours(&self.readers, application, hours).await
    }

    async fn traffic_types(
        &self,
        application: Option<ApplicationId>,
        hours: (i64, i64),
        limit: u32,
    ) -> Result<Vec<TypeCount>, StoreError> {
        traffic::types(&self.readers, application, (hours, limit)).await
    }

    fn kind(&self) -> &'static str {
        "SQLite"
    }

    async fn facts(&self) -> Result<StoreFacts, StoreError> {
        let (version, bytes) = sqlx::query_as::<_, (String, i64)>(FACTS)
            .fetch_one(&self.readers)
            .await?;
        Ok(StoreFacts {
            kind: self.kind(),
            version,
            schema: self.migrated.to,
            bytes: bytes.unsigned_abs(),
        })
    }

    async fn enforce_retention(
        &self,
        application: Option<ApplicationId>,
        limits: RetentionLimits,
        now_ms: i64,
    ) -> Result<u64, StoreError> {
        let due = retention::Due {
            application,
            limits,
            now_ms,
        };
        retention::enforce(&self.writer, due).await
    }

    async fn close(&self) {
        self.close_all().await;
    }
}
