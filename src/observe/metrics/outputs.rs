//! The metrics of the access log, of traces, and of secrets in clear text.

use super::super::labels::{ClearTextTarget, LinesLost, SpansLost};
use super::super::registered::{counter, counters};
use prometheus::{IntCounter, IntCounterVec, Registry};

/// What became of lines and spans.
pub struct OutputMetrics {
    lines: IntCounterVec,
    spans: IntCounterVec,
    clear_text: IntCounterVec,
    /// Spans that a collector has.
    pub spans_exported: IntCounter,
}

impl OutputMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        let name = "monitor_access_log_lost_total";
        let help = "Lines of the access log that were not written, by reason.";
        let lines = counters(registry, name, help, &["reason"])?;
        for reason in LinesLost::ALL {
            lines.with_label_values(&[reason.as_str()]);
        }
        let name = "monitor_trace_spans_dropped_total";
        let help = "Spans that did not reach the collector, by reason.";
        let spans = counters(registry, name, help, &["reason"])?;
        for reason in SpansLost::ALL {
            spans.with_label_values(&[reason.as_str()]);
        }
        let name = "monitor_trace_spans_exported_total";
        let spans_exported = counter(registry, name, "Spans that the collector took.")?;
        let name = "monitor_clear_text_secrets_total";
        let help = "Starts and reloads with settings that send secrets in clear text, by target.";
        let clear_text = counters(registry, name, help, &["target"])?;
        for target in ClearTextTarget::ALL {
            clear_text.with_label_values(&[target.as_str()]);
        }
        Ok(Self {
            clear_text,
            lines,
            spans,
            spans_exported,
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
