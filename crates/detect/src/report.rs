//! What the engine found, in the format of §2.9. The policy decides whether a find blocks a message.

use super::custom_policy::Ruling;
use super::dataclean::{Kind, Span};
use super::guardrails::CategoryThreshold;
use monitor_model::{
    CategoryScore, CustomPolicyReport, DatacleanReport, Entity, GuardrailsReport, Status, Timings,
    TokensReport, TypeCount,
};
use std::sync::Arc;

/// The outcome of one analysis.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Whether every stage ran (CONTRACT 26).
    pub status: Status,
    /// One entry per failure, beginning with the stage's name; never a piece of the text.
    pub errors: Vec<String>,
    /// Token count and its severity.
    pub tokens: TokensReport,
    /// Built-in policies: flags, scores and reasons by category.
    pub guardrails: GuardrailsReport,
    /// Sensitive data: what was found, and the cleaned text.
    pub dataclean: DatacleanReport,
    /// Custom policies; nothing until a judge's ruling is added.
    pub custom_policy: CustomPolicyReport,
    /// What may be kept where originals are not: the masked text where `cleaned_text` is the text
    /// itself (DETECTION); None where the two are the same.
    pub masked_text: Option<Arc<str>>,
    /// A pattern was not looked for everywhere, so that the cleaned text may not be clean.
    pub cleaned_in_part: bool,
    /// Microseconds per stage.
    pub timings: Timings,
}

impl Report {
    /// Adds what a judge said beside the engine, and how long it took in microseconds (CONTRACT 26).
    pub fn add_custom_policy(&mut self, ruling: Ruling, took_us: u64) {
        let is_whole = ruling.failures.is_empty();
        self.status = match (self.status, ruling.has_failed) {
            (Status::Success, _) if is_whole => Status::Success,
            (Status::Error, true) => Status::Error,
            _ => Status::PartialSuccess,
        };
        let failures = ruling.failures.into_iter();
        self.errors
            .extend(failures.map(|failure| format!("custom_policy: {failure}")));
        self.custom_policy = CustomPolicyReport {
            flagged: ruling.policies.iter().any(|policy| policy.flagged),
            policies: ruling.policies,
        };
        self.timings.custom_policy_us = took_us;
        self.timings.total_us = self.timings.total_us.max(took_us);
    }
}

impl Report {
    /// Adds what a guard model says of a message that the guardrails are unsure of: it falls under these
    /// categories, each with the score from which it is flagged; none named means the likeliest.
    pub fn add_second_opinion(&mut self, named: &[CategoryThreshold]) {
        let guardrails = &mut self.guardrails;
        let likeliest = guardrails.categories.first();
        let likeliest = likeliest.map(|likeliest| {
            let from = likeliest.threshold.unwrap_or(likeliest.score);
            (likeliest.name.clone(), from)
        });
        let named = named
            .iter()
            .map(|asked| (asked.category.as_str().to_owned(), asked.threshold));
        let mut named: Vec<(String, f64)> = named.collect();
        if named.is_empty() {
            named.extend(likeliest);
        }
        for (name, threshold) in named {
            let mut known = guardrails.categories.iter();
            let known = known.position(|category| category.name == name);
            let score = known.map_or(0.0, |at| guardrails.categories.remove(at).score);
            guardrails.flagged = true;
            guardrails.categories.push(CategoryScore {
                name,
                score: score.max(threshold),
                flagged: true,
                threshold: Some(threshold),
                reason: SECOND_OPINION.to_owned(),
            });
        }
        let categories = &mut guardrails.categories;
        categories.sort_by(|one, other| other.score.total_cmp(&one.score));
        let highest = categories.first().map(|category| category.score);
        guardrails.score = match (guardrails.score, highest) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        guardrails.settle_low_scores();
    }

    /// Adds why a stage that ran did so in part only; beginning with the stage's name.
    pub fn add_failure(&mut self, failure: String) {
        self.errors.push(failure);
        if self.status == Status::Success {
            self.status = Status::PartialSuccess;
        }
    }
}

/// How a failure begins that says how much of a message was not analyzed, behind the name of its stage.
pub const NOT_ANALYZED: &str = "message too long";

/// The reason of a category that a guard model flags.
pub const SECOND_OPINION: &str = "guard_model";

/// The report of a dataclean stage that ran. `spans` are sorted and do not overlap.
pub(super) fn dataclean(
    text: &str,
    spans: &[Span<Kind<'_>>],
    cleaned_text: Arc<str>,
) -> DatacleanReport {
    DatacleanReport {
        flagged: !spans.is_empty(),
        cleaned_text: Some(cleaned_text),
        types: types(spans),
        entities: entities(text, spans),
    }
}

/// Why a stage has not looked behind a byte of a text; None where it looked at all of it.
pub(super) fn not_analyzed(text: &str, looked_to: usize) -> Option<String> {
    (looked_to < text.len()).then(|| {
        let bytes = text.len();
        format!(
            "{NOT_ANALYZED}: the first {looked_to} of {bytes} bytes were analyzed, the rest was not"
        )
    })
}

fn types(spans: &[Span<Kind<'_>>]) -> Vec<TypeCount> {
    let mut types: Vec<TypeCount> = Vec::new();
    for span in spans {
        let kind = span.kind.as_str();
        match types.iter_mut().find(|known| known.kind == kind) {
            Some(known) => known.count += 1,
            None => types.push(TypeCount {
                kind: kind.to_owned(),
                count: 1,
            }),
        }
    }
    types
}

/// Byte offsets to code points, in one walk over the text.
fn entities(text: &str, spans: &[Span<Kind<'_>>]) -> Vec<Entity> {
    let (mut byte, mut point) = (0, 0);
    let mut to_point = |offset: usize| {
        point += text[byte..offset].chars().count();
        byte = offset;
        point
    };
    let mut names: Vec<Arc<str>> = Vec::new();
    let mut name = |kind: &str| match names.iter().find(|known| &***known == kind) {
        Some(known) => known.clone(),
        None => {
            let name: Arc<str> = kind.into();
            names.push(name.clone());
            name
        }
    };
    let entity = |span: &Span<Kind<'_>>| {
        let (start, end) = (to_point(span.start), to_point(span.end));
        Entity {
            kind: name(span.kind.as_str()),
            start,
            end,
        }
    };
    spans.iter().map(entity).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataclean::{PatternName, Strength};

    #[test]
    fn offsets_are_code_points_and_types_stand_in_order_of_first_appearance() {
        let text = "Ёж 1.1.1.1 и é@b.ru, 2.2.2.2";
        let span = |kind, value: &str| {
            let start = text.find(value).unwrap_or_default();
            Span {
                kind: Kind::Predefined(kind),
                start,
                end: start + value.len(),
                strength: Strength::Form,
            }
        };
        let spans = [
            span(PatternName::Ip, "1.1.1.1"),
            span(PatternName::Emails, "é@b.ru"),
            span(PatternName::Ip, "2.2.2.2"),
        ];
        let report = dataclean(text, &spans, "".into());
        let places: Vec<_> = report.entities.iter().map(|e| (e.start, e.end)).collect();
        assert_eq!(places, [(3, 10), (13, 19), (21, 28)]);
        let types: Vec<_> = report
            .types
            .iter()
            .map(|t| (t.kind.as_str(), t.count))
            .collect();
        assert_eq!(types, [("IP", 2), ("EMAILS", 1)]);
    }
}
