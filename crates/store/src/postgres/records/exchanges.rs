//! The records of an exchange: its messages by the ledger, its tool calls by an index of their own.

use super::bodies::{at, by_seq};
use super::list::NOT_REMOVED;
use crate::error::StoreError;
use crate::exchanges::{BEGINNING, Exchange, ExchangeStore, RecordLine};
use crate::postgres::store::PostgresStore;
use crate::postgres::values::{escaped, exchange_key};
use crate::records::{RecordPage, RecordSummary, StoredRecord, WHOLE_PAGE_BYTES};
use crate::sql::columns::Columns as _;
use crate::sql::records::{line, summary};
use async_trait::async_trait;
use monitor_model::{ApplicationId, Stage};
use sqlx::QueryBuilder;
use std::collections::BTreeSet;

/// The records at these positions.
const SUMMARIES: &str =
    "SELECT r.* FROM records r WHERE r.seq = ANY ($1) AND r.seq >= $2 AND r.seq <= $3";
/// The beginnings of their texts.
const BEGINNINGS: &str = "
    SELECT seq, left(cleaned_text, $4) AS beginning, message IS NOT NULL AS has_original, answer,
        CASE WHEN message = cleaned_text THEN entities END AS finds
    FROM record_bodies
    WHERE seq = ANY ($1) AND seq >= $2 AND seq <= $3";

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

    async fn lines(&self, of: &[RecordSummary]) -> Result<Vec<RecordLine>, StoreError> {
        let keys = of.iter().filter_map(|record| {
            let exchange = record.exchange_id.as_deref()?;
            let key = |stage| exchange_key(record.application_id, stage, exchange);
            Some([key(Stage::PreCall), key(Stage::PostCall)])
        });
        let keys: Vec<_> = keys.flatten().collect();
        let entries = sqlx::query("SELECT seq FROM record_ledger WHERE key = ANY ($1)").bind(keys);
        let mut seqs: BTreeSet<i64> = of.iter().map(|record| record.seq).collect();
        for entry in self.all(entries).await? {
            seqs.insert(entry.number("seq")?);
        }
        let seqs = Vec::from_iter(seqs);
        let texts = at(BEGINNINGS, &seqs).bind(BEGINNING);
        let texts = by_seq(self.all(texts).await?)?;
        let rows = self.all(at(SUMMARIES, &seqs)).await?;
        let mut lines = Vec::with_capacity(rows.len());
        for row in &rows {
            let summary = summary(row)?;
            if let Some(text) = texts.get(&summary.seq) {
                lines.push(line(summary, text)?);
            }
        }
        Ok(lines)
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
