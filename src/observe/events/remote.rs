//! Events of the servers that an analysis calls.

use crate::observe::labels::{RemoteLabel, RemoteOutcome};
use crate::observe::metrics::Metrics;
use crate::observe::throttle::Throttle;
use log::{info, warn};
use std::sync::LazyLock;
use std::time::Duration;

/// A server that an analysis calls was called, or could not be.
pub struct RemoteCalled<'a> {
    /// The server, a label of the metric.
    pub check: RemoteLabel,
    /// The outcome, a label of the metric.
    pub outcome: RemoteOutcome,
    /// The reason in fixed words; empty when it answered.
    pub detail: &'a str,
}

/// One for each server, so that none hides another.
static ASKED: LazyLock<[Throttle; 3]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(Duration::from_secs(10))));

impl RemoteCalled<'_> {
    /// Counts; warns at most once in ten seconds and server.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.remote.called(self.check, self.outcome);
        if self.outcome == RemoteOutcome::Answered {
            return;
        }
        let throttle = ASKED.get(self.check as usize);
        if let Some(count) = throttle.and_then(Throttle::pass) {
            warn!(
                target: "analysis",
                "{} gave no verdict ({}): {} ({count} since the last line)",
                self.check.as_str(),
                self.outcome.as_str(),
                self.detail,
            );
        }
    }
}

/// A server that an analysis calls went down or came back.
pub struct RemoteHealthChanged {
    /// The server, a label of the metric.
    pub check: RemoteLabel,
    /// Whether it counts as down from now on.
    pub is_down: bool,
}

impl RemoteHealthChanged {
    /// Sets the gauge and says it.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.remote.down(self.check, self.is_down);
        let check = self.check.as_str();
        match self.is_down {
            true => {
                warn!(target: "analysis", "{check} is down: no answer; one probe per interval from here on")
            }
            false => info!(target: "analysis", "{check} answers again"),
        }
    }
}

/// Custom policies were matched by their own words, because there is no judge.
pub struct CuesOnly;

impl CuesOnly {
    /// Updates the metric; each answer contains a note.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.remote.cues_only.inc();
    }
}
