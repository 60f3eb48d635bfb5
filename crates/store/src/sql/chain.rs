//! Gap evidence over the tables of an engine (CONTRACT 5): the same steps for every SQL engine, each of which
//! brings its statements as [`ChainTables`]. How runs grow is `chain`.

use super::columns::Columns;
use crate::chain::{
    ChainFilter, ChainRun, ChainState, ChainStates, Cluster, GapScan, GatewaySeen, MAX_SCANNED,
    MOST_RUNS, NumberRange, ReceivedNumber, RunChanges, StubChanges, Vanished, column, group_stubs,
};
use async_trait::async_trait;
use monitor_model::{ChainHash, Span};
use uuid::Uuid;

/// A writer reads all runs and stubs that its numbers can touch.
const ALL: i64 = i64::MAX;
/// A reader reads what one answer shows, and one more that tells whether that was all.
const SHOWN: i64 = MOST_RUNS as i64 + 1;

/// The rows of a query.
pub(crate) type Rows<T> = Result<Vec<T>, sqlx::Error>;

/// A gateway with its count of repeats.
pub(crate) struct KnownGateway {
    pub(crate) gateway: Uuid,
    pub(crate) repeats: u64,
}

/// Totals of one gateway.
pub(crate) struct ChainTotals {
    /// The lowest and the highest number that arrived.
    pub(crate) bounds: (u64, u64),
    /// How many numbers arrived.
    pub(crate) count: u64,
    /// How many numbers are stubs.
    pub(crate) stubs: u64,
}

/// The statements of one engine, on a connection within a transaction.
#[async_trait]
pub(crate) trait ChainTables: Send {
    /// The gateways of a filter, ordered by id, one more than its limit.
    async fn gateways(&mut self, filter: &ChainFilter) -> Rows<KnownGateway>;

    async fn totals(&mut self, gateway: Uuid) -> Result<ChainTotals, sqlx::Error>;

    /// The runs that overlap a range, and the last one before it, in order.
    async fn runs(&mut self, gateway: Uuid, range: NumberRange, limit: i64) -> Rows<ChainRun>;

    /// The cuts that overlap a range, in order.
    async fn cuts(&mut self, gateway: Uuid, range: NumberRange, limit: i64) -> Rows<Span>;

    /// The stubs that overlap a range, and the last one before it, in order.
    async fn stubs(&mut self, gateway: Uuid, range: NumberRange, limit: i64) -> Rows<Span>;

    /// How many records have numbers in each of these spans.
    async fn count_records(&mut self, gateway: Uuid, spans: &[Span]) -> Rows<i64>;

    /// The numbers of the records in a span, in order.
    async fn record_numbers(&mut self, gateway: Uuid, span: Span) -> Rows<i64>;

    /// Makes other writers of this gateway's numbers wait until the transaction ends.
    async fn lock(&mut self, gateway: Uuid) -> Result<(), sqlx::Error>;

    /// Writes everything but the stubs.
    async fn write_runs(&mut self, gateway: Uuid, changes: &RunChanges) -> Result<(), sqlx::Error>;

    async fn write_stubs(
        &mut self,
        gateway: Uuid,
        changes: &StubChanges,
    ) -> Result<(), sqlx::Error>;
}

/// The state of the gateways of a filter. The connection has to see one snapshot of all tables.
pub(crate) async fn states(
    tables: &mut impl ChainTables,
    filter: &ChainFilter,
) -> Result<ChainStates, sqlx::Error> {
    let gateways = tables.gateways(filter).await?;
    let mut states = Vec::with_capacity(gateways.len());
    let mut budget = MAX_SCANNED;
    for gateway in gateways.iter().take(filter.limit as usize) {
        states.push(state(tables, filter, gateway, &mut budget).await?);
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
    tables: &mut impl ChainTables,
    filter: &ChainFilter,
    known: &KnownGateway,
    budget: &mut u64,
) -> Result<ChainState, sqlx::Error> {
    let gateway = known.gateway;
    let totals = tables.totals(gateway).await?;
    let touching = NumberRange {
        first: column(filter.from.saturating_sub(1)),
        last: filter.to.map_or(i64::MAX, column),
    };
    let runs = tables.runs(gateway, touching, SHOWN).await?;
    let asked = Span::new(filter.from, filter.to.unwrap_or(totals.bounds.1));
    let scan = GapScan::plan(&runs[..runs.len().min(MOST_RUNS)], asked, budget);
    let vanished = vanished(tables, gateway, scan).await?;
    Ok(ChainState {
        gateway,
        bounds: totals.bounds,
        count: totals.count,
        stubs: totals.stubs,
        repeats: known.repeats,
        runs,
        cuts: tables.cuts(gateway, touching, SHOWN).await?,
        vanished: vanished.spans,
        looked_until: vanished.looked_until,
    })
}

async fn vanished(
    tables: &mut impl ChainTables,
    gateway: Uuid,
    mut scan: GapScan,
) -> Result<Vanished, sqlx::Error> {
    let counts = tables.count_records(gateway, scan.portions()).await?;
    let stubs = tables.stubs(gateway, scan.range(), ALL).await?;
    for portion in scan.incomplete(&counts, &stubs) {
        let present = tables.record_numbers(gateway, portion).await?;
        if !scan.compare(portion, &present, &stubs) {
            break;
        }
    }
    Ok(scan.finish())
}

/// Adds numbers that arrived. On an engine with several writers this comes last in the transaction: it holds
/// the locks of the gateways until the commit.
pub(crate) async fn enter(
    tables: &mut impl ChainTables,
    numbers: impl Iterator<Item = ReceivedNumber>,
) -> Result<(), sqlx::Error> {
    let mut locked = None;
    for cluster in Cluster::all(numbers) {
        let gateway = cluster.gateway;
        lock_once(tables, &mut locked, gateway).await?;
        let touched = tables.runs(gateway, cluster.range(), ALL).await?;
        let mut changes = cluster.enter(&touched);
        let stubs = std::mem::take(&mut changes.stubs);
        tables.write_runs(gateway, &changes).await?;
        if !stubs.is_empty() {
            add_stubs(tables, gateway, stubs).await?;
        }
    }
    Ok(())
}

/// Leaves stubs for the numbers of records that are removed. Comes last in its transaction, as [`enter`].
pub(crate) async fn leave_stubs(
    tables: &mut impl ChainTables,
    removed: Vec<(Uuid, Span)>,
) -> Result<(), sqlx::Error> {
    let mut locked = None;
    for (gateway, spans) in group_stubs(removed) {
        lock_once(tables, &mut locked, gateway).await?;
        add_stubs(tables, gateway, spans).await?;
    }
    Ok(())
}

/// Locks a gateway, once for all its clusters, which follow each other.
async fn lock_once(
    tables: &mut impl ChainTables,
    locked: &mut Option<Uuid>,
    gateway: Uuid,
) -> Result<(), sqlx::Error> {
    if locked.replace(gateway) != Some(gateway) {
        tables.lock(gateway).await?;
    }
    Ok(())
}

async fn add_stubs(
    tables: &mut impl ChainTables,
    gateway: Uuid,
    new: Vec<Span>,
) -> Result<(), sqlx::Error> {
    let range = StubChanges::range(&new);
    let before = tables.stubs(gateway, range, ALL).await?;
    let changes = StubChanges::merge(&before, new);
    tables.write_stubs(gateway, &changes).await
}

/// A run, from the columns of `chain_runs`.
pub(crate) fn run(row: &impl Columns) -> Result<ChainRun, sqlx::Error> {
    let hash = |column| {
        let hash = row.bytes(column)?.try_into();
        hash.map_err(|_| sqlx::Error::Decode("a hash of another length".into()))
    };
    Ok(ChainRun {
        first: row.count("first")?,
        last: row.count("last")?,
        previous: ChainHash(hash("previous")?),
        link: ChainHash(hash("link")?),
    })
}

/// A gateway of a filter.
pub(crate) fn known_gateway(row: &impl Columns) -> Result<KnownGateway, sqlx::Error> {
    Ok(KnownGateway {
        gateway: row.id("gateway")?,
        repeats: row.count("repeats")?,
    })
}

/// The totals of a gateway.
pub(crate) fn totals(row: &impl Columns) -> Result<ChainTotals, sqlx::Error> {
    Ok(ChainTotals {
        bounds: (row.count("lowest")?, row.count("highest")?),
        count: row.count("numbers")?,
        stubs: row.count("stubs")?,
    })
}

/// A gateway with its latest record.
pub(crate) fn seen(row: &impl Columns) -> Result<GatewaySeen, sqlx::Error> {
    Ok(GatewaySeen {
        gateway: row.id("gateway")?,
        last: row.count("last")?,
        latest_ms: row.optional_number("latest_ms")?,
    })
}
