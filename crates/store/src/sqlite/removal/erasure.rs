//! Erasing the records of a user.

use super::delete;
use crate::costs::OTHER_NAMES;
use crate::error::StoreError;
use crate::removal::{Erased, Erasure};
use crate::sql::alerts::FORGET_USER;
use crate::sqlite::values::json_list;
use crate::transfer::{ALERTS_SCHEMA, COSTS_SCHEMA, EXCHANGES_SCHEMA, USER_DAYS_SCHEMA};
use sqlx::SqliteConnection;

/// The most records that one step removes.
const STEP: i64 = 500;

/// Stands for the schema of this version.
const LATEST: i64 = i64::MAX;

const RECORDS: &str = "
    SELECT seq FROM records INDEXED BY records_by_user
    WHERE user_id = ?1 AND (?2 IS NULL OR application_id = ?2) ORDER BY seq LIMIT ?3";
/// What tools were given and gave in the exchanges of these records (a JSON list), where the caller named no user.
const TOOL_CALLS: &str = "
    SELECT t.seq FROM records AS r CROSS JOIN records AS t INDEXED BY records_by_exchange
        ON t.application_id = r.application_id AND t.exchange_id = r.exchange_id
    WHERE r.seq IN (SELECT value FROM json_each(?1))
        AND t.tool_name IS NOT NULL AND t.user_id IS NULL LIMIT ?2";
/// Files that wait for another record of these exchanges.
const FORGET_WAITING: &str = "
    DELETE FROM waiting_attachments WHERE (application_id, exchange_id) IN (
        SELECT application_id, exchange_id FROM records WHERE seq IN (SELECT value FROM json_each(?1)))";
const ATTACHED: &str = "
    SELECT count(*) FROM attachments WHERE seq IN (SELECT value FROM json_each(?1))";
/// A session that also has records of other users stays, without the name.
const SESSIONS: &str = "
    UPDATE sessions SET user_id = NULL
    WHERE user_id = ?1 AND (?2 IS NULL OR application_id = ?2)";
/// What a user's calls cost stays, among those of users who are not told apart (?3).
const NAMELESS_COSTS: &str = "
    INSERT INTO costs
    SELECT by_user, day, application_id, ?3, model, currency, priced, calls, prompt_tokens, cached_tokens,
        cache_write_tokens, completion_tokens, reasoning_tokens, cost_whole, cost_part
    FROM costs WHERE user_id = ?1 AND user_id NOT IN ('', ?3) AND (?2 IS NULL OR application_id = ?2)
    ON CONFLICT (by_user, day, application_id, user_id, model, currency, priced) DO UPDATE SET
        calls = calls + excluded.calls,
        prompt_tokens = prompt_tokens + excluded.prompt_tokens,
        cached_tokens = cached_tokens + excluded.cached_tokens,
        cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,
        completion_tokens = completion_tokens + excluded.completion_tokens,
        reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
        cost_whole = cost_whole + excluded.cost_whole + (cost_part + excluded.cost_part) / 1000000000000,
        cost_part = (cost_part + excluded.cost_part) % 1000000000000";
const COSTS: &str = "
    DELETE FROM costs WHERE user_id = ?1 AND user_id NOT IN ('', ?3) AND (?2 IS NULL OR application_id = ?2)";
/// What a user did goes with the name, but for those who are not told apart (?3).
const USER_DAYS: &str = "
    DELETE FROM user_days WHERE user_id = ?1 AND user_id <> ?3 AND (?2 IS NULL OR application_id = ?2)";

/// Removes some records of the user. The writer overwrites their space in the file.
pub(in crate::sqlite) async fn step(
    connection: &mut SqliteConnection,
    erasure: &Erasure,
) -> Result<Erased, StoreError> {
    step_in_schema(connection, erasure, LATEST).await
}

/// The same in an older schema, which may have no tool calls, no files that wait and no costs.
pub(in crate::sqlite) async fn step_in_schema(
    connection: &mut SqliteConnection,
    erasure: &Erasure,
    schema: i64,
) -> Result<Erased, StoreError> {
    let application = erasure.application_id.map(|id| id.0);
    let seqs: Vec<i64> = sqlx::query_scalar(RECORDS)
        .bind(&*erasure.user_id)
        .bind(application)
        .bind(STEP)
        .fetch_all(&mut *connection)
        .await?;
    if seqs.is_empty() {
        forget_name(connection, erasure, schema).await?;
        if schema >= ALERTS_SCHEMA {
            forget_alerts(connection, erasure).await?;
        }
        return Ok(Erased::default());
    }
    let seqs = match schema >= EXCHANGES_SCHEMA {
        true => beside(connection, seqs).await?,
        false => seqs,
    };
    let attached: i64 = sqlx::query_scalar(ATTACHED)
        .bind(json_list(seqs.iter().copied()))
        .fetch_one(&mut *connection)
        .await?;
    delete(connection, &seqs).await?;
    Ok(Erased {
        records: seqs.len() as u64,
        attachments: attached.unsigned_abs(),
    })
}

/// Removes the alerts and the rules of alerts that are about the user.
async fn forget_alerts(
    connection: &mut SqliteConnection,
    erasure: &Erasure,
) -> Result<(), StoreError> {
    let hash = Erasure::user_hash(&erasure.user_id);
    for statement in FORGET_USER {
        let forget = sqlx::query(statement).bind(hash.to_vec());
        let forget = forget.bind(erasure.application_id.map(|id| id.0));
        forget.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Takes the name out of what outlives records.
async fn forget_name(
    connection: &mut SqliteConnection,
    erasure: &Erasure,
    schema: i64,
) -> Result<(), StoreError> {
    let application = erasure.application_id.map(|id| id.0);
    let sessions = sqlx::query(SESSIONS).bind(&*erasure.user_id);
    sessions.bind(application).execute(&mut *connection).await?;
    let sums = [
        (COSTS_SCHEMA, NAMELESS_COSTS),
        (COSTS_SCHEMA, COSTS),
        (USER_DAYS_SCHEMA, USER_DAYS),
    ];
    for (since, statement) in sums {
        if schema >= since {
            let forget = sqlx::query(statement).bind(&*erasure.user_id);
            let forget = forget.bind(application).bind(OTHER_NAMES);
            forget.execute(&mut *connection).await?;
        }
    }
    Ok(())
}

/// The parts of tool calls in the exchanges of these records, or the records themselves if there are none. Removes
/// the files that wait for other records of these exchanges.
async fn beside(connection: &mut SqliteConnection, seqs: Vec<i64>) -> Result<Vec<i64>, StoreError> {
    let list = json_list(seqs.iter().copied());
    let forget = sqlx::query(FORGET_WAITING).bind(&*list);
    forget.execute(&mut *connection).await?;
    let found = sqlx::query_scalar(TOOL_CALLS).bind(&*list).bind(STEP);
    let found: Vec<i64> = found.fetch_all(connection).await?;
    // Their exchanges are only known as long as the other records are there.
    Ok(if found.is_empty() { seqs } else { found })
}
