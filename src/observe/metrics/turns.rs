//! The metrics of messages that take turns to be analyzed.

use super::Registries;
use super::register::{About, gauge, labelled};
use crate::observe::labels::TurnRefusal;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGauge};

const RUNNING: About = (
    "monitor_analysis_running",
    "Messages that are being analyzed away from the threads that serve connections.",
);
const WAITING: About = (
    "monitor_analysis_waiting",
    "Messages that wait for their turn to be analyzed.",
);
const CALLS_WAITING: About = (
    "monitor_calls_waiting",
    "Calls whose body is complete and that wait for their turn to be scanned, checked and recorded.",
);
const WAITING_COST: About = (
    "monitor_analysis_waiting_bytes",
    "Bytes of the messages that wait for their turn; four times as many where custom regexes look at them.",
);
const REFUSED: About = (
    "monitor_analysis_refused_total",
    "Messages that got no turn to be analyzed, by reason.",
);

/// Messages that run and wait, how long they waited, and those that got no turn.
pub struct TurnMetrics {
    /// Messages being analyzed.
    pub running: IntGauge,
    /// Messages that wait.
    pub waiting: IntGauge,
    /// Calls that wait for their turn at the gateway.
    pub calls_waiting: IntGauge,
    /// The cost of the messages that wait.
    pub waiting_cost: IntGauge,
    refused: IntCounterVec,
    wait: HistogramVec,
}

impl TurnMetrics {
    pub(super) fn new(registries: &Registries) -> prometheus::Result<Self> {
        let Registries {
            gateway, analysis, ..
        } = registries;
        let name = "monitor_analysis_wait_seconds";
        let help = "How long a message waited for its turn to be analyzed; awaited: a client waits for the verdict.";
        let opts = HistogramOpts::new(name, help).buckets(super::LATENCY.to_vec());
        let wait = HistogramVec::new(opts, &["urgency"])?;
        analysis.register(Box::new(wait.clone()))?;
        for urgency in ["awaited", "deferred"] {
            wait.with_label_values(&[urgency]);
        }
        Ok(Self {
            running: gauge(analysis, RUNNING)?,
            waiting: gauge(analysis, WAITING)?,
            calls_waiting: gauge(gateway, CALLS_WAITING)?,
            waiting_cost: gauge(analysis, WAITING_COST)?,
            refused: labelled::<TurnRefusal>(analysis, REFUSED, "reason")?,
            wait,
        })
    }

    /// One message waited so long, whether it got its turn or not.
    pub fn waited(&self, urgency: &str, seconds: f64) {
        self.wait.with_label_values(&[urgency]).observe(seconds);
    }

    /// One message got no turn.
    pub fn refused(&self, reason: TurnRefusal) {
        self.refused.with_label_values(&[reason.as_str()]).inc();
    }
}
