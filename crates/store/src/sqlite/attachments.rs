//! Files of records (CONTRACT 29). The schema deletes their links with their records.

use super::store::SqliteStore;
use super::values::{capped, json_list};
use crate::attachments::{
    Attached, Attachment, AttachmentStore, BlobHash, NewAttachment, removal_ms,
};
use crate::error::StoreError;
use crate::sql::attachments::{attachment, findings_json, hash, ticket};
use async_trait::async_trait;
use sqlx::SqliteConnection;

/// A removal that took too long is given up: the blob can be claimed again.
const CLAIM: &str = "
    INSERT INTO blobs AS b (sha256, size, ticket) VALUES (?1, ?2, ?3)
    ON CONFLICT (sha256) DO UPDATE SET
        ticket = iif(b.removing BETWEEN 1 AND unixepoch('subsec') * 1000 - ?4,
            excluded.ticket, b.ticket),
        removing = iif(b.removing < unixepoch('subsec') * 1000 - ?4, 0, b.removing)
    RETURNING ticket, removing";
const LINK: &str = "
    INSERT INTO attachments (seq, sha256, name, type, size, kept, findings, attached_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (seq, sha256, name) DO NOTHING";
/// Whether the record has these bytes, under whatever name.
const HAS_BYTES: &str = "
    SELECT EXISTS (SELECT 1 FROM attachments WHERE seq = ?1 AND sha256 = ?2 AND kept)";
/// The bytes count as the record's, so that retention limits them; under a second name they do not count again.
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
        self.writer
            .write(move |connection| Box::pin(claim(connection, hash, size, ticket)))
            .await
    }

    async fn attach(&self, new: NewAttachment) -> Result<Attached, StoreError> {
        self.writer
            .write(move |connection| Box::pin(attach(connection, new)))
            .await
    }

    async fn attachments(&self, seq: i64) -> Result<Vec<Attachment>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM attachments WHERE seq = ?1 ORDER BY attached_at_ms, sha256, name",
        )
        .bind(seq)
        .fetch_all(&self.readers)
        .await?;
        rows.iter().map(attachment).collect()
    }

    async fn unlinked_blobs(&self, limit: u32) -> Result<Vec<BlobHash>, StoreError> {
        self.writer
            .write(move |connection| Box::pin(unlinked(connection, limit)))
            .await
    }

    async fn forget_blobs(&self, hashes: Vec<BlobHash>) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| Box::pin(forget(connection, hashes)))
            .await
    }
}

async fn claim(
    connection: &mut SqliteConnection,
    hash: BlobHash,
    size: u64,
    offered: i64,
) -> Result<Option<i64>, StoreError> {
    let row = sqlx::query(CLAIM)
        .bind(hash.0.to_vec())
        .bind(capped(size))
        .bind(offered)
        .bind(removal_ms())
        .fetch_one(connection)
        .await?;
    ticket(&row)
}

async fn attach(
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
    let had_bytes = attachment.kept && has_bytes(connection, seq, attachment.hash).await?;
    if !link(connection, seq, &attachment).await? {
        return Ok(Attached::Before);
    }
    if attachment.kept && !had_bytes {
        let count = sqlx::query(COUNT).bind(seq).bind(capped(attachment.size));
        count.execute(connection).await?;
    }
    Ok(Attached::New)
}

/// False if the record already has this link.
async fn link(
    connection: &mut SqliteConnection,
    seq: i64,
    attachment: &Attachment,
) -> Result<bool, StoreError> {
    let linked = sqlx::query(LINK)
        .bind(seq)
        .bind(attachment.hash.0.to_vec())
        .bind(&*attachment.name)
        .bind(&*attachment.kind)
        .bind(capped(attachment.size))
        .bind(attachment.kept)
        .bind(findings_json(&attachment.findings)?)
        .bind(attachment.attached_at_ms)
        .execute(connection)
        .await?;
    Ok(linked.rows_affected() > 0)
}

async fn has_bytes(
    connection: &mut SqliteConnection,
    seq: i64,
    hash: BlobHash,
) -> Result<bool, StoreError> {
    let found = sqlx::query_scalar(HAS_BYTES)
        .bind(seq)
        .bind(hash.0.to_vec());
    Ok(found.fetch_one(connection).await?)
}

async fn ticket_of(
    connection: &mut SqliteConnection,
    hash: BlobHash,
) -> Result<Option<i64>, StoreError> {
    let ticket = sqlx::query_scalar("SELECT ticket FROM blobs WHERE sha256 = ?1 AND removing = 0");
    let ticket = ticket.bind(hash.0.to_vec());
    Ok(ticket.fetch_optional(connection).await?)
}

async fn unlinked(
    connection: &mut SqliteConnection,
    limit: u32,
) -> Result<Vec<BlobHash>, StoreError> {
    let rows = sqlx::query(UNLINKED)
        .bind(limit)
        .bind(removal_ms())
        .fetch_all(connection)
        .await?;
    rows.iter().map(hash).collect()
}

async fn forget(
    connection: &mut SqliteConnection,
    hashes: Vec<BlobHash>,
) -> Result<(), StoreError> {
    sqlx::query(FORGET)
        .bind(json_list(hashes.iter().map(ToString::to_string)))
        .execute(connection)
        .await?;
    Ok(())
}
