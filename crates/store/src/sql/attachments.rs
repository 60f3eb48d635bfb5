//! Attachments and tombstones from their columns.

use super::columns::Columns;
use crate::attachments::{Attachment, BlobHash, Findings};
use crate::error::StoreError;
use crate::records::NewRecord;
use crate::removal::refusing_hash;
use std::collections::HashSet;
use uuid::Uuid;

/// An attachment, from the columns of `attachments`.
pub(crate) fn attachment(row: &impl Columns) -> Result<Attachment, StoreError> {
    let findings = serde_json::from_str(row.raw("findings")?);
    Ok(Attachment {
        hash: hash(row)?,
        name: row.text("name")?,
        kind: row.text("type")?,
        size: row.count("size")?,
        kept: row.flag("kept")?,
        findings: findings.map_err(|_| StoreError::Unreadable("attachment"))?,
        attached_at_ms: row.number("attached_at_ms")?,
    })
}

/// The column `sha256`.
pub(crate) fn hash(row: &impl Columns) -> Result<BlobHash, StoreError> {
    BlobHash::from_column(row.bytes("sha256")?)
}

/// Columns `ticket` and `removing`: the ticket, unless the bytes are being removed.
pub(crate) fn ticket(row: &impl Columns) -> Result<Option<i64>, StoreError> {
    let ticket = row.number("ticket")?;
    Ok((row.number("removing")? == 0).then_some(ticket))
}

/// Findings as their column holds them.
pub(crate) fn findings_json(findings: &Findings) -> Result<String, StoreError> {
    serde_json::to_string(findings).map_err(|_| StoreError::Unreadable("attachment"))
}

/// Erased users and exchanges among those of a batch, by the hashes of their names.
#[derive(Default)]
pub(crate) struct ErasedUsers(HashSet<(Vec<u8>, Option<Uuid>)>);

impl ErasedUsers {
    /// Rows with the columns `user_hash` and `application_id`; NULL stands for every application.
    pub(crate) fn from_rows<R: Columns>(rows: &[R]) -> Result<Self, sqlx::Error> {
        let user = |row: &R| {
            let hash = row.bytes("user_hash")?.to_vec();
            Ok((hash, row.optional_id("application_id")?))
        };
        rows.iter().map(user).collect::<Result<_, _>>().map(Self)
    }

    /// Whether the user of a record was erased, or that of its exchange where it names none.
    pub(crate) fn contains(&self, record: &NewRecord) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let Some(hash) = refusing_hash(record) else {
            return false;
        };
        let hash = hash.to_vec();
        let of = |application| self.0.contains(&(hash.clone(), application));
        of(None) || of(Some(record.application_id.0))
    }
}
