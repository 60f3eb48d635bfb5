//! Gap evidence in its tables (CONTRACT 5). How runs grow is `store::chain`. Writers of one gateway's
//! numbers take turns from here to their commit, so this comes last in their transaction.

use super::PostgresStore;
use super::shared::timed;
use crate::chain::{Arrival, Changes, Cluster, MOST_RUNS, around, column, leave, portions};
use crate::survey::{MOST_NUMBERS, Survey};
use crate::{ChainFilter, ChainRun, ChainState, ChainStates, ChainStore, GatewaySeen, StoreError};
use async_trait::async_trait;
use monitor_model::{ChainHash, Span};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, Row as _};
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
    SELECT gateway, repeats FROM chain_gateways
    WHERE ($1::uuid IS NULL OR gateway = $1) AND ($2::uuid IS NULL OR gateway > $2)
    ORDER BY gateway LIMIT $3";
const TOTALS: &str = "
    SELECT coalesce(min(first), 0), coalesce(max(last), 0),
        coalesce(sum(last - first + 1), 0)::bigint,
        (SELECT coalesce(sum(last - first + 1), 0)::bigint FROM chain_stubs WHERE gateway = $1)
    FROM chain_runs WHERE gateway = $1";
/// Records of a gateway with numbers in each of these portions.
const COUNTS: &str = "
    SELECT (SELECT count(*) FROM records
        WHERE chain_gateway = $1 AND chain_sequence BETWEEN portion.first AND portion.last)
    FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS portion (first, last, place)
    ORDER BY place";
const THERE: &str = "
    SELECT chain_sequence FROM records
    WHERE chain_gateway = $1 AND chain_sequence BETWEEN $2 AND $3 ORDER BY chain_sequence";
/// Those that reach into a span.
const STUBS: &str = "
    SELECT first, last FROM chain_stubs
    WHERE gateway = $1 AND first <= $3 AND last >= $2 AND first >= coalesce(
        (SELECT max(first) FROM chain_stubs WHERE gateway = $1 AND first <= $2), 0)
    ORDER BY first LIMIT $4";
const GONE: &str = "DELETE FROM chain_runs WHERE gateway = $1 AND first = ANY ($2)";
const RUN: &str = "
    WITH seen AS (UPDATE chain_gateways SET latest_ms = $6
        WHERE gateway = $1 AND coalesce(latest_ms, $6 - 1000) <= $6 - 1000)
    INSERT INTO chain_runs (gateway, first, last, previous, link)
    SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[])
    ON CONFLICT (gateway, first) DO UPDATE SET last = excluded.last, link = excluded.link";
const CUT: &str = "
    INSERT INTO chain_cuts AS c (gateway, first, last) VALUES ($1, $2, $3)
    ON CONFLICT (gateway, first) DO UPDATE SET last = greatest(c.last, excluded.last)";
const GATEWAY: &str = "
    INSERT INTO chain_gateways AS g (gateway, repeats, latest_ms) VALUES ($1, $2, $3)
    ON CONFLICT (gateway) DO UPDATE SET repeats = g.repeats + excluded.repeats,
        latest_ms = greatest(g.latest_ms, excluded.latest_ms)";
const WITHOUT: &str = "UPDATE records SET chain_sequence = NULL WHERE id = ANY ($1)";
const GONE_STUBS: &str = "DELETE FROM chain_stubs WHERE gateway = $1 AND first = ANY ($2)";
const STUB: &str = "
    INSERT INTO chain_stubs (gateway, first, last)
    SELECT $1, * FROM unnest($2::bigint[], $3::bigint[])
    ON CONFLICT (gateway, first) DO UPDATE SET last = excluded.last";

/// Runs do not overlap: the last one to begin is the last one to end. The gateways first, so that no
/// other one's runs are looked at.
const SEEN: &str = "
    SELECT g.gateway, g.latest_ms, coalesce((SELECT r.last FROM chain_runs r
        WHERE r.gateway = g.gateway ORDER BY r.first DESC LIMIT 1), 0) AS last
    FROM (SELECT gateway, latest_ms FROM chain_gateways
        ORDER BY latest_ms DESC NULLS LAST, gateway LIMIT $1) g
    ORDER BY g.latest_ms DESC NULLS LAST, g.gateway";

/// Runs that one cluster can touch: as many as numbers, with one at each end and one between each two.
const ANY: i64 = i64::MAX;
/// What an answer looks at, and one more that shows whether that was all.
const SOME: i64 = MOST_RUNS as i64 + 1;

#[async_trait]
impl ChainStore for PostgresStore {
    async fn chains(&self, filter: &ChainFilter) -> Result<ChainStates, StoreError> {
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

    async fn gateways(&self, limit: u32) -> Result<Vec<GatewaySeen>, StoreError> {
        let rows = self.all(sqlx::query(SEEN).bind(i64::from(limit))).await?;
        let seen = |row: &PgRow| {
            Ok(GatewaySeen {
                gateway: row.try_get("gateway")?,
                last: row.try_get::<i64, _>("last")?.unsigned_abs(),
                latest_ms: row.try_get("latest_ms")?,
            })
        };
        rows.iter().map(seen).collect()
    }
}

async fn states(
    connection: &mut PgConnection,
    filter: &ChainFilter,
) -> Result<ChainStates, sqlx::Error> {
    let gateways = sqlx::query(GATEWAYS)
        .bind(filter.gateway)
        .bind(filter.after)
        .bind(i64::from(filter.limit) + 1)
        .fetch_all(&mut *connection)
        .await?;
    let mut states = Vec::with_capacity(gateways.len());
    let mut budget = MOST_NUMBERS;
    for gateway in gateways.iter().take(filter.limit as usize) {
        states.push(state(connection, gateway, (filter, &mut budget)).await?);
        if budget == 0 {
            break;
        }
    }
    Ok(ChainStates {
        goes_on: states.len() < gateways.len(),
        gateways: states,
    })
}

async fn state(
    connection: &mut PgConnection,
    row: &PgRow,
    (filter, budget): (&ChainFilter, &mut u64),
) -> Result<ChainState, sqlx::Error> {
    let gateway: Uuid = row.try_get("gateway")?;
    let totals = sqlx::query(TOTALS).bind(gateway);
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
        repeats: row.try_get::<i64, _>("repeats")?.unsigned_abs(),
        runs,
        cuts: spans(CUTS, connection, gateway, (touching, SOME)).await?,
        vanished,
        looked_until,
    })
}

/// What vanished of the numbers that came.
async fn look(
    connection: &mut PgConnection,
    gateway: Uuid,
    mut survey: Survey,
) -> Result<(Vec<Span>, Option<u64>), sqlx::Error> {
    let portions = || survey.portions().iter();
    let counts = sqlx::query_scalar(COUNTS).bind(gateway);
    let counts = counts.bind(portions().map(|one| column(one.from)).collect::<Vec<_>>());
    let counts = counts.bind(portions().map(|one| column(one.to)).collect::<Vec<_>>());
    let counts: Vec<i64> = counts.fetch_all(&mut *connection).await?;
    let stubs = spans(STUBS, connection, gateway, (survey.extent(), ANY)).await?;
    for portion in survey.short(&counts, &stubs) {
        let there = sqlx::query_scalar(THERE).bind(gateway);
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
    connection: &mut PgConnection,
    gateway: Uuid,
    ((from, to), limit): ((i64, i64), i64),
) -> Result<Vec<Span>, sqlx::Error> {
    let query = sqlx::query_as::<_, (i64, i64)>(sql).bind(gateway);
    let query = query.bind(from).bind(to).bind(limit);
    let found = query.fetch_all(connection).await?;
    let span = |(first, last): (i64, i64)| Span::new(first.unsigned_abs(), last.unsigned_abs());
    Ok(found.into_iter().map(span).collect())
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
        lock(connection, &mut locked, cluster.gateway).await?;
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
    connection: &mut PgConnection,
    gateway: Uuid,
    (changes, is_new, latest_ms): (Changes, bool, Option<i64>),
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
            .bind(latest_ms)
            .execute(&mut *connection)
            .await?;
    }
    for cut in changes.cuts {
        let query = sqlx::query(CUT).bind(gateway);
        let query = query.bind(column(cut.from)).bind(column(cut.to));
        query.execute(&mut *connection).await?;
    }
    if !changes.repeats.is_empty() {
        let records: Vec<Uuid> = changes.repeats.iter().map(|id| id.0).collect();
        let query = sqlx::query(WITHOUT).bind(records);
        query.execute(&mut *connection).await?;
    }
    if is_new || !changes.repeats.is_empty() {
        let repeats = changes.repeats.len() as i64;
        let query = sqlx::query(GATEWAY).bind(gateway).bind(repeats);
        query.bind(latest_ms).execute(connection).await?;
    }
    Ok(())
}

/// Leaves stubs of numbers whose records go. Comes last in its transaction, as [`enter`].
pub(super) async fn leave_stubs(
    connection: &mut PgConnection,
    gone: Vec<(Uuid, Span)>,
) -> Result<(), sqlx::Error> {
    let mut locked = None;
    for (gateway, spans) in portions(gone) {
        lock(connection, &mut locked, gateway).await?;
        add_stubs(connection, gateway, spans).await?;
    }
    Ok(())
}

/// Takes the turn of a gateway's numbers, once for all that come together.
async fn lock(
    connection: &mut PgConnection,
    locked: &mut Option<Uuid>,
    gateway: Uuid,
) -> Result<(), sqlx::Error> {
    if locked.replace(gateway) != Some(gateway) {
        let lock = sqlx::query(LOCK).bind(gateway);
        lock.execute(connection).await?;
    }
    Ok(())
}

/// Stubs that lie close together.
async fn add_stubs(
    connection: &mut PgConnection,
    gateway: Uuid,
    new: Vec<Span>,
) -> Result<(), sqlx::Error> {
    let before = spans(STUBS, connection, gateway, (around(&new), ANY)).await?;
    let (gone, new) = leave(&before, new);
    if !gone.is_empty() {
        let query = sqlx::query(GONE_STUBS).bind(gateway).bind(gone);
        query.execute(&mut *connection).await?;
    }
    if !new.is_empty() {
        let column = |of: fn(&Span) -> u64| new.iter().map(|span| column(of(span))).collect();
        let (first, last): (Vec<i64>, Vec<i64>) =
            (column(|span| span.from), column(|span| span.to));
        let query = sqlx::query(STUB).bind(gateway).bind(first).bind(last);
        query.execute(connection).await?;
    }
    Ok(())
}
