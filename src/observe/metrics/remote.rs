//! The metrics of servers that an analysis calls: the judge, the Presidio analyzer, the guard model.

use super::register::{About, children, counter, counters};
use crate::observe::labels::{Label, RemoteLabel, RemoteOutcome};
use prometheus::Registry;
use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounter, IntGauge, IntGaugeVec, Opts};

const CALLS: About = (
    "monitor_remote_checks_total",
    "Calls to judge, Presidio and guard servers, by outcome.",
);
const CACHE_HITS: About = (
    "monitor_judge_cache_hits_total",
    "Verdicts of the judge that came from its cache.",
);
const CUES_ONLY: About = (
    "monitor_custom_policy_unjudged_total",
    "Messages whose custom policies were matched by keywords because no judge is configured.",
);

/// Of each server: calls by outcome, their time, and whether it counts as down.
pub struct RemoteMetrics {
    calls: Vec<Vec<IntCounter>>,
    duration: Vec<Histogram>,
    down: Vec<IntGauge>,
    /// Verdicts of the judge that came from its cache.
    pub cache_hits: IntCounter,
    /// Messages whose custom policies were matched by their own words alone.
    pub cues_only: IntCounter,
}

impl RemoteMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        let calls = counters(registry, CALLS, &["check", "outcome"])?;
        let name = "monitor_remote_check_seconds";
        let help =
            "Time of one call to a judge, Presidio or guard server, waiting for its turn included.";
        let opts = HistogramOpts::new(name, help).buckets(super::LATENCY.to_vec());
        let duration = HistogramVec::new(opts, &["check"])?;
        registry.register(Box::new(duration.clone()))?;
        let name = "monitor_remote_down";
        let help =
            "1 while a judge, Presidio or guard server counts as down because it did not answer.";
        let down = IntGaugeVec::new(Opts::new(name, help), &["check"])?;
        registry.register(Box::new(down.clone()))?;
        let labels = RemoteLabel::VALUES.iter();
        Ok(Self {
            calls: labels
                .clone()
                .map(|label| children::<RemoteOutcome>(&calls, label))
                .collect(),
            duration: labels
                .clone()
                .map(|label| duration.with_label_values(&[label]))
                .collect(),
            down: labels
                .map(|label| down.with_label_values(&[label]))
                .collect(),
            cache_hits: counter(registry, CACHE_HITS)?,
            cues_only: counter(registry, CUES_ONLY)?,
        })
    }

    /// One call ended with this outcome.
    pub fn called(&self, check: RemoteLabel, outcome: RemoteOutcome) {
        let counters = self.calls.get(check as usize);
        if let Some(counter) = counters.and_then(|all| all.get(outcome as usize)) {
            counter.inc();
        }
    }

    /// One call took so many seconds.
    pub fn took(&self, check: RemoteLabel, seconds: f64) {
        if let Some(histogram) = self.duration.get(check as usize) {
            histogram.observe(seconds);
        }
    }

    /// Whether the server counts as down.
    pub fn down(&self, check: RemoteLabel, is_down: bool) {
        if let Some(gauge) = self.down.get(check as usize) {
            gauge.set(i64::from(is_down));
        }
    }
}
