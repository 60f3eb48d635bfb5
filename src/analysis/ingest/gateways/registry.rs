//! The gateways that send records to this server: the one of its own process, and what others reported about
//! themselves along with a record. `reports` shares the reports with other servers over the same store.
//! Everything else known of a gateway is in its records.

use crate::analysis::clock::now_ms;
use crate::spool::Spool;
use monitor_model::GatewayReport;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::Notify;
use uuid::Uuid;

// The type of the store that the front ends get.
pub(crate) use monitor_store::ReceivedReport;

/// Gateways whose report is remembered; beyond that the oldest report is dropped.
pub(super) const MOST_GATEWAYS: u32 = 1_000;

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

/// The local gateway and the latest report of each other one that this server received.
#[derive(Default)]
pub struct GatewayRegistry {
    local: OnceLock<LocalGateway>,
    received: Mutex<Received>,
    /// There are reports that no other server knows.
    news: Notify,
}

#[derive(Default)]
struct Received {
    reports: BTreeMap<Uuid, ReceivedReport>,
    /// Those that the store does not have yet.
    unwritten: BTreeSet<Uuid>,
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

    /// What the gateway of this process says now.
    pub(crate) fn own_report(&self) -> Option<GatewayReport> {
        self.local()?.spool.as_ref().map(Spool::report)
    }

    /// Remembers what a gateway reported about itself in a call that was accepted.
    pub(crate) fn record(&self, report: GatewayReport) {
        self.record_at(report, now_ms());
        self.news.notify_one();
    }

    pub(super) fn record_at(&self, report: GatewayReport, at_ms: i64) {
        let gateway = report.gateway;
        let mut received = self.received();
        let Received { reports, unwritten } = &mut *received;
        reports.insert(gateway, ReceivedReport { report, at_ms });
        unwritten.insert(gateway);
        if reports.len() > MOST_GATEWAYS as usize {
            let oldest = reports.iter().min_by_key(|(_, received)| received.at_ms);
            if let Some(gateway) = oldest.map(|(gateway, _)| *gateway) {
                reports.remove(&gateway);
                unwritten.remove(&gateway);
            }
        }
    }

    /// Waits until there are reports that the store does not have.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

    /// The reports that the store does not have; they count as written from here on.
    pub(super) fn take_unwritten(&self) -> Vec<ReceivedReport> {
        let mut received = self.received();
        let unwritten = std::mem::take(&mut received.unwritten);
        let reports = unwritten
            .iter()
            .filter_map(|gateway| received.reports.get(gateway));
        reports.cloned().collect()
    }

    /// They were not written after all.
    pub(super) fn give_back(&self, reports: &[ReceivedReport]) {
        let mut received = self.received();
        let Received {
            reports: known,
            unwritten,
        } = &mut *received;
        let gateways = reports.iter().map(|one| one.report.gateway);
        unwritten.extend(gateways.filter(|gateway| known.contains_key(gateway)));
    }

    /// The latest report of each gateway that this server received.
    pub(super) fn reports(&self) -> BTreeMap<Uuid, ReceivedReport> {
        self.received().reports.clone()
    }

    fn received(&self) -> MutexGuard<'_, Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_gateways_the_silent_ones_are_forgotten() {
        let registry = GatewayRegistry::default();
        for number in 0..=u128::from(MOST_GATEWAYS) {
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
        let received = registry.received();
        assert_eq!(received.unwritten.len(), MOST_GATEWAYS as usize);
        assert_eq!(received.reports.len(), MOST_GATEWAYS as usize);
        assert!(!received.reports.contains_key(&Uuid::from_u128(0)));
    }
}
