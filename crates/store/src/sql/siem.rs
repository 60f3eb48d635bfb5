//! Events for other systems from their columns.

use super::columns::Columns;
use crate::error::StoreError;
use crate::siem::{EventSource, QueuedEvent, SiemLag};
use monitor_model::RecordId;

/// A row of `siem_outbox`.
pub(crate) fn queued_event(row: &impl Columns) -> Result<QueuedEvent, StoreError> {
    let record = row.optional_id("record_id")?;
    let source = match (record, row.optional_number("audit_seq")?) {
        (Some(id), _) => EventSource::Record(RecordId(id)),
        (None, Some(seq)) => EventSource::Audit(seq),
        (None, None) => return Err(StoreError::Unreadable("queued event")),
    };
    Ok(QueuedEvent {
        id: row.number("id")?,
        source,
    })
}

/// A row of `siem_destinations` with the sums of its queue.
pub(crate) fn lag(row: &impl Columns) -> Result<SiemLag, StoreError> {
    Ok(SiemLag {
        name: row.raw("name")?.to_owned(),
        waiting: row.count("waiting")?,
        oldest_ms: row.optional_number("oldest_ms")?,
        error: row.optional_raw("error")?.map(str::to_owned),
        error_ms: row.optional_number("error_ms")?,
    })
}
