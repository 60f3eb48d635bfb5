//! Calls of sync mode that asked for a stream (CONTRACT 2, 41, 43).

use super::register::{About, labelled};
use crate::observe::labels::{StreamHandling, UnreplayedReason};
use prometheus::{IntCounterVec, Registry};

const ASKED: About = (
    "monitor_sync_streams_total",
    "Calls of sync mode that asked for a stream, by how they were handled.",
);
const UNREPLAYED: About = (
    "monitor_unreplayed_answers_total",
    "Answers that went to a client as they are although it was to get a stream, by reason.",
);

/// How the streams that calls of sync mode asked for were handled.
pub struct StreamMetrics {
    asked: IntCounterVec,
    unreplayed: IntCounterVec,
}

impl StreamMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        Ok(Self {
            asked: labelled::<StreamHandling>(registry, ASKED, "handling")?,
            unreplayed: labelled::<UnreplayedReason>(registry, UNREPLAYED, "reason")?,
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
