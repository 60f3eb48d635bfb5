//! The one table of metrics. Labels are enums, so their values are bounded; the children of hot
//! metrics are resolved once.
//! Long because: it is one table, and each metric has its name, its help and its labels in it.

mod limits;
mod outputs;
mod remote;
#[cfg(test)]
mod tests;
mod upstreams;

pub use limits::LimitMetrics;
pub use outputs::OutputMetrics;
pub use remote::RemoteMetrics;
pub use upstreams::UpstreamMetrics;

use super::labels::{
    AttachmentOutcome, EndReason, Outcome, RouteLabel, TelemetryOutcome, UncheckedReason,
    UnrestoredReason, VerdictType,
};
use super::registered::{children, counter, counters, gauge, histograms};
use super::upgraded::UpgradeResult;
use crate::model::{GATEWAY_VERSION, Overhead, Stage};
use prometheus::{
    Encoder, Gauge, Histogram, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    TextEncoder,
};

/// Seconds; fine where a gateway's own share lies, wide where a model's answer lies.
const LATENCY: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    120.0, 300.0,
];
const OVERHEAD: &[f64] = &[
    0.000_02, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25, 1.0,
];

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
    /// Prompts that lost something to placeholders.
    pub redacted_prompts: IntCounter,
    /// Seconds since the policy store was last read; infinite when it never was.
    pub policies_age: Gauge,
    /// Stored policies that are not in force.
    pub policies_problems: IntGauge,
    /// Bytes of text waiting for the backend.
    pub queue_bytes: IntGauge,
    /// Bytes of the spool's files.
    pub spool_bytes: IntGauge,
    /// Records on disk that the backend has not taken, as far as they have been read.
    pub spool_records: IntGauge,
    /// Age of the oldest record that the backend has not taken, in seconds.
    pub spool_age: Gauge,
    /// 1 while the spool's disk refuses to be written.
    pub spool_degraded: IntGauge,
    spool_lost: IntCounterVec,
    /// Records the backend refused for good, kept beside the spool.
    pub spool_dead_letters: IntGauge,
    /// Bytes of their files.
    pub spool_dead_letter_bytes: IntGauge,
    /// Those that went, or were not kept, because of the bound.
    pub spool_letters_lost: IntCounter,
    /// Panics of the thread that writes the spool.
    pub spool_panics: IntCounter,
    /// Parts of the spool's files that could not be read.
    pub spool_damaged: IntCounter,
    /// Attempts to deliver a record that will be repeated.
    pub telemetry_retries: IntCounter,
    /// Heartbeats sent into silent streams.
    pub heartbeats: IntCounter,
    /// Second attempts after a connection that could not have accepted a byte.
    pub upstream_retries: IntCounter,
    /// Records that retention removed.
    pub records_removed: IntCounter,
    /// Rounds of retention that did not come to their end.
    pub retention_failures: IntCounter,
    /// 1 while the process drains.
    pub draining: IntGauge,
    upgrades: IntCounterVec,
    reloads: IntCounterVec,
    /// Servers that an analysis asks.
    pub remote: RemoteMetrics,
    /// What is bounded.
    pub limits: LimitMetrics,
    /// Model servers.
    pub upstreams: UpstreamMetrics,
    /// The access log and traces.
    pub outputs: OutputMetrics,
}

impl Metrics {
    /// Registers all metrics. Fails only if two share a name, which a test excludes.
    pub fn new() -> prometheus::Result<Self> {
        let registry = Registry::new();
        let policies_age = Gauge::new(
            "monitor_policies_age_seconds",
            "Time since the policy store was last read; +Inf when it never was.",
        )?;
        registry.register(Box::new(policies_age.clone()))?;
        let spool_age = Gauge::new(
            "monitor_spool_age_seconds",
            "Age of the oldest record that the backend has not taken.",
        )?;
        registry.register(Box::new(spool_age.clone()))?;
        let build = IntGaugeVec::new(Opts::new("monitor_build_info", "Always 1."), &["version"])?;
        registry.register(Box::new(build.clone()))?;
        build.with_label_values(&[GATEWAY_VERSION]).set(1);
        Ok(Self {
            routes: per_route(&registry)?,
            telemetry: per_stage(&registry)?,
            verdicts: verdicts(&registry)?,
            unchecked: unchecked(&registry)?,
            ended: ended(&registry)?,
            unrestored: unrestored(&registry)?,
            attachments: attachments(&registry)?,
            redacted_prompts: counter(
                &registry,
                "monitor_redacted_prompts_total",
                "Prompts in which placeholders went to the upstream instead of what was found.",
            )?,
            policies_age,
            policies_problems: gauge(
                &registry,
                "monitor_policies_problems",
                "Stored policies that are not in force because they cannot be read.",
            )?,
            queue_bytes: gauge(
                &registry,
                "monitor_telemetry_queue_bytes",
                "Text waiting for the backend, in bytes.",
            )?,
            spool_bytes: gauge(
                &registry,
                "monitor_spool_bytes",
                "Bytes of the spool's files.",
            )?,
            spool_records: gauge(
                &registry,
                "monitor_spool_records",
                "Records on disk that the backend has not taken, as far as they have been read.",
            )?,
            spool_age,
            spool_degraded: gauge(
                &registry,
                "monitor_spool_degraded",
                "1 while the spool's disk refuses to be written.",
            )?,
            spool_lost: spool_lost(&registry)?,
            spool_dead_letters: gauge(
                &registry,
                "monitor_spool_dead_letters",
                "Records the backend refused for good, kept until they are put back.",
            )?,
            spool_dead_letter_bytes: gauge(
                &registry,
                "monitor_spool_dead_letter_bytes",
                "Bytes of the files with the records the backend refused for good.",
            )?,
            spool_letters_lost: counter(
                &registry,
                "monitor_spool_dead_letters_lost_total",
                "Records the backend refused for good that spool.max_dead_bytes left no room for.",
            )?,
            spool_panics: counter(
                &registry,
                "monitor_spool_thread_panics_total",
                "Panics of the thread that writes the spool; it goes on.",
            )?,
            spool_damaged: counter(
                &registry,
                "monitor_spool_damaged_total",
                "Parts of the spool's files that could not be read.",
            )?,
            telemetry_retries: counter(
                &registry,
                "monitor_telemetry_retries_total",
                "Attempts to deliver a record that the backend did not answer.",
            )?,
            heartbeats: counter(
                &registry,
                "monitor_stream_heartbeats_total",
                "Keepalive comments sent into silent streams.",
            )?,
            upstream_retries: counter(
                &registry,
                "monitor_upstream_retries_total",
                "Second attempts after a connection that accepted no byte.",
            )?,
            records_removed: counter(
                &registry,
                "monitor_records_removed_total",
                "Records removed because they were beyond the limits of retention.",
            )?,
            retention_failures: counter(
                &registry,
                "monitor_retention_failures_total",
                "Rounds of retention that did not come to their end.",
            )?,
            draining: gauge(
                &registry,
                "monitor_draining",
                "1 while the process waits for its last calls.",
            )?,
            upgrades: counters(
                &registry,
                "monitor_upgrades_total",
                "Hand-overs to another process.",
                &["result"],
            )?,
            reloads: counters(
                &registry,
                "monitor_reloads_total",
                "Times the configuration was read again.",
                &["result"],
            )?,
            remote: RemoteMetrics::new(&registry)?,
            limits: LimitMetrics::new(&registry)?,
            upstreams: UpstreamMetrics::new(&registry)?,
            outputs: OutputMetrics::new(&registry)?,
            registry,
        })
    }

    /// Records that left the spool without having been delivered.
    pub fn spool_lost(&self, reason: &str, count: u64) {
        self.spool_lost.with_label_values(&[reason]).inc_by(count);
    }

    /// One call began.
    pub fn call_started(&self, route: RouteLabel) {
        self.route(route).in_flight.inc();
    }

    /// One call ended, whatever way.
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

    /// Attached files came to this.
    pub fn attachments(&self, outcome: AttachmentOutcome, count: u64) {
        let counter = self.attachments.with_label_values(&[outcome.as_str()]);
        counter.inc_by(count);
    }

    /// Calls under way on all routes.
    pub fn in_flight(&self) -> i64 {
        self.routes.iter().map(|route| route.in_flight.get()).sum()
    }

    /// The text of `/metrics`.
    pub fn render(&self) -> Vec<u8> {
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

    /// Calls of all routes on which the gateway's own share was measured, with its mean.
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

fn spool_lost(registry: &Registry) -> prometheus::Result<IntCounterVec> {
    let opts = Opts::new(
        "monitor_spool_lost_total",
        "Records that left the spool without having been delivered.",
    );
    let lost = IntCounterVec::new(opts, &["reason"])?;
    registry.register(Box::new(lost.clone()))?;
    Ok(lost)
}

fn per_route(registry: &Registry) -> prometheus::Result<Vec<PerRoute>> {
    let (name, help) = ("monitor_requests_total", "Calls by route and outcome.");
    let requests = counters(registry, name, help, &["route", "outcome"])?;
    let name = "monitor_request_duration_seconds";
    let help = "From the request head to the last byte of the answer.";
    let duration = histograms(registry, name, help, LATENCY)?;
    let name = "monitor_time_to_first_byte_seconds";
    let help = "From the request head to the first byte of the answer's body.";
    let first_byte = histograms(registry, name, help, LATENCY)?;
    let name = "monitor_overhead_seconds";
    let help = "The gateway's own share of a call: total minus upstream, backend and client.";
    let overhead = histograms(registry, name, help, OVERHEAD)?;
    let opts = Opts::new("monitor_in_flight", "Calls under way.");
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
    let name = "monitor_telemetry_records_total";
    let help = "Records for the backend by stage and outcome.";
    let telemetry = counters(registry, name, help, &["stage", "outcome"])?;
    let outcomes = || TelemetryOutcome::ALL.iter().map(|outcome| outcome.as_str());
    let one = |stage: Stage| children(&telemetry, stage.record_name(), outcomes());
    Ok([one(Stage::PreCall), one(Stage::PostCall)])
}

fn verdicts(registry: &Registry) -> prometheus::Result<[Vec<IntCounter>; 2]> {
    let name = "monitor_verdicts_total";
    let help = "Calls answered with a policy's phrase, by stage and what was found.";
    let verdicts = counters(registry, name, help, &["stage", "type"])?;
    let types = || VerdictType::ALL.iter().map(|kind| kind.as_str());
    let one = |stage: Stage| children(&verdicts, stage.as_str(), types());
    Ok([one(Stage::PreCall), one(Stage::PostCall)])
}

fn unchecked(registry: &Registry) -> prometheus::Result<IntCounterVec> {
    let name = "monitor_unchecked_total";
    let help = "Messages that got no verdict although a policy may ask for one, by reason.";
    let unchecked = counters(registry, name, help, &["reason"])?;
    for reason in UncheckedReason::ALL {
        unchecked.with_label_values(&[reason.as_str()]);
    }
    Ok(unchecked)
}

fn ended(registry: &Registry) -> prometheus::Result<IntCounterVec> {
    let name = "monitor_connections_ended_total";
    let help = "Client connections that the gateway ended, by reason.";
    let ended = counters(registry, name, help, &["reason"])?;
    for reason in EndReason::ALL {
        ended.with_label_values(&[reason.as_str()]);
    }
    Ok(ended)
}

fn unrestored(registry: &Registry) -> prometheus::Result<IntCounterVec> {
    let name = "monitor_unrestored_answers_total";
    let help = "Answers that kept the placeholders of a redacted prompt, by reason.";
    let unrestored = counters(registry, name, help, &["reason"])?;
    for reason in UnrestoredReason::ALL {
        unrestored.with_label_values(&[reason.as_str()]);
    }
    Ok(unrestored)
}

fn attachments(registry: &Registry) -> prometheus::Result<IntCounterVec> {
    let name = "monitor_attachments_total";
    let help = "Attached files by what became of them.";
    let attachments = counters(registry, name, help, &["outcome"])?;
    for outcome in AttachmentOutcome::ALL {
        attachments.with_label_values(&[outcome.as_str()]);
    }
    Ok(attachments)
}
