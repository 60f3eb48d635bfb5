//! What became of upgrades and reloads: a log line and a counter each, as in `events`.

use super::metrics::Metrics;
use log::{error, info};

/// How a change of process or configuration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeResult {
    /// The new one is in force.
    Done,
    /// The old one goes on.
    Failed,
}

impl UpgradeResult {
    /// Every result, in the order of its index.
    pub const ALL: [Self; 2] = [Self::Done, Self::Failed];

    /// The label's value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "ok",
            Self::Failed => "failed",
        }
    }
}

/// Another process serves; it is the one that counts that, since nobody reads this one's metrics any more.
pub struct HandedOver;

impl HandedOver {
    /// Says it.
    pub fn emit(&self) {
        info!("another process serves from here on; this one ends with its last call");
    }
}

/// A hand-over ended, well in the process that took over, else in the one that goes on.
pub struct UpgradeEnded {
    /// How.
    pub result: UpgradeResult,
}

impl UpgradeEnded {
    /// Counts and logs.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.upgrade_ended(self.result);
        match self.result {
            UpgradeResult::Done => info!("this process serves in the place of the one before"),
            UpgradeResult::Failed => error!("an upgrade failed; this process goes on"),
        }
    }
}

/// A reload ended.
pub struct ReloadEnded<'a> {
    /// How.
    pub result: UpgradeResult,
    /// What took effect, or why nothing did; no values of settings.
    pub detail: &'a str,
}

impl ReloadEnded<'_> {
    /// Counts and logs.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.reload_ended(self.result);
        match self.result {
            UpgradeResult::Done => info!("configuration reloaded: {}", self.detail),
            UpgradeResult::Failed => {
                error!(
                    "the configuration was not reloaded, the running one stays in force: {}",
                    self.detail
                );
            }
        }
    }
}
