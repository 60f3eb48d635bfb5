//! Subtracts removed records from the counts of what is stored, per day and per session. A session is deleted
//! with its last record. The statistics themselves stay.

use crate::postgres::seq::Day;
use crate::sql::chain;
use crate::sql::columns::Columns as _;
use monitor_model::Span;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use std::collections::BTreeMap;
use uuid::Uuid;

/// The lane of the counters in which removed records are counted.
const LANE: i16 = -1;

const COUNTS: &str = "
    INSERT INTO statistics AS s
    SELECT u.day, u.application_id, u.stage, $6, 0, 0, 0, 0, 0, 0, 0, 0, 0, -u.rows, -u.bytes
    FROM unnest($1::bigint[], $2::uuid[], $3::smallint[], $4::bigint[], $5::bigint[])
        AS u (day, application_id, stage, rows, bytes)
    ON CONFLICT (day, application_id, stage, lane) DO UPDATE SET
        kept_rows = s.kept_rows + excluded.kept_rows,
        kept_bytes = s.kept_bytes + excluded.kept_bytes";

/// Locks in the order of the keys, as the writers of records do.
const LOCK_SESSIONS: &str = "
    SELECT FROM sessions WHERE (application_id, session_key)
        IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
    ORDER BY application_id, session_key FOR UPDATE";
const SESSIONS: &str = "
    UPDATE sessions s SET messages = s.messages - u.messages, flagged = s.flagged - u.flagged,
        tokens = s.tokens - u.tokens
    FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[])
        AS u (application_id, session_key, messages, flagged, tokens)
    WHERE s.application_id = u.application_id AND s.session_key = u.session_key";
const EMPTY_SESSIONS: &str = "
    DELETE FROM sessions WHERE messages <= 0
        AND (application_id, session_key) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))";

/// The key of a counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::postgres) struct DayKey {
    day: i64,
    application: Uuid,
    stage: i16,
}

impl DayKey {
    /// The counter of a record, from its columns `application_id`, `stage` and `created_at_ms`.
    pub(in crate::postgres) fn of(row: &PgRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            day: Day::of(row.number("created_at_ms")?).0,
            application: row.id("application_id")?,
            stage: row.try_get("stage")?,
        })
    }
}

/// Counts bytes that were added to a stored record.
pub(in crate::postgres) async fn count_more_bytes(
    connection: &mut PgConnection,
    key: DayKey,
    bytes: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query(COUNTS)
        .bind(vec![key.day])
        .bind(vec![key.application])
        .bind(vec![key.stage])
        .bind(vec![0_i64])
        .bind(vec![-bytes])
        .bind(LANE)
        .execute(connection)
        .await
        .map(drop)
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SessionKey {
    application: Uuid,
    session: Uuid,
}

#[derive(Default)]
struct Session {
    messages: i64,
    flagged: i64,
    tokens: i64,
}

#[derive(Default)]
struct Counts {
    records: i64,
    bytes: i64,
}

/// A number of records and their bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Amount {
    pub(super) records: u64,
    pub(super) bytes: u64,
}

/// The sums of removed records.
#[derive(Default)]
pub(super) struct RemovedTotals {
    total: Amount,
    counts: BTreeMap<DayKey, Counts>,
    sessions: BTreeMap<SessionKey, Session>,
    /// Sequence numbers with their gateways.
    numbers: Vec<(Uuid, Span)>,
}

impl RemovedTotals {
    /// Counts a record, by its deleted row.
    pub(super) fn add(&mut self, row: &PgRow) -> Result<(), sqlx::Error> {
        let bytes = row.number("bytes")?;
        let key = DayKey::of(row)?;
        let counts = self.counts.entry(key).or_default();
        counts.records += 1;
        counts.bytes += bytes;
        self.total.records += 1;
        self.total.bytes += u64::try_from(bytes).unwrap_or(0);
        let number = row.optional_number("chain_sequence")?;
        if let (Some(gateway), Some(number)) = (row.optional_id("chain_gateway")?, number) {
            let number = number.unsigned_abs();
            self.numbers.push((gateway, Span::new(number, number)));
        }
        if let Some(session) = row.optional_id("session_key")? {
            let session = self.sessions.entry(SessionKey {
                application: key.application,
                session,
            });
            let session = session.or_default();
            session.messages += 1;
            session.flagged += i64::from(row.flag("flagged")?);
            session.tokens += row.number("token_count")?;
        }
        Ok(())
    }

    /// Subtracts everything; returns how much was removed.
    pub(super) async fn write(self, connection: &mut PgConnection) -> Result<Amount, sqlx::Error> {
        if !self.sessions.is_empty() {
            self.write_sessions(connection).await?;
        }
        let (keys, counts) = (|| self.counts.keys(), || self.counts.values());
        sqlx::query(COUNTS)
            .bind(keys().map(|key| key.day).collect::<Vec<_>>())
            .bind(keys().map(|key| key.application).collect::<Vec<_>>())
            .bind(keys().map(|key| key.stage).collect::<Vec<_>>())
            .bind(counts().map(|removed| removed.records).collect::<Vec<_>>())
            .bind(counts().map(|removed| removed.bytes).collect::<Vec<_>>())
            .bind(LANE)
            .execute(&mut *connection)
            .await?;
        chain::leave_stubs(connection, self.numbers).await?;
        Ok(self.total)
    }

    async fn write_sessions(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let keys = || self.sessions.keys();
        let applications: Vec<Uuid> = keys().map(|key| key.application).collect();
        let sessions: Vec<Uuid> = keys().map(|key| key.session).collect();
        let of_keys = |sql: &'static str| sqlx::query(sql).bind(&applications).bind(&sessions);
        let column = |value: fn(&Session) -> i64| {
            let values = self.sessions.values().map(value);
            values.collect::<Vec<_>>()
        };
        of_keys(LOCK_SESSIONS).execute(&mut *connection).await?;
        of_keys(SESSIONS)
            .bind(column(|session| session.messages))
            .bind(column(|session| session.flagged))
            .bind(column(|session| session.tokens))
            .execute(&mut *connection)
            .await?;
        of_keys(EMPTY_SESSIONS).execute(connection).await.map(drop)
    }
}
