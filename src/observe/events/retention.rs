//! Events of retention.

use crate::observe::labels::RemovalCause;
use crate::observe::metrics::Metrics;
use log::{info, warn};
use monitor_model::ApplicationId;
use std::cmp::Reverse;
use std::fmt::Write as _;

/// The most applications that one log line names.
const NAMED: usize = 5;

/// Records that went for one cause.
pub struct RemovedBy {
    /// Why they went.
    pub cause: RemovalCause,
    /// Number of records.
    pub records: u64,
}

/// What an application lost because it had more than its part of a limit of the whole store.
pub struct AboveItsPart {
    /// The one that lost them.
    pub application: ApplicationId,
    /// Number of records.
    pub records: u64,
}

/// A round of retention ended.
pub struct RetentionRan {
    /// The records deleted, each cause once.
    pub removed: Vec<RemovedBy>,
    /// The applications that had more than their part.
    pub above_their_part: Vec<AboveItsPart>,
    /// Why the round failed before its end.
    pub failure: Option<String>,
}

impl RetentionRan {
    /// Counts; logs what was deleted, and the failure.
    pub fn emit(&mut self, metrics: &Metrics) {
        self.removed.retain(|removed| removed.records > 0);
        for removed in &self.removed {
            metrics.count_removed(removed.cause, removed.records);
        }
        if !self.removed.is_empty() {
            info!(target: "retention", "deleted {}", self.deleted());
        }
        if let Some(failure) = &self.failure {
            metrics.retention_failures.inc();
            warn!(target: "retention", "cannot delete records beyond the retention limits, trying again later: {failure}");
        }
    }

    /// How many records, why, and the applications that lost most because they were above their part.
    fn deleted(&mut self) -> String {
        let all: u64 = self.removed.iter().map(|removed| removed.records).sum();
        let causes = self.removed.iter();
        let causes = causes.map(|one| format!("{} {}", one.cause.as_str(), one.records));
        let causes = causes.collect::<Vec<_>>().join(", ");
        let mut text = format!("{all} records beyond the retention limits ({causes})");
        self.above_their_part
            .sort_by_key(|one| Reverse(one.records));
        for (index, one) in self.above_their_part.iter().take(NAMED).enumerate() {
            let before = match index {
                0 => "; applications above their part of the limit:",
                _ => ",",
            };
            let _ = write!(text, "{before} {} ({})", one.application.0, one.records);
        }
        if self.above_their_part.len() > NAMED {
            let more = self.above_their_part.len() - NAMED;
            let _ = write!(text, " and {more} more");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_causes_and_the_applications_that_lost_most_and_has_a_bound() {
        let ids: Vec<_> = (0..9).map(|_| ApplicationId::random()).collect();
        let lost = ids.iter().zip(1..);
        let by = |cause, records| RemovedBy { cause, records };
        let mut ran = RetentionRan {
            removed: vec![by(RemovalCause::Age, 7), by(RemovalCause::Rows, 45)],
            above_their_part: lost
                .map(|(id, records)| AboveItsPart {
                    application: *id,
                    records,
                })
                .collect(),
            failure: None,
        };
        let text = ran.deleted();
        let is_named = |id: &ApplicationId| text.contains(&id.0.to_string());
        let start = format!(
            "52 records beyond the retention limits (age 7, rows 45); \
             applications above their part of the limit: {} (9), ",
            ids[8].0
        );
        assert!(text.starts_with(&start), "{text}");
        assert!(ids[4..].iter().all(is_named), "{text}");
        assert!(!ids[..4].iter().any(is_named), "{text}");
        assert!(text.ends_with("(5) and 4 more"), "{text}");
    }
}
