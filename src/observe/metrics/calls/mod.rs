//! The metrics of the gateway's calls: how they ended, how long they took, and what was found in them.

mod model_calls;
mod tokens;

pub use tokens::TokenMetrics;

use model_calls::ModelCallMetrics;

use super::Metrics;
use super::register::{About, children, counters, histograms, labelled, per_stage};
use crate::observe::labels::{
    AttachmentOutcome, Label, Outcome, RecordSender, RouteLabel, TelemetryOutcome, UncheckedReason,
    UnrestoredReason, VerdictType,
};
use monitor_model::{Overhead, Stage};
use prometheus::{Histogram, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

const OVERHEAD: &[f64] = &[
    0.000_02, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25, 1.0,
];

const REQUESTS: About = ("monitor_requests_total", "Calls by route and outcome.");
const DURATION: About = (
    "monitor_request_duration_seconds",
    "From the request head to the last byte of the answer.",
);
const FIRST_BYTE: About = (
    "monitor_time_to_first_byte_seconds",
    "From the request head to the first byte of the answer's body.",
);
const OVERHEAD_SECONDS: About = (
    "monitor_overhead_seconds",
    "The gateway's own share of a call: total minus upstream, backend and client.",
);
const TELEMETRY: About = (
    "monitor_telemetry_records_total",
    "Records for the backend by stage and outcome.",
);
const VERDICTS: About = (
    "monitor_verdicts_total",
    "Calls answered with a policy's phrase, by stage and what was found.",
);
const UNCHECKED: About = (
    "monitor_unchecked_total",
    "Messages without a verdict although a policy may ask for one, by reason.",
);
const UNRESTORED: About = (
    "monitor_unrestored_answers_total",
    "Answers that kept the placeholders of a redacted prompt, by reason.",
);
const PARTS_OMITTED: About = (
    "monitor_tool_parts_omitted_total",
    "Tool calls and results that records lack because the backend did not say whether it takes them, by sender.",
);
const ATTACHMENTS: About = ("monitor_attachments_total", "Attached files, by outcome.");

struct PerRoute {
    duration: Histogram,
    first_byte: Histogram,
    overhead: Histogram,
    in_flight: IntGauge,
    outcomes: Vec<IntCounter>,
}

/// Of the calls of a gateway.
pub(super) struct CallMetrics {
    routes: Vec<PerRoute>,
    model_calls: ModelCallMetrics,
    telemetry: [Vec<IntCounter>; 2],
    verdicts: [Vec<IntCounter>; 2],
    unchecked: IntCounterVec,
    unrestored: IntCounterVec,
    parts_omitted: IntCounterVec,
    attachments: IntCounterVec,
}

impl CallMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        Ok(Self {
            routes: per_route(registry)?,
            model_calls: ModelCallMetrics::new(registry)?,
            telemetry: per_stage::<TelemetryOutcome>(
                registry,
                TELEMETRY,
                "outcome",
                Stage::record_name,
            )?,
            verdicts: per_stage::<VerdictType>(registry, VERDICTS, "type", Stage::as_str)?,
            unchecked: labelled::<UncheckedReason>(registry, UNCHECKED, "reason")?,
            unrestored: labelled::<UnrestoredReason>(registry, UNRESTORED, "reason")?,
            parts_omitted: labelled::<RecordSender>(registry, PARTS_OMITTED, "sender")?,
            attachments: labelled::<AttachmentOutcome>(registry, ATTACHMENTS, "outcome")?,
        })
    }
}

impl Metrics {
    /// One call began.
    pub fn call_started(&self, route: RouteLabel) {
        self.route(route).in_flight.inc();
    }

    /// One call ended, in any way.
    pub fn call_left(&self, route: RouteLabel) {
        self.route(route).in_flight.dec();
    }

    /// How the call ended. Durations in seconds.
    pub fn call_ended(&self, route: RouteLabel, outcome: Outcome, times: CallTimes) {
        let metrics = self.route(route);
        if let Some(counter) = metrics.outcomes.get(outcome as usize) {
            counter.inc();
        }
        metrics.duration.observe(times.total);
        if let Some(overhead) = times.overhead {
            metrics.overhead.observe(overhead);
        }
        if let Some(first_byte) = times.first_byte {
            metrics.first_byte.observe(first_byte);
        }
        let calls = &self.calls.model_calls;
        calls.ended(route, outcome, times.total, times.model);
    }

    /// One record left the queue, or never entered it.
    pub fn telemetry(&self, stage: Stage, outcome: TelemetryOutcome) {
        if let Some(counter) = self.calls.telemetry[stage as usize].get(outcome as usize) {
            counter.inc();
        }
    }

    /// One call was answered with its policy's phrase.
    pub fn verdict(&self, stage: Stage, kind: VerdictType) {
        if let Some(counter) = self.calls.verdicts[stage as usize].get(kind as usize) {
            counter.inc();
        }
    }

    /// One message got no verdict.
    pub fn unchecked(&self, reason: UncheckedReason) {
        self.calls
            .unchecked
            .with_label_values(&[reason.as_str()])
            .inc();
    }

    /// One answer kept the placeholders of its prompt.
    pub fn unrestored(&self, reason: UnrestoredReason) {
        self.calls
            .unrestored
            .with_label_values(&[reason.as_str()])
            .inc();
    }

    /// A record was stored without so many of its parts.
    pub fn tool_parts_omitted(&self, sender: RecordSender, count: u64) {
        let counter = self
            .calls
            .parts_omitted
            .with_label_values(&[sender.as_str()]);
        counter.inc_by(count);
    }

    /// Attached files ended with this outcome.
    pub fn attachments(&self, outcome: AttachmentOutcome, count: u64) {
        let counter = self
            .calls
            .attachments
            .with_label_values(&[outcome.as_str()]);
        counter.inc_by(count);
    }

    /// Calls in progress on all routes.
    pub fn in_flight(&self) -> i64 {
        self.calls
            .routes
            .iter()
            .map(|route| route.in_flight.get())
            .sum()
    }

    /// The number of calls of all routes whose gateway share was measured, and its mean.
    pub fn own_overhead(&self) -> Option<Overhead> {
        let counted = |route: &PerRoute| route.overhead.get_sample_count();
        let calls: u64 = self.calls.routes.iter().map(counted).sum();
        let seconds: f64 = self
            .calls
            .routes
            .iter()
            .map(|route| route.overhead.get_sample_sum())
            .sum();
        let mean_us = (seconds * 1e6 / calls as f64) as u64;
        (calls > 0).then_some(Overhead { calls, mean_us })
    }

    fn route(&self, route: RouteLabel) -> &PerRoute {
        &self.calls.routes[route as usize]
    }
}

/// What is observed of one call, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallTimes {
    /// From the request head to the last byte.
    pub total: f64,
    /// The gateway's own share, where the waits for others were measured.
    pub overhead: Option<f64>,
    /// To the first byte of the body, where there was one.
    pub first_byte: Option<f64>,
    /// Waiting for the upstream, where that was measured.
    pub upstream: Option<f64>,
    /// From the call of the upstream to the end of its answer, where it was called.
    pub model: Option<f64>,
    /// Waiting for a verdict, where that was measured.
    pub backend: Option<f64>,
}

fn per_route(registry: &Registry) -> prometheus::Result<Vec<PerRoute>> {
    let requests = counters(registry, REQUESTS, &["route", "outcome"])?;
    let duration = histograms(registry, DURATION, super::LATENCY)?;
    let first_byte = histograms(registry, FIRST_BYTE, super::LATENCY)?;
    let overhead = histograms(registry, OVERHEAD_SECONDS, OVERHEAD)?;
    let opts = Opts::new("monitor_in_flight", "Calls in progress.");
    let in_flight = IntGaugeVec::new(opts, &["route"])?;
    registry.register(Box::new(in_flight.clone()))?;
    let one = |route: &RouteLabel| PerRoute {
        duration: duration.with_label_values(&[route.as_str()]),
        first_byte: first_byte.with_label_values(&[route.as_str()]),
        overhead: overhead.with_label_values(&[route.as_str()]),
        in_flight: in_flight.with_label_values(&[route.as_str()]),
        outcomes: children::<Outcome>(&requests, route.as_str()),
    };
    Ok(RouteLabel::ALL.iter().map(one).collect())
}
