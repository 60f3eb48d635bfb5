//! Compares two verdicts on one record: the stored one and a new one. No store, no engine.

use monitor_detect::custom_policy::Ruling;
use monitor_detect::guardrails::in_grey_zone;
use monitor_detect::rules::CustomPolicy;
use monitor_detect::{Compiled, Report, SECOND_OPINION};
use monitor_model::{AnalysisResponse, DatacleanReport, PolicyRuling, TypeCount};
use monitor_store::StoredRecord;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// The text of the second verdict. For a cleaned text, earlier finds still count where the rules look for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The original message.
    Original,
    /// Its cleaned text, because the original was not stored. Earlier finds still count where the rules
    /// look for them, and so does the token count; anything else is looked for in the cleaned text.
    CleanedText,
    /// No text was stored: there is no second verdict.
    Nothing,
}

/// A field of the verdict, or `blocked`, that differs (§2.9).
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Difference {
    /// Such as `dataclean.flagged`.
    pub field: &'static str,
    /// Its value in the stored verdict.
    pub was: Value,
    /// Its value in the new verdict.
    pub now: Value,
}

/// A verdict, and whether the application's policy blocks on it.
#[derive(Clone, Copy)]
pub(crate) struct Verdict<'a> {
    pub(crate) answer: &'a AnalysisResponse,
    pub(crate) blocked: bool,
}

/// The text of a record that can be analyzed again.
pub(crate) fn text(record: &StoredRecord) -> (Basis, Option<&str>) {
    let cleaned = record.answer.dataclean.cleaned_text.as_deref();
    match (record.message.as_deref(), cleaned) {
        (Some(message), _) => (Basis::Original, Some(message)),
        (None, Some(cleaned)) => (Basis::CleanedText, Some(cleaned)),
        (None, None) => (Basis::Nothing, None),
    }
}

/// Completes a report on a cleaned text with what the record says about the original.
pub(crate) fn complete(report: &mut Report, record: &StoredRecord, rules: &Compiled) {
    let (was, thresholds) = (&record.answer, rules.rules().tokens);
    report.tokens.count = was.tokens.count;
    report.tokens.usage_severity =
        thresholds.and_then(|thresholds| thresholds.severity(was.tokens.count));
    if report.dataclean.cleaned_text.is_none() {
        return;
    }
    let still = was.dataclean.types.iter();
    let mut types: Vec<TypeCount> = still
        .filter(|found| rules.looks_for(&found.kind))
        .cloned()
        .collect();
    for found in std::mem::take(&mut report.dataclean.types) {
        match types.iter_mut().find(|known| known.kind == found.kind) {
            Some(known) => known.count += found.count,
            None => types.push(found),
        }
    }
    report.dataclean.flagged = !types.is_empty();
    report.dataclean.types = types;
}

/// Copies the rulings on custom policies from the record: no judge is asked again. A ruling is valid
/// for the policy it was given on; `before` are the policies of that time. Returns how many of `now`
/// have no ruling.
pub(crate) fn copy_rulings(
    report: &mut Report,
    record: &StoredRecord,
    (before, now): (&[CustomPolicy], &[CustomPolicy]),
) -> usize {
    const STAGE: &str = "custom_policy: ";
    if now.is_empty() {
        return 0;
    }
    let was = &record.answer.custom_policy.policies;
    let ruling = |policy: &CustomPolicy| {
        let held = before.contains(policy);
        was.iter()
            .find(|ruling| held && ruling.name == policy.name)
            .cloned()
    };
    let policies: Vec<PolicyRuling> = now.iter().filter_map(ruling).collect();
    let unjudged = now.len() - policies.len();
    let failures = record.answer.errors.iter();
    let failures = failures.filter_map(|error| error.strip_prefix(STAGE));
    let ruling = Ruling {
        has_failed: policies.is_empty(),
        policies,
        failures: failures.map(str::to_owned).collect(),
    };
    report.add_custom_policy(ruling, record.answer.timings.custom_policy_us);
    unjudged
}

/// Copies the guard model's opinion where the engine is unsure again; it is not asked again either.
pub(crate) fn copy_opinion(report: &mut Report, record: &StoredRecord, rules: &Compiled) {
    let was = record.answer.guardrails.categories.iter();
    let was = was.filter(|category| category.flagged && category.reason == SECOND_OPINION);
    let named: Vec<_> = was
        .filter_map(|category| {
            let mut in_force = rules.guardrails().iter();
            in_force.find(|asked| asked.category.as_str() == category.name)
        })
        .copied()
        .collect();
    if !named.is_empty() && in_grey_zone(&report.guardrails) {
        report.add_second_opinion(&named);
    }
}

/// The differences of two verdicts: flags, types, severity, status, and whether they block.
pub(crate) fn verdicts(was: Verdict<'_>, now: Verdict<'_>) -> Vec<Difference> {
    let fields = |verdict: Verdict<'_>| {
        let answer = verdict.answer;
        [
            ("blocked", json!(verdict.blocked)),
            ("guardrails.flagged", json!(answer.guardrails.flagged)),
            ("custom_policy.flagged", json!(answer.custom_policy.flagged)),
            ("dataclean.flagged", json!(answer.dataclean.flagged)),
            ("dataclean.types", types(&answer.dataclean)),
            ("tokens.usage_severity", json!(answer.tokens.usage_severity)),
            ("status", json!(answer.status)),
        ]
    };
    compare(fields(was), fields(now))
}

/// The differences of two answers, those of their verdicts first. Positions and the cleaned text are
/// compared only where both are based on the same text.
pub(crate) fn answers(was: Verdict<'_>, now: Verdict<'_>, basis: Basis) -> Vec<Difference> {
    let fields = |verdict: Verdict<'_>| {
        let answer = verdict.answer;
        [
            ("errors", json!(answer.errors)),
            ("tokens.count", json!(answer.tokens.count)),
        ]
    };
    let texts = |verdict: Verdict<'_>| {
        let dataclean = &verdict.answer.dataclean;
        [
            ("dataclean.cleaned_text", json!(dataclean.cleaned_text)),
            ("dataclean.entities", json!(dataclean.entities)),
        ]
    };
    let mut differences = verdicts(was, now);
    differences.extend(compare(fields(was), fields(now)));
    if basis == Basis::Original {
        differences.extend(compare(texts(was), texts(now)));
    }
    differences
}

/// Sorted by name: another order of finds is not a difference.
fn types(dataclean: &DatacleanReport) -> Value {
    let mut types: Vec<_> = dataclean.types.iter().collect();
    types.sort_by(|one, other| one.kind.cmp(&other.kind));
    json!(types)
}

fn compare<const N: usize>(
    was: [(&'static str, Value); N],
    now: [(&'static str, Value); N],
) -> Vec<Difference> {
    was.into_iter()
        .zip(now)
        .filter(|((_, was), (_, now))| was != now)
        .map(|((field, was), (_, now))| Difference { field, was, now })
        .collect()
}
