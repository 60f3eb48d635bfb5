//! The rows of a list of records: the messages of an exchange are one row, at the place of the newest one that the
//! filter finds. Parts of tool calls, and messages without an exchange, are rows of their own.

use super::Records;
use super::masking::{MaskedText, beginning};
use crate::analysis::access::caller::Caller;
use crate::analysis::error::ApiError;
use monitor_model::{ApplicationId, Stage};
use monitor_store::{RecordFilter, RecordLine, RecordSummary, VerdictFilter};
use std::collections::HashMap;

/// Records that are read in search of a row before or behind another one.
const NEAR: u32 = 20;

/// A row of a list.
pub(crate) struct ListRow {
    /// The newest of its records that the filter finds.
    pub(crate) record: RecordSummary,
    /// Its messages, the prompt first.
    pub(crate) messages: Vec<RowMessage>,
}

/// A message of a row.
pub(crate) struct RowMessage {
    pub(crate) summary: RecordSummary,
    /// The beginning of its text, without its finds.
    pub(crate) text: Option<MaskedText>,
}

/// Which row follows another one in a list.
#[derive(Clone, Copy)]
pub(crate) enum Direction {
    Newer,
    Older,
}

impl Records {
    /// The rows of a page of a filter with these records, newest first.
    pub(crate) async fn rows(
        &self,
        caller: &Caller,
        filter: &RecordFilter,
        records: &[RecordSummary],
    ) -> Result<Vec<ListRow>, ApiError> {
        let lines = self.lines(caller, records).await?;
        Ok(rows(Some(filter), records, lines))
    }

    /// The rows of records that something else than a filter has found.
    pub(crate) async fn rows_of(
        &self,
        caller: &Caller,
        records: &[RecordSummary],
    ) -> Result<Vec<ListRow>, ApiError> {
        let lines = self.lines(caller, records).await?;
        Ok(rows(None, records, lines))
    }

    async fn lines(
        &self,
        caller: &Caller,
        records: &[RecordSummary],
    ) -> Result<Vec<RecordLine>, ApiError> {
        let (exchanges, of) = (self.exchanges.clone(), records.to_vec());
        let read = async move { exchanges.lines(&of).await };
        self.reads.read(caller, read).await
    }

    /// The row of a list that stands next to that of these messages; none among the nearest records if there is none.
    pub(crate) async fn next_row(
        &self,
        caller: &Caller,
        filter: &RecordFilter,
        of: &[&RecordSummary],
        direction: Direction,
    ) -> Result<Option<ListRow>, ApiError> {
        let found = of.iter().filter(|message| surely_finds(filter, message));
        let place = found.map(|message| message.seq).max();
        let Some(place) = place.or_else(|| of.iter().map(|message| message.seq).max()) else {
            return Ok(None);
        };
        let mut near = RecordFilter {
            limit: NEAR,
            ..filter.clone()
        };
        (near.before, near.after) = match direction {
            Direction::Older => (Some(place), None),
            Direction::Newer => (None, Some(place)),
        };
        let mut records = self.page(caller, near).await?.records;
        records.sort_by_key(|record| std::cmp::Reverse(record.seq));
        let mut rows = self.rows(caller, filter, &records).await?;
        rows.retain(|row| {
            !row.messages
                .iter()
                .any(|one| of.iter().any(|own| own.id == one.summary.id))
        });
        Ok(match direction {
            Direction::Older => rows.into_iter().next(),
            Direction::Newer => rows.pop(),
        })
    }
}

type Key = (ApplicationId, String);

/// What the messages of an exchange share; None of a record that is a row of its own.
fn key(record: &RecordSummary) -> Option<Key> {
    let exchange = record.exchange_id.as_ref()?;
    let is_message = record.tool.is_none();
    is_message.then(|| (record.application_id, exchange.clone()))
}

fn rows(
    filter: Option<&RecordFilter>,
    records: &[RecordSummary],
    lines: Vec<RecordLine>,
) -> Vec<ListRow> {
    let mut alone: HashMap<i64, RecordLine> = HashMap::new();
    let mut together: HashMap<Key, Vec<RecordLine>> = HashMap::new();
    for line in lines {
        match key(&line.summary) {
            Some(key) => together.entry(key).or_default().push(line),
            None => drop(alone.insert(line.summary.seq, line)),
        }
    }
    let mut rows = Vec::with_capacity(records.len());
    for record in records {
        let lines = match key(record) {
            None => Vec::from_iter(alone.remove(&record.seq)),
            Some(key) => match together.remove(&key) {
                Some(lines) => lines,
                // A newer message of the page has the row.
                None => continue,
            },
        };
        let is_newer = |line: &RecordLine| line.summary.seq > record.seq;
        let is_found =
            |line: &RecordLine| filter.is_some_and(|filter| surely_finds(filter, &line.summary));
        if lines.iter().any(|line| is_newer(line) && is_found(line)) {
            // The row stands on an earlier page.
            continue;
        }
        let mut messages: Vec<RowMessage> = lines.into_iter().map(message).collect();
        messages.sort_by_key(|message| message.summary.stage == Stage::PostCall);
        rows.push(ListRow {
            record: record.clone(),
            messages,
        });
    }
    rows
}

fn message(line: RecordLine) -> RowMessage {
    RowMessage {
        summary: line.summary.clone(),
        text: beginning(line),
    }
}

/// Whether a filter finds a record, as far as its summary tells: never where texts or parts decide.
fn surely_finds(filter: &RecordFilter, record: &RecordSummary) -> bool {
    let named = |wanted: Option<&String>, own: Option<&String>| wanted.is_none() || wanted == own;
    let model = record.cost.as_ref().and_then(|cost| cost.model.as_ref());
    let has = |kind: &String| record.types.iter().any(|found| found.kind == *kind);
    filter.text.is_none()
        && filter.tools.is_none()
        && filter.kind.as_ref().is_none_or(has)
        && named(filter.user_id.as_ref(), record.user_id.as_ref())
        && named(filter.session_id.as_ref(), record.session_id.as_ref())
        && named(filter.model.as_ref(), model)
        && named(filter.token.as_ref(), record.token.as_ref())
        && filter.stage.is_none_or(|stage| stage == record.stage)
        && filter
            .from_ms
            .is_none_or(|from| from <= record.created_at_ms)
        && filter.to_ms.is_none_or(|to| record.created_at_ms < to)
        && filter
            .verdict
            .is_none_or(|verdict| has_verdict(verdict, record))
}

fn has_verdict(verdict: VerdictFilter, record: &RecordSummary) -> bool {
    let is_flagged =
        record.flagged_guardrails || record.flagged_custom_policy || record.flagged_dataclean;
    match verdict {
        VerdictFilter::Flagged => is_flagged,
        VerdictFilter::Clean => !is_flagged && !record.unchecked,
        VerdictFilter::Unchecked => record.unchecked,
        VerdictFilter::Guardrails => record.flagged_guardrails,
        VerdictFilter::CustomPolicy => record.flagged_custom_policy,
        VerdictFilter::Dataclean => record.flagged_dataclean,
        VerdictFilter::Blocked => record.blocked,
        VerdictFilter::Failed => record.failed,
    }
}
