//! Files of records (CONTRACT 29). Those that wait for their records are `waiting`.

pub(super) mod waiting;

use super::pool::{Attempts, with_timeout};
use super::records::erased_users::BEGIN_SHARED;
use super::store::PostgresStore;
use super::values::{bounded, escaped, exchange_key};
use crate::attachments::{
    AttachTarget, Attached, Attachment, AttachmentStore, BlobHash, MOST_FILES, NewAttachment,
    removal_ms,
};
use crate::error::StoreError;
use crate::exchanges::Exchange;
use crate::sql::attachments::{attachment, findings_json, hash, ticket};
use crate::sql::columns::Columns as _;
use async_trait::async_trait;
use sqlx::{Connection as _, PgConnection};

/// A removal that took too long is given up: the blob can be claimed again.
const CLAIM: &str = "
    INSERT INTO blobs AS b (sha256, size, ticket) VALUES ($1, $2, $3)
    ON CONFLICT (sha256) DO UPDATE SET
        ticket = CASE WHEN b.removing BETWEEN 1
            AND extract(epoch FROM clock_timestamp()) * 1000 - $4
            THEN excluded.ticket ELSE b.ticket END,
        removing = CASE WHEN b.removing < extract(epoch FROM clock_timestamp()) * 1000 - $4
            THEN 0 ELSE b.removing END
    RETURNING ticket, removing";
const TICKET: &str = "SELECT ticket FROM blobs WHERE sha256 = $1 AND removing = 0 FOR UPDATE";
const LINK: &str = "
    INSERT INTO attachments (seq, sha256, name, type, size, kept, findings, attached_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
const LINKED: &str = "SELECT * FROM attachments WHERE seq = $1 AND sha256 = $2 AND name = $3";
const IS_FULL: &str = "SELECT count(*) >= $2 FROM attachments WHERE seq = $1";
/// Enters the key of a record that has not arrived, at a position that no record has. Nobody else sees it.
const ENTER: &str = "
    INSERT INTO record_ledger (key, seq) VALUES ($1, -1) ON CONFLICT (key) DO NOTHING";
const LEAVE: &str = "DELETE FROM record_ledger WHERE key = $1 AND seq = -1";
const ENTRY: &str = "SELECT seq FROM record_ledger WHERE key = $1";
/// Waits while another transaction takes over the entry of a record that was removed.
const LOCKED_ENTRY: &str = "SELECT seq FROM record_ledger WHERE key = $1 FOR UPDATE";
/// Whether the record has these bytes, under whatever name.
const HAS_BYTES: &str =
    "SELECT EXISTS (SELECT FROM attachments WHERE seq = $1 AND sha256 = $2 AND kept)";
const UNLINKED: &str = "
    UPDATE blobs SET removing = (extract(epoch FROM clock_timestamp()) * 1000)::bigint
    WHERE sha256 IN (SELECT sha256 FROM blobs WHERE links = 0
        AND removing < extract(epoch FROM clock_timestamp()) * 1000 - $2
        LIMIT $1 FOR UPDATE SKIP LOCKED)
    RETURNING sha256";
#[async_trait]
impl AttachmentStore for PostgresStore {
    async fn claim_blob(
        &self,
        hash: BlobHash,
        size: u64,
        offered: i64,
    ) -> Result<Option<i64>, StoreError> {
        let mut attempts = Attempts::default();
        loop {
            let query = sqlx::query(CLAIM).bind(hash.0.to_vec()).bind(bounded(size));
            let rows = self.all(query.bind(offered).bind(removal_ms())).await;
            if !attempts.again(&rows) {
                return ticket(rows?.first().ok_or(StoreError::Unreadable("file"))?);
            }
        }
    }

    async fn attach(&self, new: NewAttachment) -> Result<Attached, StoreError> {
        let mut attempts = Attempts::default();
        loop {
            let attached = self.attach_once(&new).await;
            if !attempts.again(&attached) {
                return attached;
            }
        }
    }

    async fn expire_waiting(&self, before_ms: i64) -> Result<u64, StoreError> {
        let rows = self
            .all(sqlx::query(waiting::EXPIRE).bind(before_ms))
            .await?;
        let row = rows.first().ok_or(StoreError::Unreadable("file"))?;
        Ok(row.count("files")?)
    }

    async fn attachments(&self, seq: i64) -> Result<Vec<Attachment>, StoreError> {
        let query = sqlx::query(
            "SELECT * FROM attachments WHERE seq = $1
             ORDER BY attached_at_ms, sha256, name COLLATE \"C\"",
        );
        let rows = self.all(query.bind(seq)).await?;
        rows.iter().map(attachment).collect()
    }

    async fn unlinked_blobs(&self, limit: u32) -> Result<Vec<BlobHash>, StoreError> {
        let query = sqlx::query(UNLINKED).bind(i64::from(limit));
        let rows = self.all(query.bind(removal_ms())).await?;
        rows.iter().map(hash).collect()
    }

    async fn forget_blobs(&self, hashes: Vec<BlobHash>) -> Result<(), StoreError> {
        let hashes: Vec<_> = hashes.iter().map(|hash| hash.0.to_vec()).collect();
        let query = sqlx::query("DELETE FROM blobs WHERE removing > 0 AND sha256 = ANY ($1)");
        self.all(query.bind(hashes)).await.map(drop)
    }
}

impl PostgresStore {
    async fn attach_once(&self, new: &NewAttachment) -> Result<Attached, StoreError> {
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        let attached = with_timeout(async { Ok(committed(connection, new).await) }).await??;
        pooled.release();
        Ok(attached)
    }
}

async fn committed(
    connection: &mut PgConnection,
    new: &NewAttachment,
) -> Result<Attached, StoreError> {
    let mut transaction = connection.begin_with(BEGIN_SHARED).await?;
    let attached = match &new.to {
        AttachTarget::Record(seq) => attach_to_record(&mut transaction, *seq, new).await?,
        AttachTarget::Exchange(exchange, limits) => {
            match attach_to_exchange(&mut transaction, exchange, new).await? {
                Some(attached) => attached,
                None => waiting::wait(&mut transaction, exchange, *limits, &new.attachment).await?,
            }
        }
    };
    transaction.commit().await?;
    Ok(attached)
}

/// Attaches a file to the record of an exchange. None if it is not there, or not any more; then its key is
/// locked, so that it cannot arrive before the transaction ends.
async fn attach_to_exchange(
    connection: &mut PgConnection,
    exchange: &Exchange,
    new: &NewAttachment,
) -> Result<Option<Attached>, StoreError> {
    let key = exchange_key(exchange.application_id, exchange.stage, &exchange.id);
    // Waits while another transaction inserts the record.
    let entered = sqlx::query(ENTER).bind(key).execute(&mut *connection);
    if entered.await?.rows_affected() > 0 {
        // The deleted row locks the key until the end, as the inserted one does.
        let leave = sqlx::query(LEAVE).bind(key);
        leave.execute(&mut *connection).await?;
        return refused_blob(connection, new).await;
    }
    for entry in [ENTRY, LOCKED_ENTRY] {
        let entry = sqlx::query(entry).bind(key);
        let Some(entry) = entry.fetch_optional(&mut *connection).await? else {
            let text = "the entry of the exchange was removed".to_owned();
            return Err(StoreError::Unavailable(text));
        };
        match attach_to_record(connection, entry.number("seq")?, new).await? {
            Attached::NoRecord => {}
            attached => return Ok(Some(attached)),
        }
    }
    refused_blob(connection, new).await
}

/// Why the bytes of the file cannot be linked now.
async fn refused_blob(
    connection: &mut PgConnection,
    new: &NewAttachment,
) -> Result<Option<Attached>, StoreError> {
    if !new.attachment.kept {
        return Ok(None);
    }
    let found = sqlx::query_scalar(TICKET).bind(new.attachment.hash.0.to_vec());
    let found: Option<i64> = found.fetch_optional(connection).await?;
    Ok((found != new.ticket).then_some(Attached::BlobGone))
}

async fn attach_to_record(
    connection: &mut PgConnection,
    seq: i64,
    new: &NewAttachment,
) -> Result<Attached, StoreError> {
    let file = &new.attachment;
    let record = sqlx::query("SELECT FROM records WHERE seq = $1 FOR UPDATE");
    let record = record.bind(seq).persistent(false);
    if record.fetch_optional(&mut *connection).await?.is_none() {
        return Ok(Attached::NoRecord);
    }
    if let Some(refused) = refused_blob(connection, new).await? {
        return Ok(refused);
    }
    let hash = file.hash.0.to_vec();
    // The record is locked: nobody else changes its links.
    let linked = sqlx::query(LINKED).bind(seq).bind(&hash);
    let linked = linked.bind(escaped(&file.name));
    if let Some(row) = linked.fetch_optional(&mut *connection).await? {
        let file = Box::new(attachment(&row)?);
        return Ok(Attached::Before { file, waits: false });
    }
    let is_full = sqlx::query_scalar(IS_FULL)
        .bind(seq)
        .bind(i64::from(MOST_FILES));
    if is_full.fetch_one(&mut *connection).await? {
        return Ok(Attached::TooMany);
    }
    let had_bytes = sqlx::query_scalar(HAS_BYTES).bind(seq).bind(&hash);
    let had_bytes: bool = had_bytes.fetch_one(&mut *connection).await?;
    sqlx::query(LINK)
        .bind(seq)
        .bind(&hash)
        .bind(escaped(&file.name))
        .bind(escaped(&file.kind))
        .bind(bounded(file.size))
        .bind(file.kept)
        .bind(findings_json(&file.findings)?)
        .bind(file.attached_at_ms)
        .execute(&mut *connection)
        .await?;
    if file.kept && !had_bytes {
        waiting::count_bytes(connection, seq, bounded(file.size)).await?;
    }
    Ok(Attached::New)
}
