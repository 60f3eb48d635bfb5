//! One transaction that keeps many records: a few statements over arrays, however many records there
//! are. What becomes of one that the database refuses is `writer`'s.

use super::attachments::{self, Refused};
use super::chain;
use super::pages;
use super::row::{Row, stage_number};
use super::tally::Tally;
use super::text::text_key;
use crate::chain::Arrival;
use crate::{Erasure, StoreError};
use monitor_model::AnalysisResponse;
use sqlx::{Connection, PgConnection, Row as _};
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

/// The numbers of the new places, and those of the applications that there are.
const PREPARE: &str = "
    SELECT ARRAY(SELECT nextval('record_order') FROM generate_series(1, $1)),
           ARRAY(SELECT id FROM applications WHERE id = ANY ($2)),
           EXISTS (SELECT FROM erased_users)";

/// Waits where another transaction is keeping the same exchange; sorted keys keep the waits in order.
const LEDGER: &str = "
    INSERT INTO record_ledger (key, seq) SELECT * FROM unnest($1::uuid[], $2::bigint[])
    ON CONFLICT (key) DO NOTHING RETURNING key";

/// A key whose record is gone, removed by retention, is free for another one.
const TAKE_OVER: &str = "UPDATE record_ledger SET seq = $2 WHERE key = $1 AND seq = $3";

const RECORDS: &str = "
    INSERT INTO records (seq, id, application_id, stage, exchange_id, user_id, user_key, session_id,
        session_key, created_at_ms, rules_version, status, flagged, flagged_guardrails,
        flagged_custom_policy, flagged_dataclean, blocked, failed, incomplete, token_count, severity,
        types, total_us, bytes, chain_gateway,
        chain_sequence)
    SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::smallint[], $5::text[], $6::text[],
        $7::bigint[], $8::text[], $9::uuid[], $10::bigint[], $11::bigint[], $12::text[],
        $13::boolean[], $14::boolean[], $15::boolean[], $16::boolean[], $17::boolean[],
        $18::boolean[], $19::boolean[], $20::bigint[], $21::text[], $22::text[], $23::bigint[],
        $24::bigint[], $25::uuid[], $26::bigint[])";

const BODIES: &str = "
    INSERT INTO record_bodies (seq, message, cleaned_text, entities, additional_parameters,
        inline_rules, answer)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
        $7::text[])";

const KINDS: &str = "
    INSERT INTO record_types (kind_key, seq, application_id)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::uuid[])";

/// What became of a record.
pub(super) enum Kept {
    New,
    /// There was one of the same exchange and stage, with this answer.
    Earlier(Box<AnalysisResponse>),
    /// Its application is not there.
    NoApplication,
    /// The records of its user were erased.
    Erased,
    /// There is one of the same identifier, and no exchange that they could both belong to.
    Taken,
    /// Another record of this batch has the same exchange and stage; its answer is the one to give.
    TwinOf(Uuid),
}

/// A new record and its place.
type Placed<'r> = (i64, &'r Row);

/// Keeps the rows in one transaction, durable when this returns; says for each what became of it.
pub(super) async fn keep(
    connection: &mut PgConnection,
    rows: &[&Row],
    lane: i16,
) -> Result<Vec<Kept>, Failure> {
    let mut transaction = connection.begin_with(attachments::LOCK_SHARED).await?;
    let (places, known, refused) = prepare(&mut transaction, rows).await?;
    let (mut fates, mut new) = (Vec::with_capacity(rows.len()), Vec::new());
    let mut keys = HashSet::new();
    for (row, place) in rows.iter().zip(places) {
        fates.push(if !known.contains(&row.record.application_id.0) {
            Kept::NoApplication
        } else if is_refused(&refused, row) {
            Kept::Erased
        } else if !keys.insert(row.key) {
            Kept::TwinOf(row.key)
        } else {
            new.push((place, *row));
            Kept::New
        });
    }
    let earlier = enter(&mut transaction, &mut new).await?;
    for (row, fate) in rows.iter().zip(&mut fates) {
        if let (Kept::New | Kept::TwinOf(_), Some(answer)) = (&*fate, earlier.get(&row.key)) {
            *fate = Kept::Earlier(answer.clone());
        }
        if row.exchange_id.is_none() && matches!(fate, Kept::Earlier(_) | Kept::TwinOf(_)) {
            *fate = Kept::Taken;
        }
    }
    if !new.is_empty() {
        write(&mut transaction, &new, lane).await?;
    }
    chain::enter(&mut transaction, arrivals(rows, &fates)).await?;
    transaction.commit().await.map_err(Failure::at_commit)?;
    Ok(fates)
}

/// Numbers of the records that are kept or were before, and of those that are refused because their user
/// was erased.
fn arrivals(rows: &[&Row], fates: &[Kept]) -> impl Iterator<Item = Arrival> {
    let arrival = |(row, fate): (&&Row, &Kept)| {
        let record = match fate {
            Kept::New => Some(row.record.answer.request_id),
            Kept::Earlier(_) | Kept::TwinOf(_) | Kept::Erased => None,
            _ => return None,
        };
        let entry = row.record.chain?;
        Some(Arrival {
            entry,
            record,
            at_ms: row.record.created_at_ms,
        })
    };
    rows.iter().zip(fates).filter_map(arrival)
}

async fn prepare(
    connection: &mut PgConnection,
    rows: &[&Row],
) -> Result<(Vec<i64>, HashSet<Uuid>, Refused), Failure> {
    let applications: HashSet<Uuid> = rows.iter().map(|row| row.record.application_id.0).collect();
    let found = sqlx::query(PREPARE)
        .bind(rows.len() as i64)
        .bind(applications.into_iter().collect::<Vec<_>>())
        .fetch_one(&mut *connection)
        .await?;
    let numbers: Vec<i64> = found.try_get(0)?;
    let known: Vec<Uuid> = found.try_get(1)?;
    let refused = match found.try_get(2)? {
        true => attachments::refused(connection, rows.iter().filter_map(|row| user(row))).await?,
        false => Refused::new(),
    };
    let places = rows.iter().zip(numbers).map(|(row, n)| row.place(n));
    Ok((places.collect(), known.into_iter().collect(), refused))
}

fn user(row: &Row) -> Option<&str> {
    row.record.user_id.as_deref()
}

fn is_refused(refused: &Refused, row: &Row) -> bool {
    let Some(user) = user(row).filter(|_| !refused.is_empty()) else {
        return false;
    };
    let hash = Erasure::user_hash(user).to_vec();
    let of = |application| refused.contains(&(hash.clone(), application));
    of(None) || of(Some(row.record.application_id.0))
}

/// Enters the new records into the ledger; takes out of `new` what was there before, and gives the
/// answers of that.
async fn enter(
    connection: &mut PgConnection,
    new: &mut Vec<Placed<'_>>,
) -> Result<HashMap<Uuid, Box<AnalysisResponse>>, Failure> {
    let mut keyed: Vec<(Uuid, i64)> = new.iter().map(|(place, row)| (row.key, *place)).collect();
    if keyed.is_empty() {
        return Ok(HashMap::new());
    }
    keyed.sort_unstable();
    let entered: HashSet<Uuid> = sqlx::query_scalar(LEDGER)
        .bind(keyed.iter().map(|(key, _)| *key).collect::<Vec<_>>())
        .bind(keyed.iter().map(|(_, place)| *place).collect::<Vec<_>>())
        .fetch_all(&mut *connection)
        .await?
        .into_iter()
        .collect();
    keyed.retain(|(key, _)| !entered.contains(key));
    let answers = earlier(connection, &keyed).await?;
    new.retain(|(_, row)| !answers.contains_key(&row.key));
    Ok(answers)
}

/// The answers of the records that the ledger has under these keys.
async fn earlier(
    connection: &mut PgConnection,
    keyed: &[(Uuid, i64)],
) -> Result<HashMap<Uuid, Box<AnalysisResponse>>, Failure> {
    let mut answers = HashMap::new();
    if keyed.is_empty() {
        return Ok(answers);
    }
    let known = sqlx::query("SELECT key, seq FROM record_ledger WHERE key = ANY ($1)")
        .bind(keyed.iter().map(|(key, _)| *key).collect::<Vec<_>>())
        .fetch_all(&mut *connection)
        .await?;
    let mut places = HashMap::new();
    for row in &known {
        places.insert(row.try_get::<Uuid, _>(0)?, row.try_get::<i64, _>(1)?);
    }
    let seqs: Vec<i64> = places.values().copied().collect();
    let bodies = pages::bodies(&seqs).fetch_all(&mut *connection).await?;
    let bodies = pages::by_place(bodies)?;
    for (key, place) in keyed {
        let Some(found) = places.get(key) else {
            return Err(Failure::Again);
        };
        match bodies.get(found) {
            Some(body) => {
                let answer = super::row::answer(body).map_err(Failure::Store)?;
                answers.insert(*key, Box::new(answer));
            }
            None => take_over(connection, *key, (*place, *found)).await?,
        }
    }
    Ok(answers)
}

async fn take_over(
    connection: &mut PgConnection,
    key: Uuid,
    (place, gone): (i64, i64),
) -> Result<(), Failure> {
    let query = sqlx::query(TAKE_OVER).bind(key).bind(place).bind(gone);
    match query.execute(connection).await?.rows_affected() {
        0 => Err(Failure::Again),
        _ => Ok(()),
    }
}

async fn write(
    connection: &mut PgConnection,
    new: &[Placed<'_>],
    lane: i16,
) -> Result<(), Failure> {
    let mut tally = Tally::default();
    for (_, row) in new {
        tally.add(row);
    }
    write_records(connection, new).await?;
    write_bodies(connection, new).await?;
    write_kinds(connection, new).await?;
    Ok(tally.write(connection, lane).await?)
}

/// One column of all rows.
fn column<'r, T>(new: &[Placed<'r>], take: impl Fn(&'r Row) -> T) -> Vec<T> {
    new.iter().map(|(_, row)| take(row)).collect()
}

fn places(new: &[Placed<'_>]) -> Vec<i64> {
    new.iter().map(|(place, _)| *place).collect()
}

async fn write_records(
    connection: &mut PgConnection,
    new: &[Placed<'_>],
) -> Result<(), sqlx::Error> {
    sqlx::query(RECORDS)
        .bind(places(new))
        .bind(column(new, |row| row.record.answer.request_id.0))
        .bind(column(new, |row| row.record.application_id.0))
        .bind(column(new, |row| stage_number(row.record.stage)))
        .bind(column(new, |row| row.exchange_id.as_deref()))
        .bind(column(new, |row| row.user_id.as_deref()))
        .bind(column(new, Row::user_key))
        .bind(column(new, |row| row.session_id.as_deref()))
        .bind(column(new, Row::session_key))
        .bind(column(new, |row| row.record.created_at_ms))
        .bind(column(new, |row| row.record.rules_version))
        .bind(column(new, |row| row.record.answer.status.as_str()))
        .bind(column(new, Row::flagged))
        .bind(column(new, |row| row.record.answer.guardrails.flagged))
        .bind(column(new, |row| row.record.answer.custom_policy.flagged))
        .bind(column(new, |row| row.record.answer.dataclean.flagged))
        .bind(column(new, |row| row.record.blocked))
        .bind(column(new, |row| row.record.failed()))
        .bind(column(new, |row| row.record.incomplete()))
        .bind(column(new, Row::token_count))
        .bind(column(new, |row| row.severity.as_deref()))
        .bind(column(new, |row| row.types.as_str()))
        .bind(column(new, Row::total_us))
        .bind(column(new, |row| row.bytes))
        .bind(column(new, |row| {
            row.record.chain.map(|chain| chain.gateway)
        }))
        .bind(column(new, |row| {
            let number = row.record.chain.map(|chain| chain.sequence);
            number.map(crate::chain::column)
        }))
        .execute(connection)
        .await
        .map(drop)
}

async fn write_bodies(
    connection: &mut PgConnection,
    new: &[Placed<'_>],
) -> Result<(), sqlx::Error> {
    sqlx::query(BODIES)
        .bind(places(new))
        .bind(column(new, |row| row.message.as_deref()))
        .bind(column(new, |row| row.cleaned_text.as_deref()))
        .bind(column(new, |row| row.entities.as_str()))
        .bind(column(new, |row| row.additional_parameters.as_str()))
        .bind(column(new, |row| row.inline_rules.as_deref()))
        .bind(column(new, |row| row.answer.as_str()))
        .execute(connection)
        .await
        .map(drop)
}

async fn write_kinds(connection: &mut PgConnection, new: &[Placed<'_>]) -> Result<(), sqlx::Error> {
    let mut kinds: HashSet<(i64, i64, Uuid)> = HashSet::new();
    for (place, row) in new {
        for found in &row.record.answer.dataclean.types {
            kinds.insert((text_key(&found.kind), *place, row.record.application_id.0));
        }
    }
    if kinds.is_empty() {
        return Ok(());
    }
    sqlx::query(KINDS)
        .bind(kinds.iter().map(|kind| kind.0).collect::<Vec<_>>())
        .bind(kinds.iter().map(|kind| kind.1).collect::<Vec<_>>())
        .bind(kinds.iter().map(|kind| kind.2).collect::<Vec<_>>())
        .execute(connection)
        .await
        .map(drop)
}

/// Why a batch was not kept.
pub(super) enum Failure {
    /// Nothing is kept, and what to do follows from the database's words.
    Before(sqlx::Error),
    /// Whether it is kept is not known.
    AtCommit(sqlx::Error),
    /// Another transaction was in between; the same again is likely to do.
    Again,
    /// What is stored cannot be read.
    Store(StoreError),
}

impl Failure {
    fn at_commit(error: sqlx::Error) -> Self {
        Self::AtCommit(error)
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Before(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
