//! Events of scheduled exports of records.

use crate::observe::labels::RecordExportResult;
use crate::observe::metrics::Metrics;
use log::{info, warn};

/// The object of a day was written, or not.
pub struct RecordExportEnded<'a> {
    /// The export's name in the configuration.
    pub export: &'a str,
    /// The object's name.
    pub object: &'a str,
    /// Why it was not written.
    pub failure: Option<String>,
}

impl RecordExportEnded<'_> {
    /// Counts and logs it.
    pub fn emit(&self, metrics: &Metrics) {
        let (export, object) = (self.export, self.object);
        match &self.failure {
            None => {
                metrics.record_export_ended(RecordExportResult::Written);
                info!(target: "exports", "export {export}: wrote {object}");
            }
            Some(failure) => {
                metrics.record_export_ended(RecordExportResult::Failed);
                warn!(target: "exports", "export {export}: cannot write {object}, trying again later: {failure}");
            }
        }
    }
}
