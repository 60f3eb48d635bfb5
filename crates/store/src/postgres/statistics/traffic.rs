//! Traffic per hour: counts what a batch of records adds, and deletes old hours.

use crate::error::StoreError;
use crate::postgres::records::row::RecordRow;
use crate::postgres::values::{bounded, escaped, text_key};
use crate::statistics::{
    ALL, HOUR_MS, HourTraffic, MOST_OWN_KINDS, OTHER_FINDS, counted_kind, first_kept_hour,
    shared_kind, shared_kinds,
};
use monitor_model::Stage;
use sqlx::PgConnection;
use std::collections::BTreeMap;
use uuid::Uuid;

/// The most rows that one statement deletes.
const STEP: i64 = 20_000;

const ADD: &str = "
    INSERT INTO traffic AS t
    SELECT u.application_id, u.hour, $3, u.prompts, u.answers, u.guardrails, u.custom_policy, u.dataclean,
           u.blocked, u.failed, u.tokens, u.total_us, u.max_us, u.unchecked
    FROM unnest($1::uuid[], $2::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
                $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
                $14::bigint[])
        AS u (application_id, hour, prompts, answers, guardrails, custom_policy, dataclean, blocked,
              failed, tokens, total_us, max_us, unchecked)
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
        max_us = greatest(t.max_us, excluded.max_us),
        unchecked = t.unchecked + excluded.unchecked";
const ADD_TYPES: &str = "
    INSERT INTO traffic_types AS t
    SELECT application_id, hour, $3::smallint, CASE WHEN fits THEN kind_key ELSE $9 END,
           min(CASE WHEN fits THEN kind ELSE $10 END), sum(finds)::bigint
    FROM (
        SELECT *, is_known OR place + (SELECT count(*) FROM (
            SELECT 1 FROM traffic_types AS own
            WHERE own.application_id = found.application_id AND own.hour = found.hour AND own.lane = $3
                AND own.kind <> ALL ($7::text[]) LIMIT $8) AS few) <= $8 AS fits
        FROM (
            SELECT *, row_number() OVER (PARTITION BY application_id, hour, is_known) AS place
            FROM (
                SELECT *, kind = ANY ($7::text[]) OR EXISTS (
                    SELECT FROM traffic_types AS known
                    WHERE known.application_id = u.application_id AND known.hour = u.hour
                        AND known.lane = $3 AND known.kind_key = u.kind_key) AS is_known
                FROM unnest($1::uuid[], $2::bigint[], $4::bigint[], $5::text[], $6::bigint[])
                    AS u (application_id, hour, kind_key, kind, finds)) AS named) AS found) AS counted
    GROUP BY 1, 2, 4 ORDER BY 1, 2, 4
    ON CONFLICT (application_id, hour, lane, kind_key) DO UPDATE SET finds = t.finds + excluded.finds";
pub(super) const HOURS: &str = "
    SELECT hour, sum(prompts)::bigint AS prompts, sum(answers)::bigint AS answers,
        sum(flagged_guardrails)::bigint AS flagged_guardrails,
        sum(flagged_custom_policy)::bigint AS flagged_custom_policy,
        sum(flagged_dataclean)::bigint AS flagged_dataclean, sum(blocked)::bigint AS blocked,
        sum(failed)::bigint AS failed, sum(tokens)::bigint AS tokens,
        sum(total_us)::bigint AS total_us, max(max_us) AS max_us, sum(unchecked)::bigint AS unchecked
    FROM traffic WHERE application_id = $1 AND hour BETWEEN $2 AND $3 GROUP BY hour ORDER BY hour";
pub(super) const TYPES: &str = "
    SELECT kind, sum(finds)::bigint AS finds FROM traffic_types
    WHERE application_id = $1 AND hour BETWEEN $2 AND $3
    GROUP BY kind ORDER BY 2 DESC, kind COLLATE \"C\" LIMIT $4";
const FORGET: [&str; 2] = [
    "DELETE FROM traffic WHERE (application_id, hour, lane) IN
        (SELECT application_id, hour, lane FROM traffic WHERE hour < $1 LIMIT $2)",
    "DELETE FROM traffic_types WHERE (application_id, hour, lane, kind_key) IN
        (SELECT application_id, hour, lane, kind_key FROM traffic_types WHERE hour < $1 LIMIT $2)",
];

/// The key of a counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct HourKey {
    application: Uuid,
    hour: i64,
}

/// The key of a counter of one entity type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TypeKey {
    hour: HourKey,
    type_key: i64,
}

/// How often an entity type was found.
struct Finds<'r> {
    kind: &'r str,
    count: i64,
}

/// What a batch adds, in the order of the keys.
#[derive(Default)]
pub(super) struct HourTotals<'r> {
    counts: BTreeMap<HourKey, HourTraffic>,
    types: BTreeMap<TypeKey, Finds<'r>>,
}

impl<'r> HourTotals<'r> {
    /// Counts a record for its application and for all together.
    pub(super) fn add(&mut self, row: &'r RecordRow) {
        let record = row.record();
        let hour = record.created_at_ms.div_euclid(HOUR_MS);
        for application in [ALL, record.application_id.0] {
            let hour = HourKey { application, hour };
            add(self.counts.entry(hour).or_default(), row);
            for found in &record.answer.dataclean.types {
                let kind = match application == ALL {
                    true => shared_kind(&found.kind),
                    false => counted_kind(record, &found.kind),
                };
                let type_key = text_key(kind);
                let finds = self.types.entry(TypeKey { hour, type_key });
                let finds = finds.or_insert(Finds { kind, count: 0 });
                finds.count = finds.count.saturating_add(bounded(found.count));
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
        let column = |value: fn(&HourTraffic) -> u64| {
            let counts = self.counts.values().map(|one| bounded(value(one)));
            counts.collect::<Vec<_>>()
        };
        let keys = || self.counts.keys();
        let mut query = sqlx::query(ADD)
            .bind(keys().map(|key| key.application).collect::<Vec<_>>())
            .bind(keys().map(|key| key.hour).collect::<Vec<_>>())
            .bind(lane);
        let columns: [fn(&HourTraffic) -> u64; 11] = [
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
            |one| one.unchecked,
        ];
        for value in columns {
            query = query.bind(column(value));
        }
        query.execute(connection).await.map(drop)
    }

    async fn write_types(
        &self,
        connection: &mut PgConnection,
        lane: i16,
    ) -> Result<(), sqlx::Error> {
        let (keys, found) = (|| self.types.keys(), || self.types.values());
        let kinds = found().map(|finds| escaped(finds.kind).into_owned());
        sqlx::query(ADD_TYPES)
            .bind(keys().map(|key| key.hour.application).collect::<Vec<_>>())
            .bind(keys().map(|key| key.hour.hour).collect::<Vec<_>>())
            .bind(lane)
            .bind(keys().map(|key| key.type_key).collect::<Vec<_>>())
            .bind(kinds.collect::<Vec<_>>())
            .bind(found().map(|finds| finds.count).collect::<Vec<_>>())
            .bind(shared_kinds())
            .bind(MOST_OWN_KINDS)
            .bind(text_key(OTHER_FINDS))
            .bind(OTHER_FINDS)
            .execute(connection)
            .await
            .map(drop)
    }
}

/// Deletes hours older than those that are kept.
pub(in crate::postgres) async fn forget(
    connection: &mut PgConnection,
    now_ms: i64,
) -> Result<(), StoreError> {
    for statement in FORGET {
        let query = sqlx::query(statement).bind(first_kept_hour(now_ms));
        query.bind(STEP).execute(&mut *connection).await?;
    }
    Ok(())
}

fn add(counts: &mut HourTraffic, row: &RecordRow) {
    let (record, verdict) = (row.record(), &row.record().answer);
    match record.stage {
        Stage::PreCall => counts.prompts += 1,
        Stage::PostCall => counts.answers += 1,
    }
    counts.flagged_guardrails += u64::from(verdict.guardrails.flagged);
    counts.flagged_custom_policy += u64::from(verdict.custom_policy.flagged);
    counts.flagged_dataclean += u64::from(verdict.dataclean.flagged);
    counts.blocked += u64::from(record.blocked);
    counts.failed += u64::from(record.failed());
    counts.unchecked += u64::from(record.unchecked);
    counts.tokens = counts.tokens.saturating_add(verdict.tokens.count);
    counts.total_us = counts.total_us.saturating_add(verdict.timings.total_us);
    counts.max_us = counts.max_us.max(verdict.timings.total_us);
}
