//! Files of records (CONTRACT 29), and files that wait for their records (CONTRACT 48). The schema deletes
//! their links with their records and applications.

use super::store::SqliteStore;
use super::values::{capped, json_list, stage_word};
use crate::attachments::{
    AttachTarget, Attached, Attachment, AttachmentStore, BlobHash, MOST_FILES, NewAttachment,
    WaitingLimits, removal_ms,
};
use crate::error::{StoreError, of_application};
use crate::exchanges::Exchange;
use crate::removal::ErasedExchange;
use crate::sql::attachments::{attachment, findings_json, hash, ticket};
use crate::sql::columns::Columns as _;
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
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const LINKED: &str = "SELECT * FROM attachments WHERE seq = ?1 AND sha256 = ?2 AND name = ?3";
/// Whether the record has these bytes, under whatever name.
const HAS_BYTES: &str = "
    SELECT EXISTS (SELECT 1 FROM attachments WHERE seq = ?1 AND sha256 = ?2 AND kept)";
const IS_FULL: &str = "SELECT count(*) >= ?2 FROM attachments WHERE seq = ?1";
const IS_WAITING_FULL: &str = "
    SELECT count(*) >= ?4 FROM waiting_attachments
    WHERE application_id = ?1 AND exchange_id = ?2 AND stage = ?3";
/// The bytes count as the record's, so that retention limits them; under a second name they do not count again.
const COUNT: &str = "
    UPDATE record_totals SET bytes = bytes + ?2
        WHERE application_id = (SELECT application_id FROM records WHERE seq = ?1);
    UPDATE records SET bytes = bytes + ?2 WHERE seq = ?1";
const WAIT: &str = "
    INSERT INTO waiting_attachments (application_id, exchange_id, stage,
        sha256, name, type, size, kept, findings, attached_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
const WAITS: &str = "
    SELECT * FROM waiting_attachments
    WHERE application_id = ?1 AND exchange_id = ?2 AND stage = ?3 AND sha256 = ?4 AND name = ?5";
const IS_ERASED: &str = "
    SELECT EXISTS (SELECT 1 FROM erased_users WHERE user_hash = ?1 AND application_id = ?2)";
const ALL_WAITING: &str = "
    SELECT count(*) AS files, coalesce(sum(iif(kept, size, 0)), 0) AS bytes
    FROM waiting_attachments WHERE application_id = ?1";
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
            .write(move |connection| Box::pin(async move { attach(connection, &new).await }))
            .await
    }

    async fn expire_waiting(&self, before_ms: i64) -> Result<u64, StoreError> {
        self.writer
            .write(move |connection| Box::pin(expire(connection, before_ms)))
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
    new: &NewAttachment,
) -> Result<Attached, StoreError> {
    let file = &new.attachment;
    let seq = record_of(connection, &new.to).await?;
    if seq.is_none() && matches!(new.to, AttachTarget::Record(_)) {
        return Ok(Attached::NoRecord);
    }
    if file.kept && ticket_of(connection, file.hash).await? != new.ticket {
        return Ok(Attached::BlobGone);
    }
    match (seq, &new.to) {
        (Some(seq), _) => attach_to_record(connection, seq, file).await,
        (None, AttachTarget::Exchange(exchange, limits)) => {
            wait(connection, exchange, *limits, file).await
        }
        (None, AttachTarget::Record(_)) => Ok(Attached::NoRecord),
    }
}

/// The position of the record, if it is there.
async fn record_of(
    connection: &mut SqliteConnection,
    to: &AttachTarget,
) -> Result<Option<i64>, StoreError> {
    let query = match to {
        AttachTarget::Record(seq) => {
            sqlx::query_scalar("SELECT seq FROM records WHERE seq = ?1").bind(*seq)
        }
        AttachTarget::Exchange(exchange, _) => sqlx::query_scalar(
            "SELECT seq FROM records WHERE application_id = ?1 AND exchange_id = ?2 AND stage = ?3
                AND tool_call_id = ''",
        )
        .bind(exchange.application_id.0)
        .bind(exchange.id.clone())
        .bind(stage_word(exchange.stage)),
    };
    Ok(query.fetch_optional(connection).await?)
}

async fn attach_to_record(
    connection: &mut SqliteConnection,
    seq: i64,
    file: &Attachment,
) -> Result<Attached, StoreError> {
    if let Some(before) = linked(connection, seq, file).await? {
        return Ok(before);
    }
    let is_full = sqlx::query_scalar(IS_FULL).bind(seq).bind(MOST_FILES);
    if is_full.fetch_one(&mut *connection).await? {
        return Ok(Attached::TooMany);
    }
    let had_bytes = sqlx::query_scalar(HAS_BYTES)
        .bind(seq)
        .bind(file.hash.0.to_vec());
    let had_bytes: bool = had_bytes.fetch_one(&mut *connection).await?;
    sqlx::query(LINK)
        .bind(seq)
        .bind(file.hash.0.to_vec())
        .bind(&*file.name)
        .bind(&*file.kind)
        .bind(capped(file.size))
        .bind(file.kept)
        .bind(findings_json(&file.findings)?)
        .bind(file.attached_at_ms)
        .execute(&mut *connection)
        .await?;
    if file.kept && !had_bytes {
        let count = sqlx::query(COUNT).bind(seq).bind(capped(file.size));
        count.execute(connection).await?;
    }
    Ok(Attached::New)
}

/// The file as the record has it already.
async fn linked(
    connection: &mut SqliteConnection,
    seq: i64,
    file: &Attachment,
) -> Result<Option<Attached>, StoreError> {
    let linked = sqlx::query(LINKED)
        .bind(seq)
        .bind(file.hash.0.to_vec())
        .bind(&*file.name);
    let Some(row) = linked.fetch_optional(connection).await? else {
        return Ok(None);
    };
    let file = Box::new(attachment(&row)?);
    Ok(Some(Attached::Before { file, waits: false }))
}

/// Keeps a file for a record that has not arrived.
async fn wait(
    connection: &mut SqliteConnection,
    exchange: &Exchange,
    limits: WaitingLimits,
    file: &Attachment,
) -> Result<Attached, StoreError> {
    let earlier = sqlx::query(WAITS)
        .bind(exchange.application_id.0)
        .bind(&*exchange.id)
        .bind(stage_word(exchange.stage))
        .bind(file.hash.0.to_vec())
        .bind(&*file.name)
        .fetch_optional(&mut *connection)
        .await?;
    if let Some(row) = earlier {
        let file = Box::new(attachment(&row)?);
        return Ok(Attached::Before { file, waits: true });
    }
    let is_erased: bool = sqlx::query_scalar(IS_ERASED)
        .bind(ErasedExchange::hash(&exchange.id).to_vec())
        .bind(exchange.application_id.0)
        .fetch_one(&mut *connection)
        .await?;
    if is_erased {
        return Ok(Attached::Erased);
    }
    let is_full = sqlx::query_scalar(IS_WAITING_FULL)
        .bind(exchange.application_id.0)
        .bind(&*exchange.id)
        .bind(stage_word(exchange.stage))
        .bind(MOST_FILES);
    if is_full.fetch_one(&mut *connection).await? {
        return Ok(Attached::TooMany);
    }
    let all = sqlx::query(ALL_WAITING).bind(exchange.application_id.0);
    let all = all.fetch_one(&mut *connection).await?;
    if !limits.allow(all.count("files")?, all.count("bytes")?, file) {
        return Ok(Attached::TooManyWaiting);
    }
    sqlx::query(WAIT)
        .bind(exchange.application_id.0)
        .bind(&*exchange.id)
        .bind(stage_word(exchange.stage))
        .bind(file.hash.0.to_vec())
        .bind(&*file.name)
        .bind(&*file.kind)
        .bind(capped(file.size))
        .bind(file.kept)
        .bind(findings_json(&file.findings)?)
        .bind(file.attached_at_ms)
        .execute(connection)
        .await
        .map_err(of_application)?;
    Ok(Attached::Waiting)
}

async fn expire(connection: &mut SqliteConnection, before_ms: i64) -> Result<u64, StoreError> {
    let expired = sqlx::query("DELETE FROM waiting_attachments WHERE attached_at_ms < ?1");
    let expired = expired.bind(before_ms).execute(connection).await?;
    Ok(expired.rows_affected())
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
