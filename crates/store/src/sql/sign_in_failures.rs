//! Counted failures from their columns.

use super::columns::Columns;
use crate::error::StoreError;
use crate::people::sign_in_failures::CountedFailures;

/// A row of `sign_in_failures`.
pub(crate) fn counted_failures(row: &impl Columns) -> Result<CountedFailures, StoreError> {
    Ok(CountedFailures {
        key: row.bytes("counter")?.to_vec(),
        failures: row.number("failures")?,
        at_ms: row.number("at_ms")?,
    })
}
