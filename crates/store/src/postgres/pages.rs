//! Lists of records, newest first. A list is read in spans of a few partitions, the newest first: the
//! planner then leaves all others alone, so that a page costs the same however much is kept, and no
//! statement locks every partition there is.

use super::PostgresStore;
use super::order::{Day, place};
use super::row::{stage_number, stored, summary};
use super::text::{session_key, shield, text_key};
use crate::record::WHOLE_PAGE_BYTES;
use crate::{
    RecordFilter, RecordPage, RecordSummary, StoreError, StoredRecord, VerdictFilter, WholePage,
};
use monitor_model::RecordId;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{Postgres, QueryBuilder, Row as _};
use std::collections::HashMap;
use std::ops::Range;

/// Partitions of the first span and of the longest; each is twice as long as the one before.
const FIRST_SPAN: usize = 2;
const LONGEST_SPAN: usize = 8;

/// Records of an application that was removed are there until they are deleted, but no longer shown.
const NOT_REMOVED: &str = " AND NOT EXISTS (SELECT FROM removed_applications gone
    WHERE gone.application_id = r.application_id AND r.seq < gone.below)";

impl PostgresStore {
    pub(super) async fn read_page(&self, filter: &RecordFilter) -> Result<RecordPage, StoreError> {
        if let Some(text) = &filter.text {
            return self.search(filter, text).await;
        }
        // One more than asked for tells that there is a next page.
        let rows = self.newest(filter, "r.*", filter.limit.saturating_add(1));
        let rows = rows.await?;
        let mut records = rows.iter().map(summary).collect::<Result<Vec<_>, _>>()?;
        let limit = filter.limit as usize;
        let more = records.len() > limit;
        records.truncate(limit);
        let last = records.last().map(|record| record.seq);
        Ok(RecordPage {
            next_before: last.filter(|_| more),
            records,
            searched: None,
        })
    }

    pub(super) async fn read_whole_page(
        &self,
        filter: &RecordFilter,
    ) -> Result<WholePage, StoreError> {
        let page = self.read_page(filter).await?.within(WHOLE_PAGE_BYTES);
        Ok(WholePage {
            records: self.with_bodies(page.records).await?,
            next_before: page.next_before,
        })
    }

    pub(super) async fn read_record(
        &self,
        id: RecordId,
    ) -> Result<Option<StoredRecord>, StoreError> {
        for span in self.spans(i64::MIN..i64::MAX) {
            let mut query = QueryBuilder::new("SELECT r.* FROM records r WHERE r.id = ");
            query.push_bind(id.0);
            within(&mut query, "r.seq", &span);
            query.push(NOT_REMOVED);
            let rows = self.rows(query).await?;
            if let Some(row) = rows.first() {
                let found = self.with_bodies(vec![summary(row)?]).await?;
                return Ok(found.into_iter().next());
            }
        }
        Ok(None)
    }

    /// These columns of `r` of the newest records under a filter, but for its text.
    pub(super) async fn newest(
        &self,
        filter: &RecordFilter,
        columns: &'static str,
        limit: u32,
    ) -> Result<Vec<PgRow>, StoreError> {
        let mut rows = Vec::new();
        for span in self.spans(reach(filter)) {
            let wanted = (limit as usize).saturating_sub(rows.len());
            let query = list_query(filter, columns, &span, wanted);
            rows.extend(self.rows(query).await?);
            if rows.len() >= limit as usize {
                break;
            }
        }
        Ok(rows)
    }

    async fn with_bodies(
        &self,
        summaries: Vec<RecordSummary>,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        let seqs: Vec<i64> = summaries.iter().map(|one| one.seq).collect();
        let bodies = by_place(self.all(bodies(&seqs)).await?)?;
        let both = summaries
            .into_iter()
            // One without a body was removed in between.
            .filter_map(|one| bodies.get(&one.seq).map(|body| stored(one, body)));
        both.collect()
    }

    /// Planned for these very values, because they say which partitions can be left out.
    async fn rows(&self, mut query: QueryBuilder<Postgres>) -> Result<Vec<PgRow>, StoreError> {
        self.all(query.build().persistent(false)).await
    }

    /// The range in parts that hold few partitions each, the newest first.
    fn spans(&self, range: Range<i64>) -> Vec<Range<i64>> {
        split(&self.days(), range)
    }
}

/// Asks for the bodies of records by their places.
pub(super) fn bodies(seqs: &[i64]) -> Query<'static, Postgres, PgArguments> {
    const BODIES: &str =
        "SELECT * FROM record_bodies WHERE seq = ANY ($1) AND seq >= $2 AND seq <= $3";
    sqlx::query(BODIES)
        .bind(seqs)
        .bind(seqs.iter().min())
        .bind(seqs.iter().max())
        .persistent(false)
}

/// Rows under their places.
pub(super) fn by_place(rows: Vec<PgRow>) -> Result<HashMap<i64, PgRow>, sqlx::Error> {
    let keyed = rows.into_iter().map(|row| Ok((row.try_get("seq")?, row)));
    keyed.collect()
}

/// The places that a filter leaves.
fn reach(filter: &RecordFilter) -> Range<i64> {
    let first = filter.from_ms.map_or(i64::MIN, place);
    let end = filter.to_ms.map_or(i64::MAX, place);
    first..filter.before.map_or(end, |before| end.min(before))
}

/// Parts of a range, cut where partitions begin.
fn split(days: &[Day], range: Range<i64>) -> Vec<Range<i64>> {
    let mut borders: Vec<i64> = days.iter().map(|day| day.first()).collect();
    borders.sort_unstable();
    borders.retain(|border| range.contains(border));
    let (mut spans, mut end, mut length) = (Vec::new(), range.end, FIRST_SPAN);
    while let Some(index) = borders.len().checked_sub(length.min(borders.len())) {
        let Some(first) = borders.get(index).copied() else {
            break;
        };
        spans.push(first..end);
        end = first;
        borders.truncate(index);
        length = (length * 2).min(LONGEST_SPAN);
    }
    spans.push(range.start..end);
    spans.retain(|span| span.start < span.end);
    spans
}

fn within(query: &mut QueryBuilder<Postgres>, column: &str, span: &Range<i64>) {
    query.push(format_args!(" AND {column} >= "));
    query.push_bind(span.start);
    query.push(format_args!(" AND {column} < "));
    query.push_bind(span.end);
}

fn list_query(
    filter: &RecordFilter,
    columns: &'static str,
    span: &Range<i64>,
    limit: usize,
) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new("SELECT ");
    query.push(columns).push(" FROM records r");
    let order = match &filter.kind {
        Some(kind) => {
            query.push(" JOIN record_types t ON t.seq = r.seq WHERE t.kind_key = ");
            query.push_bind(text_key(kind));
            within(&mut query, "t.seq", span);
            if let Some(id) = filter.application_id {
                query.push(" AND t.application_id = ").push_bind(id.0);
            }
            "t.seq"
        }
        None => {
            query.push(" WHERE true");
            "r.seq"
        }
    };
    within(&mut query, "r.seq", span);
    narrow(&mut query, filter);
    query.push(NOT_REMOVED);
    query.push(format_args!(" ORDER BY {order} DESC LIMIT "));
    query.push_bind(limit as i64);
    query
}

fn narrow(query: &mut QueryBuilder<Postgres>, filter: &RecordFilter) {
    if let Some(id) = filter.application_id {
        query.push(" AND r.application_id = ").push_bind(id.0);
    }
    if let Some(user) = filter.user_id.as_deref().map(shield) {
        query.push(" AND r.user_key = ").push_bind(text_key(&user));
        query.push(" AND r.user_id = ").push_bind(user);
    }
    if let Some(session) = filter.session_id.as_deref().map(shield) {
        query
            .push(" AND r.session_key = ")
            .push_bind(session_key(&session));
    }
    if let Some(stage) = filter.stage {
        query.push(" AND r.stage = ").push_bind(stage_number(stage));
    }
    if let Some(verdict) = filter.verdict {
        query.push(condition(verdict));
    }
}

/// Written as in the partial indexes, and by what their further columns hold.
fn condition(verdict: VerdictFilter) -> &'static str {
    match verdict {
        VerdictFilter::Flagged => " AND r.flagged",
        VerdictFilter::Clean => " AND NOT r.flagged",
        VerdictFilter::Guardrails => " AND r.flagged_guardrails",
        VerdictFilter::CustomPolicy => " AND r.flagged_custom_policy",
        VerdictFilter::Dataclean => " AND r.flagged AND r.flagged_dataclean",
        VerdictFilter::Blocked => " AND r.blocked",
        VerdictFilter::Failed => " AND r.failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_cover_the_range_from_new_to_old_without_gap_or_overlap() {
        for count in [0, 1, 2, 3, 30, 91] {
            let days: Vec<Day> = (20_000..20_000 + count).map(Day).collect();
            let first = Day(20_001).first();
            for range in [i64::MIN..i64::MAX, first..i64::MAX, 5..first + 7, 7..7] {
                let spans = split(&days, range.clone());
                let mut end = range.end;
                for span in &spans {
                    assert_eq!(span.end, end, "{count} days, {range:?}");
                    assert!(span.start < span.end);
                    let inside = days.iter().filter(|day| span.contains(&day.first()));
                    assert!(inside.count() <= LONGEST_SPAN);
                    end = span.start;
                }
                assert!(range.is_empty() || end == range.start, "{range:?}");
            }
        }
    }
}
