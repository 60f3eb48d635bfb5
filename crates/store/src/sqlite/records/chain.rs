//! The statements of the gap evidence (CONTRACT 5). The steps are `sql::chain`.

use crate::chain::{
    ChainFilter, ChainRun, ChainStates, ChainStore, GatewaySeen, NumberRange, RunChanges,
    StubChanges, column,
};
use crate::error::StoreError;
use crate::sql::chain::{
    self, ChainTables, ChainTotals, KnownGateway, Rows, known_gateway, run, seen, totals,
};
use crate::sql::columns::{Columns as _, span};
use crate::sqlite::store::SqliteStore;
use crate::sqlite::values::json_list;
use async_trait::async_trait;
use monitor_model::Span;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

/// From the run that contains ?2, or the last one before it, to ?3.
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
    SELECT coalesce(min(first), 0) AS lowest, coalesce(max(last), 0) AS highest,
        coalesce(sum(last - first + 1), 0) AS numbers,
        (SELECT coalesce(sum(last - first + 1), 0) FROM chain_stubs WHERE gateway = ?1) AS stubs
    FROM chain_runs WHERE gateway = ?1";
/// Records of a gateway with numbers in each of these spans (a JSON list of `[first, last]`).
const COUNTS: &str = "
    SELECT (SELECT count(*) FROM records INDEXED BY records_by_chain
        WHERE chain_gateway = ?1 AND chain_sequence >= value ->> 0 AND chain_sequence <= value ->> 1)
    FROM json_each(?2) ORDER BY key";
const NUMBERS_BETWEEN: &str = "
    SELECT chain_sequence FROM records INDEXED BY records_by_chain
    WHERE chain_gateway = ?1 AND chain_sequence >= ?2 AND chain_sequence <= ?3
    ORDER BY chain_sequence";
/// The same for stubs as `RUNS` for runs.
const STUBS: &str = "
    SELECT first, last FROM chain_stubs
    WHERE gateway = ?1 AND first <= ?3 AND last >= ?2 AND first >= coalesce(
        (SELECT max(first) FROM chain_stubs WHERE gateway = ?1 AND first <= ?2), 0)
    ORDER BY first LIMIT ?4";
const DELETE_RUNS: &str = "
    DELETE FROM chain_runs WHERE gateway = ?1 AND first IN (SELECT value FROM json_each(?2))";
const PUT_RUN: &str = "
    INSERT INTO chain_runs (gateway, first, last, previous, link) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (gateway, first) DO UPDATE SET last = excluded.last, link = excluded.link;
    UPDATE chain_gateways SET latest_ms = ?6
    WHERE gateway = ?1 AND coalesce(latest_ms, ?6 - 1000) <= ?6 - 1000";
const PUT_CUT: &str = "
    INSERT INTO chain_cuts (gateway, first, last) VALUES (?1, ?2, ?3)
    ON CONFLICT (gateway, first) DO UPDATE SET last = max(last, excluded.last)";
const PUT_GATEWAY: &str = "
    INSERT INTO chain_gateways (gateway, repeats, latest_ms) VALUES (?1, ?2, ?3)
    ON CONFLICT (gateway) DO UPDATE SET repeats = repeats + excluded.repeats,
        latest_ms = max(coalesce(latest_ms, excluded.latest_ms), excluded.latest_ms)";
const CLEAR_NUMBER: &str = "UPDATE records SET chain_sequence = NULL WHERE id = ?1";
const DELETE_STUBS: &str = "
    DELETE FROM chain_stubs WHERE gateway = ?1 AND first IN (SELECT value FROM json_each(?2))";
const PUT_STUB: &str = "
    INSERT INTO chain_stubs (gateway, first, last) VALUES (?1, ?2, ?3)
    ON CONFLICT (gateway, first) DO UPDATE SET last = excluded.last";
/// The numbers of records about to be removed (a JSON list of their positions).
const REMOVED: &str = "
    SELECT chain_gateway, chain_sequence FROM records
    WHERE seq IN (SELECT value FROM json_each(?1)) AND chain_sequence IS NOT NULL";
/// Runs do not overlap: the one that begins last also ends last.
const SEEN: &str = "
    SELECT gateway, latest_ms, coalesce((SELECT last FROM chain_runs r WHERE r.gateway = g.gateway
        ORDER BY first DESC LIMIT 1), 0) AS last
    FROM chain_gateways g INDEXED BY chain_gateways_by_time ORDER BY latest_ms DESC, gateway LIMIT ?1";

#[async_trait]
impl ChainStore for SqliteStore {
    async fn chains(&self, filter: &ChainFilter) -> Result<ChainStates, StoreError> {
        // One snapshot of all tables.
        let mut reader = self.readers.begin().await?;
        Ok(chain::states(&mut *reader, filter).await?)
    }

    async fn gateways(&self, limit: u32) -> Result<Vec<GatewaySeen>, StoreError> {
        let rows = sqlx::query(SEEN).bind(i64::from(limit));
        let rows = rows.fetch_all(&self.readers).await?;
        Ok(rows.iter().map(seen).collect::<Result<_, _>>()?)
    }
}

#[async_trait]
impl ChainTables for SqliteConnection {
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
        let spans: Vec<_> = spans.iter().map(|span| [span.from, span.to]).collect();
        let counts = sqlx::query_scalar(COUNTS).bind(gateway);
        let counts = counts.bind(serde_json::json!(spans).to_string());
        counts.fetch_all(self).await
    }

    async fn record_numbers(&mut self, gateway: Uuid, span: Span) -> Rows<i64> {
        let numbers = sqlx::query_scalar(NUMBERS_BETWEEN).bind(gateway);
        let numbers = numbers.bind(column(span.from)).bind(column(span.to));
        numbers.fetch_all(self).await
    }

    /// This engine has one writer.
    async fn lock(&mut self, _gateway: Uuid) -> Result<(), sqlx::Error> {
        Ok(())
    }

    async fn write_runs(&mut self, gateway: Uuid, changes: &RunChanges) -> Result<(), sqlx::Error> {
        if !changes.deleted.is_empty() {
            let query = sqlx::query(DELETE_RUNS).bind(gateway);
            let query = query.bind(json_list(changes.deleted.iter().copied()));
            query.execute(&mut *self).await?;
        }
        for run in &changes.runs {
            sqlx::query(PUT_RUN)
                .bind(gateway)
                .bind(column(run.first))
                .bind(column(run.last))
                .bind(run.previous.0.to_vec())
                .bind(run.link.0.to_vec())
                .bind(changes.latest_ms)
                .execute(&mut *self)
                .await?;
        }
        for cut in &changes.cuts {
            put_span(self, PUT_CUT, gateway, *cut).await?;
        }
        for record in &changes.repeats {
            let query = sqlx::query(CLEAR_NUMBER).bind(record.0);
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
            let query = query.bind(json_list(changes.deleted.iter().copied()));
            query.execute(&mut *self).await?;
        }
        for stub in &changes.stubs {
            put_span(self, PUT_STUB, gateway, *stub).await?;
        }
        Ok(())
    }
}

async fn within(
    connection: &mut SqliteConnection,
    sql: &'static str,
    gateway: Uuid,
    range: NumberRange,
    limit: i64,
) -> Rows<SqliteRow> {
    let query = sqlx::query(sql).bind(gateway);
    let query = query.bind(range.first).bind(range.last).bind(limit);
    query.fetch_all(connection).await
}

async fn put_span(
    connection: &mut SqliteConnection,
    sql: &'static str,
    gateway: Uuid,
    span: Span,
) -> Result<(), sqlx::Error> {
    let query = sqlx::query(sql).bind(gateway);
    let query = query.bind(column(span.from)).bind(column(span.to));
    query.execute(connection).await.map(drop)
}

/// Leaves stubs for the records at these positions (a JSON list), which are about to be removed.
pub(in crate::sqlite) async fn leave_stubs(
    connection: &mut SqliteConnection,
    seqs: &str,
) -> Result<(), sqlx::Error> {
    let rows = sqlx::query(REMOVED).bind(seqs);
    let rows = rows.fetch_all(&mut *connection).await?;
    let mut removed = Vec::with_capacity(rows.len());
    for row in &rows {
        let number = row.count("chain_sequence")?;
        removed.push((row.id("chain_gateway")?, Span::new(number, number)));
    }
    chain::leave_stubs(connection, removed).await
}
