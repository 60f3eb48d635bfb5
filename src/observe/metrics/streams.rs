//! Calls of sync mode that asked for a stream (CONTRACT 2, 41, 43).

use super::register::{About, labelled};
use crate::observe::labels::{StreamHandling, UnreplayedReason};
use prometheus::{IntCounterVec, Registry};

const ASKED: About = (
    "monitor_sync_streams_total",
    "Calls of sync mode that asked for a stream, by what became of it.",
);
const UNREPLAYED: About = (
    "monitor_unreplayed_answers_total",
    "Answers that went to a client as they are although it was to get a stream, by reason.",
);

/// What became of the streams that calls of sync mode asked for.
pub struct StreamMetrics {
    asked: IntCounterVec,
    unreplayed: IntCounterVec,
}

impl StreamMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        let handlings = StreamHandling::ALL.iter().map(|handling| handling.as_str());
        let reasons = UnreplayedReason::ALL.iter().map(|reason| reason.as_str());
        Ok(Self {
            asked: labelled(registry, ASKED, "handling", handlings)?,
            unreplayed: labelled(registry, UNREPLAYED, "reason", reasons)?,
        })
    }

    /// One call asked for a stream.
    pub fn asked(&self, handling: StreamHandling) {
        self.asked.with_label_values(&[handling.as_str()]).inc();
    }

    /// One answer could not be sent as a stream.
    pub fn unreplayed(&self, reason: UnreplayedReason) {
        self.unreplayed.with_label_values(&[reason.as_str()]).inc();
    }
}
