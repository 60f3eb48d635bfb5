//! What a target's `/metrics` says.

use super::api::get;
use anyhow::{Context, Result};
use std::net::SocketAddr;

/// What `/metrics` says.
pub(crate) struct Metrics(String);

impl Metrics {
    pub(super) fn read(operations: SocketAddr) -> Result<Self> {
        let text = get(operations, "/metrics").context("reading the metrics")?;
        Ok(Self(text))
    }

    /// The sum of the series that begin so and contain `part`.
    pub(crate) fn sum(&self, prefix: &str, part: &str) -> f64 {
        let lines = self.0.lines();
        let lines = lines.filter(|line| line.starts_with(prefix) && line.contains(part));
        lines
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum()
    }

    /// The calls of routes that leave records.
    pub(super) fn monitored_calls(&self) -> f64 {
        let routes = ["chat", "responses", "messages", "completions"];
        let calls =
            routes.map(|route| self.sum("monitor_requests_total", &format!("route=\"{route}\"")));
        calls.iter().sum()
    }

    /// The records that left the process so far.
    pub(crate) fn records(&self) -> Records {
        Records {
            stored: self.sum("monitor_telemetry_records_total", "\"delivered\""),
            made: self.sum("monitor_telemetry_records_total", "outcome="),
        }
    }
}

/// Records of one process, both stages together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Records {
    /// Stored by the backend.
    pub(crate) stored: f64,
    /// Stored, refused, failed or dropped.
    pub(crate) made: f64,
}
