//! Writes findings and their history: their rows name a record.

use super::bind::bind;
use crate::error::StoreError;
use crate::transfer::{Row, Table};
use sqlx::SqliteConnection;

const FINDING: &str = "
    INSERT INTO findings (seq, record_id, application_id, user_id, created_at_ms, cluster, assignee_id, labels, state,
        reason, changed_at_ms)
    SELECT seq, id, application_id, user_id, created_at_ms, ?2, ?3, ?4, ?5, ?6, ?7 FROM records WHERE id = ?1";
const CHANGE: &str = "
    INSERT INTO finding_changes (seq, number, at_ms, actor, from_state, to_state, reason, assignee, note)
    SELECT seq, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM records WHERE id = ?1";

pub(super) async fn insert(
    connection: &mut SqliteConnection,
    table: Table,
    rows: &[Row],
) -> Result<(), StoreError> {
    let sql = match table {
        Table::FindingChanges => CHANGE,
        _ => FINDING,
    };
    for row in rows {
        let query = bind(sqlx::query(sql), row.values());
        query.execute(&mut *connection).await?;
    }
    Ok(())
}
