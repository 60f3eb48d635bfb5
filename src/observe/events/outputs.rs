//! Events of the access log and of traces, whose losses affect no call, and of secrets in clear text.

use crate::observe::labels::{ClearTextTarget, LinesLost, SpansLost};
use crate::observe::metrics::Metrics;
use crate::observe::throttle::Throttle;
use log::{debug, info, warn};
use std::sync::LazyLock;
use std::time::Duration;

/// Lines of the access log were lost.
pub struct AccessLinesLost {
    /// Reason, a label of the metric.
    pub reason: LinesLost,
    /// Number of lines.
    pub count: u64,
}

static LINES: LazyLock<[Throttle; 2]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(Duration::from_secs(10))));

impl AccessLinesLost {
    /// Updates the metric, without a log line.
    pub fn count(&self, metrics: &Metrics) {
        metrics.outputs.lines_lost(self.reason, self.count);
    }

    /// Counts; warns at most once in ten seconds and reason.
    pub fn emit(&self, metrics: &Metrics) {
        self.count(metrics);
        if LINES[self.reason as usize].pass().is_some() {
            let why = match self.reason {
                LinesLost::Queue => "log.access.queue is full",
                LinesLost::Disk => "its file or stream cannot be written",
            };
            warn!(target: "log", "access log lines lost: {why}");
        }
    }
}

/// Spans were dropped before they reached a collector.
pub struct SpansDropped {
    /// Reason, a label of the metric.
    pub reason: SpansLost,
    /// Number of spans.
    pub count: u64,
}

static SPANS: LazyLock<[Throttle; 3]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(Duration::from_secs(10))));

impl SpansDropped {
    /// Counts; warns at most once in ten seconds and reason.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.outputs.spans_lost(self.reason, self.count);
        if SPANS[self.reason as usize].pass().is_some() {
            let why = match self.reason {
                SpansLost::Queue => "trace.queue is full",
                SpansLost::Unavailable => "the collector does not answer",
                SpansLost::Refused => "the collector rejects them",
            };
            warn!(target: "trace", "spans dropped: {why}");
        }
    }
}

/// A collector accepted spans.
pub struct SpansExported {
    /// Number of spans.
    pub count: u64,
    /// It had not answered before.
    pub is_back: bool,
}

impl SpansExported {
    /// Counts; says that the collector is back.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.outputs.spans_exported.inc_by(self.count);
        if self.is_back {
            info!(target: "trace", "the collector accepts spans again");
        }
    }
}

/// A collector did not accept an export.
pub struct ExportFailed;

impl ExportFailed {
    /// Updates the metric; [`SpansDropped`] logs the loss.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.outputs.exports_failed.inc();
        debug!(target: "trace", "the collector did not accept an export");
    }
}

/// The keys of model servers that a gateway passes on.
const CLIENT_KEYS: &str = "the clients' Authorization and x-api-key";

/// Secrets travel to or from another machine in clear text.
pub struct ClearTextSecret<'a> {
    /// The server or listener, a label of the metric.
    pub target: ClearTextTarget,
    /// The name of the entry of `upstreams`; empty for anything else.
    pub entry: &'a str,
}

impl ClearTextSecret<'_> {
    /// Counts and says it.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.outputs.clear_text(self.target);
        warn!(target: "tls", "{}", self.said());
    }

    fn said(&self) -> String {
        let open = "accepts connections from other machines without TLS";
        let read = "can be read in transit";
        let entry = format!("the url of {} in upstreams", self.entry);
        let (setting, what) = match self.target {
            ClearTextTarget::Upstream if !self.entry.is_empty() => (entry.as_str(), CLIENT_KEYS),
            ClearTextTarget::Upstream => ("upstream.url", CLIENT_KEYS),
            ClearTextTarget::Monitor => ("monitor.url", "access keys"),
            ClearTextTarget::Judge => ("judge.url", "judge.api_key"),
            ClearTextTarget::Guard => ("checks.guard.url", "checks.guard.api_key"),
            ClearTextTarget::Trace => ("trace.endpoint", "trace.authorization"),
            ClearTextTarget::Siem => ("the url of a destination in siem", "its token"),
            ClearTextTarget::Listen => {
                return format!(
                    "a listener (listen) {open}: access keys, {CLIENT_KEYS} and what is sent with them {read}; configure tls, or put a proxy that terminates TLS in front of it"
                );
            }
            ClearTextTarget::AnalysisListen => {
                return format!(
                    "a listener of the analysis API {open}: access tokens, sessions and records {read}; configure tls, or put a proxy that terminates TLS in front of it"
                );
            }
            ClearTextTarget::Store => {
                return format!(
                    "store.host is not on this machine and store.ssl is not true: the database's password and what is kept {read}; set store.ssl: true"
                );
            }
        };
        format!(
            "{setting} is http and not on this machine: {what} and what is sent with it {read}; use https"
        )
    }
}
