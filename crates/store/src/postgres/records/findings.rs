//! The findings of a batch: one for each flagged record.

use super::ledger::Positioned;
use crate::findings::Flagged;
use crate::sql::records::json;
use sqlx::PgConnection;

const INSERT: &str = "
    INSERT INTO findings (seq, record_id, application_id, user_id, user_key, created_at_ms, cluster, labels, state,
        changed_at_ms)
    SELECT u.seq, u.record_id, u.application_id, u.user_id, u.user_key, u.created_at_ms, u.cluster, u.labels, 'open',
        u.created_at_ms
    FROM unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::text[], $5::bigint[], $6::bigint[], $7::uuid[], $8::text[])
        AS u (seq, record_id, application_id, user_id, user_key, created_at_ms, cluster, labels)
    ON CONFLICT (seq) DO NOTHING";

/// A record that was flagged.
struct FlaggedRow<'r> {
    one: &'r Positioned<'r>,
    flagged: Flagged,
}

/// Adds the findings of new records.
pub(super) async fn write(
    connection: &mut PgConnection,
    new: &[Positioned<'_>],
) -> Result<(), sqlx::Error> {
    let mut rows = Vec::new();
    for one in new {
        if let Some(flagged) = Flagged::of(one.row.record()) {
            rows.push(FlaggedRow { one, flagged });
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let records = || rows.iter().map(|row| row.one.row.record());
    // A list of texts always becomes JSON.
    let labels = rows
        .iter()
        .map(|row| json(&row.flagged.labels).unwrap_or_else(|_| "[]".to_owned()));
    sqlx::query(INSERT)
        .bind(rows.iter().map(|row| row.one.seq).collect::<Vec<_>>())
        .bind(
            records()
                .map(|it| it.answer.request_id.0)
                .collect::<Vec<_>>(),
        )
        .bind(records().map(|it| it.application_id.0).collect::<Vec<_>>())
        .bind(
            rows.iter()
                .map(|row| row.one.row.user_id.as_deref())
                .collect::<Vec<_>>(),
        )
        .bind(
            rows.iter()
                .map(|row| row.one.row.user_key())
                .collect::<Vec<_>>(),
        )
        .bind(records().map(|it| it.created_at_ms).collect::<Vec<_>>())
        .bind(
            rows.iter()
                .map(|row| row.flagged.cluster)
                .collect::<Vec<_>>(),
        )
        .bind(labels.collect::<Vec<_>>())
        .execute(connection)
        .await
        .map(drop)
}
