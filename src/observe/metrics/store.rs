//! The metrics of an analysis server's store: whether it answers, its connections, its failures.

use super::register::{About, counter, gauge, labelled};
use crate::observe::labels::{Label, PoolState, StoreFault};
use prometheus::{Counter, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};
use std::sync::{Mutex, PoisonError};

const UP: About = (
    "monitor_store_up",
    "1 while the store answers, 0 while it does not.",
);
const FAILURES: About = (
    "monitor_store_errors_total",
    "Failures of the store that a request or a task met, by reason.",
);
const FILE_FAILURES: About = (
    "monitor_file_storage_errors_total",
    "Failures to write, read or remove the bytes of attached files.",
);
const LIMIT: About = (
    "monitor_store_pool_limit",
    "The limit of monitor_store_pool_connections.",
);

/// Of the store, measured when they are asked for.
pub struct StoreMetrics {
    /// 1 while the store answers.
    pub up: IntGauge,
    failures: IntCounterVec,
    file_failures: IntCounter,
    connections: IntGaugeVec,
    limit: IntGauge,
    waited: Counter,
    /// The seconds of waiting that the counter has: only what is new is added to it, once.
    shown_wait: Mutex<f64>,
}

/// The connections to the store, in numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoolUse {
    /// The most connections.
    pub limit: u64,
    /// Connections that read or write.
    pub in_use: u64,
    /// Open, waiting for work.
    pub idle: u64,
    /// Seconds that callers waited for one since the start.
    pub waited_seconds: f64,
}

impl StoreMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        let name = "monitor_store_pool_connections";
        let help = "Connections to the store that reads and changes share, by state.";
        let connections = IntGaugeVec::new(Opts::new(name, help), &["state"])?;
        registry.register(Box::new(connections.clone()))?;
        let name = "monitor_store_pool_wait_seconds_total";
        let help = "Time that callers waited for a connection to PostgreSQL.";
        let waited = Counter::new(name, help)?;
        registry.register(Box::new(waited.clone()))?;
        for state in PoolState::ALL {
            connections.with_label_values(&[state.as_str()]);
        }
        Ok(Self {
            up: gauge(registry, UP)?,
            failures: labelled::<StoreFault>(registry, FAILURES, "reason")?,
            file_failures: counter(registry, FILE_FAILURES)?,
            connections,
            limit: gauge(registry, LIMIT)?,
            waited,
            shown_wait: Mutex::default(),
        })
    }

    /// Shows the connections as they are now.
    pub fn pool(&self, pool: PoolUse) {
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        for (state, count) in [
            (PoolState::InUse, pool.in_use),
            (PoolState::Idle, pool.idle),
        ] {
            let gauge = self.connections.with_label_values(&[state.as_str()]);
            gauge.set(signed(count));
        }
        self.limit.set(signed(pool.limit));
        let mut shown = self
            .shown_wait
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let more = pool.waited_seconds - *shown;
        if more > 0.0 {
            self.waited.inc_by(more);
            *shown = pool.waited_seconds;
        }
    }

    /// Adds what failed since it was last asked.
    pub(super) fn add_failures(&self, failures: &crate::observe::failures::Failures) {
        for fault in StoreFault::ALL {
            let counter = self.failures.with_label_values(&[fault.as_str()]);
            counter.inc_by(failures.take_store(*fault));
        }
        self.file_failures.inc_by(failures.take_files());
    }
}
