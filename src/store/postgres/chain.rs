//! Gap evidence in its tables (CONTRACT 5). How runs grow is `store::chain`. Writers of one gateway's
//! numbers take turns from here to their commit, so this comes last in their transaction.

use super::PostgresStore;
use super::shared::timed;
use crate::model::ChainHash;
use crate::store::chain::{Arrival, Changes, Cluster, MOST_RUNS, column};
use crate::store::{ChainFilter, ChainRun, ChainState, ChainStore, StoreError};
use async_trait::async_trait;
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, Row as _};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Names the locks of gateways, apart from the single ones elsewhere: "chai" in ASCII.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1667785065, hashtext($1::text))";

/// From the run that holds $2, or the last one before it, to $3.
const RUNS: &str = "
    SELECT first, last, previous, link FROM chain_runs
    WHERE gateway = $1 AND first <= $3 AND last >= $2 AND first >= coalesce(
        (SELECT max(first) FROM chain_runs WHERE gateway = $1 AND first <= $2), 0)
    ORDER BY first LIMIT $4";
const CUTS: &str = "
    SELECT first, last FROM chain_cuts WHERE gateway = $1 AND last >= $2 AND first <= $3
    ORDER BY first LIMIT $4";
const GATEWAYS: &str = "
    SELECT gateway, stubs, repeats FROM chain_gateways
    WHERE ($1::uuid IS NULL OR gateway = $1) AND ($2::uuid IS NULL OR gateway > $2)
    ORDER BY gateway LIMIT $3";
const TOTALS: &str = "
    SELECT coalesce(min(first), 0), coalesce(max(last), 0),
        coalesce(sum(last - first + 1), 0)::bigint
    FROM chain_runs WHERE gateway = $1";
const GONE: &str = "DELETE FROM chain_runs WHERE gateway = $1 AND first = ANY ($2)";
const RUN: &str = "
    INSERT INTO chain_runs (gateway, first, last, previous, link)
    SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[])
    ON CONFLICT (gateway, first) DO UPDATE SET last = excluded.last, link = excluded.link";
const CUT: &str = "
    INSERT INTO chain_cuts AS c (gateway, first, last) VALUES ($1, $2, $3)
    ON CONFLICT (gateway, first) DO UPDATE SET last = greatest(c.last, excluded.last)";
const GATEWAY: &str = "
    INSERT INTO chain_gateways AS g (gateway, stubs, repeats) VALUES ($1, $2, $3)
    ON CONFLICT (gateway) DO UPDATE SET stubs = g.stubs + excluded.stubs,
        repeats = g.repeats + excluded.repeats";

/// Runs that one cluster can touch: as many as numbers, with one at each end and one between each two.
const ANY: i64 = i64::MAX;

#[async_trait]
impl ChainStore for PostgresStore {
    async fn chains(&self, filter: &ChainFilter) -> Result<Vec<ChainState>, StoreError> {
        let mut lent = self.connections.lend().await?;
        let connection = lent.get();
        let states = timed(async {
            // One picture of all tables.
            let picture = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
            let mut transaction = connection.begin_with(picture).await?;
            let states = states(&mut transaction, filter).await?;
            transaction.commit().await?;
            Ok(states)
        })
        .await?;
        lent.give_back();
        Ok(states)
    }
}

async fn states(
    connection: &mut PgConnection,
    filter: &ChainFilter,
) -> Result<Vec<ChainState>, sqlx::Error> {
    let gateways = sqlx::query(GATEWAYS)
        .bind(filter.gateway)
        .bind(filter.after)
        .bind(i64::from(filter.limit))
        .fetch_all(&mut *connection)
        .await?;
    let mut states = Vec::with_capacity(gateways.len());
    for gateway in &gateways {
        states.push(state(connection, gateway, filter).await?);
    }
    Ok(states)
}

async fn state(
    connection: &mut PgConnection,
    row: &PgRow,
    filter: &ChainFilter,
) -> Result<ChainState, sqlx::Error> {
    let gateway: Uuid = row.try_get("gateway")?;
    let totals = sqlx::query(TOTALS).bind(gateway);
    let totals = totals.fetch_one(&mut *connection).await?;
    let total = |index| Ok::<_, sqlx::Error>(totals.try_get::<i64, _>(index)?.unsigned_abs());
    let counted = |column| Ok::<_, sqlx::Error>(row.try_get::<i64, _>(column)?.unsigned_abs());
    let span = (
        column(filter.from.saturating_sub(1)),
        filter.to.map_or(i64::MAX, column),
    );
    let cuts = sqlx::query_as::<_, (i64, i64)>(CUTS)
        .bind(gateway)
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
        stubs: counted("stubs")?,
        repeats: counted("repeats")?,
        runs: runs(connection, gateway, (span, MOST_RUNS as i64 + 1)).await?,
        cuts: cuts.into_iter().map(cut).collect(),
    })
}

async fn runs(
    connection: &mut PgConnection,
    gateway: Uuid,
    ((from, to), limit): ((i64, i64), i64),
) -> Result<Vec<ChainRun>, sqlx::Error> {
    let rows = sqlx::query(RUNS)
        .bind(gateway)
        .bind(from)
        .bind(to)
        .bind(limit)
        .fetch_all(connection)
        .await?;
    rows.iter().map(run).collect()
}

fn run(row: &PgRow) -> Result<ChainRun, sqlx::Error> {
    let number = |column| Ok::<_, sqlx::Error>(row.try_get::<i64, _>(column)?.unsigned_abs());
    let hash = |column| {
        let hash = row.try_get::<&[u8], _>(column)?.try_into();
        hash.map_err(|_| sqlx::Error::Decode("a hash of another length".into()))
    };
    Ok(ChainRun {
        first: number("first")?,
        last: number("last")?,
        previous: ChainHash(hash("previous")?),
        link: ChainHash(hash("link")?),
    })
}

/// Takes numbers in, within the caller's transaction.
pub(super) async fn enter(
    connection: &mut PgConnection,
    arrivals: impl Iterator<Item = Arrival>,
) -> Result<(), sqlx::Error> {
    let mut locked = None;
    for cluster in Cluster::all(arrivals) {
        if locked != Some(cluster.gateway) {
            let lock = sqlx::query(LOCK).bind(cluster.gateway);
            lock.execute(&mut *connection).await?;
            locked = Some(cluster.gateway);
        }
        let touched = runs(connection, cluster.gateway, (cluster.span(), ANY)).await?;
        let changes = cluster.enter(&touched);
        // Whose first number this may be.
        let is_new = touched.is_empty();
        write(connection, cluster.gateway, (changes, is_new)).await?;
    }
    Ok(())
}

async fn write(
    connection: &mut PgConnection,
    gateway: Uuid,
    (changes, is_new): (Changes, bool),
) -> Result<(), sqlx::Error> {
    if !changes.gone.is_empty() {
        let query = sqlx::query(GONE).bind(gateway).bind(&changes.gone);
        query.execute(&mut *connection).await?;
    }
    if !changes.runs.is_empty() {
        let runs = || changes.runs.iter();
        sqlx::query(RUN)
            .bind(gateway)
            .bind(runs().map(|run| column(run.first)).collect::<Vec<_>>())
            .bind(runs().map(|run| column(run.last)).collect::<Vec<_>>())
            .bind(
                runs()
                    .map(|run| run.previous.0.to_vec())
                    .collect::<Vec<_>>(),
            )
            .bind(runs().map(|run| run.link.0.to_vec()).collect::<Vec<_>>())
            .execute(&mut *connection)
            .await?;
    }
    for (first, last) in changes.cuts {
        let query = sqlx::query(CUT).bind(gateway).bind(column(first));
        query.bind(column(last)).execute(&mut *connection).await?;
    }
    if is_new || changes.stubs > 0 || changes.repeats > 0 {
        let query = sqlx::query(GATEWAY).bind(gateway).bind(changes.stubs);
        query.bind(changes.repeats).execute(connection).await?;
    }
    Ok(())
}

/// Counts removed records by their gateways.
pub(super) async fn leave_stubs(
    connection: &mut PgConnection,
    stubs: &BTreeMap<Uuid, i64>,
) -> Result<(), sqlx::Error> {
    for (gateway, count) in stubs {
        let query = sqlx::query(GATEWAY).bind(gateway).bind(count).bind(0_i64);
        query.execute(&mut *connection).await?;
    }
    Ok(())
}
