//! Traffic by the hour: what a batch of records adds, put together in memory; reading; forgetting what is
//! old.

use super::PostgresStore;
use super::row::{Row, count, number, text};
use super::text::{shield, text_key};
use crate::traffic::{ALL, HOUR_MS, counted_as, first_kept, shared_kind};
use crate::{HourTraffic, StoreError};
use monitor_model::{ApplicationId, Stage, TypeCount};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Rows that one statement forgets, at most.
const STEP: i64 = 20_000;

const ADD: &str = "
    INSERT INTO traffic AS t
    SELECT u.application_id, u.hour, $3, u.prompts, u.answers, u.guardrails, u.custom_policy, u.dataclean,
           u.blocked, u.failed, u.tokens, u.total_us, u.max_us
    FROM unnest($1::uuid[], $2::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
                $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[])
        AS u (application_id, hour, prompts, answers, guardrails, custom_policy, dataclean, blocked,
              failed, tokens, total_us, max_us)
    ON CONFLICT (application_id, hour, lane) DO UPDATE SET
        prompts = t.prompts + excluded.prompts,
        answers = t.answers + excluded.answers,
        flagged_guardrails = t.flagged_guardrails + excluded.flagged_guardrails,
        flagged_custom_policy = t.flagged_custom_policy + excluded.flagged_custom_policy,
        flagged_dataclean = t.flagged_dataclean + excluded.flagged_dataclean,
        blocked = t.blocked + excluded.blocked,
        failed = t.failed + excluded.failed,
        tokens = t.tokens + excluded.tokens,
        total_us = t.total_us + excluded.total_us,
        max_us = greatest(t.max_us, excluded.max_us)";
const ADD_TYPES: &str = "
    INSERT INTO traffic_types AS t
    SELECT u.application_id, u.hour, $3, u.kind_key, u.kind, u.finds
    FROM unnest($1::uuid[], $2::bigint[], $4::bigint[], $5::text[], $6::bigint[])
        AS u (application_id, hour, kind_key, kind, finds)
    ON CONFLICT (application_id, hour, lane, kind_key) DO UPDATE SET finds = t.finds + excluded.finds";
const HOURS: &str = "
    SELECT hour, sum(prompts)::bigint AS prompts, sum(answers)::bigint AS answers,
        sum(flagged_guardrails)::bigint AS flagged_guardrails,
        sum(flagged_custom_policy)::bigint AS flagged_custom_policy,
        sum(flagged_dataclean)::bigint AS flagged_dataclean, sum(blocked)::bigint AS blocked,
        sum(failed)::bigint AS failed, sum(tokens)::bigint AS tokens,
        sum(total_us)::bigint AS total_us, max(max_us) AS max_us
    FROM traffic WHERE application_id = $1 AND hour BETWEEN $2 AND $3 GROUP BY hour ORDER BY hour";
const TYPES: &str = "
    SELECT kind, sum(finds)::bigint AS finds FROM traffic_types
    WHERE application_id = $1 AND hour BETWEEN $2 AND $3
    GROUP BY kind ORDER BY 2 DESC, kind COLLATE \"C\" LIMIT $4";
const FORGET: [&str; 2] = [
    "DELETE FROM traffic WHERE (application_id, hour, lane) IN
        (SELECT application_id, hour, lane FROM traffic WHERE hour < $1 LIMIT $2)",
    "DELETE FROM traffic_types WHERE (application_id, hour, lane, kind_key) IN
        (SELECT application_id, hour, lane, kind_key FROM traffic_types WHERE hour < $1 LIMIT $2)",
];

/// Application and hour.
type Place = (Uuid, i64);

/// What a batch adds, in the order of the keys.
#[derive(Default)]
pub(super) struct Hours<'r> {
    counts: BTreeMap<Place, HourTraffic>,
    types: BTreeMap<(Place, i64), (&'r str, i64)>,
}

impl<'r> Hours<'r> {
    pub(super) fn add(&mut self, row: &'r Row) {
        let record = &row.record;
        let hour = record.created_at_ms.div_euclid(HOUR_MS);
        for name in [ALL, record.application_id.0] {
            let counts = self.counts.entry((name, hour)).or_default();
            add(counts, row);
            for found in &record.answer.dataclean.types {
                let kind = match name == ALL {
                    true => shared_kind(&found.kind),
                    false => found.kind.as_str(),
                };
                let key = ((name, hour), text_key(kind));
                let (_, finds) = self.types.entry(key).or_insert((kind, 0));
                *finds = finds.saturating_add(number(found.count));
            }
        }
    }

    pub(super) async fn write(
        self,
        connection: &mut PgConnection,
        lane: i16,
    ) -> Result<(), sqlx::Error> {
        if !self.types.is_empty() {
            self.write_types(connection, lane).await?;
        }
        let of = |take: fn(&HourTraffic) -> u64| {
            let numbers = self.counts.values().map(|one| number(take(one)));
            numbers.collect::<Vec<_>>()
        };
        let mut query = sqlx::query(ADD)
            .bind(self.counts.keys().map(|key| key.0).collect::<Vec<_>>())
            .bind(self.counts.keys().map(|key| key.1).collect::<Vec<_>>())
            .bind(lane);
        let columns: [fn(&HourTraffic) -> u64; 10] = [
            |one| one.prompts,
            |one| one.answers,
            |one| one.flagged_guardrails,
            |one| one.flagged_custom_policy,
            |one| one.flagged_dataclean,
            |one| one.blocked,
            |one| one.failed,
            |one| one.tokens,
            |one| one.total_us,
            |one| one.max_us,
        ];
        for column in columns {
            query = query.bind(of(column));
        }
        query.execute(connection).await.map(drop)
    }

    async fn write_types(
        &self,
        connection: &mut PgConnection,
        lane: i16,
    ) -> Result<(), sqlx::Error> {
        let (keys, found) = (|| self.types.keys(), || self.types.values());
        let kinds = found().map(|(kind, _)| shield(kind).into_owned());
        sqlx::query(ADD_TYPES)
            .bind(keys().map(|key| key.0.0).collect::<Vec<_>>())
            .bind(keys().map(|key| key.0.1).collect::<Vec<_>>())
            .bind(lane)
            .bind(keys().map(|key| key.1).collect::<Vec<_>>())
            .bind(kinds.collect::<Vec<_>>())
            .bind(found().map(|(_, finds)| *finds).collect::<Vec<_>>())
            .execute(connection)
            .await
            .map(drop)
    }
}

impl PostgresStore {
    pub(super) async fn read_traffic(
        &self,
        application: Option<ApplicationId>,
        (first, last): (i64, i64),
    ) -> Result<Vec<HourTraffic>, StoreError> {
        let query = sqlx::query(HOURS).bind(counted_as(application));
        let rows = self.all(query.bind(first).bind(last)).await?;
        rows.iter().map(hour).collect()
    }

    pub(super) async fn read_traffic_types(
        &self,
        application: Option<ApplicationId>,
        ((first, last), limit): ((i64, i64), u32),
    ) -> Result<Vec<TypeCount>, StoreError> {
        let query = sqlx::query(TYPES).bind(counted_as(application));
        let query = query.bind(first).bind(last).bind(i64::from(limit));
        let found = |row: &PgRow| {
            Ok(TypeCount {
                kind: text(row, "kind")?,
                count: count(row, "finds")?,
            })
        };
        self.all(query).await?.iter().map(found).collect()
    }
}

/// Forgets the hours that are older than those that are kept.
pub(super) async fn forget(connection: &mut PgConnection, now_ms: i64) -> Result<(), StoreError> {
    for statement in FORGET {
        let query = sqlx::query(statement).bind(first_kept(now_ms)).bind(STEP);
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

fn add(counts: &mut HourTraffic, row: &Row) {
    let (record, verdict) = (&row.record, &row.record.answer);
    match record.stage {
        Stage::PreCall => counts.prompts += 1,
        Stage::PostCall => counts.answers += 1,
    }
    counts.flagged_guardrails += u64::from(verdict.guardrails.flagged);
    counts.flagged_custom_policy += u64::from(verdict.custom_policy.flagged);
    counts.flagged_dataclean += u64::from(verdict.dataclean.flagged);
    counts.blocked += u64::from(record.blocked);
    counts.failed += u64::from(record.failed());
    counts.tokens = counts.tokens.saturating_add(verdict.tokens.count);
    counts.total_us = counts.total_us.saturating_add(verdict.timings.total_us);
    counts.max_us = counts.max_us.max(verdict.timings.total_us);
}

fn hour(row: &PgRow) -> Result<HourTraffic, StoreError> {
    Ok(HourTraffic {
        hour: row.try_get("hour")?,
        prompts: count(row, "prompts")?,
        answers: count(row, "answers")?,
        flagged_guardrails: count(row, "flagged_guardrails")?,
        flagged_custom_policy: count(row, "flagged_custom_policy")?,
        flagged_dataclean: count(row, "flagged_dataclean")?,
        blocked: count(row, "blocked")?,
        failed: count(row, "failed")?,
        tokens: count(row, "tokens")?,
        total_us: count(row, "total_us")?,
        max_us: count(row, "max_us")?,
    })
}
