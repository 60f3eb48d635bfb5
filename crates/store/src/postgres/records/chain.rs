//! The statements of the gap evidence (CONTRACT 5). The steps are `sql::chain`. Writers of one gateway's numbers
//! wait for each other from its lock to the commit, so entering numbers comes last in a transaction.

use crate::chain::{
    ChainFilter, ChainRun, ChainStates, ChainStore, GatewaySeen, NumberRange, RunChanges,
    StubChanges, column,
};
use crate::error::StoreError;
use crate::postgres::pool::with_timeout;
use crate::postgres::store::PostgresStore;
use crate::sql::chain::{
    self, ChainTables, ChainTotals, KnownGateway, Rows, known_gateway, run, seen, totals,
};
use crate::sql::columns::span;
use async_trait::async_trait;
use monitor_model::Span;
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

/// The first key of the locks of gateways, which keeps them apart from other locks: "chai" in ASCII.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1667785065, hashtext($1::text))";

/// From the run that contains $2, or the last one before it, to $3.
const RUNS: &str = "
    SELECT first, last, previous, link FROM chain_runs
    WHERE gateway = $1 AND first <= $3 AND last >= $2 AND first >= coalesce(
        (SELECT max(first) FROM chain_runs WHERE gateway = $1 AND first <= $2), 0)
    ORDER BY first LIMIT $4";
const CUTS: &str = "
    SELECT first, last FROM chain_cuts WHERE gateway = $1 AND last >= $2 AND first <= $3
    ORDER BY first LIMIT $4";
const GATEWAYS: &str = "
    SELECT gateway, repeats FROM chain_gateways
    WHERE ($1::uuid IS NULL OR gateway = $1) AND ($2::uuid IS NULL OR gateway > $2)
    ORDER BY gateway LIMIT $3";
const TOTALS: &str = "
    SELECT coalesce(min(first), 0) AS lowest, coalesce(max(last), 0) AS highest,
        coalesce(sum(last - first + 1), 0)::bigint AS numbers,
        (SELECT coalesce(sum(last - first + 1), 0)::bigint
            FROM chain_stubs WHERE gateway = $1) AS stubs
    FROM chain_runs WHERE gateway = $1";
/// Records of a gateway with numbers in each of these spans.
const COUNTS: &str = "
    SELECT (SELECT count(*) FROM records
        WHERE chain_gateway = $1 AND chain_sequence BETWEEN portion.first AND portion.last)
    FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS portion (first, last, place)
    ORDER BY place";
const NUMBERS_BETWEEN: &str = "
    SELECT chain_sequence FROM records
    WHERE chain_gateway = $1 AND chain_sequence BETWEEN $2 AND $3 ORDER BY chain_sequence";
/// The same for stubs as `RUNS` for runs.
const STUBS: &str = "
    SELECT first, last FROM chain_stubs
    WHERE gateway = $1 AND first <= $3 AND last >= $2 AND first >= coalesce(
        (SELECT max(first) FROM chain_stubs WHERE gateway = $1 AND first <= $2), 0)
    ORDER BY first LIMIT $4";
const DELETE_RUNS: &str = "DELETE FROM chain_runs WHERE gateway = $1 AND first = ANY ($2)";
const PUT_RUNS: &str = "
    WITH seen AS (UPDATE chain_gateways SET latest_ms = $6
        WHERE gateway = $1 AND coalesce(latest_ms, $6 - 1000) <= $6 - 1000)
    INSERT INTO chain_runs (gateway, first, last, previous, link)
    SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[])
    ON CONFLICT (gateway, first) DO UPDATE SET last = excluded.last, link = excluded.link";
const PUT_CUT: &str = "
    INSERT INTO chain_cuts AS c (gateway, first, last) VALUES ($1, $2, $3)
    ON CONFLICT (gateway, first) DO UPDATE SET last = greatest(c.last, excluded.last)";
const PUT_GATEWAY: &str = "
    INSERT INTO chain_gateways AS g (gateway, repeats, latest_ms) VALUES ($1, $2, $3)
    ON CONFLICT (gateway) DO UPDATE SET repeats = g.repeats + excluded.repeats,
        latest_ms = greatest(g.latest_ms, excluded.latest_ms)";
const CLEAR_NUMBERS: &str = "UPDATE records SET chain_sequence = NULL WHERE id = ANY ($1)";
const DELETE_STUBS: &str = "DELETE FROM chain_stubs WHERE gateway = $1 AND first = ANY ($2)";
const PUT_STUBS: &str = "
    INSERT INTO chain_stubs (gateway, first, last)
    SELECT $1, * FROM unnest($2::bigint[], $3::bigint[])
    ON CONFLICT (gateway, first) DO UPDATE SET last = excluded.last";

/// Runs do not overlap: the one that begins last also ends last. The gateways are selected first, so that the
/// runs of other gateways are not read.
const SEEN: &str = "
    SELECT g.gateway, g.latest_ms, coalesce((SELECT r.last FROM chain_runs r
        WHERE r.gateway = g.gateway ORDER BY r.first DESC LIMIT 1), 0) AS last
    FROM (SELECT gateway, latest_ms FROM chain_gateways
        ORDER BY latest_ms DESC NULLS LAST, gateway LIMIT $1) g
    ORDER BY g.latest_ms DESC NULLS LAST, g.gateway";

#[async_trait]
impl ChainStore for PostgresStore {
    async fn chains(&self, filter: &ChainFilter) -> Result<ChainStates, StoreError> {
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        let states = with_timeout(async {
            // One snapshot of all tables.
            let snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
            let mut transaction = connection.begin_with(snapshot).await?;
            let states = chain::states(&mut *transaction, filter).await?;
            transaction.commit().await?;
            Ok(states)
        })
        .await?;
        pooled.release();
        Ok(states)
    }

    async fn gateways(&self, limit: u32) -> Result<Vec<GatewaySeen>, StoreError> {
        let rows = self.all(sqlx::query(SEEN).bind(i64::from(limit))).await?;
        Ok(rows.iter().map(seen).collect::<Result<_, _>>()?)
    }
}

#[async_trait]
impl ChainTables for PgConnection {
    async fn gateways(&mut self, filter: &ChainFilter) -> Rows<KnownGateway> {
        let rows = sqlx::query(GATEWAYS)
            .bind(filter.gateway)
            .bind(filter.after)
            .bind(i64::from(filter.limit) + 1)
            .fetch_all(self)
            .await?;
        rows.iter().map(known_gateway).collect()
    }

    async fn totals(&mut self, gateway: Uuid) -> Result<ChainTotals, sqlx::Error> {
        totals(&sqlx::query(TOTALS).bind(gateway).fetch_one(self).await?)
    }

    async fn runs(&mut self, gateway: Uuid, range: NumberRange, limit: i64) -> Rows<ChainRun> {
        let rows = within(self, RUNS, gateway, range, limit).await?;
        rows.iter().map(run).collect()
    }

    async fn cuts(&mut self, gateway: Uuid, range: NumberRange, limit: i64) -> Rows<Span> {
        let rows = within(self, CUTS, gateway, range, limit).await?;
        rows.iter().map(span).collect()
    }

    async fn stubs(&mut self, gateway: Uuid, range: NumberRange, limit: i64) -> Rows<Span> {
        let rows = within(self, STUBS, gateway, range, limit).await?;
        rows.iter().map(span).collect()
    }

    async fn count_records(&mut self, gateway: Uuid, spans: &[Span]) -> Rows<i64> {
        let columns = SpanColumns::of(spans);
        let counts = sqlx::query_scalar(COUNTS).bind(gateway);
        let counts = counts.bind(columns.first).bind(columns.last);
        counts.fetch_all(self).await
    }

    async fn record_numbers(&mut self, gateway: Uuid, span: Span) -> Rows<i64> {
        let numbers = sqlx::query_scalar(NUMBERS_BETWEEN).bind(gateway);
        let numbers = numbers.bind(column(span.from)).bind(column(span.to));
        numbers.fetch_all(self).await
    }

    async fn lock(&mut self, gateway: Uuid) -> Result<(), sqlx::Error> {
        let lock = sqlx::query(LOCK).bind(gateway);
        lock.execute(self).await.map(drop)
    }

    async fn write_runs(&mut self, gateway: Uuid, changes: &RunChanges) -> Result<(), sqlx::Error> {
        if !changes.deleted.is_empty() {
            let query = sqlx::query(DELETE_RUNS).bind(gateway);
            query.bind(&changes.deleted).execute(&mut *self).await?;
        }
        if !changes.runs.is_empty() {
            put_runs(self, gateway, changes).await?;
        }
        for cut in &changes.cuts {
            let query = sqlx::query(PUT_CUT).bind(gateway);
            let query = query.bind(column(cut.from)).bind(column(cut.to));
            query.execute(&mut *self).await?;
        }
        if !changes.repeats.is_empty() {
            let records: Vec<Uuid> = changes.repeats.iter().map(|id| id.0).collect();
            let query = sqlx::query(CLEAR_NUMBERS).bind(records);
            query.execute(&mut *self).await?;
        }
        if changes.may_be_first || !changes.repeats.is_empty() {
            let repeats = changes.repeats.len() as i64;
            let query = sqlx::query(PUT_GATEWAY).bind(gateway).bind(repeats);
            query.bind(changes.latest_ms).execute(self).await?;
        }
        Ok(())
    }

    async fn write_stubs(
        &mut self,
        gateway: Uuid,
        changes: &StubChanges,
    ) -> Result<(), sqlx::Error> {
        if !changes.deleted.is_empty() {
            let query = sqlx::query(DELETE_STUBS).bind(gateway);
            query.bind(&changes.deleted).execute(&mut *self).await?;
        }
        if !changes.stubs.is_empty() {
            let columns = SpanColumns::of(&changes.stubs);
            let query = sqlx::query(PUT_STUBS).bind(gateway);
            let query = query.bind(columns.first).bind(columns.last);
            query.execute(self).await?;
        }
        Ok(())
    }
}

/// Spans as two array parameters.
struct SpanColumns {
    first: Vec<i64>,
    last: Vec<i64>,
}

impl SpanColumns {
    fn of(spans: &[Span]) -> Self {
        Self {
            first: spans.iter().map(|span| column(span.from)).collect(),
            last: spans.iter().map(|span| column(span.to)).collect(),
        }
    }
}

async fn put_runs(
    connection: &mut PgConnection,
    gateway: Uuid,
    changes: &RunChanges,
) -> Result<(), sqlx::Error> {
    let runs = || changes.runs.iter();
    let previous = runs().map(|run| run.previous.0.to_vec());
    sqlx::query(PUT_RUNS)
        .bind(gateway)
        .bind(runs().map(|run| column(run.first)).collect::<Vec<_>>())
        .bind(runs().map(|run| column(run.last)).collect::<Vec<_>>())
        .bind(previous.collect::<Vec<_>>())
        .bind(runs().map(|run| run.link.0.to_vec()).collect::<Vec<_>>())
        .bind(changes.latest_ms)
        .execute(connection)
        .await
        .map(drop)
}

async fn within(
    connection: &mut PgConnection,
    sql: &'static str,
    gateway: Uuid,
    range: NumberRange,
    limit: i64,
) -> Rows<PgRow> {
    let query = sqlx::query(sql).bind(gateway);
    let query = query.bind(range.first).bind(range.last).bind(limit);
    query.fetch_all(connection).await
}
