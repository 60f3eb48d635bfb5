//! What this server knows of the gateways around it: the one of its own process, and what others said of
//! themselves when they registered something here. The rest of what is known of them are their records.

use super::Service;
use super::clock::now_ms;
use crate::telemetry::Spool;
use monitor_model::GatewayReport;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use uuid::Uuid;

/// Gateways whose word is remembered; beyond it the one that was silent longest goes.
const MOST_HEARD: usize = 256;

/// The gateway of the same process.
pub struct GatewayBeside {
    /// Its first listener speaks TLS.
    pub tls: bool,
    /// The address of its first listener; None for every address of the machine.
    pub host: Option<String>,
    /// The port of its first listener.
    pub port: u16,
    /// The built-in demo model answers.
    pub demo: bool,
    /// None where it registers nothing.
    pub spool: Option<Spool>,
}

/// What a gateway said, and when.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    pub(super) report: GatewayReport,
    /// Milliseconds since 1970.
    pub(super) at_ms: i64,
}

/// The gateways around.
#[derive(Default)]
pub(super) struct Neighbours {
    beside: OnceLock<GatewayBeside>,
    heard: Mutex<BTreeMap<Uuid, Heard>>,
}

impl Neighbours {
    fn hear(&self, report: GatewayReport, at_ms: i64) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.insert(report.gateway, Heard { report, at_ms });
        if heard.len() > MOST_HEARD {
            let silent = heard.iter().min_by_key(|(_, heard)| heard.at_ms);
            if let Some(gateway) = silent.map(|(gateway, _)| *gateway) {
                heard.remove(&gateway);
            }
        }
    }
}

impl Service {
    /// Says which gateway runs in this process. Only the first word counts.
    pub fn stands_beside(&self, gateway: GatewayBeside) {
        let _ = self.neighbours.beside.set(gateway);
    }

    /// The gateway of this process.
    pub(super) fn gateway_beside(&self) -> Option<&GatewayBeside> {
        self.neighbours.beside.get()
    }

    /// Takes in what a gateway said of itself with a call that was accepted.
    pub(super) fn heard_of(&self, report: GatewayReport) {
        self.neighbours.hear(report, now_ms());
    }

    /// What gateways said of themselves, that of this process as it is now.
    pub(super) fn reports(&self) -> BTreeMap<Uuid, Heard> {
        let heard = &self.neighbours.heard;
        let mut all = heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let own = self.gateway_beside().and_then(|own| own.spool.as_ref());
        if let Some(report) = own.map(Spool::report) {
            let at_ms = now_ms();
            all.insert(report.gateway, Heard { report, at_ms });
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_gateways_the_silent_ones_are_forgotten() {
        let neighbours = Neighbours::default();
        for number in 0..=MOST_HEARD as u128 {
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
            neighbours.hear(report, number as i64);
        }
        let heard = neighbours
            .heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        assert_eq!(heard.len(), MOST_HEARD);
        assert!(!heard.contains_key(&Uuid::from_u128(0)));
    }
}
