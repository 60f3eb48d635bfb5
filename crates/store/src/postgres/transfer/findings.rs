//! Writes findings and their history: their rows name a record.

use crate::error::StoreError;
use crate::postgres::values::escaped;
use crate::transfer::{Row, Table};
use sqlx::PgConnection;
use uuid::Uuid;

const FINDINGS: &str = "
    INSERT INTO findings (seq, record_id, application_id, user_id, user_key, created_at_ms, cluster, assignee_id,
        labels, state, reason, changed_at_ms)
    SELECT r.seq, r.id, r.application_id, r.user_id, r.user_key, r.created_at_ms, u.cluster, u.assignee_id,
        u.labels, u.state, u.reason, u.changed_at_ms
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::bigint[])
        AS u (record_id, cluster, assignee_id, labels, state, reason, changed_at_ms)
    JOIN records r ON r.id = u.record_id";
const CHANGES: &str = "
    INSERT INTO finding_changes (seq, number, at_ms, actor, from_state, to_state, reason, assignee, note)
    SELECT r.seq, u.number, u.at_ms, u.actor, u.from_state, u.to_state, u.reason, u.assignee, u.note
    FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
        $9::text[]) AS u (record_id, number, at_ms, actor, from_state, to_state, reason, assignee, note)
    JOIN records r ON r.id = u.record_id";

pub(super) async fn insert(
    connection: &mut PgConnection,
    table: Table,
    rows: &[Row],
) -> Result<(), StoreError> {
    match table {
        Table::FindingChanges => insert_changes(connection, rows).await?,
        _ => insert_findings(connection, rows).await?,
    }
    Ok(())
}

async fn insert_findings(connection: &mut PgConnection, rows: &[Row]) -> Result<(), sqlx::Error> {
    sqlx::query(FINDINGS)
        .bind(ids(rows, "record_id"))
        .bind(ids(rows, "cluster"))
        .bind(ids(rows, "assignee_id"))
        .bind(texts(rows, "labels"))
        .bind(texts(rows, "state"))
        .bind(texts(rows, "reason"))
        .bind(numbers(rows, "changed_at_ms"))
        .execute(connection)
        .await
        .map(drop)
}

async fn insert_changes(connection: &mut PgConnection, rows: &[Row]) -> Result<(), sqlx::Error> {
    sqlx::query(CHANGES)
        .bind(ids(rows, "record_id"))
        .bind(numbers(rows, "number"))
        .bind(numbers(rows, "at_ms"))
        .bind(texts(rows, "actor"))
        .bind(texts(rows, "from_state"))
        .bind(texts(rows, "to_state"))
        .bind(texts(rows, "reason"))
        .bind(texts(rows, "assignee"))
        .bind(texts(rows, "note"))
        .execute(connection)
        .await
        .map(drop)
}

fn ids(rows: &[Row], column: &str) -> Vec<Option<Uuid>> {
    rows.iter().map(|row| row.id(column)).collect()
}

fn numbers(rows: &[Row], column: &str) -> Vec<Option<i64>> {
    rows.iter().map(|row| row.number(column)).collect()
}

/// Words have nothing to escape.
fn texts(rows: &[Row], column: &str) -> Vec<Option<String>> {
    let text = |row: &Row| row.text(column).map(|text| escaped(text).into_owned());
    rows.iter().map(text).collect()
}
