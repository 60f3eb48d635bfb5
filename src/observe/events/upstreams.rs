//! Events of model servers of which one stands by for another.

use crate::observe::labels::FailoverReason;
use crate::observe::metrics::{Metrics, UpstreamName};
use crate::observe::throttle::Throttle;
use log::{info, warn};
use std::sync::LazyLock;
use std::time::Duration;

/// A call goes to the next model server of its group.
pub struct FailedOver<'a> {
    /// Reason, a label of the metric.
    pub reason: FailoverReason,
    /// Where it was.
    pub from: &'a UpstreamName,
    /// Where it goes.
    pub to: &'a UpstreamName,
}

static FAILED_OVER: LazyLock<[Throttle; 2]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(Duration::from_secs(10))));

impl FailedOver<'_> {
    /// Counts; warns at most once in ten seconds and reason.
    pub fn emit(&self, metrics: &Metrics) {
        let group = &self.from.group;
        metrics.upstreams.failovers(group, self.reason).inc();
        let throttle = FAILED_OVER.get(self.reason as usize);
        if let Some(count) = throttle.and_then(Throttle::pass) {
            warn!(
                target: "gateway",
                "upstream {} failed a call ({}), failing over to {} ({count} since the last line)",
                self.from,
                self.reason.as_str(),
                self.to,
            );
        }
    }
}

/// A model server went out of use or came back.
pub struct UpstreamHealthChanged<'a> {
    /// The server, with its group.
    pub upstream: &'a UpstreamName,
    /// Whether it is in use now.
    pub is_up: bool,
}

impl UpstreamHealthChanged<'_> {
    /// Sets the gauge and says it.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.upstreams.up(self.upstream, self.is_up);
        match self.is_up {
            true => info!(target: "gateway", "upstream {} is healthy again", self.upstream),
            false => {
                warn!(target: "gateway", "upstream {} is unhealthy and taken out of use", self.upstream)
            }
        }
    }
}
