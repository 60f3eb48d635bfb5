//! Lists of records, newest first. A list is read in spans of a few partitions, the newest first: the
//! planner then leaves all others alone, so that a page costs the same however much is kept, and no
//! statement locks every partition there is.

use super::PostgresStore;
use super::order::{Day, place};
use super::row::{stage_number, stored, summary};
use super::text::{session_key, shield, text_key};
use crate::model::RecordId;
use crate::store::{
    RecordFilter, RecordPage, RecordSummary, StoreError, StoredRecord, VerdictFilter, WholePage,
};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{Postgres, QueryBuilder, Row as _};
use std::collections::HashMap;
use std::ops::Range;

/// Partitions of the first span and of the longest; each is twice as long as the one before.
const FIRST_SPAN: usize = 2;
const LONGEST_SPAN: usize = 8;
/// A page narrowed by a text looks at this many records, and at this many bytes of texts, at most.
const LOOKED_AT: usize = 2_000;
const LOOKED_AT_BYTES: usize = 32 << 20;
/// Records whose texts are read at once.
const AT_ONCE: u32 = 200;

/// Records of an application that was removed are there until they are deleted, but no longer shown.
const NOT_REMOVED: &str = " AND NOT EXISTS (SELECT FROM removed_applications gone
    WHERE gone.application_id = r.application_id AND r.seq < gone.below)";

impl PostgresStore {
    pub(super) async fn read_page(&self, filter: &RecordFilter) -> Result<RecordPage, StoreError> {
        if filter.text.is_some() {
            let page = self.read_page_by_text(filter).await?;
            return Ok(RecordPage {
                records: page.records.into_iter().map(|one| one.summary).collect(),
                next_before: page.next_before,
            });
        }
        // One more than asked for tells that there is a next page.
        let mut records = self.list(filter, filter.limit.saturating_add(1)).await?;
        let limit = filter.limit as usize;
        let more = records.len() > limit;
        records.truncate(limit);
        let last = records.last().map(|record| record.seq);
        Ok(RecordPage {
            next_before: last.filter(|_| more),
            records,
        })
    }

    pub(super) async fn read_whole_page(
        &self,
        filter: &RecordFilter,
    ) -> Result<WholePage, StoreError> {
        if filter.text.is_some() {
            return self.read_page_by_text(filter).await;
        }
        let page = self.read_page(filter).await?;
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

    /// Looks at the texts here and not in the database, whose idea of letter case follows its locale.
    async fn read_page_by_text(&self, filter: &RecordFilter) -> Result<WholePage, StoreError> {
        let wanted = filter.text.as_deref().unwrap_or_default().to_lowercase();
        let mut filter = filter.clone();
        let (mut found, mut looked_at, mut bytes) = (Vec::new(), 0, 0);
        while looked_at < LOOKED_AT && bytes < LOOKED_AT_BYTES {
            let some = self.list(&filter, AT_ONCE).await?;
            let last = some.len() < AT_ONCE as usize;
            for record in self.with_bodies(some).await? {
                looked_at += 1;
                bytes += text_bytes(&record);
                filter.before = Some(record.summary.seq);
                if holds(&record, &wanted) {
                    found.push(record);
                }
                if found.len() >= filter.limit as usize {
                    return Ok(WholePage {
                        records: found,
                        next_before: filter.before,
                    });
                }
            }
            if last {
                return Ok(WholePage {
                    records: found,
                    next_before: None,
                });
            }
        }
        Ok(WholePage {
            records: found,
            next_before: filter.before,
        })
    }

    /// The newest records under a filter, but for its text.
    async fn list(
        &self,
        filter: &RecordFilter,
        limit: u32,
    ) -> Result<Vec<RecordSummary>, StoreError> {
        let mut records = Vec::new();
        for span in self.spans(reach(filter)) {
            let wanted = (limit as usize).saturating_sub(records.len());
            let rows = self.rows(list_query(filter, &span, wanted)).await?;
            for row in &rows {
                records.push(summary(row)?);
            }
            if records.len() >= limit as usize {
                break;
            }
        }
        Ok(records)
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

fn list_query(filter: &RecordFilter, span: &Range<i64>, limit: usize) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new("SELECT r.* FROM records r");
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

/// Written as in the partial indexes.
fn condition(verdict: VerdictFilter) -> &'static str {
    match verdict {
        VerdictFilter::Flagged => " AND r.flagged",
        VerdictFilter::Clean => " AND NOT r.flagged",
        VerdictFilter::Guardrails => " AND r.flagged AND r.flagged_guardrails",
        VerdictFilter::CustomPolicy => " AND r.flagged AND r.flagged_custom_policy",
        VerdictFilter::Dataclean => " AND r.flagged AND r.flagged_dataclean",
        VerdictFilter::Blocked => " AND r.blocked",
        VerdictFilter::Failed => " AND r.failed",
    }
}

fn texts(record: &StoredRecord) -> impl Iterator<Item = &String> {
    let cleaned = &record.answer.dataclean.cleaned_text;
    [cleaned, &record.message].into_iter().flatten()
}

fn text_bytes(record: &StoredRecord) -> usize {
    texts(record).map(String::len).sum()
}

fn holds(record: &StoredRecord, wanted: &str) -> bool {
    texts(record).any(|text| text.to_lowercase().contains(wanted))
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
