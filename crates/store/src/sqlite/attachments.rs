//! Files of records (CONTRACT 29). Their links go with their records, by the schema.

use super::SqliteStore;
use super::erasure;
use super::rows::whole;
use super::write::Write;
use super::writer::Written;
use crate::{
    Attached, Attachment, AttachmentStore, BlobHash, Erased, Erasure, NewAttachment, REMOVAL,
    StoreError,
};
use async_trait::async_trait;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};
use uuid::Uuid;

/// A removal that was given up is nobody's any more.
const CLAIM: &str = "
    INSERT INTO blobs AS b (sha256, size, ticket) VALUES (?1, ?2, ?3)
    ON CONFLICT (sha256) DO UPDATE SET
        ticket = iif(b.removing BETWEEN 1 AND unixepoch('subsec') * 1000 - ?4,
            excluded.ticket, b.ticket),
        removing = iif(b.removing < unixepoch('subsec') * 1000 - ?4, 0, b.removing)
    RETURNING ticket, removing";
const LINK: &str = "
    INSERT INTO attachments (seq, sha256, name, type, size, kept, findings, attached_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (seq, sha256) DO NOTHING";
/// The bytes count as the record's, so that retention bounds them.
const COUNT: &str = "
    UPDATE record_totals SET bytes = bytes + ?2
        WHERE application_id = (SELECT application_id FROM records WHERE seq = ?1);
    UPDATE records SET bytes = bytes + ?2 WHERE seq = ?1";
const UNLINKED: &str = "
    UPDATE blobs SET removing = CAST(unixepoch('subsec') * 1000 AS INTEGER)
    WHERE sha256 IN (SELECT sha256 FROM blobs
        WHERE links = 0 AND removing < unixepoch('subsec') * 1000 - ?2 LIMIT ?1)
    RETURNING sha256";
/// The hashes as a JSON list, in hexadecimal.
const FORGET: &str = "
    DELETE FROM blobs WHERE removing > 0 AND sha256 IN (SELECT unhex(value) FROM json_each(?1))";

#[async_trait]
impl AttachmentStore for SqliteStore {
    async fn claim_blob(
        &self,
        hash: BlobHash,
        size: u64,
        ticket: i64,
    ) -> Result<Option<i64>, StoreError> {
        match self.writer.write(Write::Claim(hash, size, ticket)).await? {
            Written::Ticket(ticket) => Ok(ticket),
            _ => Ok(None),
        }
    }

    async fn attach(&self, new: NewAttachment) -> Result<Attached, StoreError> {
        match self.writer.write(Write::Attach(Box::new(new))).await? {
            Written::Attached(attached) => Ok(attached),
            _ => Ok(Attached::NoRecord),
        }
    }

    async fn attachments(&self, seq: i64) -> Result<Vec<Attachment>, StoreError> {
        let rows =
            sqlx::query("SELECT * FROM attachments WHERE seq = ?1 ORDER BY attached_at_ms, sha256")
                .bind(seq)
                .fetch_all(&self.readers)
                .await?;
        rows.iter().map(attachment).collect()
    }

    async fn unlinked_blobs(&self, limit: u32) -> Result<Vec<BlobHash>, StoreError> {
        match self.writer.write(Write::Unlinked(limit)).await? {
            Written::Hashes(hashes) => Ok(hashes),
            _ => Ok(Vec::new()),
        }
    }

    async fn forget_blobs(&self, hashes: Vec<BlobHash>) -> Result<(), StoreError> {
        self.writer.write(Write::Forget(hashes)).await.map(drop)
    }

    async fn add_tombstone(&self, erasure: &Erasure) -> Result<Uuid, StoreError> {
        let write = Write::Tombstone(Box::new(erasure.clone()));
        match self.writer.write(write).await? {
            Written::Tombstone(id) => Ok(id),
            _ => Ok(erasure.id),
        }
    }

    async fn erase_step(&self, erasure: &Erasure) -> Result<Erased, StoreError> {
        erasure::step_through(&self.writer, erasure).await
    }
}

pub(super) async fn claim(
    connection: &mut SqliteConnection,
    (hash, size, ticket): (BlobHash, u64, i64),
) -> Result<Option<i64>, StoreError> {
    let row = sqlx::query(CLAIM)
        .bind(hash.0.to_vec())
        .bind(whole(size))
        .bind(ticket)
        .bind(longest())
        .fetch_one(connection)
        .await?;
    let removing: i64 = row.try_get("removing")?;
    Ok((removing == 0).then_some(row.try_get("ticket")?))
}

pub(super) async fn attach(
    connection: &mut SqliteConnection,
    new: NewAttachment,
) -> Result<Attached, StoreError> {
    let NewAttachment {
        seq,
        ticket,
        attachment,
    } = new;
    let record: Option<i64> = sqlx::query_scalar("SELECT seq FROM records WHERE seq = ?1")
        .bind(seq)
        .fetch_optional(&mut *connection)
        .await?;
    if record.is_none() {
        return Ok(Attached::NoRecord);
    }
    if attachment.kept && ticket_of(connection, attachment.hash).await? != ticket {
        return Ok(Attached::BlobGone);
    }
    let size = whole(attachment.size);
    let findings = serde_json::to_string(&attachment.findings);
    let linked = sqlx::query(LINK)
        .bind(seq)
        .bind(attachment.hash.0.to_vec())
        .bind(attachment.name)
        .bind(attachment.kind)
        .bind(size)
        .bind(attachment.kept)
        .bind(findings.map_err(|_| StoreError::Unreadable("attachment"))?)
        .bind(attachment.attached_at_ms)
        .execute(&mut *connection)
        .await?;
    if linked.rows_affected() == 0 {
        return Ok(Attached::Before);
    }
    if attachment.kept {
        let count = sqlx::query(COUNT).bind(seq).bind(size);
        count.execute(connection).await?;
    }
    Ok(Attached::New)
}

async fn ticket_of(
    connection: &mut SqliteConnection,
    hash: BlobHash,
) -> Result<Option<i64>, StoreError> {
    let ticket = sqlx::query_scalar("SELECT ticket FROM blobs WHERE sha256 = ?1 AND removing = 0");
    let ticket = ticket.bind(hash.0.to_vec());
    Ok(ticket.fetch_optional(connection).await?)
}

pub(super) async fn unlinked(
    connection: &mut SqliteConnection,
    limit: u32,
) -> Result<Vec<BlobHash>, StoreError> {
    let rows = sqlx::query(UNLINKED)
        .bind(limit)
        .bind(longest())
        .fetch_all(connection)
        .await?;
    let hash = |row: &SqliteRow| BlobHash::from_column(row.try_get("sha256")?);
    rows.iter().map(hash).collect()
}

/// Milliseconds that a removal may take.
fn longest() -> i64 {
    i64::try_from(REMOVAL.as_millis()).unwrap_or(i64::MAX)
}

pub(super) async fn forget(
    connection: &mut SqliteConnection,
    hashes: Vec<BlobHash>,
) -> Result<(), StoreError> {
    let list: Vec<String> = hashes.iter().map(ToString::to_string).collect();
    sqlx::query(FORGET)
        .bind(serde_json::Value::from(list).to_string())
        .execute(connection)
        .await?;
    Ok(())
}

fn attachment(row: &SqliteRow) -> Result<Attachment, StoreError> {
    let findings = serde_json::from_str(row.try_get("findings")?);
    Ok(Attachment {
        hash: BlobHash::from_column(row.try_get("sha256")?)?,
        name: row.try_get("name")?,
        kind: row.try_get("type")?,
        size: super::rows::count(row, "size")?,
        kept: row.try_get("kept")?,
        findings: findings.map_err(|_| StoreError::Unreadable("attachment"))?,
        attached_at_ms: row.try_get("attached_at_ms")?,
    })
}
