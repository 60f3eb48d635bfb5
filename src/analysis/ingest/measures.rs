//! What the metrics show of messages: what was found in them, the time of each step, and what was stored.

use super::Ingest;
use crate::observe::events::IdReused;
use crate::observe::{AnalysisResult, AnalysisStep, IncompleteReason, Metrics, ReusedId};
use monitor_detect::NOT_ANALYZED;
use monitor_model::{AnalysisResponse, Stage, Status};
use monitor_store::Insertion;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs from the hand-over of a record to the store until it is durable.
pub(super) struct StoreTimer {
    metrics: Option<Arc<Metrics>>,
    stage: Stage,
    began: Instant,
}

impl StoreTimer {
    /// The record is durable.
    pub(super) fn stored(&self, insertion: &Insertion) {
        if let Some(metrics) = &self.metrics {
            metrics.analysis.stored(self.stage, self.began.elapsed());
        }
        if matches!(insertion, Insertion::Apart(_)) {
            self.id_reused(ReusedId::StoredApart);
        }
    }

    /// The record has the id of a stored one with another text.
    pub(super) fn id_reused(&self, outcome: ReusedId) {
        if let Some(metrics) = &self.metrics {
            IdReused { outcome }.emit(metrics);
        }
    }
}

impl Ingest {
    /// Reads a request, and counts the time it takes.
    pub(crate) fn timed_parse<T>(&self, parse: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let parsed = parse();
        if let Some(metrics) = self.remote().metrics() {
            metrics.analysis.took(AnalysisStep::Parse, began.elapsed());
        }
        parsed
    }

    /// A record is handed to the store.
    pub(super) fn store_timer(&self, stage: Stage) -> StoreTimer {
        StoreTimer {
            metrics: self.remote().metrics().cloned(),
            stage,
            began: Instant::now(),
        }
    }

    /// A record has the id of a stored one with another text.
    pub(super) fn id_reused(&self, outcome: ReusedId) {
        if let Some(metrics) = self.remote().metrics() {
            IdReused { outcome }.emit(metrics);
        }
    }

    /// A message was analyzed.
    pub(super) fn count_analyzed(&self, stage: Stage, answer: &AnalysisResponse) {
        let Some(metrics) = self.remote().metrics() else {
            return;
        };
        metrics.analysis.analyzed(stage, result(answer));
        for reason in [IncompleteReason::Failed, IncompleteReason::Budget] {
            if answer
                .errors
                .iter()
                .any(|error| incomplete(error) == reason)
            {
                metrics.analysis.incomplete(stage, reason);
            }
        }
        let timings = &answer.timings;
        for (step, took_us) in [
            (AnalysisStep::Dataclean, timings.dataclean_us),
            (AnalysisStep::Guardrails, timings.guardrails_us),
            (AnalysisStep::CustomPolicy, timings.custom_policy_us),
        ] {
            // What did not run took no time.
            if took_us > 0 {
                metrics.analysis.took(step, Duration::from_micros(took_us));
            }
        }
    }
}

/// Why the stage that an entry of `errors` names did not look at everything.
fn incomplete(error: &str) -> IncompleteReason {
    let failure = error.split_once(": ").map_or(error, |(_, failure)| failure);
    // Other servers name the setting that bounds what they get.
    match failure.starts_with(NOT_ANALYZED) || failure.contains("max_text)") {
        true => IncompleteReason::Budget,
        false => IncompleteReason::Failed,
    }
}

fn result(answer: &AnalysisResponse) -> AnalysisResult {
    if answer.guardrails.flagged {
        AnalysisResult::Guardrails
    } else if answer.custom_policy.flagged {
        AnalysisResult::CustomPolicy
    } else if answer.dataclean.flagged {
        AnalysisResult::Dataclean
    } else if answer.status != Status::Success {
        AnalysisResult::Incomplete
    } else {
        AnalysisResult::Clean
    }
}
