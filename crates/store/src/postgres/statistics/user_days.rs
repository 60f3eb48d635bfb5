//! End users by the day: counts what a batch of records adds, and deletes old days. `user_sums` reads them.

use crate::costs::{OTHER_NAMES, first_kept_day};
use crate::error::StoreError;
use crate::postgres::records::row::RecordRow;
use crate::postgres::seq::Day;
use crate::postgres::values::bounded;
use crate::statistics::shared_kind;
use crate::user_days::{LONGEST_COUNTED_NAME, MOST_USERS};
use sqlx::PgConnection;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Beyond $11 users of a day and application, in the lane of a writer, further ones count as $12.
const ADD: &str = r#"
    WITH given AS (
        SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $6::bigint[], $7::bigint[], $8::bigint[],
                             $9::bigint[], $10::bigint[])
            AS u (day, application_id, user_id, kind, messages, flagged, blocked, finds, last_ms)),
    fresh AS (
        SELECT u.day, u.application_id, u.user_id,
            row_number() OVER (PARTITION BY u.day, u.application_id ORDER BY u.user_id COLLATE "C") AS place
        FROM given AS u WHERE u.kind = '' AND NOT EXISTS (
            SELECT FROM user_days AS known
            WHERE known.day = u.day AND known.application_id = u.application_id
                AND known.user_id = u.user_id AND known.kind = '' AND known.lane = $5::smallint)),
    room AS MATERIALIZED (
        SELECT pairs.day, pairs.application_id, (SELECT count(*) FROM (
            SELECT 1 FROM user_days AS own
            WHERE own.day = pairs.day AND own.application_id = pairs.application_id
                AND own.kind = '' AND own.lane = $5::smallint LIMIT $11::bigint) AS few) AS taken
        FROM (SELECT DISTINCT day, application_id FROM fresh) AS pairs),
    beyond AS (
        SELECT fresh.day, fresh.application_id, fresh.user_id FROM fresh JOIN room USING (day, application_id)
        WHERE fresh.place + room.taken > $11::bigint)
    INSERT INTO user_days AS d
    SELECT summed.day, summed.application_id, summed.user_id, summed.kind, $5::smallint, summed.messages, summed.flagged,
        summed.blocked, summed.finds, summed.last_ms
    FROM (
        SELECT u.day, u.application_id, CASE WHEN beyond.user_id IS NULL THEN u.user_id ELSE $12::text END AS user_id,
            u.kind, sum(u.messages)::bigint AS messages, sum(u.flagged)::bigint AS flagged,
            sum(u.blocked)::bigint AS blocked, sum(u.finds)::bigint AS finds, max(u.last_ms) AS last_ms
        FROM given AS u LEFT JOIN beyond ON beyond.day = u.day AND beyond.application_id = u.application_id
            AND beyond.user_id = u.user_id
        GROUP BY 1, 2, 3, 4) AS summed
    ORDER BY summed.day, summed.application_id, summed.user_id COLLATE "C", summed.kind COLLATE "C"
    ON CONFLICT (day, application_id, user_id, kind, lane) DO UPDATE SET
        messages = d.messages + excluded.messages,
        flagged = d.flagged + excluded.flagged,
        blocked = d.blocked + excluded.blocked,
        finds = d.finds + excluded.finds,
        last_ms = greatest(d.last_ms, excluded.last_ms)"#;

/// The most rows that one statement deletes, and the most statements in one run; the next run goes on.
const STEP: i64 = 5_000;
const STEPS: u32 = 2_000;
/// Of the oldest day. The rows are locked in the order of a writer.
const FORGET: &str = r#"
    DELETE FROM user_days WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM user_days
        WHERE day = (SELECT min(day) FROM user_days WHERE day < $1)
        ORDER BY application_id, user_id COLLATE "C", kind COLLATE "C", lane
        LIMIT $2 FOR UPDATE))"#;

/// The key of a sum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'r> {
    day: i64,
    application: Uuid,
    user: &'r str,
    kind: &'r str,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    messages: i64,
    flagged: i64,
    blocked: i64,
    finds: i64,
    last_ms: i64,
}

/// The sums of a batch.
#[derive(Default)]
pub(super) struct UserTotals<'r>(BTreeMap<Key<'r>, Sums>);

impl<'r> UserTotals<'r> {
    /// Counts a record, if it has a user.
    pub(super) fn add(&mut self, row: &'r RecordRow) {
        let record = row.record();
        let user = match row.user_id.as_deref() {
            None | Some("") => return,
            Some(user) if user.len() > LONGEST_COUNTED_NAME => OTHER_NAMES,
            Some(user) => user,
        };
        let key = Key {
            day: Day::of(record.created_at_ms).0,
            application: record.application_id.0,
            user,
            kind: "",
        };
        let sums = self.of(key, record.created_at_ms);
        sums.messages += 1;
        sums.flagged += i64::from(row.flagged());
        sums.blocked += i64::from(record.blocked);
        for found in &record.answer.dataclean.types {
            let kind = shared_kind(&found.kind);
            let sums = self.of(Key { kind, ..key }, record.created_at_ms);
            sums.finds = sums.finds.saturating_add(bounded(found.count));
        }
    }

    fn of(&mut self, key: Key<'r>, at_ms: i64) -> &mut Sums {
        let sums = self.0.entry(key).or_insert(Sums {
            last_ms: at_ms,
            ..Sums::default()
        });
        sums.last_ms = sums.last_ms.max(at_ms);
        sums
    }

    pub(super) async fn write(
        &self,
        connection: &mut PgConnection,
        lane: i16,
    ) -> Result<(), sqlx::Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        let keys = || self.0.keys();
        let column = |value: fn(&Sums) -> i64| self.0.values().map(value).collect::<Vec<_>>();
        sqlx::query(ADD)
            .bind(keys().map(|key| key.day).collect::<Vec<_>>())
            .bind(keys().map(|key| key.application).collect::<Vec<_>>())
            .bind(keys().map(|key| key.user).collect::<Vec<_>>())
            .bind(keys().map(|key| key.kind).collect::<Vec<_>>())
            .bind(lane)
            .bind(column(|sums| sums.messages))
            .bind(column(|sums| sums.flagged))
            .bind(column(|sums| sums.blocked))
            .bind(column(|sums| sums.finds))
            .bind(column(|sums| sums.last_ms))
            .bind(MOST_USERS)
            .bind(OTHER_NAMES)
            .execute(connection)
            .await
            .map(drop)
    }
}

/// Deletes days older than those that are kept, in bounded steps.
pub(in crate::postgres) async fn forget(
    connection: &mut PgConnection,
    now_ms: i64,
    days: Option<u32>,
) -> Result<(), StoreError> {
    for _ in 0..STEPS {
        let query = sqlx::query(FORGET).bind(first_kept_day(now_ms, days));
        let done = query.bind(STEP).execute(&mut *connection).await?;
        if done.rows_affected() == 0 {
            break;
        }
    }
    Ok(())
}
