//! Erasing the records of a user.

use super::delete::delete_in_schema;
use crate::costs::OTHER_NAMES;
use crate::error::StoreError;
use crate::postgres::statistics::costs::add_to_sums;
use crate::postgres::values::{escaped, text_key};
use crate::removal::{Erased, Erasure};
use crate::sql::alerts::FORGET_USER;
use crate::transfer::{
    ALERTS_SCHEMA, BUDGETS_SCHEMA, COSTS_SCHEMA, EXCHANGES_SCHEMA, USER_DAYS_SCHEMA,
};
use monitor_model::CountedBudgets;
use sqlx::PgConnection;
use uuid::Uuid;

/// The most records that one step removes.
const STEP: i64 = 1_000;

/// Stands for the schema of this version.
const LATEST: i64 = i64::MAX;

const RECORDS: &str = "
    SELECT seq FROM records WHERE user_key = $1 AND user_id = $2
        AND ($3::uuid IS NULL OR application_id = $3) ORDER BY seq LIMIT $4";
/// What tools were given and gave in the exchanges of these records, where the caller named no user.
const TOOL_CALLS: &str = "
    SELECT DISTINCT t.seq FROM records r JOIN records t
        ON t.application_id = r.application_id AND t.exchange_id = r.exchange_id
    WHERE r.seq = ANY ($1) AND r.seq BETWEEN $2 AND $3
        AND t.tool_name IS NOT NULL AND t.user_id IS NULL LIMIT $4";
/// Files that wait for another record of these exchanges.
const FORGET_WAITING: &str = "
    DELETE FROM waiting_attachments w USING records r
    WHERE r.seq = ANY ($1) AND r.seq BETWEEN $2 AND $3
        AND w.application_id = r.application_id AND w.exchange_id = r.exchange_id";
/// A session that also has records of other users stays, without the name.
const SESSIONS: &str = "
    UPDATE sessions SET user_id = NULL, user_key = NULL WHERE user_key = $1 AND user_id = $2
        AND ($3::uuid IS NULL OR application_id = $3)";
/// The sums of a user, in the order in which writers take them.
const LOCK_COSTS: &str = r#"
    SELECT FROM costs WHERE user_id = $1 AND user_id NOT IN ('', $3) AND ($2::uuid IS NULL OR application_id = $2)
    ORDER BY by_user, day, application_id, model COLLATE "C", currency COLLATE "C", priced COLLATE "C", lane
    FOR UPDATE"#;
/// What a user's calls cost stays, among those of users who are not told apart ($3), in the lane of what was removed.
const COSTS: &str = concat!(
    "
    WITH named AS (
        DELETE FROM costs WHERE user_id = $1 AND user_id NOT IN ('', $3) AND ($2::uuid IS NULL OR application_id = $2)
        RETURNING *)
    INSERT INTO costs AS c
    SELECT by_user, day, application_id, $3, model, currency, priced, -1, sum(calls)::bigint, sum(prompt_tokens)::bigint,
        sum(cached_tokens)::bigint, sum(cache_write_tokens)::bigint, sum(completion_tokens)::bigint,
        sum(reasoning_tokens)::bigint, (sum(cost_whole) + div(sum(cost_part), 1000000000000))::bigint,
        mod(sum(cost_part), 1000000000000)::bigint
    FROM named GROUP BY by_user, day, application_id, model, currency, priced
    ORDER BY by_user, day, application_id, model COLLATE \"C\", currency COLLATE \"C\", priced COLLATE \"C\"
    ",
    add_to_sums!()
);
/// What a user did goes with the name, but for those who are not told apart ($3); locked in the order of a writer.
const USER_DAYS: &str = r#"
    DELETE FROM user_days WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM user_days
        WHERE user_id = $1 AND user_id <> $3 AND ($2::uuid IS NULL OR application_id = $2)
        ORDER BY day, application_id, kind COLLATE "C", lane FOR UPDATE))"#;

/// What gateways are told of budgets, which names users.
const SPENT: &str = "
    SELECT application_id, states FROM spent_budgets WHERE $1::uuid IS NULL OR application_id = $1
    ORDER BY application_id FOR UPDATE";

/// Removes some records of the user.
pub(in crate::postgres) async fn step(
    connection: &mut PgConnection,
    erasure: &Erasure,
) -> Result<Erased, StoreError> {
    step_in_schema(connection, erasure, LATEST).await
}

/// The same in an older schema, which may have no tool calls, no files that wait, no costs and no findings.
pub(in crate::postgres) async fn step_in_schema(
    connection: &mut PgConnection,
    erasure: &Erasure,
    schema: i64,
) -> Result<Erased, StoreError> {
    let user = escaped(&erasure.user_id).into_owned();
    let application = erasure.application_id.map(|id| id.0);
    let seqs: Vec<i64> = sqlx::query_scalar(RECORDS)
        .bind(text_key(&user))
        .bind(&user)
        .bind(application)
        .bind(STEP)
        .persistent(false)
        .fetch_all(&mut *connection)
        .await?;
    if seqs.is_empty() {
        let query = sqlx::query(SESSIONS).bind(text_key(&user)).bind(&user);
        query.bind(application).execute(&mut *connection).await?;
        forget_sums(connection, erasure, schema).await?;
        if schema >= BUDGETS_SCHEMA {
            forget_spender(connection, erasure).await?;
        }
        if schema >= ALERTS_SCHEMA {
            forget_alerts(connection, erasure).await?;
        }
        return Ok(Erased::default());
    }
    let seqs = match schema >= EXCHANGES_SCHEMA {
        true => beside(connection, seqs).await?,
        false => seqs,
    };
    let query = sqlx::query_scalar("SELECT count(*) FROM attachments WHERE seq = ANY ($1)");
    let attached: i64 = query.bind(&seqs).fetch_one(&mut *connection).await?;
    let removed = delete_in_schema(connection, &seqs, schema).await?;
    Ok(Erased {
        records: removed.records,
        attachments: attached.unsigned_abs(),
    })
}

/// Removes the alerts and the rules of alerts that are about the user.
async fn forget_alerts(connection: &mut PgConnection, erasure: &Erasure) -> Result<(), StoreError> {
    let hash = Erasure::user_hash(&erasure.user_id);
    for statement in FORGET_USER {
        let forget = sqlx::query(statement).bind(hash.to_vec());
        let forget = forget.bind(erasure.application_id.map(|id| id.0));
        forget.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Takes the name out of sums, which outlive records.
async fn forget_sums(
    connection: &mut PgConnection,
    erasure: &Erasure,
    schema: i64,
) -> Result<(), StoreError> {
    let user = escaped(&erasure.user_id).into_owned();
    let application = erasure.application_id.map(|id| id.0);
    let sums = [
        (COSTS_SCHEMA, LOCK_COSTS),
        (COSTS_SCHEMA, COSTS),
        (USER_DAYS_SCHEMA, USER_DAYS),
    ];
    for (since, statement) in sums {
        if schema >= since {
            let forget = sqlx::query(statement).bind(&user).bind(application);
            let forget = forget.bind(OTHER_NAMES);
            forget.execute(&mut *connection).await?;
        }
    }
    Ok(())
}

/// The parts of tool calls in the exchanges of these records, or the records themselves if there are none. Removes
/// the files that wait for other records of these exchanges.
async fn beside(connection: &mut PgConnection, seqs: Vec<i64>) -> Result<Vec<i64>, StoreError> {
    let (first, last) = (seqs.iter().min(), seqs.iter().max());
    sqlx::query(FORGET_WAITING)
        .bind(&seqs)
        .bind(first)
        .bind(last)
        .persistent(false)
        .execute(&mut *connection)
        .await?;
    let found = sqlx::query_scalar(TOOL_CALLS)
        .bind(&seqs)
        .bind(first)
        .bind(last)
        .bind(STEP)
        .persistent(false);
    let found: Vec<i64> = found.fetch_all(connection).await?;
    // Their exchanges are only known as long as the other records are there.
    Ok(if found.is_empty() { seqs } else { found })
}

/// Takes the name out of what gateways are told of budgets.
async fn forget_spender(
    connection: &mut PgConnection,
    erasure: &Erasure,
) -> Result<(), StoreError> {
    let told = sqlx::query_as(SPENT).bind(erasure.application_id.map(|id| id.0));
    let told: Vec<(Uuid, String)> = told.fetch_all(&mut *connection).await?;
    for (application, states) in told {
        let Some(left) = without(&states, &erasure.user_id) else {
            continue;
        };
        sqlx::query("UPDATE spent_budgets SET states = $2 WHERE application_id = $1")
            .bind(application)
            .bind(left)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// What was counted, without a user; None where it does not name it. What another version has written is dropped, since
/// the next count writes it again.
fn without(counted: &str, user: &str) -> Option<String> {
    let none = "{}".to_owned();
    let Ok(mut counted) = serde_json::from_str::<CountedBudgets>(counted) else {
        return Some(none);
    };
    let before = counted.clone();
    for state in &mut counted.states {
        state.spent.retain(|name| name.is_empty() || name != user);
        state.warned.retain(|name| name.is_empty() || name != user);
    }
    // Names and numbers only: serialization has no failing case.
    (counted != before).then(|| serde_json::to_string(&counted).unwrap_or(none))
}
