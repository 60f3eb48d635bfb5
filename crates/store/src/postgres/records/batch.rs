//! One transaction that inserts many records: a few statements over arrays, however many records there are.
//! What happens to a record that the database refuses is decided by `writer`.

use super::erased_users::{self, BEGIN_SHARED};
use super::failure::Failure;
use super::findings;
use super::ledger::{Earlier, Entry, Positioned, enter_ledger};
use super::row::RecordRow;
use super::value_insert;
use crate::chain::{ReceivedNumber, column as number_column};
use crate::error::StoreError;
use crate::postgres::attachments::waiting;
use crate::postgres::statistics::totals::BatchTotals;
use crate::postgres::values::{stage_number, text_key};
use crate::records::EarlierRecord;
use crate::sql::attachments::ErasedUsers;
use crate::sql::chain;
use crate::sql::reused_id::{Fingerprint, Reuse};
use sqlx::{Connection, PgConnection, Row as _};
use std::collections::HashSet;
use uuid::Uuid;

/// Running numbers for the new positions, which of the applications exist, and whether any user was erased.
const PREPARE: &str = "
    SELECT ARRAY(SELECT nextval('record_order') FROM generate_series(1, $1)) AS numbers,
           ARRAY(SELECT id FROM applications WHERE id = ANY ($2)) AS applications,
           EXISTS (SELECT FROM erased_users) AS has_erased_users";

const RECORDS: &str = "
    INSERT INTO records (seq, id, application_id, stage, exchange_id, user_id, user_key, session_id,
        session_key, created_at_ms, rules_version, status, flagged, flagged_guardrails,
        flagged_custom_policy, flagged_dataclean, blocked, failed, incomplete, token_count, severity,
        types, total_us, bytes, chain_gateway,
        chain_sequence, tool_name, tool_call_id, part_keys, model, usage, priced, cost, currency, unchecked,
        call_facts, token_name)
    SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::smallint[], $5::text[], $6::text[],
        $7::bigint[], $8::text[], $9::uuid[], $10::bigint[], $11::bigint[], $12::text[],
        $13::boolean[], $14::boolean[], $15::boolean[], $16::boolean[], $17::boolean[],
        $18::boolean[], $19::boolean[], $20::bigint[], $21::text[], $22::text[], $23::bigint[],
        $24::bigint[], $25::uuid[], $26::bigint[], $27::text[], $28::text[], $29::text[],
        $30::text[], $31::text[], $32::text[], $33::bigint[], $34::text[], $35::boolean[],
        $36::text[], $37::text[])";

const BODIES: &str = "
    INSERT INTO record_bodies (seq, message, cleaned_text, entities, additional_parameters,
        inline_rules, answer, tool_parts)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
        $7::text[], $8::text[])";

const TYPES: &str = "
    INSERT INTO record_types (kind_key, seq, application_id)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::uuid[])";

/// What became of a record.
pub(in crate::postgres) enum Inserted {
    /// It was inserted.
    New,
    /// It was inserted under an exchange id of its own: another record has its exchange and stage.
    Apart,
    /// A record of the same exchange and stage exists, or is inserted with this batch.
    Earlier(Box<EarlierRecord>),
    /// Its application does not exist.
    NoApplication,
    /// Its user was erased.
    Erased,
    /// A record with the same identifier exists, and the new one belongs to no exchange.
    IdTaken,
}

/// What the database holds before a batch, and the positions of its records.
struct Before {
    seqs: Vec<i64>,
    applications: HashSet<Uuid>,
    erased: ErasedUsers,
}

/// Inserts the rows in one transaction, durable when this returns; tells the outcome of each.
pub(in crate::postgres) async fn insert(
    connection: &mut PgConnection,
    rows: &[&RecordRow],
    lane: i16,
) -> Result<Vec<Inserted>, Failure> {
    let mut transaction = connection.begin_with(BEGIN_SHARED).await?;
    let before = prepare(&mut transaction, rows).await?;
    let (mut inserted, accepted) = classify(rows, &before);
    let entries = enter_ledger(&mut transaction, &accepted).await?;
    let (mut new, mut apart) = (Vec::with_capacity(accepted.len()), Vec::new());
    for (one, entry) in accepted.into_iter().zip(entries) {
        match entry {
            Entry::New => new.push(one),
            Entry::Met(earlier) => {
                let own;
                (inserted[one.place], own) = beside(one.row, *earlier)?;
                apart.extend(own.map(|row| (one, row)));
            }
        }
    }
    let apart = apart.iter().map(|(one, row)| Positioned { row, ..*one });
    new.extend(enter_apart(&mut transaction, apart.collect(), &mut inserted).await?);
    if !new.is_empty() {
        write(&mut transaction, &new, lane).await?;
        adopt_waiting(&mut transaction, &new).await?;
    }
    forget_waiting(&mut transaction, rows, &before.erased).await?;
    chain::enter(&mut *transaction, numbers(rows, &inserted)).await?;
    transaction.commit().await.map_err(Failure::AtCommit)?;
    Ok(inserted)
}

/// What becomes of a row that met another record of its exchange and stage, and the row to insert beside that.
fn beside(row: &RecordRow, earlier: Earlier) -> Result<(Inserted, Option<RecordRow>), StoreError> {
    if row.exchange_id.is_none() {
        return Ok((Inserted::IdTaken, None));
    }
    let own = Fingerprint::of(&row.encoded);
    let reuse = own.beside(row.record(), &earlier.fingerprint);
    let outcome = Inserted::Earlier(Box::new(EarlierRecord {
        has_other_text: reuse != Reuse::Repeat,
        ..earlier.record
    }));
    match reuse {
        Reuse::Apart => Ok((outcome, row.apart()?)),
        Reuse::Repeat | Reuse::OtherText => Ok((outcome, None)),
    }
}

/// Enters the rows that are stored apart; returns those that were not stored before.
async fn enter_apart<'r>(
    connection: &mut PgConnection,
    apart: Vec<Positioned<'r>>,
    inserted: &mut [Inserted],
) -> Result<Vec<Positioned<'r>>, Failure> {
    let mut new = Vec::new();
    let entries = enter_ledger(connection, &apart).await?;
    for (one, entry) in apart.into_iter().zip(entries) {
        inserted[one.place] = match entry {
            Entry::New => {
                new.push(one);
                Inserted::Apart
            }
            Entry::Met(earlier) => Inserted::Earlier(Box::new(earlier.record)),
        };
    }
    Ok(new)
}

/// What becomes of each row as far as applications and users tell, and the rows to insert.
fn classify<'r>(rows: &[&'r RecordRow], before: &Before) -> (Vec<Inserted>, Vec<Positioned<'r>>) {
    let (mut inserted, mut accepted) = (Vec::with_capacity(rows.len()), Vec::new());
    for (place, (row, seq)) in rows.iter().zip(&before.seqs).enumerate() {
        let record = row.record();
        inserted.push(if !before.applications.contains(&record.application_id.0) {
            Inserted::NoApplication
        } else if before.erased.contains(record) {
            Inserted::Erased
        } else {
            let seq = *seq;
            accepted.push(Positioned { place, seq, row });
            Inserted::New
        });
    }
    (inserted, accepted)
}

/// Gives the new records the files that waited for them. After the ledger was entered, which whoever lets a file
/// wait does too: none is missed.
async fn adopt_waiting(
    connection: &mut PgConnection,
    new: &[Positioned<'_>],
) -> Result<(), Failure> {
    let keys: Vec<Uuid> = new.iter().map(|one| one.row.key).collect();
    Ok(waiting::adopt(connection, &keys, &seqs(new)).await?)
}

/// Removes the files that waited for records of erased users.
async fn forget_waiting(
    connection: &mut PgConnection,
    rows: &[&RecordRow],
    erased: &ErasedUsers,
) -> Result<(), Failure> {
    for row in rows.iter().filter(|row| erased.contains(row.record())) {
        if let Some(exchange) = &row.exchange_id {
            let application = row.record().application_id;
            waiting::forget(connection, application, exchange).await?;
        }
    }
    Ok(())
}

/// The numbers of records that are stored now or were before, and of those that are refused because their
/// user was erased.
fn numbers(rows: &[&RecordRow], inserted: &[Inserted]) -> impl Iterator<Item = ReceivedNumber> {
    let number = |(row, inserted): (&&RecordRow, &Inserted)| {
        let record = match inserted {
            Inserted::New | Inserted::Apart => Some(row.record().answer.request_id),
            Inserted::Earlier(_) | Inserted::Erased => None,
            Inserted::NoApplication | Inserted::IdTaken => return None,
        };
        let entry = row.record().chain?;
        Some(ReceivedNumber {
            entry,
            record,
            at_ms: row.record().created_at_ms,
        })
    };
    rows.iter().zip(inserted).filter_map(number)
}

async fn prepare(connection: &mut PgConnection, rows: &[&RecordRow]) -> Result<Before, Failure> {
    let applications: HashSet<Uuid> = rows
        .iter()
        .map(|row| row.record().application_id.0)
        .collect();
    let found = sqlx::query(PREPARE)
        .bind(rows.len() as i64)
        .bind(applications.into_iter().collect::<Vec<_>>())
        .fetch_one(&mut *connection)
        .await?;
    let numbers: Vec<i64> = found.try_get("numbers")?;
    let applications: Vec<Uuid> = found.try_get("applications")?;
    let records = rows.iter().map(|row| row.record());
    let erased = match found.try_get("has_erased_users")? {
        true => erased_users::erased(connection, records).await?,
        false => ErasedUsers::default(),
    };
    let seqs = rows
        .iter()
        .zip(numbers)
        .map(|(row, number)| row.seq(number));
    Ok(Before {
        seqs: seqs.collect(),
        applications: applications.into_iter().collect(),
        erased,
    })
}

async fn write(
    connection: &mut PgConnection,
    new: &[Positioned<'_>],
    lane: i16,
) -> Result<(), Failure> {
    let mut totals = BatchTotals::default();
    for one in new {
        totals.add(one.row);
    }
    write_records(connection, new).await?;
    write_bodies(connection, new).await?;
    write_types(connection, new).await?;
    value_insert::insert(connection, new).await?;
    findings::write(connection, new).await?;
    Ok(totals.write(connection, lane).await?)
}

/// One column of all rows.
fn column<'r, T>(new: &[Positioned<'r>], value: impl Fn(&'r RecordRow) -> T) -> Vec<T> {
    new.iter().map(|one| value(one.row)).collect()
}

fn seqs(new: &[Positioned<'_>]) -> Vec<i64> {
    new.iter().map(|one| one.seq).collect()
}

async fn write_records(
    connection: &mut PgConnection,
    new: &[Positioned<'_>],
) -> Result<(), sqlx::Error> {
    sqlx::query(RECORDS)
        .bind(seqs(new))
        .bind(column(new, |row| row.record().answer.request_id.0))
        .bind(column(new, |row| row.record().application_id.0))
        .bind(column(new, |row| stage_number(row.record().stage)))
        .bind(column(new, |row| row.exchange_id.as_deref()))
        .bind(column(new, |row| row.user_id.as_deref()))
        .bind(column(new, RecordRow::user_key))
        .bind(column(new, |row| row.session_id.as_deref()))
        .bind(column(new, RecordRow::session_key))
        .bind(column(new, |row| row.record().created_at_ms))
        .bind(column(new, |row| row.record().rules_version))
        .bind(column(new, |row| row.record().answer.status.as_str()))
        .bind(column(new, RecordRow::flagged))
        .bind(column(new, |row| row.record().answer.guardrails.flagged))
        .bind(column(new, |row| row.record().answer.custom_policy.flagged))
        .bind(column(new, |row| row.record().answer.dataclean.flagged))
        .bind(column(new, |row| row.record().blocked))
        .bind(column(new, |row| row.record().failed()))
        .bind(column(new, |row| row.record().incomplete()))
        .bind(column(new, RecordRow::token_count))
        .bind(column(new, |row| row.encoded.severity.as_deref()))
        .bind(column(new, |row| row.encoded.types.as_str()))
        .bind(column(new, RecordRow::total_us))
        .bind(column(new, |row| row.bytes))
        .bind(column(new, |row| {
            row.record().chain.map(|chain| chain.gateway)
        }))
        .bind(column(new, |row| {
            let number = row.record().chain.map(|chain| chain.sequence);
            number.map(number_column)
        }))
        .bind(column(new, |row| {
            row.tool.as_ref().map(|tool| tool.name.as_str())
        }))
        .bind(column(new, |row| {
            row.tool.as_ref().map(|tool| tool.call_id.as_str())
        }))
        .bind(column(new, |row| row.encoded.part_keys_json.as_deref()))
        .bind(column(new, |row| row.model.as_deref()))
        .bind(column(new, |row| row.encoded.usage.as_deref()))
        .bind(column(new, |row| row.encoded.priced()))
        .bind(column(new, |row| row.encoded.cost_units()))
        .bind(column(new, |row| row.encoded.currency()))
        .bind(column(new, |row| row.record().unchecked))
        .bind(column(new, |row| row.encoded.call.as_deref()))
        .bind(column(new, |row| row.token.as_deref()))
        .execute(connection)
        .await
        .map(drop)
}

async fn write_bodies(
    connection: &mut PgConnection,
    new: &[Positioned<'_>],
) -> Result<(), sqlx::Error> {
    sqlx::query(BODIES)
        .bind(seqs(new))
        .bind(column(new, |row| row.encoded.record.message.as_deref()))
        .bind(column(new, |row| row.encoded.cleaned_text.as_deref()))
        .bind(column(new, |row| &*row.encoded.entities))
        .bind(column(new, |row| {
            row.encoded.additional_parameters.as_str()
        }))
        .bind(column(new, |row| row.encoded.inline_rules.as_deref()))
        .bind(column(new, |row| row.encoded.answer.as_str()))
        .bind(column(new, |row| row.encoded.tool_parts.as_deref()))
        .execute(connection)
        .await
        .map(drop)
}

/// A row of `record_types`.
#[derive(PartialEq, Eq, Hash)]
struct TypeRow {
    key: i64,
    seq: i64,
    application: Uuid,
}

async fn write_types(
    connection: &mut PgConnection,
    new: &[Positioned<'_>],
) -> Result<(), sqlx::Error> {
    let mut types: HashSet<TypeRow> = HashSet::new();
    for one in new {
        let record = one.row.record();
        let found = record.answer.dataclean.types.iter();
        let found = found.map(|found| &*found.kind);
        let of_parts = one.row.encoded.part_keys.iter().map(String::as_str);
        for kind in found.chain(of_parts) {
            types.insert(TypeRow {
                key: text_key(kind),
                seq: one.seq,
                application: record.application_id.0,
            });
        }
    }
    if types.is_empty() {
        return Ok(());
    }
    sqlx::query(TYPES)
        .bind(types.iter().map(|row| row.key).collect::<Vec<_>>())
        .bind(types.iter().map(|row| row.seq).collect::<Vec<_>>())
        .bind(types.iter().map(|row| row.application).collect::<Vec<_>>())
        .execute(connection)
        .await
        .map(drop)
}
