//! The metrics of model servers of which one stands by for another.

use super::register::{About, counters};
use crate::observe::labels::{FailoverReason, Label};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry};
use std::fmt;

const FAILOVERS: About = (
    "monitor_upstream_failovers_total",
    "Calls that went to the next model server of their group, by reason; group is the name of an entry of upstreams.",
);
/// The label that is left out where it is empty.
const GROUP: &str = "group";

/// A model server as logs and metrics name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamName {
    /// The name of its entry in `upstreams`; empty for `upstream`.
    pub group: String,
    /// Host and port.
    pub address: String,
}

impl fmt::Display for UpstreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group.as_str() {
            "" => f.write_str(&self.address),
            group => write!(f, "{group} ({})", self.address),
        }
    }
}

/// Of each: whether it is in use. Of each group: calls that went to the next one.
pub struct UpstreamMetrics {
    up: IntGaugeVec,
    failovers: IntCounterVec,
}

impl UpstreamMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        let name = "monitor_upstream_up";
        let help = "1 while a model server is in use; only where its group has more than one. group is the name of an entry of upstreams.";
        let up = IntGaugeVec::new(Opts::new(name, help), &[GROUP, "upstream"])?;
        registry.register(Box::new(up.clone()))?;
        let failovers = counters(registry, FAILOVERS, &[GROUP, "reason"])?;
        let metrics = Self { up, failovers };
        metrics.add_group("");
        Ok(metrics)
    }

    /// Shows the counters of a group from its start on.
    pub(crate) fn add_group(&self, group: &str) {
        for reason in FailoverReason::VALUES {
            self.failovers.with_label_values(&[group, reason]);
        }
    }

    /// The group is no longer in the configuration.
    pub(crate) fn remove_group(&self, group: &str) {
        for reason in FailoverReason::VALUES {
            let _ = self.failovers.remove_label_values(&[group, reason]);
        }
    }

    /// Whether this one is in use. The configuration names at most eight of a group.
    pub fn up(&self, upstream: &UpstreamName, is_up: bool) {
        self.of(upstream).set(i64::from(is_up));
    }

    /// It is no longer in the configuration.
    pub fn gone(&self, upstream: &UpstreamName) {
        let labels = [upstream.group.as_str(), upstream.address.as_str()];
        // It may never have had a gauge.
        let _ = self.up.remove_label_values(&labels);
    }

    pub(crate) fn failovers(&self, group: &str, reason: FailoverReason) -> IntCounter {
        self.failovers.with_label_values(&[group, reason.as_str()])
    }

    fn of(&self, upstream: &UpstreamName) -> prometheus::IntGauge {
        let labels = [upstream.group.as_str(), upstream.address.as_str()];
        self.up.with_label_values(&labels)
    }
}

/// Leaves the label out where it is empty, which is the same to Prometheus: the series of `upstream` are written as
/// those of a gateway without `upstreams`.
pub(super) fn without_empty_groups(families: &mut [MetricFamily]) {
    for metric in families.iter_mut().flat_map(MetricFamily::mut_metric) {
        let is_empty = |label: &prometheus::proto::LabelPair| {
            label.name() == GROUP && label.value().is_empty()
        };
        if metric.get_label().iter().any(is_empty) {
            let labels = metric.get_label().iter();
            let others = labels.filter(|label| !is_empty(label)).cloned();
            metric.set_label(others.collect());
        }
    }
}
