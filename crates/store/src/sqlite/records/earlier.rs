//! The stored record that a row met: of the same application, exchange and stage, or tool call.

use crate::error::StoreError;
use crate::records::EarlierRecord;
use crate::sql::columns::Columns as _;
use crate::sql::records::{EncodedRecord, answer};
use crate::sql::reused_id::{Fingerprint, Reuse};
use crate::sqlite::values::stage_word;
use sqlx::SqliteConnection;

const EARLIER: &str = "
    SELECT * FROM records JOIN record_bodies USING (seq)
    WHERE application_id = ?1 AND exchange_id = ?2 AND stage = ?3 AND tool_call_id = ?4";

/// A stored record, and what the row is that met it.
pub(super) struct Earlier {
    pub(super) record: Box<EarlierRecord>,
    pub(super) reuse: Reuse,
}

pub(super) async fn earlier(
    connection: &mut SqliteConnection,
    row: &EncodedRecord,
) -> Result<Earlier, StoreError> {
    let stored = sqlx::query(EARLIER)
        .bind(row.record.application_id.0)
        .bind(row.record.exchange_id.as_deref())
        .bind(stage_word(row.record.stage))
        .bind(tool_call_id(row))
        .fetch_one(connection)
        .await?;
    let fingerprint = Fingerprint::stored(&stored, &stored)?;
    let reuse = Fingerprint::of(row).beside(&row.record, &fingerprint);
    let record = Box::new(EarlierRecord {
        answer: answer(&stored)?,
        blocked: stored.flag("blocked")?,
        has_other_text: reuse != Reuse::Repeat,
    });
    Ok(Earlier { record, reuse })
}

/// Empty for a message.
pub(super) fn tool_call_id(row: &EncodedRecord) -> &str {
    let tool = row.record.tool.as_ref();
    tool.map_or("", |tool| &tool.call_id)
}
