//! The one table of metrics. Labels are enums, so their values are bounded; the children of hot
//! metrics are resolved once.

mod limits;
mod outputs;
mod register;
mod remote;
mod spool;
#[cfg(test)]
mod tests;
mod turns;
mod upstreams;

pub use limits::LimitMetrics;
pub use outputs::OutputMetrics;
pub use remote::RemoteMetrics;
pub use spool::SpoolMetrics;
pub use turns::TurnMetrics;
pub use upstreams::UpstreamMetrics;

use super::labels::{
    AttachmentOutcome, EndReason, LogSource, Outcome, RouteLabel, TelemetryOutcome,
    UncheckedReason, UnrestoredReason, UpgradeResult, VerdictType,
};
use super::log_budget::LOG_BUDGET;
use super::stderr;
use monitor_model::{GATEWAY_VERSION, Overhead, Stage};
use prometheus::{
    Encoder, Gauge, Histogram, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    TextEncoder,
};
use register::{About, children, counter, counters, gauge, histograms, labelled, seconds};

/// Seconds: fine in the range of the gateway's own share, wide in that of a model's answer.
const LATENCY: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    120.0, 300.0,
];
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
const ENDED: About = (
    "monitor_connections_ended_total",
    "Client connections that the gateway, the analysis API or the web UI closed, by reason.",
);
const UNRESTORED: About = (
    "monitor_unrestored_answers_total",
    "Answers that kept the placeholders of a redacted prompt, by reason.",
);
const ATTACHMENTS: About = ("monitor_attachments_total", "Attached files, by outcome.");
const REDACTED_PROMPTS: About = (
    "monitor_redacted_prompts_total",
    "Prompts that went to the model server with placeholders in place of findings.",
);
const POLICIES_AGE: About = (
    "monitor_policies_age_seconds",
    "Time since the policy store was last read; +Inf when it never was.",
);
const POLICIES_PROBLEMS: About = (
    "monitor_policies_problems",
    "Stored policies that are not in force because they are invalid.",
);
const QUEUE_BYTES: About = (
    "monitor_telemetry_queue_bytes",
    "Bytes of records in memory on their way to the backend.",
);
const TELEMETRY_RETRIES: About = (
    "monitor_telemetry_retries_total",
    "Attempts to deliver a record that the backend did not answer.",
);
const HEARTBEATS: About = (
    "monitor_stream_heartbeats_total",
    "Keepalive comments sent in silent streams.",
);
const UPSTREAM_RETRIES: About = (
    "monitor_upstream_retries_total",
    "Second attempts after a connection that accepted no byte.",
);
const RECORDS_REMOVED: About = (
    "monitor_records_removed_total",
    "Records removed by retention.",
);
const RETENTION_FAILURES: About = (
    "monitor_retention_failures_total",
    "Rounds of retention that failed.",
);
const DRAINING: About = (
    "monitor_draining",
    "1 while the process drains: it finishes its last calls.",
);
const LOG_LINES_LOST: About = (
    "monitor_log_lines_lost_total",
    "Lines of the log that were not written: nobody read standard error, or it failed.",
);
const LOG_LINES_SUPPRESSED: About = (
    "monitor_log_lines_suppressed_total",
    "Lines of the log that were not written because they exceeded log.bytes_per_second, by source.",
);
const UPGRADES: About = (
    "monitor_upgrades_total",
    "Upgrades: hand-overs to another process, by result.",
);
const RELOADS: About = (
    "monitor_reloads_total",
    "Reloads of the configuration, by result.",
);

struct PerRoute {
    duration: Histogram,
    first_byte: Histogram,
    overhead: Histogram,
    in_flight: IntGauge,
    outcomes: Vec<IntCounter>,
}

/// Every metric of one process.
pub struct Metrics {
    registry: Registry,
    routes: Vec<PerRoute>,
    telemetry: [Vec<IntCounter>; 2],
    verdicts: [Vec<IntCounter>; 2],
    unchecked: IntCounterVec,
    ended: IntCounterVec,
    unrestored: IntCounterVec,
    attachments: IntCounterVec,
    /// Prompts with placeholders in place of findings.
    pub redacted_prompts: IntCounter,
    /// Seconds since the policy store was last read; infinite when it never was.
    pub policies_age: Gauge,
    /// Stored policies that are not in force.
    pub policies_problems: IntGauge,
    /// Bytes of text waiting for the backend.
    pub queue_bytes: IntGauge,
    /// Attempts to deliver a record that will be repeated.
    pub telemetry_retries: IntCounter,
    /// Heartbeats sent into silent streams.
    pub heartbeats: IntCounter,
    /// Second attempts after a connection that could not have accepted a byte.
    pub upstream_retries: IntCounter,
    /// Records that retention removed.
    pub records_removed: IntCounter,
    /// Rounds of retention that failed.
    pub retention_failures: IntCounter,
    /// 1 while the process drains.
    pub draining: IntGauge,
    log_lines_lost: IntCounter,
    log_lines_suppressed: IntCounterVec,
    upgrades: IntCounterVec,
    reloads: IntCounterVec,
    /// Records that wait for the backend, and dead letters.
    pub spool: SpoolMetrics,
    /// Servers that an analysis calls.
    pub remote: RemoteMetrics,
    /// Messages that take turns to be analyzed.
    pub turns: TurnMetrics,
    /// The limits of the gateway.
    pub limits: LimitMetrics,
    /// Health of model servers, and failovers.
    pub upstreams: UpstreamMetrics,
    /// The access log and traces.
    pub outputs: OutputMetrics,
}

impl Metrics {
    /// Registers all metrics. Fails only if two share a name, which a test excludes.
    pub fn new() -> prometheus::Result<Self> {
        let registry = Registry::new();
        build_info(&registry)?;
        let (unchecked, ended) = (UncheckedReason::ALL.iter(), EndReason::ALL.iter());
        let (unrestored, files) = (UnrestoredReason::ALL.iter(), AttachmentOutcome::ALL.iter());
        let results = || UpgradeResult::ALL.iter().map(|result| result.as_str());
        let unchecked = unchecked.map(|reason| reason.as_str());
        let ended = ended.map(|reason| reason.as_str());
        let unrestored = unrestored.map(|reason| reason.as_str());
        let files = files.map(|outcome| outcome.as_str());
        let sources = LogSource::ALL.iter().map(|source| source.as_str());
        Ok(Self {
            routes: per_route(&registry)?,
            telemetry: per_stage(&registry)?,
            verdicts: verdicts(&registry)?,
            unchecked: labelled(&registry, UNCHECKED, "reason", unchecked)?,
            ended: labelled(&registry, ENDED, "reason", ended)?,
            unrestored: labelled(&registry, UNRESTORED, "reason", unrestored)?,
            attachments: labelled(&registry, ATTACHMENTS, "outcome", files)?,
            redacted_prompts: counter(&registry, REDACTED_PROMPTS)?,
            policies_age: seconds(&registry, POLICIES_AGE)?,
            policies_problems: gauge(&registry, POLICIES_PROBLEMS)?,
            queue_bytes: gauge(&registry, QUEUE_BYTES)?,
            telemetry_retries: counter(&registry, TELEMETRY_RETRIES)?,
            heartbeats: counter(&registry, HEARTBEATS)?,
            upstream_retries: counter(&registry, UPSTREAM_RETRIES)?,
            records_removed: counter(&registry, RECORDS_REMOVED)?,
            retention_failures: counter(&registry, RETENTION_FAILURES)?,
            draining: gauge(&registry, DRAINING)?,
            log_lines_lost: counter(&registry, LOG_LINES_LOST)?,
            log_lines_suppressed: labelled(&registry, LOG_LINES_SUPPRESSED, "source", sources)?,
            upgrades: labelled(&registry, UPGRADES, "result", results())?,
            reloads: labelled(&registry, RELOADS, "result", results())?,
            spool: SpoolMetrics::new(&registry)?,
            remote: RemoteMetrics::new(&registry)?,
            turns: TurnMetrics::new(&registry)?,
            limits: LimitMetrics::new(&registry)?,
            upstreams: UpstreamMetrics::new(&registry)?,
            outputs: OutputMetrics::new(&registry)?,
            registry,
        })
    }

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
    }

    /// One record left the queue, or never entered it.
    pub fn telemetry(&self, stage: Stage, outcome: TelemetryOutcome) {
        if let Some(counter) = self.telemetry[stage as usize].get(outcome as usize) {
            counter.inc();
        }
    }

    /// One call was answered with its policy's phrase.
    pub fn verdict(&self, stage: Stage, kind: VerdictType) {
        if let Some(counter) = self.verdicts[stage as usize].get(kind as usize) {
            counter.inc();
        }
    }

    /// One message got no verdict.
    pub fn unchecked(&self, reason: UncheckedReason) {
        self.unchecked.with_label_values(&[reason.as_str()]).inc();
    }

    /// One client connection was ended.
    pub fn connection_ended(&self, reason: EndReason) {
        self.ended.with_label_values(&[reason.as_str()]).inc();
    }

    /// One answer kept the placeholders of its prompt.
    pub fn unrestored(&self, reason: UnrestoredReason) {
        self.unrestored.with_label_values(&[reason.as_str()]).inc();
    }

    /// Attached files ended with this outcome.
    pub fn attachments(&self, outcome: AttachmentOutcome, count: u64) {
        let counter = self.attachments.with_label_values(&[outcome.as_str()]);
        counter.inc_by(count);
    }

    /// Calls in progress on all routes.
    pub fn in_flight(&self) -> i64 {
        self.routes.iter().map(|route| route.in_flight.get()).sum()
    }

    /// The text of `/metrics`.
    pub fn render(&self) -> Vec<u8> {
        self.log_lines_lost.inc_by(stderr::lost());
        for source in LogSource::ALL {
            let suppressed = LOG_BUDGET.take_suppressed(*source);
            let counter = self
                .log_lines_suppressed
                .with_label_values(&[source.as_str()]);
            counter.inc_by(suppressed);
        }
        let mut text = Vec::with_capacity(16 * 1024);
        // Writing into memory cannot fail.
        let _ = TextEncoder::new().encode(&self.registry.gather(), &mut text);
        text
    }

    pub(super) fn upgrade_ended(&self, result: UpgradeResult) {
        self.upgrades.with_label_values(&[result.as_str()]).inc();
    }

    pub(super) fn reload_ended(&self, result: UpgradeResult) {
        self.reloads.with_label_values(&[result.as_str()]).inc();
    }

    /// The number of calls of all routes whose gateway share was measured, and its mean.
    pub fn own_overhead(&self) -> Option<Overhead> {
        let counted = |route: &PerRoute| route.overhead.get_sample_count();
        let calls: u64 = self.routes.iter().map(counted).sum();
        let seconds: f64 = self
            .routes
            .iter()
            .map(|route| route.overhead.get_sample_sum())
            .sum();
        let mean_us = (seconds * 1e6 / calls as f64) as u64;
        (calls > 0).then_some(Overhead { calls, mean_us })
    }

    fn route(&self, route: RouteLabel) -> &PerRoute {
        &self.routes[route as usize]
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
    /// Waiting for a verdict, where that was measured.
    pub backend: Option<f64>,
}

fn build_info(registry: &Registry) -> prometheus::Result<()> {
    let build = IntGaugeVec::new(Opts::new("monitor_build_info", "Always 1."), &["version"])?;
    registry.register(Box::new(build.clone()))?;
    build.with_label_values(&[GATEWAY_VERSION]).set(1);
    Ok(())
}

fn per_route(registry: &Registry) -> prometheus::Result<Vec<PerRoute>> {
    let requests = counters(registry, REQUESTS, &["route", "outcome"])?;
    let duration = histograms(registry, DURATION, LATENCY)?;
    let first_byte = histograms(registry, FIRST_BYTE, LATENCY)?;
    let overhead = histograms(registry, OVERHEAD_SECONDS, OVERHEAD)?;
    let opts = Opts::new("monitor_in_flight", "Calls in progress.");
    let in_flight = IntGaugeVec::new(opts, &["route"])?;
    registry.register(Box::new(in_flight.clone()))?;
    let outcomes = || Outcome::ALL.iter().map(|outcome| outcome.as_str());
    let one = |route: &RouteLabel| PerRoute {
        duration: duration.with_label_values(&[route.as_str()]),
        first_byte: first_byte.with_label_values(&[route.as_str()]),
        overhead: overhead.with_label_values(&[route.as_str()]),
        in_flight: in_flight.with_label_values(&[route.as_str()]),
        outcomes: children(&requests, route.as_str(), outcomes()),
    };
    Ok(RouteLabel::ALL.iter().map(one).collect())
}

fn per_stage(registry: &Registry) -> prometheus::Result<[Vec<IntCounter>; 2]> {
    let telemetry = counters(registry, TELEMETRY, &["stage", "outcome"])?;
    let outcomes = || TelemetryOutcome::ALL.iter().map(|outcome| outcome.as_str());
    let one = |stage: Stage| children(&telemetry, stage.record_name(), outcomes());
    Ok([one(Stage::PreCall), one(Stage::PostCall)])
}

fn verdicts(registry: &Registry) -> prometheus::Result<[Vec<IntCounter>; 2]> {
    let verdicts = counters(registry, VERDICTS, &["stage", "type"])?;
    let types = || VerdictType::ALL.iter().map(|kind| kind.as_str());
    let one = |stage: Stage| children(&verdicts, stage.as_str(), types());
    Ok([one(Stage::PreCall), one(Stage::PostCall)])
}
