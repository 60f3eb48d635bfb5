//! What happened, one struct per event: the log line and the counter are born together. No event
//! carries a body, a key or a person's data.

mod attachments;
mod limits;
mod outputs;
mod remote;
mod spool;
mod upstreams;

pub use super::labels::{ClearTextTarget, LinesLost, SpansLost};
pub use attachments::{AttachmentsEnded, AttachmentsLeft};
pub use limits::{AcceptFailed, AcceptPaused, CallRefused, Overloaded, SpilledEarly};
pub use outputs::{AccessLinesLost, ClearTextSecret, ExportFailed, SpansDropped, SpansExported};
pub use remote::{CuesOnly, RemoteAsked, RemoteTurned};
pub use spool::{
    LettersLost, RecordDelayed, RecordLeft, SpoolDamaged, SpoolDisk, SpoolLost, SpoolThread,
};
pub use upstreams::{FailedOver, UpstreamTurned};

use super::labels::{
    EndReason, Outcome, RouteLabel, UncheckedReason, UnrestoredReason, VerdictType,
};
use super::metrics::{CallTimes, Metrics};
use super::throttle::Throttle;
use log::{info, warn};
use monitor_model::Stage;
use std::sync::LazyLock;
use std::time::Duration;

/// One call ended: the access line.
pub struct CallEnded<'a> {
    /// Which endpoint.
    pub route: RouteLabel,
    /// How it ended.
    pub outcome: Outcome,
    /// The status the client got, 0 for none.
    pub status: u16,
    /// `X-Request-Id`.
    pub request_id: &'a str,
    /// Body bytes to the client.
    pub bytes_sent: usize,
    /// What it took.
    pub times: CallTimes,
    /// What went wrong, in words of ours.
    pub detail: Option<&'static str>,
}

impl CallEnded<'_> {
    /// Counts.
    pub fn count(&self, metrics: &Metrics) {
        metrics.call_ended(self.route, self.outcome, self.times);
    }

    /// The short line of the log.
    pub fn line(&self) -> String {
        format!(
            "route={} status={} outcome={} request_id={} bytes={} total_ms={:.3} overhead_us={:.0}{}{}",
            self.route.as_str(),
            self.status,
            self.outcome.as_str(),
            self.request_id,
            self.bytes_sent,
            self.times.total * 1e3,
            self.times.overhead.unwrap_or_default() * 1e6,
            if self.detail.is_some() {
                " detail="
            } else {
                ""
            },
            self.detail.unwrap_or_default(),
        )
    }
}

/// A call was answered with its policy's phrase (§2.4).
pub struct Blocked<'a> {
    /// Before or after the upstream call.
    pub stage: Stage,
    /// What was found.
    pub kind: VerdictType,
    /// `X-Request-Id`.
    pub request_id: &'a str,
}

impl Blocked<'_> {
    /// Counts and logs.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.verdict(self.stage, self.kind);
        info!(
            target: "policy",
            "blocked stage={} type={} request_id={}",
            self.stage.as_str(),
            self.kind.as_str(),
            self.request_id,
        );
    }
}

/// A message of sync mode got no verdict, or whether there is a policy was never known.
pub struct Unchecked<'a> {
    /// Why.
    pub reason: UncheckedReason,
    /// The same in words of ours.
    pub detail: &'a str,
    /// What becomes of the call.
    pub consequence: &'a str,
}

/// One for each reason, so that none hides another.
static UNCHECKED: LazyLock<[Throttle; 6]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(Duration::from_secs(10))));

impl Unchecked<'_> {
    /// Counts; warns at most once in ten seconds and reason. The access line names every such call.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.unchecked(self.reason);
        let throttle = UNCHECKED.get(self.reason as usize);
        if let Some(count) = throttle.and_then(Throttle::pass) {
            warn!(
                target: "policy",
                "no verdict ({}): {}; {} ({count} such since the last line)",
                self.reason.as_str(),
                self.detail,
                self.consequence,
            );
        }
    }
}

/// A round of retention ended.
pub struct RetentionRan {
    /// Records removed.
    pub removed: u64,
    /// Why it did not come to its end.
    pub failure: Option<String>,
}

impl RetentionRan {
    /// Counts; says what went, and what did not.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.records_removed.inc_by(self.removed);
        if self.removed > 0 {
            info!(target: "retention", "removed {} records beyond the limits", self.removed);
        }
        if let Some(failure) = &self.failure {
            metrics.retention_failures.inc();
            warn!(target: "retention", "records beyond the limits have to wait: {failure}");
        }
    }
}

/// An upstream connection failed before it could accept a byte; the call is tried again once.
pub struct UpstreamRetried;

impl UpstreamRetried {
    /// Counts and logs.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.upstream_retries.inc();
        info!(target: "gateway", "upstream connection accepted no byte, trying once more");
    }
}

/// A keepalive comment went into a silent stream.
pub struct HeartbeatSent;

impl HeartbeatSent {
    /// Counts.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.heartbeats.inc();
    }
}

/// A client's connection was ended because of how it used it.
pub struct ConnectionEnded {
    /// Why.
    pub reason: EndReason,
}

/// One for each reason.
static ENDED: LazyLock<[Throttle; 4]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(Duration::from_secs(10))));

impl ConnectionEnded {
    /// Counts; says it at most once in ten seconds and reason.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.connection_ended(self.reason);
        let throttle = ENDED.get(self.reason as usize);
        if let Some(count) = throttle.and_then(Throttle::pass) {
            info!(
                target: "gateway",
                "client connection ended: {} ({count} such since the last line)",
                self.reason.as_str(),
            );
        }
    }
}

/// Something in a prompt gave way to placeholders on its way to the upstream (CONTRACT 41).
pub struct PromptRedacted;

impl PromptRedacted {
    /// Counts. What it was is nobody's to log.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.redacted_prompts.inc();
    }
}

/// An answer, or a part of it, went to its client with the placeholders of the redacted prompt.
pub struct Unrestored {
    /// Why.
    pub reason: UnrestoredReason,
}

static UNRESTORED: LazyLock<[Throttle; 3]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(Duration::from_secs(10))));

impl Unrestored {
    /// Counts; warns at most once in ten seconds and reason.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.unrestored(self.reason);
        let throttle = UNRESTORED.get(self.reason as usize);
        if let Some(count) = throttle.and_then(Throttle::pass) {
            warn!(
                target: "policy",
                "an answer to a redacted prompt passes as it is: {} ({count} such since the last line)",
                self.reason.as_str(),
            );
        }
    }
}
