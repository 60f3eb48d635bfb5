//! The metrics of what is bounded: client connections, bytes in memory and in files, what was refused
//! for want of room.

use super::super::labels::{AcceptFault, QuotaLimit, Room};
use super::super::registered::{counter, counters, gauge};
use prometheus::{IntCounter, IntCounterVec, IntGauge, Registry};

/// Room, and the want of it.
pub struct LimitMetrics {
    /// Client connections open.
    pub connections: IntGauge,
    /// How many there may be: limits.connections, or what the descriptors allow.
    pub connections_limit: IntGauge,
    /// Times that accepting began to wait because there were that many.
    pub accept_pauses: IntCounter,
    accept_errors: IntCounterVec,
    /// Bytes of requests and answers held in memory; what limits.buffered_bytes is compared with.
    pub buffered_bytes: IntGauge,
    /// Bytes of large request bodies in files.
    pub spilled_bytes: IntGauge,
    /// Calls refused with 503.
    pub overloaded: IntCounterVec,
    /// Calls refused with 429.
    pub refused: IntCounterVec,
}

impl LimitMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        let accept_errors = counters(
            registry,
            "monitor_accept_errors_total",
            "Connections that the system did not give, by reason.",
            &["reason"],
        )?;
        for reason in AcceptFault::ALL {
            accept_errors.with_label_values(&[reason.as_str()]);
        }
        let overloaded = counters(
            registry,
            "monitor_overloaded_total",
            "Calls answered with 503 for want of room, by what there was none in.",
            &["room"],
        )?;
        let refused = counters(
            registry,
            "monitor_rate_limited_total",
            "Calls answered with 429 because of their application's limits.",
            &["limit"],
        )?;
        for room in Room::ALL {
            overloaded.with_label_values(&[room.as_str()]);
        }
        for limit in QuotaLimit::ALL {
            refused.with_label_values(&[limit.as_str()]);
        }
        Ok(Self {
            connections: gauge(
                registry,
                "monitor_connections",
                "Client connections of the gateway's listeners.",
            )?,
            connections_limit: gauge(
                registry,
                "monitor_connections_limit",
                "How many there may be: limits.connections, or what the descriptors allow.",
            )?,
            accept_pauses: counter(
                registry,
                "monitor_accept_pauses_total",
                "Times that accepting began to wait because no more connections were allowed.",
            )?,
            accept_errors,
            buffered_bytes: gauge(
                registry,
                "monitor_buffered_bytes",
                "Bytes of requests and answers held in memory for calls under way.",
            )?,
            spilled_bytes: gauge(
                registry,
                "monitor_spilled_bytes",
                "Bytes of large request bodies held in files.",
            )?,
            overloaded,
            refused,
        })
    }

    /// The system did not give a connection.
    pub fn accept_failed(&self, reason: AcceptFault) {
        self.accept_errors
            .with_label_values(&[reason.as_str()])
            .inc();
    }
}
