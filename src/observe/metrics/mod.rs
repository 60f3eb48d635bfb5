//! The one table of metrics. Labels are enums, so their values are bounded; the children of hot
//! metrics are resolved once.

mod alerts;
mod analysis;
mod calls;
mod costs;
mod limits;
mod outputs;
mod register;
mod remote;
mod siem;
mod spool;
mod store;
mod streams;
#[cfg(test)]
mod tests;
mod turns;
mod upstreams;

pub use alerts::AlertMetrics;
pub use analysis::AnalysisMetrics;
pub use calls::{CallTimes, TokenMetrics};
pub use costs::{CallLabels, CostMetrics};
pub use limits::LimitMetrics;
pub use outputs::OutputMetrics;
pub use remote::RemoteMetrics;
pub use siem::SiemMetrics;
pub use spool::SpoolMetrics;
pub use store::{PoolUse, StoreMetrics};
pub use streams::StreamMetrics;
pub use turns::TurnMetrics;
pub use upstreams::{UpstreamMetrics, UpstreamName};

use super::failures::FAILURES;
use super::labels::{EndReason, Label, LogSource, RecordExportResult, RemovalCause, UpgradeResult};
use super::log_budget::LOG_BUDGET;
use super::stderr;
use crate::config::Role;
use calls::CallMetrics;
use monitor_model::GATEWAY_VERSION;
use prometheus::proto::MetricFamily;
use prometheus::{
    Encoder, Gauge, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};
use register::{About, counter, gauge, labelled, seconds};

/// Seconds: fine in the range of the gateway's own share, wide in that of a model's answer.
const LATENCY: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    120.0, 300.0,
];
const ENDED: About = (
    "monitor_connections_ended_total",
    "Client connections that the gateway, the analysis API or the web UI closed, by reason.",
);
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
const REMOVED_BY_CAUSE: About = (
    "monitor_retention_removed_total",
    "Records removed by retention, by cause: rows and bytes are the limits of the whole store.",
);
const RETENTION_FAILURES: About = (
    "monitor_retention_failures_total",
    "Rounds of retention that failed.",
);
const RECORD_EXPORTS: About = (
    "monitor_record_exports_total",
    "Objects of scheduled exports of records, by result.",
);
const DRAINING: About = (
    "monitor_draining",
    "1 while the process drains: it finishes its last calls.",
);
const CLOCK_JUMPS: About = (
    "monitor_clock_jumps_total",
    "Times that the clock was set by a minute or more, or the machine slept as long.",
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

/// Every metric of one process.
pub struct Metrics {
    registries: Registries,
    role: Role,
    calls: CallMetrics,
    ended: IntCounterVec,
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
    /// Jumps of the machine's clock.
    pub clock_jumps: IntCounter,
    records_removed: IntCounter,
    removed_by_cause: IntCounterVec,
    /// Rounds of retention that failed.
    pub retention_failures: IntCounter,
    /// 1 while the process drains.
    pub draining: IntGauge,
    log_lines_lost: IntCounter,
    log_lines_suppressed: IntCounterVec,
    record_exports: IntCounterVec,
    upgrades: IntCounterVec,
    reloads: IntCounterVec,
    /// Records that wait for the backend, and dead letters.
    pub spool: SpoolMetrics,
    /// Calls of sync mode that asked for a stream.
    pub streams: StreamMetrics,
    /// Tokens of model calls.
    pub tokens: TokenMetrics,
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
    /// Requests, verdicts, records and files of an analysis server.
    pub analysis: AnalysisMetrics,
    /// Messages about alerts.
    pub alerts: AlertMetrics,
    /// What calls cost.
    pub costs: CostMetrics,
    /// Events that are sent to other systems.
    pub siem: SiemMetrics,
    /// The store of an analysis server.
    pub store: StoreMetrics,
}

/// Metrics by the processes that show them: a process shows no metric of a part that it does not run.
#[derive(Default)]
pub(super) struct Registries {
    /// Of every process.
    pub(super) process: Registry,
    /// Of a gateway.
    pub(super) gateway: Registry,
    /// Of an analysis server.
    pub(super) analysis: Registry,
}

impl Registries {
    /// What a process of this role shows, ordered by name.
    fn gather(&self, role: Role) -> Vec<MetricFamily> {
        let mut shown = self.process.gather();
        if role != Role::Analysis {
            shown.extend(self.gateway.gather());
        }
        if role != Role::Gateway {
            shown.extend(self.analysis.gather());
        }
        shown.sort_by(|one, other| one.name().cmp(other.name()));
        upstreams::without_empty_groups(&mut shown);
        shown
    }
}

impl Metrics {
    /// The metrics of `monitor all`, which has every one.
    pub fn new() -> prometheus::Result<Self> {
        Self::of(Role::All)
    }

    /// Registers all metrics, of which a process shows those of its role. Fails only if two share a name, which
    /// a test excludes.
    pub fn of(role: Role) -> prometheus::Result<Self> {
        let registries = Registries::default();
        let (process, gateway) = (&registries.process, &registries.gateway);
        let analysis = &registries.analysis;
        build_info(process)?;
        Ok(Self {
            calls: CallMetrics::new(gateway)?,
            ended: labelled::<EndReason>(process, ENDED, "reason")?,
            redacted_prompts: counter(gateway, REDACTED_PROMPTS)?,
            policies_age: seconds(gateway, POLICIES_AGE)?,
            policies_problems: gauge(gateway, POLICIES_PROBLEMS)?,
            queue_bytes: gauge(gateway, QUEUE_BYTES)?,
            telemetry_retries: counter(gateway, TELEMETRY_RETRIES)?,
            heartbeats: counter(gateway, HEARTBEATS)?,
            upstream_retries: counter(gateway, UPSTREAM_RETRIES)?,
            clock_jumps: counter(process, CLOCK_JUMPS)?,
            records_removed: counter(analysis, RECORDS_REMOVED)?,
            removed_by_cause: labelled::<RemovalCause>(analysis, REMOVED_BY_CAUSE, "cause")?,
            retention_failures: counter(analysis, RETENTION_FAILURES)?,
            record_exports: labelled::<RecordExportResult>(analysis, RECORD_EXPORTS, "result")?,
            draining: gauge(process, DRAINING)?,
            log_lines_lost: counter(process, LOG_LINES_LOST)?,
            log_lines_suppressed: labelled::<LogSource>(process, LOG_LINES_SUPPRESSED, "source")?,
            upgrades: labelled::<UpgradeResult>(process, UPGRADES, "result")?,
            reloads: labelled::<UpgradeResult>(process, RELOADS, "result")?,
            spool: SpoolMetrics::new(gateway)?,
            streams: StreamMetrics::new(gateway)?,
            tokens: TokenMetrics::new(gateway)?,
            remote: RemoteMetrics::new(analysis)?,
            turns: TurnMetrics::new(&registries)?,
            limits: LimitMetrics::new(&registries)?,
            upstreams: UpstreamMetrics::new(gateway)?,
            outputs: OutputMetrics::new(&registries)?,
            analysis: AnalysisMetrics::new(analysis)?,
            alerts: AlertMetrics::new(analysis)?,
            costs: CostMetrics::new(analysis)?,
            siem: SiemMetrics::new(analysis)?,
            store: StoreMetrics::new(analysis)?,
            role,
            registries,
        })
    }

    /// One client connection was ended.
    pub fn connection_ended(&self, reason: EndReason) {
        self.ended.with_label_values(&[reason.as_str()]).inc();
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
        self.store.add_failures(&FAILURES);
        let mut text = Vec::with_capacity(32 * 1024);
        // Writing into memory cannot fail.
        let _ = TextEncoder::new().encode(&self.registries.gather(self.role), &mut text);
        text
    }

    pub(super) fn count_removed(&self, cause: RemovalCause, records: u64) {
        self.records_removed.inc_by(records);
        let by_cause = self.removed_by_cause.with_label_values(&[cause.as_str()]);
        by_cause.inc_by(records);
    }

    pub(super) fn record_export_ended(&self, result: RecordExportResult) {
        let by_result = self.record_exports.with_label_values(&[result.as_str()]);
        by_result.inc();
    }

    pub(super) fn upgrade_ended(&self, result: UpgradeResult) {
        self.upgrades.with_label_values(&[result.as_str()]).inc();
    }

    pub(super) fn reload_ended(&self, result: UpgradeResult) {
        self.reloads.with_label_values(&[result.as_str()]).inc();
    }
}

fn build_info(registry: &Registry) -> prometheus::Result<()> {
    let build = IntGaugeVec::new(Opts::new("monitor_build_info", "Always 1."), &["version"])?;
    registry.register(Box::new(build.clone()))?;
    build.with_label_values(&[GATEWAY_VERSION]).set(1);
    Ok(())
}
