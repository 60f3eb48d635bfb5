//! What is kept of an analysed message (CONTRACT 38 `keep_original`). Where an application keeps no
//! originals, nothing of the message goes to the store but its cleaned text, on any path.

use super::clock::{now_ms, steady_us};
use super::inline::Inline;
use super::process::{self, Judging, Parameters};
use monitor_detect::{Compiled, Engine};
use monitor_model::{AnalysisResponse, CustomPolicyReport};
use monitor_store::NewRecord;
use serde_json::{Map, Value};

const NOT_KEPT: &str = "[not kept]";
/// Bytes of an error's text that is looked at; a longer one is not kept.
const LONGEST_ERROR: usize = 4 * 1024;

/// A message that was judged.
pub(super) struct Judged {
    pub(super) parameters: Parameters,
    pub(super) message: String,
    pub(super) additional_parameters: Map<String, Value>,
    pub(super) answer: AnalysisResponse,
    pub(super) masked_text: Option<String>,
    pub(super) cleaned_in_part: bool,
}

/// The cleaned text that the store has, and the one that the caller is told, where they differ.
pub(super) struct Told {
    kept: Option<String>,
    told: Option<String>,
}

impl Told {
    /// Gives the caller the text that is meant for the caller. An answer that the store holds of
    /// another message stays as it is.
    pub(super) fn restore(told: Option<Self>, answer: &mut AnalysisResponse) {
        if let Some(Self { kept, told }) = told
            && answer.dataclean.cleaned_text == kept
        {
            answer.dataclean.cleaned_text = told;
        }
    }
}

/// The record, and what of its answer is told differently.
pub(super) fn record(judging: &Judging, mut judged: Judged) -> (NewRecord, Option<Told>) {
    let application = &judging.application;
    let keeps_original = application.rules.keep_original;
    let told = match keeps_original {
        true => None,
        false => withhold(&mut judged),
    };
    let policy = application.policy.as_ref();
    let blocks = |policy| process::blocks(policy, judging.stage, &judged.answer);
    let record = NewRecord {
        application_id: application.id,
        stage: judging.stage,
        blocked: policy.is_some_and(blocks),
        exchange_id: judged.parameters.exchange_id,
        user_id: judged.parameters.user_id,
        session_id: judged.parameters.session_id,
        created_at_ms: now_ms(),
        rules_version: judging.inline.is_none().then_some(application.version),
        inline_rules: judging.inline.as_ref().map(Inline::document),
        message: keeps_original.then_some(judged.message),
        additional_parameters: judged.additional_parameters,
        chain: judged.parameters.chain,
        answer: judged.answer,
    };
    (record, told)
}

/// Puts into the answer what may be kept of the text: nothing of one that is clean only in part.
fn withhold(judged: &mut Judged) -> Option<Told> {
    let text = &mut judged.answer.dataclean.cleaned_text;
    let kept = match (judged.cleaned_in_part, judged.masked_text.take()) {
        (true, _) => None,
        (false, Some(masked)) => Some(masked),
        (false, None) => return None,
    };
    let told = std::mem::replace(text, kept.clone());
    Some(Told { kept, told })
}

/// Cleans the reasons of a judge in place, where sensitive data is looked for: it may have put a piece
/// of the message there in other words than the message's.
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

/// Cleans `error.message` (CONTRACT 17) of the parameters in place: a caller may have put a piece of
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
