//! Events of the streams that calls of sync mode ask for.

use crate::observe::labels::{StreamHandling, UnreplayedReason};
use crate::observe::metrics::Metrics;
use crate::observe::throttle::Throttle;
use log::warn;
use std::sync::{LazyLock, Once};
use std::time::Duration;

/// A call of sync mode asked for a stream (CONTRACT 2, 41, 43).
pub struct StreamAsked {
    /// What becomes of it, a label of the metric.
    pub handling: StreamHandling,
}

static REWRITTEN: Once = Once::new();

impl StreamAsked {
    /// Counts; warns once in a process that clients which stream show nothing.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.streams.asked(self.handling);
        if self.handling == StreamHandling::Rewritten {
            REWRITTEN.call_once(|| {
                warn!(
                    target: "policy",
                    "a call asked for a stream and gets a whole answer, because its policy is synchronous: most \
                     clients show nothing then; set stream_in_sync of its application to hold_back or replay. \
                     Further calls are counted in monitor_sync_streams_total{{handling=\"rewritten\"}} only",
                );
            });
        }
    }
}

/// An answer went to its client as it is, although the client was to get a stream.
pub struct Unreplayed {
    /// Reason, a label of the metric.
    pub reason: UnreplayedReason,
}

static UNREPLAYED: LazyLock<[Throttle; 2]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(Duration::from_secs(10))));

impl Unreplayed {
    /// Counts; warns at most once in ten seconds and reason.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.streams.unreplayed(self.reason);
        let throttle = UNREPLAYED.get(self.reason as usize);
        if let Some(count) = throttle.and_then(Throttle::pass) {
            warn!(
                target: "policy",
                "an answer could not be sent as a stream (stream_in_sync: replay): {} ({count} since the last line)",
                self.reason.as_str(),
            );
        }
    }
}
