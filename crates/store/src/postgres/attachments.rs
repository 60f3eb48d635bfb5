//! Files of records (CONTRACT 29).

use super::pool::with_timeout;
use super::removal::totals::{DayKey, count_more_bytes};
use super::store::PostgresStore;
use super::values::{bounded, escaped};
use crate::attachments::{
    Attached, Attachment, AttachmentStore, BlobHash, NewAttachment, removal_ms,
};
use crate::error::StoreError;
use crate::sql::attachments::{attachment, findings_json, hash, ticket};
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
const RECORD: &str = "
    SELECT application_id, stage, created_at_ms FROM records WHERE seq = $1 FOR UPDATE";
const TICKET: &str = "SELECT ticket FROM blobs WHERE sha256 = $1 AND removing = 0 FOR UPDATE";
const LINK: &str = "
    INSERT INTO attachments (seq, sha256, name, type, size, kept, findings, attached_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (seq, sha256, name) DO NOTHING";
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
        let query = sqlx::query(CLAIM).bind(hash.0.to_vec()).bind(bounded(size));
        let rows = self.all(query.bind(offered).bind(removal_ms())).await?;
        ticket(rows.first().ok_or(StoreError::Unreadable("file"))?)
    }

    async fn attach(&self, new: NewAttachment) -> Result<Attached, StoreError> {
        let findings = findings_json(&new.attachment.findings)?;
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        let attached = with_timeout(async {
            let mut transaction = connection.begin().await?;
            let attached = attach(&mut transaction, &new, findings).await?;
            transaction.commit().await?;
            Ok(attached)
        })
        .await?;
        pooled.release();
        Ok(attached)
    }

    async fn attachments(&self, seq: i64) -> Result<Vec<Attachment>, StoreError> {
        let query = sqlx::query(
            "SELECT * FROM attachments WHERE seq = $1 ORDER BY attached_at_ms, sha256, name COLLATE \"C\"",
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

async fn attach(
    connection: &mut PgConnection,
    new: &NewAttachment,
    findings: String,
) -> Result<Attached, sqlx::Error> {
    let (seq, file) = (new.seq, &new.attachment);
    let record = sqlx::query(RECORD).bind(seq).persistent(false);
    let Some(record) = record.fetch_optional(&mut *connection).await? else {
        return Ok(Attached::NoRecord);
    };
    let hash = file.hash.0.to_vec();
    if file.kept {
        let found = sqlx::query_scalar(TICKET).bind(&hash);
        let found: Option<i64> = found.fetch_optional(&mut *connection).await?;
        if found != new.ticket {
            return Ok(Attached::BlobGone);
        }
    }
    let had_bytes = sqlx::query_scalar(HAS_BYTES).bind(seq).bind(&hash);
    let had_bytes: bool = had_bytes.fetch_one(&mut *connection).await?;
    let linked = sqlx::query(LINK)
        .bind(seq)
        .bind(hash)
        .bind(escaped(&file.name))
        .bind(escaped(&file.kind))
        .bind(bounded(file.size))
        .bind(file.kept)
        .bind(findings)
        .bind(file.attached_at_ms)
        .execute(&mut *connection)
        .await?;
    if linked.rows_affected() == 0 {
        return Ok(Attached::Before);
    }
    if file.kept && !had_bytes {
        count_bytes(connection, seq, DayKey::of(&record)?, bounded(file.size)).await?;
    }
    Ok(Attached::New)
}

/// The bytes count as the record's, so that retention limits them; under a second name they do not count again.
async fn count_bytes(
    connection: &mut PgConnection,
    seq: i64,
    key: DayKey,
    size: i64,
) -> Result<(), sqlx::Error> {
    let query = sqlx::query("UPDATE records SET bytes = bytes + $2 WHERE seq = $1").bind(seq);
    let query = query.bind(size).persistent(false);
    query.execute(&mut *connection).await?;
    count_more_bytes(connection, key, size).await
}
