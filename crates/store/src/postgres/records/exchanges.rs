//! The records of an exchange: its messages by the ledger, its tool calls by an index of their own.

use super::list::NOT_REMOVED;
use crate::error::StoreError;
use crate::exchanges::{Exchange, ExchangeStore};
use crate::postgres::store::PostgresStore;
use crate::postgres::values::{escaped, exchange_key};
use crate::records::{RecordPage, RecordSummary, StoredRecord, WHOLE_PAGE_BYTES};
use crate::sql::columns::Columns as _;
use crate::sql::records::summary;
use async_trait::async_trait;
use monitor_model::ApplicationId;
use sqlx::QueryBuilder;

#[async_trait]
impl ExchangeStore for PostgresStore {
    async fn message_of(&self, exchange: &Exchange) -> Result<Option<RecordSummary>, StoreError> {
        let key = exchange_key(exchange.application_id, exchange.stage, &exchange.id);
        let entry = sqlx::query("SELECT seq FROM record_ledger WHERE key = $1").bind(key);
        let Some(entry) = self.look_up(entry).await?.into_iter().next() else {
            return Ok(None);
        };
        // Not prepared: the planner needs the position to leave out partitions.
        let mut query = QueryBuilder::new("SELECT r.* FROM records r WHERE r.seq = ");
        query.push_bind(entry.number("seq")?).push(NOT_REMOVED);
        let rows = self.look_up(query.build().persistent(false)).await?;
        rows.first().map(summary).transpose()
    }

    async fn tool_calls(
        &self,
        application: ApplicationId,
        exchange_id: &str,
        limit: u32,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        let mut query =
            QueryBuilder::new("SELECT r.* FROM records r WHERE r.tool_name IS NOT NULL");
        query
            .push(" AND r.application_id = ")
            .push_bind(application.0);
        query.push(" AND r.exchange_id = ");
        query.push_bind(escaped(exchange_id).into_owned());
        query.push(NOT_REMOVED).push(" ORDER BY r.seq LIMIT ");
        query.push_bind(i64::from(limit));
        let rows = self.all(query.build().persistent(false)).await?;
        let page = RecordPage {
            records: rows.iter().map(summary).collect::<Result<_, _>>()?,
            next_before: None,
            searched: None,
        };
        self.with_bodies(page.within(WHOLE_PAGE_BYTES).records)
            .await
    }
}
