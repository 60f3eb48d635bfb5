//! Costs by the day: counts what a batch of records adds, and deletes old days. `cost_sums` reads them.

use crate::costs::first_kept_day;
use crate::error::StoreError;
use crate::postgres::records::row::RecordRow;
use crate::postgres::seq::Day;
use crate::sql::costs::ONE;
use monitor_model::CallTokens;
use sqlx::PgConnection;
use std::collections::BTreeMap;
use uuid::Uuid;

/// The end of a statement that inserts into `costs AS c`: what is there already is added.
macro_rules! add_to_sums {
    () => {
        "
    ON CONFLICT (by_user, day, application_id, user_id, model, currency, priced, lane) DO UPDATE SET
        calls = c.calls + excluded.calls,
        prompt_tokens = c.prompt_tokens + excluded.prompt_tokens,
        cached_tokens = c.cached_tokens + excluded.cached_tokens,
        cache_write_tokens = c.cache_write_tokens + excluded.cache_write_tokens,
        completion_tokens = c.completion_tokens + excluded.completion_tokens,
        reasoning_tokens = c.reasoning_tokens + excluded.reasoning_tokens,
        cost_whole = c.cost_whole + excluded.cost_whole + (c.cost_part + excluded.cost_part) / 1000000000000,
        cost_part = (c.cost_part + excluded.cost_part) % 1000000000000"
    };
}
pub(in crate::postgres) use add_to_sums;

const ADD: &str = concat!(
    "
    INSERT INTO costs AS c
    SELECT u.by_user, u.day, u.application_id, u.user_id, u.model, u.currency, u.priced, $7, u.calls, u.prompt, u.cached,
           u.cache_write, u.completion, u.reasoning, u.whole, u.part
    FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $8::bigint[], $9::bigint[],
                $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::boolean[])
        AS u (day, application_id, user_id, model, currency, priced, calls, prompt, cached, cache_write,
              completion, reasoning, whole, part, by_user)
    ",
    add_to_sums!()
);

/// The most rows that one statement deletes, and the most statements in one run; the next run goes on.
const STEP: i64 = 5_000;
const STEPS: u32 = 2_000;
/// Of the oldest day. The rows are locked in the order of a writer.
const FORGET: &str = r#"
    DELETE FROM costs WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM costs
        WHERE by_user AND day = (SELECT min(day) FROM costs WHERE by_user AND day < $1)
        ORDER BY application_id, user_id COLLATE "C", model COLLATE "C", currency COLLATE "C", priced COLLATE "C", lane
        LIMIT $2 FOR UPDATE))"#;

/// The key of a sum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'r> {
    is_by_user: bool,
    day: i64,
    application: Uuid,
    user: &'r str,
    model: &'r str,
    currency: &'r str,
    priced: &'static str,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    calls: i64,
    /// Prompt, cached, cache write, completion and reasoning.
    tokens: [i64; 5],
    units: i128,
}

impl Sums {
    fn add(&mut self, row: &RecordRow, tokens: CallTokens) {
        self.calls += 1;
        // Without the total.
        for (sum, tokens) in self.tokens.iter_mut().zip(tokens.to_array()) {
            let tokens = i64::try_from(tokens.unwrap_or_default()).unwrap_or(i64::MAX);
            *sum = sum.saturating_add(tokens);
        }
        self.units += i128::from(row.encoded.cost_units().unwrap_or_default());
    }
}

/// The sums of a batch.
#[derive(Default)]
pub(super) struct CostTotals<'r>(BTreeMap<Key<'r>, Sums>);

impl<'r> CostTotals<'r> {
    /// Counts a record, if it is one of a call that was not counted yet: for its user, and for all users together.
    pub(super) fn add(&mut self, row: &'r RecordRow) {
        let record = row.record();
        let Some(cost) = &record.cost else {
            return;
        };
        let Some(priced) = cost.priced else {
            return;
        };
        let named = |instead: &'r Option<String>, own: &'r Option<String>| {
            let name = instead.as_deref().or(own.as_deref());
            name.unwrap_or_default()
        };
        let user = named(&row.counted_as.user, &row.user_id);
        let model = named(&row.counted_as.model, &row.model);
        for (is_by_user, user) in [(false, ""), (true, user)] {
            let sums = self.0.entry(Key {
                is_by_user,
                day: Day::of(record.created_at_ms).0,
                application: record.application_id.0,
                user,
                model,
                currency: row.encoded.currency().unwrap_or_default(),
                priced: priced.as_str(),
            });
            sums.or_default().add(row, cost.usage.tokens);
        }
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
        let column = |value: &dyn Fn(&Sums) -> i64| self.0.values().map(value).collect::<Vec<_>>();
        let carried = |units: i128| i64::try_from(units).unwrap_or(i64::MAX);
        let mut query = sqlx::query(ADD)
            .bind(keys().map(|key| key.day).collect::<Vec<_>>())
            .bind(keys().map(|key| key.application).collect::<Vec<_>>())
            .bind(keys().map(|key| key.user).collect::<Vec<_>>())
            .bind(keys().map(|key| key.model).collect::<Vec<_>>())
            .bind(keys().map(|key| key.currency).collect::<Vec<_>>())
            .bind(keys().map(|key| key.priced).collect::<Vec<_>>())
            .bind(lane)
            .bind(column(&|sums| sums.calls));
        for kind in 0..5 {
            query = query.bind(column(&|sums| sums.tokens[kind]));
        }
        query
            .bind(column(&|sums| carried(sums.units / i128::from(ONE))))
            .bind(column(&|sums| carried(sums.units % i128::from(ONE))))
            .bind(keys().map(|key| key.is_by_user).collect::<Vec<_>>())
            .execute(connection)
            .await
            .map(drop)
    }
}

/// Deletes days of users older than those that are kept, in bounded steps.
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
