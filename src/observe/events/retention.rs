//! Events of retention.

use crate::observe::metrics::Metrics;
use log::{info, warn};

/// A round of retention ended.
pub struct RetentionRan {
    /// Number of records deleted.
    pub removed: u64,
    /// Why the round failed before its end.
    pub failure: Option<String>,
}

impl RetentionRan {
    /// Counts; logs what was deleted, and the failure.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.records_removed.inc_by(self.removed);
        if self.removed > 0 {
            info!(target: "retention", "deleted {} records beyond the retention limits", self.removed);
        }
        if let Some(failure) = &self.failure {
            metrics.retention_failures.inc();
            warn!(target: "retention", "cannot delete records beyond the retention limits, trying again later: {failure}");
        }
    }
}
