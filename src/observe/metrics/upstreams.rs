//! The metrics of model servers of which one stands by for another.

use super::register::{About, labelled};
use crate::observe::labels::FailoverReason;
use prometheus::{IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry};

const FAILOVERS: About = (
    "monitor_upstream_failovers_total",
    "Calls that went to the next model server, by reason.",
);

/// Of each: whether it is in use. Of all: calls that went to the next one.
pub struct UpstreamMetrics {
    up: IntGaugeVec,
    failovers: IntCounterVec,
}

impl UpstreamMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        let name = "monitor_upstream_up";
        let help = "1 while a model server is in use; only where there is more than one.";
        let up = IntGaugeVec::new(Opts::new(name, help), &["upstream"])?;
        registry.register(Box::new(up.clone()))?;
        let failovers = labelled::<FailoverReason>(registry, FAILOVERS, "reason")?;
        Ok(Self { up, failovers })
    }

    /// Whether this one is in use. The configuration names at most eight.
    pub fn up(&self, upstream: &str, is_up: bool) {
        self.up.with_label_values(&[upstream]).set(i64::from(is_up));
    }

    /// It is no longer in the configuration.
    pub fn gone(&self, upstream: &str) {
        // It may never have had a gauge.
        let _ = self.up.remove_label_values(&[upstream]);
    }

    pub(crate) fn failovers(&self, reason: FailoverReason) -> IntCounter {
        self.failovers.with_label_values(&[reason.as_str()])
    }
}
