//! The rules in force for one message, and the verdict they lead to (§2.9, §4.4).

use super::application_cache::LoadedApplication;
use super::inline_rules::InlineRules;
use monitor_detect::{Compiled, Report};
use monitor_model::{
    AnalysisResponse, AppMode, OnBackendFailure, Policy, RecordId, SCHEMA_VERSION, Stage, Status,
};
use monitor_store::ToolCall;
use std::sync::Arc;

/// What a message is checked by: the rules of its application, or those of its request (§4.4).
pub(super) struct RulesInForce {
    pub(super) application: Arc<LoadedApplication>,
    pub(super) stage: Stage,
    pub(super) inline: Option<InlineRules>,
}

impl RulesInForce {
    pub(super) fn compiled(&self) -> &Arc<Compiled> {
        match &self.inline {
            Some(inline) => &inline.rules,
            None => self.application.rules.of(self.stage),
        }
    }

    /// The verdict, with the warnings about rules of the request.
    pub(super) fn answer(&self, report: Report) -> AnalysisResponse {
        let warnings = self.inline.as_ref().map(|inline| inline.warnings.clone());
        AnalysisResponse {
            warnings: warnings.unwrap_or_default(),
            ..answer(report)
        }
    }
}

/// A report as §2.9 shows it, under a new identifier.
pub(crate) fn answer(report: Report) -> AnalysisResponse {
    AnalysisResponse {
        request_id: RecordId::random(),
        schema_version: SCHEMA_VERSION.to_owned(),
        status: report.status,
        errors: report.errors,
        tokens: report.tokens,
        guardrails: report.guardrails,
        custom_policy: report.custom_policy,
        dataclean: report.dataclean,
        warnings: Vec::new(),
        timings: report.timings,
    }
}

/// The side on which a policy decides about a record. Whoever calls a tool decides whether to, so both parts of a
/// tool call count as prompts: there is no answer to replace.
pub(crate) fn side(stage: Stage, tool: Option<&ToolCall>) -> Stage {
    match tool {
        Some(_) => Stage::PreCall,
        None => stage,
    }
}

/// Whether a policy blocks on a verdict, on this side of the exchange (CONTRACT 12 and 15).
pub(crate) fn blocks(policy: &Policy, stage: Stage, answer: &AnalysisResponse) -> bool {
    let on = policy.block_on;
    let is_found = on.guardrails && answer.guardrails.flagged
        || on.custom_policy && answer.custom_policy.flagged
        || on.dataclean && answer.dataclean.flagged;
    awaits(policy, stage) && is_found
}

/// Whether a gateway lets a message pass without a verdict: a stage of its check failed, nothing else blocks it, and
/// the policy is open (CONTRACT 13 and 26).
pub(crate) fn passes_unchecked(policy: &Policy, stage: Stage, answer: &AnalysisResponse) -> bool {
    let is_open = policy.on_backend_failure == OnBackendFailure::Open;
    let is_incomplete = answer.status != Status::Success;
    awaits(policy, stage) && is_open && is_incomplete && !blocks(policy, stage, answer)
}

/// Whether the verdict is awaited.
fn awaits(policy: &Policy, stage: Stage) -> bool {
    let applies = match stage {
        Stage::PreCall => true,
        Stage::PostCall => policy.replace_response,
    };
    policy.app_mode == AppMode::Sync && applies
}
