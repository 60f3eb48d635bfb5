//! The metrics of events that are sent to other systems. Destinations are those of the configuration.

use super::register::{About, counters};
use crate::observe::labels::{Label, SiemResult};
use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};

const EVENTS: About = (
    "monitor_siem_events_total",
    "Events that left the queue of a destination on this server, by result.",
);
const FAILURES: About = (
    "monitor_siem_failures_total",
    "Attempts to send a batch of events that failed; it is sent again.",
);
const LAG_ROWS: About = (
    "monitor_siem_lag_rows",
    "Events that wait for a destination, on all servers together.",
);
const LAG_SECONDS: About = (
    "monitor_siem_lag_seconds",
    "How long the oldest of these events has waited.",
);
const DESTINATION: &str = "destination";

/// What leaves for other systems, and what waits; one child per configured destination.
pub struct SiemMetrics {
    events: IntCounterVec,
    failures: IntCounterVec,
    lag_rows: IntGaugeVec,
    lag_seconds: IntGaugeVec,
}

impl SiemMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        Ok(Self {
            events: counters(registry, EVENTS, &[DESTINATION, "result"])?,
            failures: counters(registry, FAILURES, &[DESTINATION])?,
            lag_rows: gauges(registry, LAG_ROWS)?,
            lag_seconds: gauges(registry, LAG_SECONDS)?,
        })
    }

    /// A destination of the configuration; its series are there from now on.
    pub fn add_destination(&self, destination: &str) {
        for result in SiemResult::VALUES {
            self.events.with_label_values(&[destination, *result]);
        }
        self.failures.with_label_values(&[destination]);
        self.lag(destination, 0, 0);
    }

    /// Events left the queue.
    pub(in crate::observe) fn left(&self, destination: &str, result: SiemResult, events: u64) {
        let labels = [destination, result.as_str()];
        self.events.with_label_values(&labels).inc_by(events);
    }

    /// An attempt failed.
    pub(in crate::observe) fn failed(&self, destination: &str) {
        self.failures.with_label_values(&[destination]).inc();
    }

    /// How far the destination is behind.
    pub fn lag(&self, destination: &str, rows: u64, seconds: u64) {
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let labels = [destination];
        self.lag_rows.with_label_values(&labels).set(signed(rows));
        self.lag_seconds
            .with_label_values(&labels)
            .set(signed(seconds));
    }
}

fn gauges(registry: &Registry, (name, help): About) -> prometheus::Result<IntGaugeVec> {
    let metric = IntGaugeVec::new(Opts::new(name, help), &[DESTINATION])?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}
