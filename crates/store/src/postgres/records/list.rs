//! Lists of records, newest first. A list is read in spans of a few partitions, starting with the newest: the
//! planner can then leave out all others, so that a page costs the same however many records there are, and no
//! statement locks every partition.

use super::bodies::{bodies, by_seq};
use crate::error::StoreError;
use crate::postgres::seq::{Day, first_seq_at};
use crate::postgres::store::PostgresStore;
use crate::postgres::values::{escaped, session_key, stage_number, text_key};
use crate::record_filter::{RecordFilter, VerdictFilter};
use crate::records::{RecordSummary, StoredRecord};
use crate::sql::records::{stored, tool_key};
use monitor_model::RecordId;
use sqlx::postgres::PgRow;
use sqlx::{Postgres, QueryBuilder};
use std::ops::Range;

/// Partitions in the first span and in the longest; each span is twice as long as the previous one.
const FIRST_SPAN: usize = 2;
const LONGEST_SPAN: usize = 8;

/// Records of a removed application exist until they are deleted, but are not shown any more.
pub(super) const NOT_REMOVED: &str = " AND NOT EXISTS (SELECT FROM removed_applications gone
    WHERE gone.application_id = r.application_id AND r.seq < gone.below)";

impl PostgresStore {
    /// The row of a record without its body.
    pub(super) async fn record_row(&self, id: RecordId) -> Result<Option<PgRow>, StoreError> {
        for span in self.spans(i64::MIN..i64::MAX) {
            let mut query = QueryBuilder::new("SELECT r.* FROM records r WHERE r.id = ");
            query.push_bind(id.0);
            within(&mut query, "r.seq", &span);
            query.push(NOT_REMOVED);
            let rows = self.rows(query).await?;
            if let Some(row) = rows.into_iter().next() {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// These columns of `r` for the first records that match a filter, except for its text.
    pub(in crate::postgres) async fn newest(
        &self,
        filter: &RecordFilter,
        columns: &'static str,
        limit: u32,
    ) -> Result<Vec<PgRow>, StoreError> {
        let mut rows = Vec::new();
        let mut spans = self.spans(range_of(filter));
        if filter.after.is_some() {
            spans.reverse();
        }
        for span in spans {
            let wanted = (limit as usize).saturating_sub(rows.len());
            let query = list_query(filter, columns, &span, wanted);
            rows.extend(self.rows(query).await?);
            if rows.len() >= limit as usize {
                break;
            }
        }
        Ok(rows)
    }

    /// The whole records; leaves out those that were removed in between.
    pub(super) async fn with_bodies(
        &self,
        summaries: Vec<RecordSummary>,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        let seqs: Vec<i64> = summaries.iter().map(|one| one.seq).collect();
        let bodies = by_seq(self.all(bodies(&seqs)).await?)?;
        let both = summaries
            .into_iter()
            .filter_map(|one| bodies.get(&one.seq).map(|body| stored(one, body)));
        both.collect()
    }

    /// Not prepared: the planner needs the values to leave out partitions.
    async fn rows(&self, mut query: QueryBuilder<Postgres>) -> Result<Vec<PgRow>, StoreError> {
        self.all(query.build().persistent(false)).await
    }

    /// The range in parts of a few partitions each, the newest first.
    fn spans(&self, range: Range<i64>) -> Vec<Range<i64>> {
        split(&self.days.borrow(), range)
    }
}

/// The positions that a filter leaves.
fn range_of(filter: &RecordFilter) -> Range<i64> {
    let first = filter.from_ms.map_or(i64::MIN, first_seq_at);
    let first = filter
        .after
        .map_or(first, |after| first.max(after.saturating_add(1)));
    let end = filter.to_ms.map_or(i64::MAX, first_seq_at);
    first..filter.before.map_or(end, |before| end.min(before))
}

/// Splits a range where partitions begin, the newest part first.
fn split(days: &[Day], range: Range<i64>) -> Vec<Range<i64>> {
    let mut starts: Vec<i64> = days.iter().map(|day| day.first()).collect();
    starts.sort_unstable();
    starts.retain(|start| range.contains(start));
    let (mut spans, mut end, mut length) = (Vec::new(), range.end, FIRST_SPAN);
    while let Some(index) = starts.len().checked_sub(length.min(starts.len())) {
        let Some(first) = starts.get(index).copied() else {
            break;
        };
        spans.push(first..end);
        end = first;
        starts.truncate(index);
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
    let tool = filter.tools.as_ref().map(tool_key);
    let mut kinds = tool.into_iter().chain(filter.kind.clone());
    let order = match kinds.next() {
        Some(kind) => {
            query.push(" JOIN record_types t ON t.seq = r.seq WHERE t.kind_key = ");
            query.push_bind(text_key(&kind));
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
    for kind in kinds {
        query.push(" AND EXISTS (SELECT FROM record_types other WHERE other.seq = r.seq");
        within(&mut query, "other.seq", span);
        query
            .push(" AND other.kind_key = ")
            .push_bind(text_key(&kind));
        query.push(")");
    }
    narrow(&mut query, filter);
    query.push(NOT_REMOVED);
    let direction = if filter.after.is_some() {
        "ASC"
    } else {
        "DESC"
    };
    query.push(format_args!(" ORDER BY {order} {direction} LIMIT "));
    query.push_bind(limit as i64);
    query
}

fn narrow(query: &mut QueryBuilder<Postgres>, filter: &RecordFilter) {
    if let Some(id) = filter.application_id {
        query.push(" AND r.application_id = ").push_bind(id.0);
    }
    if let Some(user) = filter.user_id.as_deref().map(escaped) {
        query.push(" AND r.user_key = ").push_bind(text_key(&user));
        query.push(" AND r.user_id = ").push_bind(user);
    }
    if let Some(session) = filter.session_id.as_deref().map(escaped) {
        query
            .push(" AND r.session_key = ")
            .push_bind(session_key(&session));
    }
    named(query, "r.model", filter.model.as_deref());
    named(query, "r.token_name", filter.token.as_deref());
    if let Some(stage) = filter.stage {
        query.push(" AND r.stage = ").push_bind(stage_number(stage));
    }
    if let Some(verdict) = filter.verdict {
        query.push(condition(verdict));
    }
}

/// By a name, exactly as its index states it: by a digest of the name, which may be of any length.
fn named(query: &mut QueryBuilder<Postgres>, column: &str, name: Option<&str>) {
    if let Some(name) = name.map(escaped) {
        query.push(format_args!(
            " AND hashtextextended({column}, 0) = hashtextextended("
        ));
        query.push_bind(name.clone().into_owned()).push(", 0)");
        query.push(format_args!(" AND {column} = "));
        query.push_bind(name.into_owned());
    }
}

/// Exactly as the partial indexes state it, and by what their further columns hold.
fn condition(verdict: VerdictFilter) -> &'static str {
    match verdict {
        VerdictFilter::Flagged => " AND r.flagged",
        VerdictFilter::Clean => " AND NOT r.flagged AND NOT r.unchecked",
        VerdictFilter::Unchecked => " AND r.unchecked",
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
