//! What removed records take away from the counts of what is kept: of the store, and of each session. A
//! session goes with its last record. The statistics themselves stay.

use super::chain;
use super::order::Day;
use monitor_model::Span;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use std::collections::BTreeMap;
use uuid::Uuid;

/// The lane of the statistics in which removed records are counted.
const LANE: i16 = -1;

const COUNTS: &str = "
    INSERT INTO statistics AS s
    SELECT u.day, u.application_id, u.stage, $6, 0, 0, 0, 0, 0, 0, 0, 0, 0, -u.rows, -u.bytes
    FROM unnest($1::bigint[], $2::uuid[], $3::smallint[], $4::bigint[], $5::bigint[])
        AS u (day, application_id, stage, rows, bytes)
    ON CONFLICT (day, application_id, stage, lane) DO UPDATE SET
        kept_rows = s.kept_rows + excluded.kept_rows,
        kept_bytes = s.kept_bytes + excluded.kept_bytes";

/// Locked in the order of the keys, as the writers of records do.
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

/// Counts bytes that a kept record got later, under its application, stage and day.
pub(super) async fn count_more(
    connection: &mut PgConnection,
    (application, stage, day): (Uuid, i16, i64),
    bytes: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query(COUNTS)
        .bind(vec![day])
        .bind(vec![application])
        .bind(vec![stage])
        .bind(vec![0_i64])
        .bind(vec![-bytes])
        .bind(LANE)
        .execute(connection)
        .await
        .map(drop)
}

#[derive(Default)]
struct Session {
    messages: i64,
    flagged: i64,
    tokens: i64,
}

/// The sums of removed records.
#[derive(Default)]
pub(super) struct Removed {
    rows: u64,
    bytes: u64,
    /// Records and bytes by day, application and stage.
    counts: BTreeMap<(i64, Uuid, i16), (i64, i64)>,
    sessions: BTreeMap<(Uuid, Uuid), Session>,
    /// Numbers of gateways.
    numbers: Vec<(Uuid, Span)>,
}

impl Removed {
    /// Takes in a record as its row was.
    pub(super) fn add(&mut self, row: &PgRow) -> Result<(), sqlx::Error> {
        let application: Uuid = row.try_get("application_id")?;
        let bytes: i64 = row.try_get("bytes")?;
        let day = Day::of(row.try_get("created_at_ms")?).0;
        let counts = self.counts.entry((day, application, row.try_get("stage")?));
        let counts = counts.or_default();
        *counts = (counts.0 + 1, counts.1 + bytes);
        self.rows += 1;
        self.bytes += u64::try_from(bytes).unwrap_or(0);
        let number = row.try_get::<Option<i64>, _>("chain_sequence")?;
        if let (Some(gateway), Some(number)) = (row.try_get("chain_gateway")?, number) {
            let number = number.unsigned_abs();
            self.numbers.push((gateway, Span::new(number, number)));
        }
        if let Some(session) = row.try_get::<Option<Uuid>, _>("session_key")? {
            let session = self.sessions.entry((application, session)).or_default();
            session.messages += 1;
            session.flagged += i64::from(row.try_get::<bool, _>("flagged")?);
            session.tokens += row.try_get::<i64, _>("token_count")?;
        }
        Ok(())
    }

    /// Takes it all away; gives how many records there were, and their bytes.
    pub(super) async fn write(
        self,
        connection: &mut PgConnection,
    ) -> Result<(u64, u64), sqlx::Error> {
        if !self.sessions.is_empty() {
            self.write_sessions(connection).await?;
        }
        let keys = || self.counts.keys();
        sqlx::query(COUNTS)
            .bind(keys().map(|key| key.0).collect::<Vec<_>>())
            .bind(keys().map(|key| key.1).collect::<Vec<_>>())
            .bind(keys().map(|key| key.2).collect::<Vec<_>>())
            .bind(self.counts.values().map(|gone| gone.0).collect::<Vec<_>>())
            .bind(self.counts.values().map(|gone| gone.1).collect::<Vec<_>>())
            .bind(LANE)
            .execute(&mut *connection)
            .await?;
        chain::leave_stubs(connection, self.numbers).await?;
        Ok((self.rows, self.bytes))
    }

    async fn write_sessions(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let applications: Vec<Uuid> = self.sessions.keys().map(|key| key.0).collect();
        let keys: Vec<Uuid> = self.sessions.keys().map(|key| key.1).collect();
        let of = |take: fn(&Session) -> i64| self.sessions.values().map(take).collect::<Vec<_>>();
        let about = |sql: &'static str| sqlx::query(sql).bind(&applications).bind(&keys);
        about(LOCK_SESSIONS).execute(&mut *connection).await?;
        about(SESSIONS)
            .bind(of(|session| session.messages))
            .bind(of(|session| session.flagged))
            .bind(of(|session| session.tokens))
            .execute(&mut *connection)
            .await?;
        about(EMPTY_SESSIONS).execute(connection).await.map(drop)
    }
}
