//! The metrics of messages about alerts.

use super::register::{About, counters};
use crate::observe::labels::{AlertChannelLabel, AlertResult, Label};
use prometheus::{IntCounterVec, Registry};

const DELIVERIES: About = (
    "monitor_alert_deliveries_total",
    "Attempts to tell a channel of an alert, by kind of channel and result; dead: it is not tried any more.",
);

/// Of an analysis server that tells channels of alerts.
pub struct AlertMetrics {
    deliveries: IntCounterVec,
}

impl AlertMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        let deliveries = counters(registry, DELIVERIES, &["channel_kind", "result"])?;
        for kind in AlertChannelLabel::VALUES {
            for result in AlertResult::VALUES {
                deliveries.with_label_values(&[kind, result]);
            }
        }
        Ok(Self { deliveries })
    }

    /// An attempt ended. A kind of a later version is not counted.
    pub fn delivered(&self, kind: &str, result: AlertResult) {
        if AlertChannelLabel::VALUES.contains(&kind) {
            let counter = self.deliveries.with_label_values(&[kind, result.as_str()]);
            counter.inc();
        }
    }
}
