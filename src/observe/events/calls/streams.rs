//! Events of the streams that calls of sync mode ask for.

use crate::observe::labels::{Label, StreamHandling, UnreplayedReason};
use crate::observe::metrics::Metrics;
use crate::observe::throttle::Throttle;
use log::warn;
use monitor_model::ApplicationId;
use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// Applications that are warned about, each once.
const MOST_NAMED: usize = 1_000;

/// A call of sync mode asked for a stream (CONTRACT 2, 41, 43).
pub struct StreamAsked {
    /// How it is handled, a label of the metric.
    pub handling: StreamHandling,
    /// The application of the call.
    pub application: Option<ApplicationId>,
}

/// The applications whose rewritten streams were logged.
static REWRITTEN: LazyLock<Mutex<HashSet<ApplicationId>>> = LazyLock::new(Mutex::default);

impl StreamAsked {
    /// Counts; warns once for each application that clients which stream show nothing.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.streams.asked(self.handling);
        if self.handling != StreamHandling::Rewritten {
            return;
        }
        let Some(application) = self.application else {
            return;
        };
        let mut named = REWRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        if named.len() < MOST_NAMED && named.insert(application) {
            warn!(
                target: "policy",
                "a call of application {application} asked for a stream and gets a whole answer, because its policy \
                 is synchronous: most clients show nothing then; set its stream_in_sync to hold_back or replay. \
                 Its further calls are counted in monitor_sync_streams_total{{handling=\"rewritten\"}} only",
            );
        }
    }
}

/// An answer went to its client as it is, although the client was to get a stream.
pub struct Unreplayed {
    /// Reason, a label of the metric.
    pub reason: UnreplayedReason,
    /// The application of the call.
    pub application: Option<ApplicationId>,
}

static UNREPLAYED: LazyLock<[Throttle; UnreplayedReason::ALL.len()]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(Duration::from_secs(10))));

impl Unreplayed {
    /// Counts; warns at most once in ten seconds and reason.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.streams.unreplayed(self.reason);
        let throttle = UNREPLAYED.get(self.reason as usize);
        if let Some(count) = throttle.and_then(Throttle::pass) {
            let application = self.application.map(|id| id.to_string());
            warn!(
                target: "policy",
                "an answer to application {} could not be sent as a stream (stream_in_sync: replay): {} ({count} \
                 since the last line)",
                application.as_deref().unwrap_or("unknown"),
                self.reason.as_str(),
            );
        }
    }
}
