//! The gateways that send records to this server: the one of its own process, and what others reported about
//! themselves along with a record. Everything else known of a gateway is in its records.

use crate::analysis::clock::now_ms;
use crate::spool::Spool;
use monitor_model::GatewayReport;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use uuid::Uuid;

/// Gateways whose report is remembered; beyond that the oldest report is dropped.
const MOST_GATEWAYS: usize = 256;

/// The gateway of the same process.
pub struct LocalGateway {
    /// Its first listener speaks TLS.
    pub tls: bool,
    /// The address of its first listener; None for every address of the machine.
    pub host: Option<String>,
    /// The port of its first listener.
    pub port: u16,
    /// The built-in demo model answers.
    pub demo: bool,
    /// Its spool; None where it registers nothing.
    pub spool: Option<Spool>,
}

/// What a gateway reported, and when.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedReport {
    pub(crate) report: GatewayReport,
    /// Milliseconds since 1970.
    pub(crate) at_ms: i64,
}

/// The local gateway and the latest report of each other one.
#[derive(Default)]
pub struct GatewayRegistry {
    local: OnceLock<LocalGateway>,
    received: Mutex<BTreeMap<Uuid, ReceivedReport>>,
}

impl GatewayRegistry {
    /// Sets the gateway that runs in this process. Only the first call counts.
    pub fn set_local(&self, gateway: LocalGateway) {
        let _ = self.local.set(gateway);
    }

    /// The gateway of this process.
    pub(crate) fn local(&self) -> Option<&LocalGateway> {
        self.local.get()
    }

    /// Remembers what a gateway reported about itself in a call that was accepted.
    pub(crate) fn record(&self, report: GatewayReport) {
        self.record_at(report, now_ms());
    }

    fn record_at(&self, report: GatewayReport, at_ms: i64) {
        let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        received.insert(report.gateway, ReceivedReport { report, at_ms });
        if received.len() > MOST_GATEWAYS {
            let oldest = received.iter().min_by_key(|(_, received)| received.at_ms);
            if let Some(gateway) = oldest.map(|(gateway, _)| *gateway) {
                received.remove(&gateway);
            }
        }
    }

    /// The latest report of each gateway; that of this process as of now.
    pub(crate) fn reports(&self) -> BTreeMap<Uuid, ReceivedReport> {
        let received = &self.received;
        let mut all = received
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let own = self.local().and_then(|own| own.spool.as_ref());
        if let Some(report) = own.map(Spool::report) {
            let at_ms = now_ms();
            all.insert(report.gateway, ReceivedReport { report, at_ms });
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_gateways_the_silent_ones_are_forgotten() {
        let registry = GatewayRegistry::default();
        for number in 0..=MOST_GATEWAYS as u128 {
            let report = GatewayReport {
                gateway: Uuid::from_u128(number),
                version: "1".to_owned(),
                records: 0,
                bytes: 0,
                oldest_seconds: 0,
                dead_letters: 0,
                degraded: false,
                overhead: None,
            };
            registry.record_at(report, number as i64);
        }
        let received = registry
            .received
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        assert_eq!(received.len(), MOST_GATEWAYS);
        assert!(!received.contains_key(&Uuid::from_u128(0)));
    }
}
