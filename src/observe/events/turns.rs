//! Events of messages that take turns to be analyzed.

use crate::observe::labels::{Label, TurnRefusal};
use crate::observe::metrics::Metrics;
use crate::observe::throttle::Throttle;
use log::warn;
use std::sync::LazyLock;
use std::time::Duration;

/// A message got no turn to be analyzed: there is no verdict.
pub struct AnalysisRefused {
    /// Why, a label of the metric.
    pub reason: TurnRefusal,
}

static REFUSED: LazyLock<[Throttle; TurnRefusal::ALL.len()]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(Duration::from_secs(10))));

impl AnalysisRefused {
    /// Counts; warns at most once in ten seconds and reason.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.turns.refused(self.reason);
        let throttle = REFUSED.get(self.reason as usize);
        if let Some(count) = throttle.and_then(Throttle::pass) {
            let why = match self.reason {
                TurnRefusal::Full => "too many wait already (limits.waiting_bytes)",
                TurnRefusal::Late => "their turn did not come in time (limits.longest_wait)",
            };
            warn!(
                target: "analysis",
                "messages are not analyzed: {why} ({count} since the last line)",
            );
        }
    }
}
