//! Events of upgrades and reloads.

use crate::observe::labels::UpgradeResult;
use crate::observe::metrics::Metrics;
use log::{error, info};

/// Another process serves. That process counts it, since this one's metrics are no longer scraped.
pub struct HandedOver;

impl HandedOver {
    /// Logs only: the metrics of this process are no longer scraped.
    pub fn emit(&self) {
        info!("handed over: another process serves, this one ends with its last call");
    }
}

/// A hand-over ended: successfully in the process that took over, or with a failure in the one that keeps serving.
pub struct UpgradeEnded {
    /// Result, a label of the metric.
    pub result: UpgradeResult,
}

impl UpgradeEnded {
    /// Counts and logs.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.upgrade_ended(self.result);
        match self.result {
            UpgradeResult::Done => {
                info!("took over: this process serves in place of the previous one")
            }
            UpgradeResult::Failed => error!("upgrade failed; this process keeps serving"),
        }
    }
}

/// A reload ended.
pub struct ReloadEnded<'a> {
    /// Result, a label of the metric.
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
                    "reload failed, the running configuration stays in force: {}",
                    self.detail
                );
            }
        }
    }
}
