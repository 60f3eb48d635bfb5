//! Events of policies: blocked and unchecked messages, redacted prompts.

use crate::observe::labels::{UncheckedReason, UnrestoredReason, VerdictType};
use crate::observe::metrics::Metrics;
use crate::observe::throttle::Throttle;
use log::{info, warn};
use monitor_model::Stage;
use std::sync::LazyLock;
use std::time::Duration;

/// A call was answered with its policy's phrase (§2.4).
pub struct Blocked<'a> {
    /// Before or after the upstream call.
    pub stage: Stage,
    /// What was found.
    pub kind: VerdictType,
    /// Value of `X-Request-Id` of the call.
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

/// A message of sync mode got no verdict, or its policy is unknown.
pub struct Unchecked<'a> {
    /// Reason, a label of the metric.
    pub reason: UncheckedReason,
    /// The reason in fixed words.
    pub detail: &'a str,
    /// The outcome of the call, for the log.
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
                "no verdict ({}): {}; {} ({count} since the last line)",
                self.reason.as_str(),
                self.detail,
                self.consequence,
            );
        }
    }
}

/// Findings in a prompt were replaced by placeholders on the way to the upstream (CONTRACT 41).
pub struct PromptRedacted;

impl PromptRedacted {
    /// Updates the metric. The finding itself is never logged.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.redacted_prompts.inc();
    }
}

/// An answer, or a part of it, went to its client with the placeholders of the redacted prompt.
pub struct Unrestored {
    /// Reason, a label of the metric.
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
                "an answer to a redacted prompt keeps its placeholders: {} ({count} since the last line)",
                self.reason.as_str(),
            );
        }
    }
}
