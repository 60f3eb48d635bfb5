//! Messages in, verdicts and records out (§4.3, §4.4): the application's rules or those of the request, the
//! engine, the remote checks, and the record that is stored.

pub(crate) mod analyzer;
pub(crate) mod application_cache;
pub(crate) mod cache_invalidation;
pub(crate) mod compilation;
pub(crate) mod gateways;
pub(crate) mod inline_rules;
mod measures;
pub(crate) mod models;
pub(crate) mod owned_message;
pub(crate) mod parameters;
mod parts;
pub(crate) mod pricing;
pub(crate) mod process;
mod record_builder;
mod remote_checks;
pub(crate) mod request;
pub(crate) mod tool_calls;
pub(crate) mod verdict;

use crate::analysis::access::Access;
use crate::analysis::budgets::BudgetBoard;
use crate::analysis::clock::now_ms;
use crate::analysis::found_values::ValueKeys;
use crate::config::Prices;
use crate::fair_queue::TurnFigures;
use crate::judge::Remote;
use analyzer::MessageAnalyzer;
use application_cache::ApplicationCache;
use arc_swap::ArcSwap;
use gateways::registry::GatewayRegistry;
use inline_rules::InlineRulesCache;
use monitor_store::{ExchangeStore, RecordRemoval, RecordStore};
use pricing::names::CostNames;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Analyzes messages and stores their records.
pub struct Ingest {
    pub(super) records: Arc<dyn RecordStore>,
    pub(super) exchanges: Arc<dyn ExchangeStore>,
    pub(super) removal: Arc<dyn RecordRemoval>,
    pub(super) access: Arc<Access>,
    pub(super) applications: Arc<ApplicationCache>,
    pub(super) analyzer: Arc<MessageAnalyzer>,
    pub(super) inline_rules: Arc<InlineRulesCache>,
    /// What tokens cost, for the records that come in.
    pub(super) prices: ArcSwap<Prices>,
    /// The names under which the costs of today are summed up.
    pub(super) cost_names: Arc<CostNames>,
    /// The largest body of a request, in bytes.
    pub(super) max_body: u64,
    /// The gateways that send records here.
    pub gateways: Arc<GatewayRegistry>,
    /// The gateway of this process does not know applications that were created since then.
    pub(super) held_since: HeldSince,
    /// Learns of each record with a cost.
    pub(super) budgets: Arc<BudgetBoard>,
    /// The keys of what is found.
    pub(super) value_keys: Arc<ValueKeys>,
}

/// Milliseconds since 1970; [`i64::MAX`] for no time.
pub(super) struct HeldSince(AtomicI64);

impl Default for HeldSince {
    fn default() -> Self {
        Self(AtomicI64::new(i64::MAX))
    }
}

impl HeldSince {
    fn set(&self, holds: bool) {
        let since = if holds { now_ms() } else { i64::MAX };
        self.0.store(since, Ordering::Relaxed);
    }

    fn covers(&self, created_at_ms: i64) -> bool {
        created_at_ms >= self.0.load(Ordering::Relaxed)
    }
}

impl Ingest {
    /// Whether the gateway of this process refuses to know applications that are created from now on, until another
    /// process has their policies in force.
    pub(crate) fn hold_new_applications(&self, holds: bool) {
        self.held_since.set(holds);
    }

    pub(crate) fn max_body(&self) -> u64 {
        self.max_body
    }

    /// The messages that are analyzed away from the serving threads, and those that wait for it.
    pub(crate) fn turn_figures(&self) -> TurnFigures {
        self.analyzer.turn_figures()
    }

    /// The servers that are asked besides the engine.
    pub(crate) fn remote(&self) -> &Remote {
        &self.analyzer.remote
    }
}
