//! Events of calls and of client connections.

mod attachments;
mod streams;

pub use attachments::{AttachmentsAbandoned, AttachmentsEnded};
pub use streams::{StreamAsked, Unreplayed};

use crate::observe::labels::{EndReason, Label, Outcome, RecordSender, RouteLabel, TokenType};
use crate::observe::metrics::{CallTimes, Metrics};
use crate::observe::throttle::Throttle;
use log::{info, warn};
use std::sync::LazyLock;
use std::time::Duration;

/// One call ended: the access line.
pub struct CallEnded<'a> {
    /// Endpoint of the call.
    pub route: RouteLabel,
    /// How it ended.
    pub outcome: Outcome,
    /// The status the client got, 0 for none.
    pub status: u16,
    /// Value of `X-Request-Id` of the call.
    pub request_id: &'a str,
    /// Body bytes to the client.
    pub bytes_sent: usize,
    /// What it took.
    pub times: CallTimes,
    /// What went wrong, in fixed words that quote no data.
    pub detail: Option<&'static str>,
    /// Whether the caller's access key is one that a backend has accepted.
    pub is_key_accepted: bool,
}

/// A model server counted the tokens of a call.
pub struct TokensUsed {
    /// Endpoint of the call.
    pub route: RouteLabel,
    /// Tokens of the request.
    pub input: Option<u64>,
    /// Tokens of the answer.
    pub output: Option<u64>,
}

impl TokensUsed {
    /// A side that the server has not counted leaves no sample.
    pub fn emit(&self, metrics: &Metrics) {
        for (kind, tokens) in [
            (TokenType::Input, self.input),
            (TokenType::Output, self.output),
        ] {
            if let Some(tokens) = tokens {
                metrics.tokens.used(self.route, kind, tokens);
            }
        }
    }
}

impl CallEnded<'_> {
    /// Updates the metrics; the line is written by the access log.
    pub fn count(&self, metrics: &Metrics) {
        metrics.call_ended(self.route, self.outcome, self.times);
    }

    /// Whether a model server took the call and answered it, or a policy did. Not every model server looks at the key.
    pub fn is_answered(&self) -> bool {
        match self.route {
            RouteLabel::Docs | RouteLabel::Other => false,
            _ => matches!(self.outcome, Outcome::Ok | Outcome::Blocked),
        }
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

/// An upstream connection failed before it could accept a byte; the call is tried again once.
pub struct UpstreamRetried;

static RETRIED: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(10)));

impl UpstreamRetried {
    /// Counts; says it at most once in ten seconds.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.upstream_retries.inc();
        if let Some(count) = RETRIED.pass() {
            info!(
                target: "gateway",
                "upstream connection accepted no byte, retrying once ({count} since the last line)",
            );
        }
    }
}

/// A keepalive comment went into a silent stream.
pub struct HeartbeatSent;

impl HeartbeatSent {
    /// Updates the metric, without a log line.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.heartbeats.inc();
    }
}

/// A client's connection was ended because of how it used it.
pub struct ConnectionEnded {
    /// Reason, a label of the metric.
    pub reason: EndReason,
}

/// One for each reason.
static ENDED: LazyLock<[Throttle; EndReason::ALL.len()]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(Duration::from_secs(10))));

impl ConnectionEnded {
    /// Counts; says it at most once in ten seconds and reason.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.connection_ended(self.reason);
        let throttle = ENDED.get(self.reason as usize);
        if let Some(count) = throttle.and_then(Throttle::pass) {
            info!(
                target: "gateway",
                "client connection closed: {} ({count} since the last line)",
                self.reason.as_str(),
            );
        }
    }
}

/// The backend stored a record without its parts, because it did not say whether it takes them.
pub struct ToolPartsOmitted {
    /// Who sent the record.
    pub sender: RecordSender,
    /// Number of parts.
    pub count: u64,
}

static TOOL_PARTS_OMITTED: LazyLock<Throttle> =
    LazyLock::new(|| Throttle::every(Duration::from_secs(10)));

impl ToolPartsOmitted {
    /// Counts; warns at most once in ten seconds.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.tool_parts_omitted(self.sender, self.count);
        if let Some(records) = TOOL_PARTS_OMITTED.pass() {
            warn!(
                target: "telemetry",
                "a record was sent without its tool calls or results: the backend does not say whether it takes them \
                 ({records} since the last line)",
            );
        }
    }
}
