//! Files of records (CONTRACT 29), and the erasure of a user's records.

use super::PostgresStore;
use super::order::Day;
use super::removed;
use super::retention;
use super::row::{count, number, text};
use super::shared::timed;
use super::text::{shield, text_key};
use crate::{
    Attached, Attachment, AttachmentStore, BlobHash, Erased, Erasure, NewAttachment, REMOVAL,
    StoreError,
};
use async_trait::async_trait;
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, Row as _};
use std::collections::HashSet;
use uuid::Uuid;

/// Records that one step removes, at most.
const STEP: i64 = 1_000;
/// Names the lock that batches of records share and a tombstone takes alone, so that what comes after
/// a tombstone has seen it: "monerase" without its last letter, in ASCII.
pub(super) const LOCK_SHARED: &str =
    "BEGIN; SELECT pg_advisory_xact_lock_shared(30804237540716915)";
const LOCK: &str = "SELECT pg_advisory_xact_lock(30804237540716915)";

/// A removal that was given up is nobody's any more.
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
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (seq, sha256) DO NOTHING";
const UNLINKED: &str = "
    UPDATE blobs SET removing = (extract(epoch FROM clock_timestamp()) * 1000)::bigint
    WHERE sha256 IN (SELECT sha256 FROM blobs WHERE links = 0
        AND removing < extract(epoch FROM clock_timestamp()) * 1000 - $2
        LIMIT $1 FOR UPDATE SKIP LOCKED)
    RETURNING sha256";
const TOMBSTONE: &str = "
    INSERT INTO erased_users (id, user_hash, application_id, at_ms) VALUES ($1, $2, $3, $4)
    ON CONFLICT (user_hash, coalesce(application_id, '00000000-0000-0000-0000-000000000000'))
    DO UPDATE SET at_ms = excluded.at_ms RETURNING id";
const CHOSEN: &str = "
    SELECT seq FROM records WHERE user_key = $1 AND user_id = $2
        AND ($3::uuid IS NULL OR application_id = $3) ORDER BY seq LIMIT $4";
/// A session that has records of others too stays, without the name.
const SESSIONS: &str = "
    UPDATE sessions SET user_id = NULL, user_key = NULL WHERE user_key = $1 AND user_id = $2
        AND ($3::uuid IS NULL OR application_id = $3)";

#[async_trait]
impl AttachmentStore for PostgresStore {
    async fn claim_blob(
        &self,
        hash: BlobHash,
        size: u64,
        ticket: i64,
    ) -> Result<Option<i64>, StoreError> {
        let query = sqlx::query(CLAIM).bind(hash.0.to_vec()).bind(number(size));
        let rows = self.all(query.bind(ticket).bind(longest())).await?;
        let row = rows.first().ok_or(StoreError::Unreadable("file"))?;
        let removing: i64 = row.try_get("removing")?;
        Ok((removing == 0).then_some(row.try_get("ticket")?))
    }

    async fn attach(&self, new: NewAttachment) -> Result<Attached, StoreError> {
        let findings = serde_json::to_string(&new.attachment.findings)
            .map_err(|_| StoreError::Unreadable("attachment"))?;
        let mut lent = self.connections.lend().await?;
        let connection = lent.get();
        let attached = timed(async {
            let mut transaction = connection.begin().await?;
            let attached = attach(&mut transaction, &new, findings).await?;
            transaction.commit().await?;
            Ok(attached)
        })
        .await?;
        lent.give_back();
        Ok(attached)
    }

    async fn attachments(&self, seq: i64) -> Result<Vec<Attachment>, StoreError> {
        let query =
            sqlx::query("SELECT * FROM attachments WHERE seq = $1 ORDER BY attached_at_ms, sha256");
        let rows = self.all(query.bind(seq)).await?;
        rows.iter().map(attachment).collect()
    }

    async fn unlinked_blobs(&self, limit: u32) -> Result<Vec<BlobHash>, StoreError> {
        let query = sqlx::query(UNLINKED).bind(i64::from(limit));
        let rows = self.all(query.bind(longest())).await?;
        let hash = |row: &PgRow| BlobHash::from_column(row.try_get("sha256")?);
        rows.iter().map(hash).collect()
    }

    async fn forget_blobs(&self, hashes: Vec<BlobHash>) -> Result<(), StoreError> {
        let hashes: Vec<_> = hashes.iter().map(|hash| hash.0.to_vec()).collect();
        let query = sqlx::query("DELETE FROM blobs WHERE removing > 0 AND sha256 = ANY ($1)");
        self.all(query.bind(hashes)).await.map(drop)
    }

    async fn add_tombstone(&self, erasure: &Erasure) -> Result<Uuid, StoreError> {
        let mut lent = self.connections.lend().await?;
        let connection = lent.get();
        let id = timed(async {
            let mut transaction = connection.begin().await?;
            sqlx::raw_sql(LOCK).execute(&mut *transaction).await?;
            let query = sqlx::query_scalar(TOMBSTONE)
                .bind(erasure.id)
                .bind(Erasure::user_hash(&erasure.user_id).to_vec())
                .bind(erasure.application_id.map(|id| id.0))
                .bind(erasure.at_ms);
            let id: Uuid = query.fetch_one(&mut *transaction).await?;
            transaction.commit().await?;
            Ok(id)
        })
        .await?;
        lent.give_back();
        Ok(id)
    }

    async fn erase_step(&self, erasure: &Erasure) -> Result<Erased, StoreError> {
        if self.connections.are_closed() {
            return Err(StoreError::Closed);
        }
        let mut connection = self.connector.connect_patient().await?;
        let mut transaction = connection.begin().await?;
        let erased = erase(&mut transaction, erasure).await?;
        transaction.commit().await?;
        super::connect::close(connection).await;
        Ok(erased)
    }
}

/// Milliseconds that a removal may take.
fn longest() -> i64 {
    i64::try_from(REMOVAL.as_millis()).unwrap_or(i64::MAX)
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
    let linked = sqlx::query(LINK)
        .bind(seq)
        .bind(hash)
        .bind(shield(&file.name))
        .bind(shield(&file.kind))
        .bind(number(file.size))
        .bind(file.kept)
        .bind(findings)
        .bind(file.attached_at_ms)
        .execute(&mut *connection)
        .await?;
    if linked.rows_affected() == 0 {
        return Ok(Attached::Before);
    }
    if file.kept {
        count_bytes(connection, seq, (&record, number(file.size))).await?;
    }
    Ok(Attached::New)
}

/// The bytes count as the record's, so that retention bounds them.
async fn count_bytes(
    connection: &mut PgConnection,
    seq: i64,
    (record, size): (&PgRow, i64),
) -> Result<(), sqlx::Error> {
    let query = sqlx::query("UPDATE records SET bytes = bytes + $2 WHERE seq = $1").bind(seq);
    let query = query.bind(size).persistent(false);
    query.execute(&mut *connection).await?;
    let day = Day::of(record.try_get("created_at_ms")?).0;
    let of = (record.try_get(0)?, record.try_get(1)?, day);
    removed::count_more(connection, of, size).await
}

async fn erase(connection: &mut PgConnection, erasure: &Erasure) -> Result<Erased, StoreError> {
    let user = shield(&erasure.user_id).into_owned();
    let application = erasure.application_id.map(|id| id.0);
    let seqs: Vec<i64> = sqlx::query_scalar(CHOSEN)
        .bind(text_key(&user))
        .bind(&user)
        .bind(application)
        .bind(STEP)
        .persistent(false)
        .fetch_all(&mut *connection)
        .await?;
    if seqs.is_empty() {
        let query = sqlx::query(SESSIONS).bind(text_key(&user)).bind(&user);
        query.bind(application).execute(connection).await?;
        return Ok(Erased::default());
    }
    let query = sqlx::query_scalar("SELECT count(*) FROM attachments WHERE seq = ANY ($1)");
    let attached: i64 = query.bind(&seqs).fetch_one(&mut *connection).await?;
    let (records, _) = retention::delete(connection, &seqs).await?;
    Ok(Erased {
        records,
        attachments: attached.unsigned_abs(),
    })
}

/// Users whose records are refused, with the application, or none for every one.
pub(super) type Refused = HashSet<(Vec<u8>, Option<Uuid>)>;

/// Those of these users whose records are refused.
pub(super) async fn refused(
    connection: &mut PgConnection,
    users: impl Iterator<Item = &str>,
) -> Result<Refused, sqlx::Error> {
    let hashes: Vec<_> = users
        .map(|user| Erasure::user_hash(user).to_vec())
        .collect();
    let query = "SELECT user_hash, application_id FROM erased_users WHERE user_hash = ANY ($1)";
    let rows = sqlx::query(query)
        .bind(hashes)
        .fetch_all(connection)
        .await?;
    let one = |row: &PgRow| Ok((row.try_get(0)?, row.try_get(1)?));
    rows.iter().map(one).collect()
}

/// Removes links of a day whose partition is gone, in steps.
pub(super) async fn clear_day(connection: &mut PgConnection, day: Day) -> Result<(), StoreError> {
    loop {
        let gone = sqlx::query(
            "DELETE FROM attachments WHERE (seq, sha256) IN (SELECT seq, sha256 FROM attachments
                 WHERE seq >= $1 AND seq < $2 LIMIT $3)",
        );
        let gone = gone.bind(day.first()).bind(day.next().first()).bind(STEP);
        if gone.execute(&mut *connection).await?.rows_affected() == 0 {
            return Ok(());
        }
    }
}

fn attachment(row: &PgRow) -> Result<Attachment, StoreError> {
    let findings = serde_json::from_str(row.try_get("findings")?);
    Ok(Attachment {
        hash: BlobHash::from_column(row.try_get("sha256")?)?,
        name: text(row, "name")?,
        kind: text(row, "type")?,
        size: count(row, "size")?,
        kept: row.try_get("kept")?,
        findings: findings.map_err(|_| StoreError::Unreadable("attachment"))?,
        attached_at_ms: row.try_get("attached_at_ms")?,
    })
}
