//! Records on their way in: many rows per statement, and what is kept about them besides (entity
//! types, times, totals, sessions, statistics) once per batch, out of the rows themselves.

use super::chain;
use super::erasure;
use super::rows::{NewRow, answer, bytes, stage_word, uuid, whole};
use super::writer::{Outcome, Written};
use crate::StoreError;
use crate::chain::{Arrival, column};
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Row as _, Sqlite, SqliteConnection};
use std::collections::HashSet;
use std::ops::Range;
use uuid::Uuid;

/// Rows in one statement at most. Statements have this many rows or a smaller power of two, so that
/// a few prepared ones do for every batch.
const ROWS: usize = 64;

const RECORDS: &str = "
    INSERT INTO records (seq, id, application_id, stage, exchange_id, user_id, session_id,
        created_at_ms, rules_version, status, flagged_guardrails, flagged_custom_policy,
        flagged_dataclean, token_count, severity, types, failed, incomplete, blocked, total_us, bytes,
        chain_gateway, chain_sequence)
    VALUES ";
const RECORD: &str = "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

/// The second statement finds nothing to add where the first kept nothing.
const BODIES: &str = "
    ON CONFLICT (application_id, exchange_id, stage) WHERE exchange_id IS NOT NULL DO NOTHING
    RETURNING seq;
    INSERT INTO record_bodies
        (seq, message, cleaned_text, entities, additional_parameters, answer, inline_rules)
    SELECT * FROM (VALUES ";
const BODY: &str = "(?,?,?,?,?,?,?)";
const BODIES_END: &str = ") WHERE EXISTS (SELECT 1 FROM records WHERE seq = column1)";

/// The latest place ever given, and which of the applications exist (a JSON list of their ids in
/// hexadecimal).
const KNOWN: &str = "
    SELECT NULL, coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'records'
    UNION ALL
    SELECT applications.id, NULL
    FROM json_each(?1) AS wanted CROSS JOIN applications ON applications.id = unhex(wanted.value)";

const EARLIER: &str = "
    SELECT cleaned_text, entities, answer FROM records JOIN record_bodies USING (seq)
    WHERE application_id = ?1 AND exchange_id = ?2 AND stage = ?3";

const KEPT_BESIDES: &str = include_str!("besides.sql");

/// Keeps records within the caller's transaction. A row that fails costs only itself.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    rows: &[NewRow],
) -> Result<Vec<Outcome>, StoreError> {
    let (last, known) = look_around(connection, rows).await?;
    let refused = erasure::refused(connection, rows).await?;
    let first = last + 1;
    let mut outcomes = Vec::with_capacity(rows.len());
    let known: Vec<&NewRow> = rows
        .iter()
        .filter(|row| known.contains(&row.record.application_id.0))
        .filter(|row| !erasure::is_refused(&refused, row))
        .collect();
    let mut kept = Vec::with_capacity(known.len());
    for range in portions(known.len()) {
        let seq = first + range.start as i64;
        kept.extend(insert_portion(connection, &known[range], seq).await?);
    }
    if kept.iter().any(|kept| matches!(kept, Ok(true))) {
        sqlx::query(KEPT_BESIDES)
            .bind(first)
            .bind(first + known.len() as i64)
            .execute(&mut *connection)
            .await?;
    }
    let mut kept = known.into_iter().zip(kept).peekable();
    for row in rows {
        let outcome = match kept.next_if(|(known, _)| std::ptr::eq(*known, row)) {
            None if erasure::is_refused(&refused, row) => Err(StoreError::Erased),
            None => Err(StoreError::Unavailable("no such application".to_owned())),
            Some((_, Err(error))) => Err(error),
            Some((_, Ok(true))) => Ok(Written::New),
            Some((_, Ok(false))) => earlier(connection, row).await,
        };
        outcomes.push(outcome);
    }
    chain::enter(connection, arrivals(rows, &outcomes)).await?;
    Ok(outcomes)
}

/// Numbers of the records that are kept or were before, and of those that are refused because their user
/// was erased.
fn arrivals(rows: &[NewRow], outcomes: &[Outcome]) -> impl Iterator<Item = Arrival> {
    let arrival = |(row, outcome): (&NewRow, &Outcome)| {
        let record = match outcome {
            Ok(Written::New) => Some(row.record.answer.request_id),
            Ok(Written::Earlier(_)) | Err(StoreError::Erased) => None,
            _ => return None,
        };
        let entry = row.record.chain?;
        Some(Arrival {
            entry,
            record,
            at_ms: row.record.created_at_ms,
        })
    };
    rows.iter().zip(outcomes).filter_map(arrival)
}

async fn look_around(
    connection: &mut SqliteConnection,
    rows: &[NewRow],
) -> Result<(i64, HashSet<Uuid>), StoreError> {
    let wanted: HashSet<Uuid> = rows.iter().map(|row| row.record.application_id.0).collect();
    let list: Vec<String> = wanted.iter().map(|id| id.simple().to_string()).collect();
    let found = sqlx::query(KNOWN)
        .bind(serde_json::Value::from(list).to_string())
        .fetch_all(connection)
        .await?;
    let (mut last, mut known) = (0, HashSet::new());
    for row in found {
        match row.try_get::<Option<&[u8]>, _>(0)? {
            Some(id) => drop(known.insert(uuid(id)?)),
            None => last = row.try_get(1)?,
        }
    }
    Ok((last, known))
}

/// For each row whether it was kept: false where the record was there before.
async fn insert_portion(
    connection: &mut SqliteConnection,
    rows: &[&NewRow],
    first: i64,
) -> Result<Vec<Result<bool, StoreError>>, StoreError> {
    if let Ok(kept) = insert_together(connection, rows, first).await {
        return Ok(kept.into_iter().map(Ok).collect());
    }
    take_back(connection, first, rows.len()).await?;
    let mut kept = Vec::with_capacity(rows.len());
    for (seq, row) in (first..).zip(rows.chunks(1)) {
        let one = insert_together(connection, row, seq).await;
        if one.is_err() {
            take_back(connection, seq, 1).await?;
        }
        kept.push(one.map(|kept| kept == [true]));
    }
    Ok(kept)
}

/// Removes what a failed attempt left behind; the bodies go with their records.
async fn take_back(
    connection: &mut SqliteConnection,
    first: i64,
    rows: usize,
) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM records WHERE seq >= ?1 AND seq < ?2")
        .bind(first)
        .bind(first + rows as i64)
        .execute(connection)
        .await?;
    Ok(())
}

async fn insert_together(
    connection: &mut SqliteConnection,
    rows: &[&NewRow],
    first: i64,
) -> Result<Vec<bool>, StoreError> {
    let mut query = sqlx::query(AssertSqlSafe(statement(rows.len())));
    for (seq, row) in (first..).zip(rows) {
        query = bind_record(query, row, seq);
    }
    for (seq, row) in (first..).zip(rows) {
        query = query
            .bind(seq)
            .bind(row.record.message.as_deref())
            .bind(row.cleaned_text.as_deref())
            .bind(&*row.entities)
            .bind(&*row.additional_parameters)
            .bind(&*row.answer)
            .bind(row.inline_rules.as_deref());
    }
    let mut kept = vec![false; rows.len()];
    for row in query.fetch_all(connection).await? {
        let place = row.try_get::<i64, _>(0)? - first;
        if let Some(kept) = usize::try_from(place).ok().and_then(|at| kept.get_mut(at)) {
            *kept = true;
        }
    }
    Ok(kept)
}

type Query<'q> = sqlx::query::Query<'q, Sqlite, SqliteArguments>;

fn bind_record<'q>(query: Query<'q>, row: &'q NewRow, seq: i64) -> Query<'q> {
    let (record, verdict) = (&row.record, &row.record.answer);
    query
        .bind(seq)
        .bind(bytes(verdict.request_id.0))
        .bind(bytes(record.application_id.0))
        .bind(stage_word(record.stage))
        .bind(record.exchange_id.as_deref())
        .bind(record.user_id.as_deref())
        .bind(record.session_id.as_deref())
        .bind(record.created_at_ms)
        .bind(record.rules_version)
        .bind(verdict.status.as_str())
        .bind(verdict.guardrails.flagged)
        .bind(verdict.custom_policy.flagged)
        .bind(verdict.dataclean.flagged)
        .bind(whole(verdict.tokens.count))
        .bind(row.severity.as_deref())
        .bind(&*row.types)
        .bind(record.failed())
        .bind(record.incomplete())
        .bind(record.blocked)
        .bind(whole(verdict.timings.total_us))
        .bind(row.bytes())
        .bind(record.chain.map(|chain| bytes(chain.gateway)))
        .bind(record.chain.map(|chain| column(chain.sequence)))
}

async fn earlier(connection: &mut SqliteConnection, row: &NewRow) -> Outcome {
    let earlier = sqlx::query(EARLIER)
        .bind(bytes(row.record.application_id.0))
        .bind(row.record.exchange_id.as_deref())
        .bind(stage_word(row.record.stage))
        .fetch_one(connection)
        .await?;
    Ok(Written::Earlier(Box::new(answer(&earlier)?)))
}

fn statement(rows: usize) -> String {
    let list = |row: &str| vec![row; rows].join(",");
    [RECORDS, &list(RECORD), BODIES, &list(BODY), BODIES_END].concat()
}

/// The rows in portions of a power of two.
fn portions(rows: usize) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let left = (rows - start).min(ROWS);
        let size = (left > 0).then(|| 1 << left.ilog2())?;
        start += size;
        Some(start - size..start)
    })
}

#[cfg(test)]
mod tests {
    use super::portions;

    #[test]
    fn portions_cover_every_row_once() {
        for rows in 0..300 {
            let mut next = 0;
            for portion in portions(rows) {
                assert_eq!(portion.start, next);
                assert!(portion.len().is_power_of_two() && portion.len() <= super::ROWS);
                next = portion.end;
            }
            assert_eq!(next, rows);
        }
    }
}
