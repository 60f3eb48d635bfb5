//! What happened, one struct per event: the log line and the counter are born together. No event
//! carries a body, a key or a person's data.
//!
//! Long because: it is one table, and each event stands in it once.

use super::labels::{
    AttachmentOutcome, EndReason, Outcome, RouteLabel, TelemetryOutcome, UncheckedReason,
    UnrestoredReason, VerdictType,
};
use super::labels::{RemoteLabel, RemoteOutcome};
use super::metrics::{CallTimes, Metrics};
use super::throttle::Throttle;
use crate::model::Stage;
use log::{info, warn};
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
    pub detail: Option<&'a str>,
}

impl CallEnded<'_> {
    /// Counts and logs.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.call_ended(self.route, self.outcome, self.times);
        info!(
            target: "access",
            "route={} status={} outcome={} request_id={} bytes={} total_ms={:.3} overhead_us={:.0}{}{}",
            self.route.as_str(),
            self.status,
            self.outcome.as_str(),
            self.request_id,
            self.bytes_sent,
            self.times.total * 1e3,
            self.times.overhead.unwrap_or_default() * 1e6,
            if self.detail.is_some() { " detail=" } else { "" },
            self.detail.unwrap_or_default(),
        );
    }
}

/// A record's fate at the backend.
pub struct RecordLeft<'a> {
    /// Which record.
    pub stage: Stage,
    /// What became of it.
    pub outcome: TelemetryOutcome,
    /// Why, in words of ours; empty when delivered.
    pub reason: &'a str,
}

static UNDELIVERED: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(10)));

impl RecordLeft<'_> {
    /// Counts; warns at most once in ten seconds.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.telemetry(self.stage, self.outcome);
        if self.outcome == TelemetryOutcome::Delivered {
            return;
        }
        if let Some(count) = UNDELIVERED.pass() {
            warn!(
                target: "telemetry",
                "{} record {}: {} ({count} such since the last line)",
                self.stage.record_name(),
                self.outcome.as_str(),
                self.reason,
            );
        }
    }
}

/// The backend did not answer; the record is sent again.
pub struct RecordDelayed<'a> {
    /// Which record.
    pub stage: Stage,
    /// Why, in words of ours.
    pub reason: &'a str,
}

impl RecordDelayed<'_> {
    /// Counts; warns at most once in ten seconds.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.telemetry_retries.inc();
        if let Some(count) = DELAYED.pass() {
            warn!(
                target: "telemetry",
                "{} record failed and is sent again: {} ({count} such since the last line)",
                self.stage.record_name(),
                self.reason,
            );
        }
    }
}

/// Records left the spool without having been delivered.
pub struct SpoolLost {
    /// `full`, `old` or `disk`.
    pub reason: &'static str,
    /// How many.
    pub count: u64,
}

impl SpoolLost {
    /// Counts and says it.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.spool_lost(self.reason, self.count);
        log::error!(
            target: "telemetry",
            "{} records left the spool undelivered, reason: {} (spool.max_bytes, spool.max_age)",
            self.count,
            self.reason,
        );
    }
}

/// Dead letters for which `spool.max_dead_bytes` left no room, or that went to make some.
pub struct LettersLost {
    /// How many.
    pub count: u64,
}

impl LettersLost {
    /// Counts; says it at most once in ten seconds, with how often it came since.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.spool_letters_lost.inc_by(self.count);
        if let Some(count) = LETTERS.pass() {
            log::error!(
                target: "telemetry",
                "{} dead letters are gone (spool.max_dead_bytes; {count} such lines since the last one)",
                self.count,
            );
        }
    }
}

/// The spool's thread panicked and goes on.
pub struct SpoolThread;

impl SpoolThread {
    /// Counts and says it.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.spool_panics.inc();
        log::error!(
            target: "telemetry",
            "the thread that writes the spool panicked and goes on; until it writes again the disk counts as refusing",
        );
    }
}

/// A part of the spool's files could not be read and is kept beside it.
pub struct SpoolDamaged {
    /// Its size.
    pub bytes: u64,
}

impl SpoolDamaged {
    /// Counts and says it.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.spool_damaged.inc();
        log::error!(
            target: "telemetry",
            "{} bytes of the spool cannot be read; the file is kept with the ending .damaged",
            self.bytes,
        );
    }
}

/// The spool's disk refuses.
pub struct SpoolDisk<'a> {
    /// The system's words.
    pub error: &'a std::io::Error,
}

impl SpoolDisk<'_> {
    /// Says it, at most once in ten seconds.
    pub fn emit(&self, _metrics: &Metrics) {
        if let Some(count) = DISK.pass() {
            log::error!(
                target: "telemetry",
                "the spool's disk refuses: {}; records wait in memory ({count} such since the last line)",
                self.error,
            );
        }
    }
}

static DELAYED: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(10)));
static LETTERS: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(10)));
static DISK: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(10)));

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
static ENDED: LazyLock<[Throttle; 2]> =
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

/// All attached files of one call have come to their ends (§7.3.2).
pub struct AttachmentsEnded<'a> {
    /// `X-Request-Id`.
    pub request_id: &'a str,
    /// Files that the backend has.
    pub attached: u64,
    /// The others: which one of the list, counted from 1 (0 is the list itself), why, and the same
    /// in words of ours.
    pub skipped: &'a [(usize, AttachmentOutcome, String)],
}

impl AttachmentsEnded<'_> {
    /// Counts; warns in one line for all that were skipped.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.attachments(AttachmentOutcome::Attached, self.attached);
        for (_, outcome, _) in self.skipped {
            metrics.attachments(*outcome, 1);
        }
        if self.skipped.is_empty() {
            return;
        }
        let faults = self.skipped.iter().map(|(place, outcome, why)| {
            format!(
                "#{place} {}{}{why}",
                outcome.as_str(),
                if why.is_empty() { "" } else { ": " }
            )
        });
        warn!(
            target: "attachments",
            "attachments skipped: {} of {}; request_id={}; {}",
            self.skipped.len(),
            self.skipped.len() as u64 + self.attached,
            self.request_id,
            faults.collect::<Vec<_>>().join("; "),
        );
    }
}

/// The files of one call went without having been looked at; counted as one.
pub struct AttachmentsLeft<'a> {
    /// `X-Request-Id`.
    pub request_id: &'a str,
    /// `no_record` or `dropped`.
    pub outcome: AttachmentOutcome,
    /// Why.
    pub reason: &'static str,
}

static UNSEEN: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(10)));

impl AttachmentsLeft<'_> {
    /// Counts; warns at most once in ten seconds.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.attachments(self.outcome, 1);
        if let Some(count) = UNSEEN.pass() {
            warn!(
                target: "attachments",
                "attachments of a call {}: {}; request_id={} ({count} such since the last line)",
                self.outcome.as_str(),
                self.reason,
                self.request_id,
            );
        }
    }
}

/// A server that an analysis asks was asked, or could not be.
pub struct RemoteAsked<'a> {
    /// Which.
    pub check: RemoteLabel,
    /// What came of it.
    pub outcome: RemoteOutcome,
    /// The same in words of ours; empty when it answered.
    pub detail: &'a str,
}

/// One for each server, so that none hides another.
static ASKED: LazyLock<[Throttle; 3]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(Duration::from_secs(10))));

impl RemoteAsked<'_> {
    /// Counts; warns at most once in ten seconds and server.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.remote.called(self.check, self.outcome);
        if self.outcome == RemoteOutcome::Answered {
            return;
        }
        let throttle = ASKED.get(self.check as usize);
        if let Some(count) = throttle.and_then(Throttle::pass) {
            warn!(
                target: "analysis",
                "{} gave no verdict ({}): {} ({count} such since the last line)",
                self.check.as_str(),
                self.outcome.as_str(),
                self.detail,
            );
        }
    }
}

/// A server that an analysis asks went down or came back.
pub struct RemoteTurned {
    /// Which.
    pub check: RemoteLabel,
    /// Whether it is left alone from now on.
    pub is_down: bool,
}

impl RemoteTurned {
    /// Sets the gauge and says it.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.remote.down(self.check, self.is_down);
        let check = self.check.as_str();
        match self.is_down {
            true => {
                warn!(target: "analysis", "{check} does not answer and is left alone for a while")
            }
            false => info!(target: "analysis", "{check} answers again"),
        }
    }
}

/// Custom policies were looked for by their words, because there is no judge.
pub struct CuesOnly;

impl CuesOnly {
    /// Counts. Each answer says it.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.remote.cues_only.inc();
    }
}
