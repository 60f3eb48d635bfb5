//! What a batch of records adds to the statistics and the sessions: summed up in memory and written once per
//! batch in the order of the keys, so that writers do not deadlock.

use super::costs::CostTotals;
use super::traffic::HourTotals;
use super::user_days::UserTotals;
use crate::postgres::records::row::RecordRow;
use crate::postgres::seq::Day;
use crate::postgres::values::{bounded, escaped, stage_number, text_key};
use crate::statistics::{MOST_OWN_KINDS, OTHER_FINDS, counted_kind, shared_kinds};
use sqlx::PgConnection;
use std::collections::BTreeMap;
use uuid::Uuid;

const STATISTICS: &str = "
    INSERT INTO statistics AS s
    SELECT u.day, u.application_id, u.stage, $15, u.messages, u.guardrails, u.custom_policy, u.dataclean,
           u.blocked, u.failed, u.tokens, u.total_us, u.max_us, u.rows, u.bytes
    FROM unnest($1::bigint[], $2::uuid[], $3::smallint[], $4::bigint[], $5::bigint[], $6::bigint[],
                $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
                $13::bigint[], $14::bigint[])
        AS u (day, application_id, stage, messages, guardrails, custom_policy, dataclean, blocked,
              failed, tokens, total_us, max_us, rows, bytes)
    ON CONFLICT (day, application_id, stage, lane) DO UPDATE SET
        messages = s.messages + excluded.messages,
        flagged_guardrails = s.flagged_guardrails + excluded.flagged_guardrails,
        flagged_custom_policy = s.flagged_custom_policy + excluded.flagged_custom_policy,
        flagged_dataclean = s.flagged_dataclean + excluded.flagged_dataclean,
        blocked = s.blocked + excluded.blocked,
        failed = s.failed + excluded.failed,
        tokens = s.tokens + excluded.tokens,
        total_us = s.total_us + excluded.total_us,
        max_us = greatest(s.max_us, excluded.max_us),
        kept_rows = s.kept_rows + excluded.kept_rows,
        kept_bytes = s.kept_bytes + excluded.kept_bytes";

const TYPES: &str = "
    INSERT INTO statistics_types AS s
    SELECT day, application_id, stage, $7::smallint, CASE WHEN fits THEN kind_key ELSE $10 END,
           min(CASE WHEN fits THEN kind ELSE $11 END), sum(finds)::bigint
    FROM (
        SELECT *, is_known OR place + (SELECT count(*) FROM (
            SELECT 1 FROM statistics_types AS own
            WHERE own.day = found.day AND own.application_id = found.application_id
                AND own.stage = found.stage AND own.lane = $7 AND own.kind <> ALL ($8::text[]) LIMIT $9) AS few
            ) <= $9 AS fits
        FROM (
            SELECT *, row_number() OVER (PARTITION BY day, application_id, stage, is_known) AS place
            FROM (
                SELECT *, kind = ANY ($8::text[]) OR EXISTS (
                    SELECT FROM statistics_types AS known
                    WHERE known.day = u.day AND known.application_id = u.application_id
                        AND known.stage = u.stage AND known.lane = $7 AND known.kind_key = u.kind_key) AS is_known
                FROM unnest($1::bigint[], $2::uuid[], $3::smallint[], $4::bigint[], $5::text[], $6::bigint[])
                    AS u (day, application_id, stage, kind_key, kind, finds)) AS named) AS found) AS counted
    GROUP BY 1, 2, 3, 5 ORDER BY 1, 2, 3, 5
    ON CONFLICT (day, application_id, stage, lane, kind_key)
        DO UPDATE SET finds = s.finds + excluded.finds";

const SESSIONS: &str = "
    INSERT INTO sessions AS s (application_id, session_key, session_id, user_id, user_key, first_ms, last_ms,
                               messages, flagged, tokens)
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::bigint[],
                         $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])
    ON CONFLICT (application_id, session_key) DO UPDATE SET
        user_id = CASE WHEN excluded.last_ms >= s.last_ms THEN coalesce(excluded.user_id, s.user_id)
                       ELSE coalesce(s.user_id, excluded.user_id) END,
        user_key = CASE WHEN excluded.last_ms >= s.last_ms THEN coalesce(excluded.user_key, s.user_key)
                        ELSE coalesce(s.user_key, excluded.user_key) END,
        first_ms = least(s.first_ms, excluded.first_ms),
        last_ms = greatest(s.last_ms, excluded.last_ms),
        messages = s.messages + excluded.messages,
        flagged = s.flagged + excluded.flagged,
        tokens = s.tokens + excluded.tokens";

/// The key of a counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DayKey {
    day: i64,
    application: Uuid,
    stage: i16,
}

/// The key of a counter of one entity type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TypeKey {
    day: DayKey,
    type_key: i64,
}

/// How often an entity type was found.
struct Finds<'r> {
    kind: &'r str,
    count: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SessionKey {
    application: Uuid,
    session: Uuid,
}

#[derive(Default)]
struct Counts {
    messages: i64,
    guardrails: i64,
    custom_policy: i64,
    dataclean: i64,
    blocked: i64,
    failed: i64,
    tokens: i64,
    total_us: i64,
    max_us: i64,
    bytes: i64,
}

#[derive(Clone, Copy)]
struct User<'r> {
    id: &'r str,
    key: i64,
}

struct Session<'r> {
    session_id: &'r str,
    user: Option<User<'r>>,
    first_ms: i64,
    last_ms: i64,
    messages: i64,
    flagged: i64,
    tokens: i64,
}

/// The sums of a batch.
#[derive(Default)]
pub(in crate::postgres) struct BatchTotals<'r> {
    counts: BTreeMap<DayKey, Counts>,
    types: BTreeMap<TypeKey, Finds<'r>>,
    sessions: BTreeMap<SessionKey, Session<'r>>,
    hours: HourTotals<'r>,
    costs: CostTotals<'r>,
    users: UserTotals<'r>,
}

impl<'r> BatchTotals<'r> {
    /// Counts a record.
    pub(in crate::postgres) fn add(&mut self, row: &'r RecordRow) {
        let record = row.record();
        let day = DayKey {
            day: Day::of(record.created_at_ms).0,
            application: record.application_id.0,
            stage: stage_number(record.stage),
        };
        let verdict = &record.answer;
        let counts = self.counts.entry(day).or_default();
        counts.messages += 1;
        counts.guardrails += i64::from(verdict.guardrails.flagged);
        counts.custom_policy += i64::from(verdict.custom_policy.flagged);
        counts.dataclean += i64::from(verdict.dataclean.flagged);
        counts.blocked += i64::from(record.blocked);
        counts.failed += i64::from(record.failed());
        counts.tokens = counts.tokens.saturating_add(row.token_count());
        counts.total_us = counts.total_us.saturating_add(row.total_us());
        counts.max_us = counts.max_us.max(row.total_us());
        counts.bytes += row.bytes;
        for found in &verdict.dataclean.types {
            let kind = counted_kind(record, &found.kind);
            let type_key = text_key(kind);
            let finds = self.types.entry(TypeKey { day, type_key });
            let finds = finds.or_insert(Finds { kind, count: 0 });
            finds.count = finds.count.saturating_add(bounded(found.count));
        }
        self.add_session(row);
        self.hours.add(row);
        self.costs.add(row);
        self.users.add(row);
    }

    fn add_session(&mut self, row: &'r RecordRow) {
        let record = row.record();
        let (Some(session), Some(session_id)) = (row.session_key(), row.session_id.as_deref())
        else {
            return;
        };
        let application = record.application_id.0;
        let at_ms = record.created_at_ms;
        let user = row.user_key().zip(row.user_id.as_deref());
        let user = user.map(|(key, id)| User { id, key });
        let session = self.sessions.entry(SessionKey {
            application,
            session,
        });
        let session = session.or_insert(Session {
            session_id,
            user,
            first_ms: at_ms,
            last_ms: at_ms,
            messages: 0,
            flagged: 0,
            tokens: 0,
        });
        session.user = match at_ms >= session.last_ms {
            true => user.or(session.user),
            false => session.user.or(user),
        };
        session.first_ms = session.first_ms.min(at_ms);
        session.last_ms = session.last_ms.max(at_ms);
        session.messages += 1;
        session.flagged += i64::from(row.flagged());
        session.tokens = session.tokens.saturating_add(row.token_count());
    }

    /// Writes the sums, the most contended ones last.
    pub(in crate::postgres) async fn write(
        self,
        connection: &mut PgConnection,
        lane: i16,
    ) -> Result<(), sqlx::Error> {
        if !self.sessions.is_empty() {
            write_sessions(connection, &self.sessions).await?;
        }
        if !self.types.is_empty() {
            write_types(connection, &self.types, lane).await?;
        }
        self.costs.write(connection, lane).await?;
        self.users.write(connection, lane).await?;
        self.hours.write(connection, lane).await?;
        write_counts(connection, &self.counts, lane).await
    }
}

async fn write_counts(
    connection: &mut PgConnection,
    counts: &BTreeMap<DayKey, Counts>,
    lane: i16,
) -> Result<(), sqlx::Error> {
    let column = |value: fn(&Counts) -> i64| counts.values().map(value).collect::<Vec<_>>();
    let mut query = sqlx::query(STATISTICS)
        .bind(counts.keys().map(|key| key.day).collect::<Vec<_>>())
        .bind(counts.keys().map(|key| key.application).collect::<Vec<_>>())
        .bind(counts.keys().map(|key| key.stage).collect::<Vec<_>>());
    let columns: [fn(&Counts) -> i64; 11] = [
        |counts| counts.messages,
        |counts| counts.guardrails,
        |counts| counts.custom_policy,
        |counts| counts.dataclean,
        |counts| counts.blocked,
        |counts| counts.failed,
        |counts| counts.tokens,
        |counts| counts.total_us,
        |counts| counts.max_us,
        |counts| counts.messages,
        |counts| counts.bytes,
    ];
    for value in columns {
        query = query.bind(column(value));
    }
    query.bind(lane).execute(connection).await.map(drop)
}

async fn write_types(
    connection: &mut PgConnection,
    types: &BTreeMap<TypeKey, Finds<'_>>,
    lane: i16,
) -> Result<(), sqlx::Error> {
    let keys = || types.keys();
    let kinds = types.values().map(|finds| escaped(finds.kind).into_owned());
    sqlx::query(TYPES)
        .bind(keys().map(|key| key.day.day).collect::<Vec<_>>())
        .bind(keys().map(|key| key.day.application).collect::<Vec<_>>())
        .bind(keys().map(|key| key.day.stage).collect::<Vec<_>>())
        .bind(keys().map(|key| key.type_key).collect::<Vec<_>>())
        .bind(kinds.collect::<Vec<_>>())
        .bind(types.values().map(|finds| finds.count).collect::<Vec<_>>())
        .bind(lane)
        .bind(shared_kinds())
        .bind(MOST_OWN_KINDS)
        .bind(text_key(OTHER_FINDS))
        .bind(OTHER_FINDS)
        .execute(connection)
        .await
        .map(drop)
}

async fn write_sessions(
    connection: &mut PgConnection,
    sessions: &BTreeMap<SessionKey, Session<'_>>,
) -> Result<(), sqlx::Error> {
    let column = |value: fn(&Session<'_>) -> i64| sessions.values().map(value).collect::<Vec<_>>();
    let (keys, all) = (|| sessions.keys(), || sessions.values());
    let user_ids = all().map(|one| one.user.map(|user| user.id));
    let user_keys = all().map(|one| one.user.map(|user| user.key));
    sqlx::query(SESSIONS)
        .bind(keys().map(|key| key.application).collect::<Vec<_>>())
        .bind(keys().map(|key| key.session).collect::<Vec<_>>())
        .bind(all().map(|one| one.session_id).collect::<Vec<_>>())
        .bind(user_ids.collect::<Vec<_>>())
        .bind(user_keys.collect::<Vec<_>>())
        .bind(column(|one| one.first_ms))
        .bind(column(|one| one.last_ms))
        .bind(column(|one| one.messages))
        .bind(column(|one| one.flagged))
        .bind(column(|one| one.tokens))
        .execute(connection)
        .await
        .map(drop)
}
