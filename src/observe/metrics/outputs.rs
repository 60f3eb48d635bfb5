//! The metrics of the access log, of traces, and of secrets in clear text.

use super::Registries;
use super::register::{About, counter, labelled};
use crate::observe::labels::{ClearTextTarget, LinesLost, SpansLost};
use prometheus::{IntCounter, IntCounterVec};

const LINES_LOST: About = (
    "monitor_access_log_lost_total",
    "Lines of the access log that were not written, by reason.",
);
const SPANS_DROPPED: About = (
    "monitor_trace_spans_dropped_total",
    "Spans that did not reach the collector, by reason.",
);
const SPANS_EXPORTED: About = (
    "monitor_trace_spans_exported_total",
    "Spans that the collector accepted.",
);
const EXPORTS_FAILED: About = (
    "monitor_trace_exports_failed_total",
    "Failed exports of spans; most are retried.",
);
const CLEAR_TEXT: About = (
    "monitor_clear_text_secrets_total",
    "Starts and reloads with settings that send secrets in clear text, by target.",
);

/// Lines and spans written, exported and lost.
pub struct OutputMetrics {
    lines: IntCounterVec,
    spans: IntCounterVec,
    clear_text: IntCounterVec,
    /// Spans that a collector accepted.
    pub spans_exported: IntCounter,
    /// Exports that a collector did not accept.
    pub exports_failed: IntCounter,
}

impl OutputMetrics {
    pub(super) fn new(registries: &Registries) -> prometheus::Result<Self> {
        let Registries {
            process, gateway, ..
        } = registries;
        Ok(Self {
            lines: labelled::<LinesLost>(gateway, LINES_LOST, "reason")?,
            spans: labelled::<SpansLost>(gateway, SPANS_DROPPED, "reason")?,
            spans_exported: counter(gateway, SPANS_EXPORTED)?,
            exports_failed: counter(gateway, EXPORTS_FAILED)?,
            clear_text: labelled::<ClearTextTarget>(process, CLEAR_TEXT, "target")?,
        })
    }

    /// Lines of the access log were not written.
    pub fn lines_lost(&self, reason: LinesLost, count: u64) {
        self.lines
            .with_label_values(&[reason.as_str()])
            .inc_by(count);
    }

    /// The settings send secrets in clear text.
    pub fn clear_text(&self, target: ClearTextTarget) {
        self.clear_text.with_label_values(&[target.as_str()]).inc();
    }

    /// Spans did not reach the collector.
    pub fn spans_lost(&self, reason: SpansLost, count: u64) {
        self.spans
            .with_label_values(&[reason.as_str()])
            .inc_by(count);
    }
}
