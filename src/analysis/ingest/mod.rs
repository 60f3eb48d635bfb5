//! Messages in, verdicts and records out (§4.3, §4.4): the application's rules or those of the request, the
//! engine, the remote checks, and the record that is stored.

pub(crate) mod analyzer;
pub(crate) mod application_cache;
pub(crate) mod cache_invalidation;
pub(crate) mod compilation;
pub(crate) mod gateway_registry;
pub(crate) mod inline_rules;
mod measures;
pub(crate) mod models;
pub(crate) mod owned_message;
pub(crate) mod parameters;
pub(crate) mod process;
mod record_builder;
mod remote_checks;
pub(crate) mod request;
pub(crate) mod tool_calls;
mod tool_text;
pub(crate) mod verdict;

use crate::analysis::access::Access;
use crate::fair_queue::TurnFigures;
use crate::judge::Remote;
use analyzer::MessageAnalyzer;
use application_cache::ApplicationCache;
use gateway_registry::GatewayRegistry;
use inline_rules::InlineRulesCache;
use monitor_store::{ExchangeStore, RecordRemoval, RecordStore};
use std::sync::Arc;

/// Analyzes messages and stores their records.
pub struct Ingest {
    pub(super) records: Arc<dyn RecordStore>,
    pub(super) exchanges: Arc<dyn ExchangeStore>,
    pub(super) removal: Arc<dyn RecordRemoval>,
    pub(super) access: Arc<Access>,
    pub(super) applications: Arc<ApplicationCache>,
    pub(super) analyzer: Arc<MessageAnalyzer>,
    pub(super) inline_rules: Arc<InlineRulesCache>,
    /// The largest body of a request, in bytes.
    pub(super) max_body: u64,
    /// The gateways that send records here.
    pub gateways: GatewayRegistry,
}

impl Ingest {
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
