//! Gap evidence in its tables (CONTRACT 5). How runs grow is `store::chain`.

use super::SqliteStore;
use super::rows::{bytes, count, uuid};
use crate::chain::{Arrival, Changes, Cluster, MOST_RUNS, around, column, leave, portions};
use crate::survey::{MOST_NUMBERS, Survey};
use crate::{ChainFilter, ChainRun, ChainState, ChainStates, ChainStore, GatewaySeen, StoreError};
use async_trait::async_trait;
use monitor_model::{ChainHash, Span};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};
use uuid::Uuid;

/// From the run that holds ?2, or the last one before it, to ?3.
const RUNS: &str = "
    SELECT first, last, previous, link FROM chain_runs
    WHERE gateway = ?1 AND first <= ?3 AND last >= ?2 AND first >= coalesce(
        (SELECT max(first) FROM chain_runs WHERE gateway = ?1 AND first <= ?2), 0)
    ORDER BY first LIMIT ?4";
const CUTS: &str = "
    SELECT first, last FROM chain_cuts WHERE gateway = ?1 AND last >= ?2 AND first <= ?3
    ORDER BY first LIMIT ?4";
const GATEWAYS: &str = "
    SELECT gateway, repeats FROM chain_gateways
    WHERE (?1 IS NULL OR gateway = ?1) AND (?2 IS NULL OR gateway > ?2) ORDER BY gateway LIMIT ?3";
const TOTALS: &str = "
    SELECT coalesce(min(first), 0), coalesce(max(last), 0), coalesce(sum(last - first + 1), 0),
        (SELECT coalesce(sum(last - first + 1), 0) FROM chain_stubs WHERE gateway = ?1)
    FROM chain_runs WHERE gateway = ?1";
/// Records of a gateway with numbers in each of these portions (a JSON list of `[first, last]`).
const COUNTS: &str = "
    SELECT (SELECT count(*) FROM records INDEXED BY records_by_chain
        WHERE chain_gateway = ?1 AND chain_sequence >= value ->> 0 AND chain_sequence <= value ->> 1)
    FROM json_each(?2) ORDER BY key";
const THERE: &str = "
    SELECT chain_sequence FROM records INDEXED BY records_by_chain
    WHERE chain_gateway = ?1 AND chain_sequence >= ?2 AND chain_sequence <= ?3
    ORDER BY chain_sequence";
/// Those that reach into a span.
const STUBS: &str = "
    SELECT first, last FROM chain_stubs
    WHERE gateway = ?1 AND first <= ?3 AND last >= ?2 AND first >= coalesce(
        (SELECT max(first) FROM chain_stubs WHERE gateway = ?1 AND first <= ?2), 0)
    ORDER BY first LIMIT ?4";
const GONE: &str = "
    DELETE FROM chain_runs WHERE gateway = ?1 AND first IN (SELECT value FROM json_each(?2))";
const RUN: &str = "
    INSERT INTO chain_runs (gateway, first, last, previous, link) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (gateway, first) DO UPDATE SET last = excluded.last, link = excluded.link;
    UPDATE chain_gateways SET latest_ms = ?6
    WHERE gateway = ?1 AND coalesce(latest_ms, ?6 - 1000) <= ?6 - 1000";
const CUT: &str = "
    INSERT INTO chain_cuts (gateway, first, last) VALUES (?1, ?2, ?3)
    ON CONFLICT (gateway, first) DO UPDATE SET last = max(last, excluded.last)";
const GATEWAY: &str = "
    INSERT INTO chain_gateways (gateway, repeats, latest_ms) VALUES (?1, ?2, ?3)
    ON CONFLICT (gateway) DO UPDATE SET repeats = repeats + excluded.repeats,
        latest_ms = max(coalesce(latest_ms, excluded.latest_ms), excluded.latest_ms)";
const WITHOUT: &str = "UPDATE records SET chain_sequence = NULL WHERE id = ?1";
const GONE_STUBS: &str = "
    DELETE FROM chain_stubs WHERE gateway = ?1 AND first IN (SELECT value FROM json_each(?2))";
const STUB: &str = "
    INSERT INTO chain_stubs (gateway, first, last) VALUES (?1, ?2, ?3)
    ON CONFLICT (gateway, first) DO UPDATE SET last = excluded.last";
/// The numbers of records that are about to go (a JSON list of their places).
const NUMBERS: &str = "
    SELECT chain_gateway, chain_sequence FROM records
    WHERE seq IN (SELECT value FROM json_each(?1)) AND chain_sequence IS NOT NULL";

/// Runs do not overlap: the last one to begin is the last one to end.
const SEEN: &str = "
    SELECT gateway, latest_ms, coalesce((SELECT last FROM chain_runs r WHERE r.gateway = g.gateway
        ORDER BY first DESC LIMIT 1), 0) AS last
    FROM chain_gateways g INDEXED BY chain_gateways_by_time ORDER BY latest_ms DESC, gateway LIMIT ?1";

/// Runs that one cluster can touch: as many as numbers, with one at each end and one between each two.
const ANY: i64 = i64::MAX;
/// What an answer looks at, and one more that shows whether that was all.
const SOME: i64 = MOST_RUNS as i64 + 1;

#[async_trait]
impl ChainStore for SqliteStore {
    async fn chains(&self, filter: &ChainFilter) -> Result<ChainStates, StoreError> {
        // One picture of all tables.
        let mut reader = self.readers.begin().await?;
        let gateways = sqlx::query(GATEWAYS)
            .bind(filter.gateway.map(bytes))
            .bind(filter.after.map(bytes))
            .bind(i64::from(filter.limit) + 1)
            .fetch_all(&mut *reader)
            .await?;
        let mut states = Vec::with_capacity(gateways.len());
        let mut budget = MOST_NUMBERS;
        for gateway in gateways.iter().take(filter.limit as usize) {
            states.push(state(&mut reader, gateway, (filter, &mut budget)).await?);
            if budget == 0 {
                break;
            }
        }
        Ok(ChainStates {
            goes_on: states.len() < gateways.len(),
            gateways: states,
        })
    }

    async fn gateways(&self, limit: u32) -> Result<Vec<GatewaySeen>, StoreError> {
        let rows = sqlx::query(SEEN).bind(i64::from(limit));
        let rows = rows.fetch_all(&self.readers).await?;
        let seen = |row: &SqliteRow| {
            Ok(GatewaySeen {
                gateway: uuid(row.try_get("gateway")?)?,
                last: count(row, "last")?,
                latest_ms: row.try_get("latest_ms")?,
            })
        };
        rows.iter().map(seen).collect()
    }
}

async fn state(
    connection: &mut SqliteConnection,
    row: &SqliteRow,
    (filter, budget): (&ChainFilter, &mut u64),
) -> Result<ChainState, StoreError> {
    let gateway = uuid(row.try_get("gateway")?)?;
    let totals = sqlx::query(TOTALS).bind(bytes(gateway));
    let totals = totals.fetch_one(&mut *connection).await?;
    let total = |index| Ok::<_, sqlx::Error>(totals.try_get::<i64, _>(index)?.unsigned_abs());
    let last = total(1)?;
    let touching = (
        column(filter.from.saturating_sub(1)),
        filter.to.map_or(i64::MAX, column),
    );
    let runs = runs(connection, gateway, (touching, SOME)).await?;
    let asked = Span::new(filter.from, filter.to.unwrap_or(last));
    let survey = Survey::of(&runs[..runs.len().min(MOST_RUNS)], asked, budget);
    let (vanished, looked_until) = look(connection, gateway, survey).await?;
    Ok(ChainState {
        gateway,
        bounds: (total(0)?, last),
        count: total(2)?,
        stubs: total(3)?,
        repeats: count(row, "repeats")?,
        runs,
        cuts: spans(CUTS, connection, gateway, (touching, SOME)).await?,
        vanished,
        looked_until,
    })
}

/// What vanished of the numbers that came.
async fn look(
    connection: &mut SqliteConnection,
    gateway: Uuid,
    mut survey: Survey,
) -> Result<(Vec<Span>, Option<u64>), StoreError> {
    let portions = || survey.portions().iter();
    let list: Vec<_> = portions().map(|one| [one.from, one.to]).collect();
    let counts = sqlx::query_scalar(COUNTS).bind(bytes(gateway));
    let counts = counts.bind(serde_json::json!(list).to_string());
    let counts: Vec<i64> = counts.fetch_all(&mut *connection).await?;
    let stubs = spans(STUBS, connection, gateway, (survey.extent(), ANY)).await?;
    for portion in survey.short(&counts, &stubs) {
        let there = sqlx::query_scalar(THERE).bind(bytes(gateway));
        let there = there.bind(column(portion.from)).bind(column(portion.to));
        let there: Vec<i64> = there.fetch_all(&mut *connection).await?;
        if !survey.read(portion, &there, &stubs) {
            break;
        }
    }
    Ok(survey.end())
}

async fn spans(
    sql: &'static str,
    connection: &mut SqliteConnection,
    gateway: Uuid,
    ((from, to), limit): ((i64, i64), i64),
) -> Result<Vec<Span>, StoreError> {
    let query = sqlx::query_as::<_, (i64, i64)>(sql).bind(bytes(gateway));
    let query = query.bind(from).bind(to).bind(limit);
    let found = query.fetch_all(connection).await?;
    let span = |(first, last): (i64, i64)| Span::new(first.unsigned_abs(), last.unsigned_abs());
    Ok(found.into_iter().map(span).collect())
}

async fn runs(
    connection: &mut SqliteConnection,
    gateway: Uuid,
    ((from, to), limit): ((i64, i64), i64),
) -> Result<Vec<ChainRun>, StoreError> {
    let rows = sqlx::query(RUNS)
        .bind(bytes(gateway))
        .bind(from)
        .bind(to)
        .bind(limit)
        .fetch_all(connection)
        .await?;
    rows.iter().map(run).collect()
}

fn run(row: &SqliteRow) -> Result<ChainRun, StoreError> {
    let hash = |column| {
        let hash = row.try_get::<&[u8], _>(column)?.try_into();
        hash.map_err(|_| StoreError::Unreadable("chain"))
    };
    Ok(ChainRun {
        first: count(row, "first")?,
        last: count(row, "last")?,
        previous: ChainHash(hash("previous")?),
        link: ChainHash(hash("link")?),
    })
}

/// Takes numbers in, within the caller's transaction.
pub(super) async fn enter(
    connection: &mut SqliteConnection,
    arrivals: impl Iterator<Item = Arrival>,
) -> Result<(), StoreError> {
    for cluster in Cluster::all(arrivals) {
        let touched = runs(connection, cluster.gateway, (cluster.span(), ANY)).await?;
        let mut changes = cluster.enter(&touched);
        // Whose first number this may be.
        let is_new = touched.is_empty();
        let stubs = std::mem::take(&mut changes.stubs);
        let latest_ms = cluster.latest_ms();
        write(connection, cluster.gateway, (changes, is_new, latest_ms)).await?;
        if !stubs.is_empty() {
            add_stubs(connection, cluster.gateway, stubs).await?;
        }
    }
    Ok(())
}

async fn write(
    connection: &mut SqliteConnection,
    gateway: Uuid,
    (changes, is_new, latest_ms): (Changes, bool, Option<i64>),
) -> Result<(), StoreError> {
    let gateway = bytes(gateway);
    if !changes.gone.is_empty() {
        let query = sqlx::query(GONE).bind(gateway.clone());
        let gone = serde_json::Value::from(changes.gone).to_string();
        query.bind(gone).execute(&mut *connection).await?;
    }
    for run in &changes.runs {
        sqlx::query(RUN)
            .bind(gateway.clone())
            .bind(column(run.first))
            .bind(column(run.last))
            .bind(run.previous.0.to_vec())
            .bind(run.link.0.to_vec())
            .bind(latest_ms)
            .execute(&mut *connection)
            .await?;
    }
    for cut in changes.cuts {
        let query = sqlx::query(CUT).bind(gateway.clone());
        let query = query.bind(column(cut.from)).bind(column(cut.to));
        query.execute(&mut *connection).await?;
    }
    for record in &changes.repeats {
        let query = sqlx::query(WITHOUT).bind(bytes(record.0));
        query.execute(&mut *connection).await?;
    }
    if is_new || !changes.repeats.is_empty() {
        let repeats = changes.repeats.len() as i64;
        let query = sqlx::query(GATEWAY).bind(gateway).bind(repeats);
        query.bind(latest_ms).execute(connection).await?;
    }
    Ok(())
}

/// Leaves stubs of the records at these places (a JSON list), which are about to go.
pub(super) async fn leave_stubs(
    connection: &mut SqliteConnection,
    places: &str,
) -> Result<(), StoreError> {
    let numbers = sqlx::query(NUMBERS).bind(places);
    let numbers = numbers.fetch_all(&mut *connection).await?;
    let mut gone = Vec::with_capacity(numbers.len());
    for row in &numbers {
        let number = count(row, "chain_sequence")?;
        let gateway = uuid(row.try_get("chain_gateway")?)?;
        gone.push((gateway, Span::new(number, number)));
    }
    for (gateway, spans) in portions(gone) {
        add_stubs(connection, gateway, spans).await?;
    }
    Ok(())
}

/// Stubs that lie close together.
async fn add_stubs(
    connection: &mut SqliteConnection,
    gateway: Uuid,
    new: Vec<Span>,
) -> Result<(), StoreError> {
    let before = spans(STUBS, connection, gateway, (around(&new), ANY)).await?;
    let (gone, new) = leave(&before, new);
    if !gone.is_empty() {
        let query = sqlx::query(GONE_STUBS).bind(bytes(gateway));
        let gone = serde_json::Value::from(gone).to_string();
        query.bind(gone).execute(&mut *connection).await?;
    }
    for stub in new {
        let query = sqlx::query(STUB).bind(bytes(gateway));
        let query = query.bind(column(stub.from)).bind(column(stub.to));
        query.execute(&mut *connection).await?;
    }
    Ok(())
}
