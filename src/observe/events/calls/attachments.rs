//! Events of attached files (§7.3.2).

use crate::observe::labels::AttachmentOutcome;
use crate::observe::metrics::Metrics;
use crate::observe::throttle::Throttle;
use log::warn;
use std::sync::LazyLock;
use std::time::Duration;

/// All attached files of one call are done (§7.3.2).
pub struct AttachmentsEnded<'a> {
    /// Value of `X-Request-Id` of the call.
    pub request_id: &'a str,
    /// Files that the backend has.
    pub attached: u64,
    /// The others: place in the list from 1 (0 is the list itself), outcome, and the reason in fixed words.
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

/// The files of one call were dropped unread; counted as one.
pub struct AttachmentsAbandoned<'a> {
    /// Value of `X-Request-Id` of the call.
    pub request_id: &'a str,
    /// `no_record` or `dropped`.
    pub outcome: AttachmentOutcome,
    /// Reason in plain words, for the log.
    pub reason: &'static str,
}

static UNSEEN: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(10)));

impl AttachmentsAbandoned<'_> {
    /// Counts; warns at most once in ten seconds.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.attachments(self.outcome, 1);
        if let Some(count) = UNSEEN.pass() {
            warn!(
                target: "attachments",
                "attachments of a call {}: {}; request_id={} ({count} since the last line)",
                self.outcome.as_str(),
                self.reason,
                self.request_id,
            );
        }
    }
}
