//! Builds the record of an analyzed message (CONTRACT 38 `keep_original`). Of an application that keeps no
//! originals the store gets the cleaned text and nothing else of the message, on any path.

use super::inline_rules::InlineRules;
use super::parameters::Parameters;
use super::verdict::{self, RulesInForce};
use crate::analysis::clock::{now_ms, steady_us};
use monitor_detect::{Compiled, Engine};
use monitor_model::{AnalysisResponse, CheckedParts, CustomPolicyReport};
use monitor_store::{CallCost, NewRecord, ToolCall};
use serde_json::{Map, Value};
use std::sync::Arc;

pub(super) const NOT_KEPT: &str = "[not kept]";
/// The longest error text that is cleaned, in bytes; a longer one is not stored.
const LONGEST_ERROR: usize = 4 * 1024;

/// A message with its verdict.
pub(super) struct AnalyzedMessage {
    pub(super) parameters: Parameters,
    /// The tool call whose arguments or result it is.
    pub(super) tool: Option<ToolCall>,
    pub(super) message: Arc<str>,
    pub(super) additional_parameters: Map<String, Value>,
    pub(super) answer: AnalysisResponse,
    pub(super) masked_text: Option<Arc<str>>,
    pub(super) cleaned_in_part: bool,
}

/// The cleaned text of the stored answer and that of the caller's answer, where they differ.
pub(super) struct CallerView {
    stored: Option<Arc<str>>,
    shown: Option<Arc<str>>,
}

impl CallerView {
    /// Puts the caller's text into the caller's answer. An answer that was stored for another message
    /// stays as it is.
    pub(super) fn apply(view: Option<Self>, answer: &mut AnalysisResponse) {
        if let Some(Self { stored, shown }) = view
            && answer.dataclean.cleaned_text == stored
        {
            answer.dataclean.cleaned_text = shown;
        }
    }
}

/// The record without its sender and the calls or results of tools beside the message, and the caller's view where it
/// differs from what is stored.
pub(super) fn build(
    rules: &RulesInForce,
    mut analyzed: AnalyzedMessage,
    cost: Option<CallCost>,
) -> (NewRecord, Option<CallerView>) {
    let application = &rules.application;
    let keeps_original = application.rules.keep_original;
    let caller_view = match keeps_original {
        true => None,
        false => withhold(&mut analyzed),
    };
    let policy = application.policy.as_ref();
    let side = verdict::side(rules.stage, analyzed.tool.as_ref());
    let blocks = |policy| verdict::blocks(policy, side, &analyzed.answer);
    let is_told = analyzed.additional_parameters.get("unchecked") == Some(&Value::Bool(true));
    let passes = |policy| verdict::passes_unchecked(policy, side, &analyzed.answer);
    // Whoever calls a tool decides what a missing verdict on it means.
    let passes = analyzed.tool.is_none() && policy.is_some_and(passes);
    let record = NewRecord {
        application_id: application.id,
        stage: rules.stage,
        blocked: policy.is_some_and(blocks),
        unchecked: is_told || passes,
        exchange_id: analyzed.parameters.exchange_id,
        tool: analyzed.tool,
        user_id: analyzed.parameters.user_id,
        session_id: analyzed.parameters.session_id,
        created_at_ms: now_ms(),
        rules_version: rules.inline.is_none().then_some(application.version),
        inline_rules: rules.inline.as_ref().map(InlineRules::document),
        message: keeps_original.then_some(analyzed.message),
        additional_parameters: analyzed.additional_parameters,
        tool_parts: CheckedParts::default(),
        chain: analyzed.parameters.chain,
        cost,
        call: analyzed.parameters.call,
        token: None,
        answer: analyzed.answer,
        found_values: Vec::new(),
    };
    (record, caller_view)
}

/// Replaces the text of the answer by what may be stored: nothing of a text that was cleaned only in part.
fn withhold(analyzed: &mut AnalyzedMessage) -> Option<CallerView> {
    let text = &mut analyzed.answer.dataclean.cleaned_text;
    let stored = match (analyzed.cleaned_in_part, analyzed.masked_text.take()) {
        (true, _) => None,
        (false, Some(masked)) => Some(masked),
        (false, None) => return None,
    };
    let shown = std::mem::replace(text, stored.clone());
    Some(CallerView { stored, shown })
}

/// Cleans the reasons of a judge in place, if the rules look for sensitive data: the judge may have
/// paraphrased the message there.
pub(super) fn clean_reasons(engine: &Engine, rules: &Compiled, report: &mut CustomPolicyReport) {
    if rules.rules().dataclean.is_none() {
        return;
    }
    let reasons = report.policies.iter_mut().map(|policy| &mut policy.reason);
    for reason in reasons.filter(|reason| !reason.is_empty()) {
        let masked = engine.mask(reason, rules, &steady_us);
        *reason = masked.unwrap_or_else(|| NOT_KEPT.to_owned());
    }
}

/// Cleans the name of a tool in place, if the rules look for sensitive data: a model chose it.
pub(super) fn clean_name(engine: &Engine, rules: &Compiled, tool: Option<&mut ToolCall>) {
    if let Some(tool) = tool.filter(|_| rules.rules().dataclean.is_some()) {
        let masked = engine.mask(&tool.name, rules, &steady_us);
        tool.name = masked.unwrap_or_else(|| NOT_KEPT.to_owned());
    }
}

/// Cleans `error.message` (CONTRACT 17) of the parameters in place: the caller may have put a part of
/// the message there.
pub(super) fn clean_error(engine: &Engine, rules: &Compiled, parameters: &mut Map<String, Value>) {
    let error = parameters.get_mut("error").and_then(Value::as_object_mut);
    if let Some(Value::String(text)) = error.and_then(|error| error.get_mut("message")) {
        let masked = match text.len() <= LONGEST_ERROR {
            true => engine.mask(text, rules, &steady_us),
            false => None,
        };
        *text = masked.unwrap_or_else(|| NOT_KEPT.to_owned());
    }
}
