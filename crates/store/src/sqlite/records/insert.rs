//! Inserts records: many rows per statement, and once per batch what is derived from the rows themselves
//! (entity types, times, totals, sessions, statistics).

use super::earlier::{Earlier, earlier, tool_call_id};
use super::erased_users;
use super::findings;
use super::found_values::{self, StoredAt};
use super::portions::portions;
use crate::chain::{ReceivedNumber, column};
use crate::error::StoreError;
use crate::records::Insertion;
use crate::sql::attachments::ErasedUsers;
use crate::sql::chain;
use crate::sql::columns::Columns as _;
use crate::sql::records::EncodedRecord;
use crate::sql::reused_id::{Reuse, stored_apart};
use crate::sqlite::values::{capped, json_list, shared_kinds, stage_word};
use crate::statistics::MOST_OWN_KINDS;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Connection as _, Sqlite, SqliteConnection};
use std::collections::HashSet;
use uuid::Uuid;

/// Bytes of a record whose statement is not kept.
const LONG: i64 = 256 * 1024;

const RECORDS: &str = "
    INSERT INTO records (seq, id, application_id, stage, exchange_id, user_id, session_id,
        created_at_ms, rules_version, status, flagged_guardrails, flagged_custom_policy,
        flagged_dataclean, token_count, severity, types, failed, incomplete, blocked, total_us, bytes,
        chain_gateway, chain_sequence, tool_name, tool_call_id, part_keys, model, usage, priced, cost, currency,
        unchecked, call_facts, token_name)
    VALUES ";
const RECORD: &str = "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

/// The second statement inserts nothing where the first one did not.
const BODIES: &str = "
    ON CONFLICT (application_id, exchange_id, stage, tool_call_id) WHERE exchange_id IS NOT NULL DO NOTHING;
    INSERT INTO record_bodies
        (seq, message, cleaned_text, entities, additional_parameters, answer, inline_rules, tool_parts)
    SELECT * FROM (VALUES ";
const BODY: &str = "(?,?,?,?,?,?,?,?)";
const BODIES_END: &str = ") WHERE EXISTS (SELECT 1 FROM records WHERE seq = column1)";

/// The last position ever assigned, whether any file waits for its record, and which applications exist of those
/// whose ids, in hexadecimal, the JSON list ?1 contains.
const KNOWN: &str = "
    SELECT NULL AS id, coalesce(max(seq), 0) AS last_seq,
        EXISTS (SELECT 1 FROM waiting_attachments) AS has_waiting
    FROM sqlite_sequence WHERE name = 'records'
    UNION ALL
    SELECT applications.id, NULL, NULL
    FROM json_each(?1) AS wanted CROSS JOIN applications ON applications.id = unhex(wanted.value)";

/// Positions of records, asked for where not every row was inserted.
const INSERTED: &str = "SELECT seq FROM records WHERE seq >= ?1 AND seq < ?2";

/// Gives the new records the files that waited for them.
const ADOPT_WAITING: &str = include_str!("adopt_waiting.sql");

/// Files of an exchange whose user was erased.
const FORGET_WAITING: &str =
    "DELETE FROM waiting_attachments WHERE application_id = ?1 AND exchange_id = ?2";

/// Updates what is derived from the new records: entity types, times, totals, sessions, statistics.
const DERIVED: &str = concat!(
    include_str!("derived.sql"),
    include_str!("insert_derived.sql")
);

/// What the database holds before a batch.
struct Before {
    last_seq: i64,
    has_waiting: bool,
    applications: HashSet<Uuid>,
    erased: ErasedUsers,
}

/// Inserts records within the caller's transaction. A row that fails affects only itself.
pub(in crate::sqlite) async fn insert(
    connection: &mut SqliteConnection,
    rows: &[EncodedRecord],
) -> Result<Vec<Result<Insertion, StoreError>>, StoreError> {
    let before = before(connection, rows).await?;
    let first = before.last_seq + 1;
    let accepted: Vec<&EncodedRecord> = rows
        .iter()
        .filter(|row| before.applications.contains(&row.record.application_id.0))
        .filter(|row| !before.erased.contains(&row.record))
        .collect();
    let mut inserted = Vec::with_capacity(accepted.len());
    for range in portions(accepted.len()) {
        let seq = first + range.start as i64;
        inserted.extend(insert_portion(connection, &accepted[range], seq).await?);
    }
    let mut end = first + accepted.len() as i64;
    let settled = settle(connection, &accepted, inserted, &mut end).await;
    if before.has_waiting {
        let adopt = sqlx::query(ADOPT_WAITING).bind(first).bind(end);
        adopt.execute(&mut *connection).await?;
        forget_waiting(connection, rows, &before.erased).await?;
    }
    let is_new = |outcome: &_| matches!(outcome, Ok(Insertion::New | Insertion::Apart(_)));
    if settled.iter().any(is_new) {
        sqlx::query(DERIVED)
            .bind(first)
            .bind(end)
            .bind(shared_kinds())
            .bind(MOST_OWN_KINDS)
            .execute(&mut *connection)
            .await?;
        found_values::insert(connection, stored_at(&accepted, &settled, first)).await?;
        findings::insert(connection, first, &accepted, &settled).await?;
    }
    let mut outcomes = Vec::with_capacity(rows.len());
    let mut settled = accepted.into_iter().zip(settled).peekable();
    for row in rows {
        let outcome = settled.next_if(|(accepted, _)| std::ptr::eq(*accepted, row));
        outcomes.push(match outcome {
            None if before.erased.contains(&row.record) => Err(StoreError::Erased),
            None => Err(StoreError::NoApplication),
            Some((_, outcome)) => outcome,
        });
    }
    chain::enter(connection, numbers(rows, &outcomes)).await?;
    Ok(outcomes)
}

/// Where the new rows stand: those that are stored apart come behind all others.
fn stored_at<'r>(
    rows: &[&'r EncodedRecord],
    settled: &[Result<Insertion, StoreError>],
    first: i64,
) -> Vec<StoredAt<'r>> {
    let mut apart = first + rows.len() as i64;
    let mut stored = Vec::with_capacity(rows.len());
    for ((own, row), outcome) in (first..).zip(rows.iter().copied()).zip(settled) {
        let seq = match outcome {
            Ok(Insertion::New) => own,
            Ok(Insertion::Apart(_)) => {
                apart += 1;
                apart - 1
            }
            _ => continue,
        };
        stored.push(StoredAt { seq, row });
    }
    stored
}

/// What becomes of rows, by whether they were inserted. Those that are stored apart get the positions from `end`.
async fn settle(
    connection: &mut SqliteConnection,
    rows: &[&EncodedRecord],
    inserted: Vec<Result<bool, StoreError>>,
    end: &mut i64,
) -> Vec<Result<Insertion, StoreError>> {
    let mut outcomes = Vec::with_capacity(rows.len());
    for (row, inserted) in rows.iter().zip(inserted) {
        let outcome = match inserted {
            Err(error) => Err(error),
            Ok(true) => Ok(Insertion::New),
            Ok(false) => beside_earlier(connection, row, *end).await,
        };
        *end += i64::from(matches!(outcome, Ok(Insertion::Apart(_))));
        outcomes.push(outcome);
    }
    outcomes
}

/// What becomes of a row whose exchange and stage a stored record has. `seq` is free for it.
async fn beside_earlier(
    connection: &mut SqliteConnection,
    row: &EncodedRecord,
    seq: i64,
) -> Result<Insertion, StoreError> {
    let Earlier { record, reuse } = earlier(connection, row).await?;
    let (Reuse::Apart, Some(apart)) = (reuse, row.apart()?) else {
        return Ok(Insertion::Earlier(record));
    };
    match insert_portion(connection, &[&apart], seq).await?.pop() {
        Some(Ok(false)) => {
            let Earlier { record, .. } = earlier(connection, &apart).await?;
            Ok(Insertion::Earlier(record))
        }
        Some(Err(error)) => Err(error),
        Some(Ok(true)) | None => Ok(Insertion::Apart(stored_apart())),
    }
}

/// Removes the files that waited for records of erased users.
async fn forget_waiting(
    connection: &mut SqliteConnection,
    rows: &[EncodedRecord],
    erased: &ErasedUsers,
) -> Result<(), StoreError> {
    for row in rows.iter().filter(|row| erased.contains(&row.record)) {
        sqlx::query(FORGET_WAITING)
            .bind(row.record.application_id.0)
            .bind(row.record.exchange_id.as_deref())
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// The numbers of records that are stored now or were before, and of those that are refused because their
/// user was erased.
fn numbers(
    rows: &[EncodedRecord],
    outcomes: &[Result<Insertion, StoreError>],
) -> impl Iterator<Item = ReceivedNumber> {
    let number = |(row, outcome): (&EncodedRecord, &Result<Insertion, StoreError>)| {
        let record = match outcome {
            Ok(Insertion::New | Insertion::Apart(_)) => Some(row.record.answer.request_id),
            Ok(Insertion::Earlier(_)) | Err(StoreError::Erased) => None,
            Err(_) => return None,
        };
        let entry = row.record.chain?;
        Some(ReceivedNumber {
            entry,
            record,
            at_ms: row.record.created_at_ms,
        })
    };
    rows.iter().zip(outcomes).filter_map(number)
}

async fn before(
    connection: &mut SqliteConnection,
    rows: &[EncodedRecord],
) -> Result<Before, StoreError> {
    let wanted: HashSet<Uuid> = rows.iter().map(|row| row.record.application_id.0).collect();
    let found = sqlx::query(KNOWN)
        .bind(json_list(wanted.iter().map(|id| id.simple().to_string())))
        .fetch_all(&mut *connection)
        .await?;
    let (mut last_seq, mut has_waiting, mut applications) = (0, false, HashSet::new());
    for row in found {
        match row.optional_id("id")? {
            Some(id) => drop(applications.insert(id)),
            None => {
                last_seq = row.number("last_seq")?;
                has_waiting = row.flag("has_waiting")?;
            }
        }
    }
    let records = rows.iter().map(|row| &row.record);
    Ok(Before {
        last_seq,
        has_waiting,
        applications,
        erased: erased_users::erased(connection, records).await?,
    })
}

/// For each row whether it was inserted; false if the record was there before.
async fn insert_portion(
    connection: &mut SqliteConnection,
    rows: &[&EncodedRecord],
    first: i64,
) -> Result<Vec<Result<bool, StoreError>>, StoreError> {
    if let Ok(inserted) = insert_together(connection, rows, first).await {
        return Ok(inserted.into_iter().map(Ok).collect());
    }
    undo(connection, first, rows.len()).await?;
    let mut inserted = Vec::with_capacity(rows.len());
    for (seq, row) in (first..).zip(rows.chunks(1)) {
        let one = insert_together(connection, row, seq).await;
        if one.is_err() {
            undo(connection, seq, 1).await?;
        }
        inserted.push(one.map(|inserted| inserted == [true]));
    }
    Ok(inserted)
}

/// Removes what a failed attempt left behind; bodies are deleted with their records.
async fn undo(
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
    rows: &[&EncodedRecord],
    first: i64,
) -> Result<Vec<bool>, StoreError> {
    let mut query = sqlx::query(AssertSqlSafe(statement(rows.len())));
    for (seq, row) in (first..).zip(rows) {
        query = bind_record(query, row, seq);
    }
    for (seq, row) in (first..).zip(rows) {
        query = query
            .bind(seq)
            // Shared with the statement: a long text is not copied.
            .bind(row.record.message.clone())
            .bind(row.cleaned_text.clone())
            .bind(row.entities.clone())
            .bind(&*row.additional_parameters)
            .bind(&*row.answer)
            .bind(row.inline_rules.as_deref())
            .bind(row.tool_parts.as_deref());
    }
    // A row of each table. Counted instead of returned: sqlx hands every row over from another thread.
    let written = query.execute(&mut *connection).await?.rows_affected();
    // A cached statement holds what was bound to it last until it is used again.
    if rows.iter().any(|row| bytes(row) > LONG) {
        connection.clear_cached_statements().await?;
    }
    match written == 2 * rows.len() as u64 {
        true => Ok(vec![true; rows.len()]),
        false => inserted(connection, first, rows.len()).await,
    }
}

/// For each position whether a record stands there.
async fn inserted(
    connection: &mut SqliteConnection,
    first: i64,
    rows: usize,
) -> Result<Vec<bool>, StoreError> {
    let found: HashSet<i64> = sqlx::query_scalar(INSERTED)
        .bind(first)
        .bind(first + rows as i64)
        .fetch_all(connection)
        .await?
        .into_iter()
        .collect();
    let positions = (first..).take(rows);
    Ok(positions.map(|seq| found.contains(&seq)).collect())
}

type Query<'q> = sqlx::query::Query<'q, Sqlite, SqliteArguments>;

fn bind_record<'q>(query: Query<'q>, row: &'q EncodedRecord, seq: i64) -> Query<'q> {
    let (record, verdict) = (&row.record, &row.record.answer);
    query
        .bind(seq)
        .bind(verdict.request_id.0)
        .bind(record.application_id.0)
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
        .bind(capped(verdict.tokens.count))
        .bind(row.severity.as_deref())
        .bind(&*row.types)
        .bind(record.failed())
        .bind(record.incomplete())
        .bind(record.blocked)
        .bind(capped(verdict.timings.total_us))
        .bind(bytes(row))
        .bind(record.chain.map(|chain| chain.gateway))
        .bind(record.chain.map(|chain| column(chain.sequence)))
        .bind(record.tool.as_ref().map(|tool| tool.name.as_str()))
        .bind(tool_call_id(row))
        .bind(row.part_keys_json.as_deref())
        .bind(row.model())
        .bind(row.usage.as_deref())
        .bind(row.priced())
        .bind(row.cost_units())
        .bind(row.currency())
        .bind(record.unchecked)
        .bind(row.call.as_deref())
        .bind(record.token.as_deref())
}

/// The size that is counted for a record: its texts and lists.
fn bytes(row: &EncodedRecord) -> i64 {
    let texts = row.record.message.iter().chain(&row.cleaned_text);
    let texts: usize = texts.map(|text| text.len()).sum();
    capped((texts + row.encoded_bytes()) as u64)
}

fn statement(rows: usize) -> String {
    let list = |row: &str| vec![row; rows].join(",");
    [RECORDS, &list(RECORD), BODIES, &list(BODY), BODIES_END].concat()
}
