//! Gap evidence (CONTRACT 5): which sequence numbers of a gateway arrived, and which are missing. No SQL
//! here; the tables are in `sql::chain` and in each engine.
//!
//! **What arrived** is stored as runs: one row per range of consecutive numbers whose links all match. Runs
//! are built as records come in, in any order. A gap between two runs never arrived; two adjacent runs are a
//! link that does not match. Runs are never deleted.
//!
//! **What is present** are the records, each with its gateway and number, and stubs: spans of numbers whose
//! records were removed in an orderly way by retention, by erasure, with their application, or because they
//! arrived for an erased user. The runs hold the hashes around such a span, so that together they are the
//! hash stub of everything that was removed, at constant size. A number that has neither a record nor a stub
//! is missing, whether it never arrived or somebody deleted its row by hand.
//!
//! A number that arrives again with another record is a repeat: that record is stored without the number,
//! and counted. (So is a record that arrives again after it was removed.) If the record itself is already
//! stored under another number, or under none, the new number becomes a stub: nothing is missing. Another record
//! under its exchange id is not the record itself: `sql::reused_id` tells them apart.

mod gap_scan;
mod runs;

pub(crate) use gap_scan::{GapScan, MAX_SCANNED, Vanished};
pub(crate) use runs::{Cluster, ReceivedNumber, RunChanges, StubChanges, column, group_stubs};

use crate::error::StoreError;
use async_trait::async_trait;
use monitor_model::{ChainHash, Span};
use uuid::Uuid;

/// The most runs of one gateway in one answer; the same limit holds for cuts and for missing spans.
pub const MOST_RUNS: usize = 1_000;

/// What a gateway's records say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatewaySeen {
    /// The gateway's id.
    pub gateway: Uuid,
    /// The highest number that arrived.
    pub last: u64,
    /// When its latest record with a number was received, to the second, even if that record was removed
    /// since. None if it was received by a version that did not note the time.
    pub latest_ms: Option<i64>,
}

/// One record's number and links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainEntry {
    /// The gateway that registered the record.
    pub gateway: Uuid,
    /// The record's number at that gateway, from 1.
    pub sequence: u64,
    /// The link of the previous record, as the gateway states it.
    pub previous: ChainHash,
    /// The link of this record, as this server computes it from what arrived.
    pub link: ChainHash,
    /// The last number that the gateway was sure of, if this record is the first one after a cut.
    pub after: Option<u64>,
}

/// Which gateways and numbers a query covers.
#[derive(Clone, Debug, Default)]
pub struct ChainFilter {
    /// Only this gateway.
    pub gateway: Option<Uuid>,
    /// Only gateways whose id sorts after this one.
    pub after: Option<Uuid>,
    /// The most gateways in the answer.
    pub limit: u32,
    /// The first number to examine.
    pub from: u64,
    /// The last number to examine; None means the last one that arrived.
    pub to: Option<u64>,
}

/// The numbers of some gateways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainStates {
    /// Ordered by id; at least one if any gateway matches.
    pub gateways: Vec<ChainState>,
    /// Whether more gateways follow the last one.
    pub goes_on: bool,
}

/// The numbers of one gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainState {
    /// The gateway's id.
    pub gateway: Uuid,
    /// The lowest and the highest number that arrived.
    pub bounds: (u64, u64),
    /// How many numbers arrived.
    pub count: u64,
    /// How many numbers are stubs.
    pub stubs: u64,
    /// How many numbers arrived again with another record.
    pub repeats: u64,
    /// The runs that overlap the examined numbers or end just before them, in order; at most
    /// [`MOST_RUNS`] and one more.
    pub runs: Vec<ChainRun>,
    /// Spans of numbers that the gateway cannot tell whether it assigned them, at most [`MOST_RUNS`] and
    /// one more. An empty span: the gateway was cut off there and had assigned none.
    pub cuts: Vec<Span>,
    /// Numbers of the runs that have neither a record nor a stub, in order.
    pub vanished: Vec<Span>,
    /// The last number that was checked for [`ChainState::vanished`]; None if all were.
    pub looked_until: Option<u64>,
}

/// Consecutive numbers whose links match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainRun {
    /// Its first number.
    pub first: u64,
    /// Its last number.
    pub last: u64,
    /// The link that the first record names as its predecessor's.
    pub previous: ChainHash,
    /// The link of the last record.
    pub link: ChainHash,
}

/// Numbers as their columns hold them, ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberRange {
    pub(crate) first: i64,
    pub(crate) last: i64,
}

/// Gap evidence of all gateways.
#[async_trait]
pub trait ChainStore: Send + Sync {
    /// The state of gateways, ordered by id.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn chains(&self, filter: &ChainFilter) -> Result<ChainStates, StoreError>;

    /// The gateways whose numbers arrived, the one with the latest record first.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn gateways(&self, limit: u32) -> Result<Vec<GatewaySeen>, StoreError>;
}
