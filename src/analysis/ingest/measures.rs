//! What the metrics show of messages: what was found in them, the time of each step, and what was stored.

use super::Ingest;
use super::pricing::TokensByPrice;
use crate::analysis::budgets::BudgetBoard;
use crate::observe::events::IdReused;
use crate::observe::{
    AnalysisResult, AnalysisStep, CostMetrics, IncompleteReason, Metrics, ReusedId, TokenKind,
};
use monitor_detect::NOT_ANALYZED;
use monitor_model::{AnalysisResponse, ApplicationId, Stage, Status};
use monitor_store::{CallCost, Insertion, NewRecord};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs from the hand-over of a record to the store until it is durable.
pub(super) struct StoreTimer {
    metrics: Option<Arc<Metrics>>,
    stage: Stage,
    application: ApplicationId,
    cost: Option<CallCost>,
    budgets: Arc<BudgetBoard>,
    began: Instant,
}

impl StoreTimer {
    /// The same from now on, for the record as it is by now.
    pub(super) fn restarted(self, record: &NewRecord) -> Self {
        Self {
            cost: record.cost.clone(),
            began: Instant::now(),
            ..self
        }
    }

    /// The record is durable.
    pub(super) fn stored(&self, insertion: &Insertion) {
        let is_new = !matches!(insertion, Insertion::Earlier(_));
        let cost = self.cost.as_ref().filter(|_| is_new);
        if let Some(metrics) = &self.metrics {
            metrics.analysis.stored(self.stage, self.began.elapsed());
            if let Some(cost) = cost {
                count_cost(&metrics.costs, self.application, cost);
            }
        }
        if cost.is_some() {
            self.budgets.cost_stored();
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
    pub(super) fn store_timer(&self, record: &NewRecord) -> StoreTimer {
        StoreTimer {
            metrics: self.remote().metrics().cloned(),
            stage: record.stage,
            application: record.application_id,
            cost: record.cost.clone(),
            budgets: self.budgets.clone(),
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

fn count_cost(metrics: &CostMetrics, application: ApplicationId, cost: &CallCost) {
    let Some(priced) = cost.priced else {
        return;
    };
    // Another model's name is any text of the client's.
    let entry = cost.counted_as.model.as_deref();
    let call = metrics.labels_of(application, entry, priced);
    let tokens = TokensByPrice::of(cost.usage.tokens);
    for (kind, count) in [
        (TokenKind::Input, tokens.input),
        (TokenKind::CachedInput, tokens.cached_input),
        (TokenKind::CacheWrite, tokens.cache_write),
        (TokenKind::Output, tokens.output),
        (TokenKind::Reasoning, tokens.reasoning),
    ] {
        metrics.used(&call, kind, count);
    }
    if let (Some(amount), Some(currency)) = (cost.amount, &cost.currency) {
        metrics.cost(&call, currency, amount.to_f64());
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
