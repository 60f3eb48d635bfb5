//! Gap evidence in its tables (CONTRACT 5). How runs grow is `store::chain`.

use super::SqliteStore;
use super::rows::{bytes, count, uuid};
use crate::model::ChainHash;
use crate::store::chain::{Arrival, Changes, Cluster, MOST_RUNS, column};
use crate::store::{ChainFilter, ChainRun, ChainState, ChainStore, StoreError};
use async_trait::async_trait;
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
    SELECT gateway, stubs, repeats FROM chain_gateways
    WHERE (?1 IS NULL OR gateway = ?1) AND (?2 IS NULL OR gateway > ?2) ORDER BY gateway LIMIT ?3";
const TOTALS: &str = "
    SELECT coalesce(min(first), 0), coalesce(max(last), 0), coalesce(sum(last - first + 1), 0)
    FROM chain_runs WHERE gateway = ?1";
const GONE: &str = "
    DELETE FROM chain_runs WHERE gateway = ?1 AND first IN (SELECT value FROM json_each(?2))";
const RUN: &str = "
    INSERT INTO chain_runs (gateway, first, last, previous, link) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (gateway, first) DO UPDATE SET last = excluded.last, link = excluded.link";
const CUT: &str = "
    INSERT INTO chain_cuts (gateway, first, last) VALUES (?1, ?2, ?3)
    ON CONFLICT (gateway, first) DO UPDATE SET last = max(last, excluded.last)";
const GATEWAY: &str = "
    INSERT INTO chain_gateways (gateway, stubs, repeats) VALUES (?1, ?2, ?3)
    ON CONFLICT (gateway) DO UPDATE SET stubs = stubs + excluded.stubs,
        repeats = repeats + excluded.repeats";

/// Runs that one cluster can touch: as many as numbers, with one at each end and one between each two.
const ANY: i64 = i64::MAX;

#[async_trait]
impl ChainStore for SqliteStore {
    async fn chains(&self, filter: &ChainFilter) -> Result<Vec<ChainState>, StoreError> {
        // One picture of all tables.
        let mut reader = self.readers.begin().await?;
        let gateways = sqlx::query(GATEWAYS)
            .bind(filter.gateway.map(bytes))
            .bind(filter.after.map(bytes))
            .bind(filter.limit)
            .fetch_all(&mut *reader)
            .await?;
        let mut states = Vec::with_capacity(gateways.len());
        for gateway in &gateways {
            states.push(state(&mut reader, gateway, filter).await?);
        }
        Ok(states)
    }
}

async fn state(
    connection: &mut SqliteConnection,
    row: &SqliteRow,
    filter: &ChainFilter,
) -> Result<ChainState, StoreError> {
    let gateway = uuid(row.try_get("gateway")?)?;
    let totals = sqlx::query(TOTALS).bind(bytes(gateway));
    let totals = totals.fetch_one(&mut *connection).await?;
    let total = |index| Ok::<_, sqlx::Error>(totals.try_get::<i64, _>(index)?.unsigned_abs());
    let span = (
        column(filter.from.saturating_sub(1)),
        filter.to.map_or(i64::MAX, column),
    );
    let cuts = sqlx::query_as::<_, (i64, i64)>(CUTS)
        .bind(bytes(gateway))
        .bind(span.0)
        .bind(span.1)
        .bind(MOST_RUNS as i64)
        .fetch_all(&mut *connection)
        .await?;
    let cut = |(first, last): (i64, i64)| (first.unsigned_abs(), last.unsigned_abs());
    Ok(ChainState {
        gateway,
        bounds: (total(0)?, total(1)?),
        count: total(2)?,
        stubs: count(row, "stubs")?,
        repeats: count(row, "repeats")?,
        runs: runs(connection, gateway, (span, MOST_RUNS as i64 + 1)).await?,
        cuts: cuts.into_iter().map(cut).collect(),
    })
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
        let changes = cluster.enter(&touched);
        // Whose first number this may be.
        let is_new = touched.is_empty();
        write(connection, cluster.gateway, (changes, is_new)).await?;
    }
    Ok(())
}

async fn write(
    connection: &mut SqliteConnection,
    gateway: Uuid,
    (changes, is_new): (Changes, bool),
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
            .execute(&mut *connection)
            .await?;
    }
    for (first, last) in changes.cuts {
        let query = sqlx::query(CUT).bind(gateway.clone()).bind(column(first));
        query.bind(column(last)).execute(&mut *connection).await?;
    }
    if is_new || changes.stubs > 0 || changes.repeats > 0 {
        let query = sqlx::query(GATEWAY).bind(gateway).bind(changes.stubs);
        query.bind(changes.repeats).execute(connection).await?;
    }
    Ok(())
}
