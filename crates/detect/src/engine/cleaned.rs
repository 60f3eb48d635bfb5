//! The outcome of the dataclean stage: the report, the cleaned text, and what may be kept of it.

use super::Outcome;
use crate::dataclean::{self, Found};
use crate::report;
use crate::rules::{CleanType, DatacleanRules};
use monitor_model::DatacleanReport;
use std::sync::Arc;

/// What the dataclean stage gives beside its report.
pub(super) struct Cleaned {
    pub(super) outcome: Outcome,
    /// One entry per failure, beginning with the stage's name.
    pub(super) errors: Vec<String>,
    pub(super) report: DatacleanReport,
    pub(super) masked_text: Option<Arc<str>>,
    pub(super) in_part: bool,
}

impl Default for Cleaned {
    /// Of a stage that did not run.
    fn default() -> Self {
        Self {
            outcome: Outcome::Failed,
            errors: Vec::new(),
            report: DatacleanReport::default(),
            masked_text: None,
            in_part: false,
        }
    }
}

impl Cleaned {
    /// What a stage gives that ran.
    pub(super) fn of(text: &str, dataclean: &DatacleanRules, found: &Found<'_>) -> Self {
        let DatacleanRules {
            clean_type,
            mask_style,
            ..
        } = *dataclean;
        let (looked, rest) = text.split_at(found.looked_to);
        // What nobody looked at is not shown as clean.
        let without_rest = |clean_type| -> Arc<str> {
            let mut cleaned = dataclean::clean(looked, &found.spans, clean_type, mask_style);
            if !rest.is_empty() {
                cleaned.push_str(&format!("[NOT_ANALYZED:{}]", rest.chars().count()));
            }
            cleaned.into()
        };
        let is_shown = clean_type == CleanType::Detection;
        let differs = !found.spans.is_empty() || !rest.is_empty();
        let cleaned_text = match is_shown {
            true => text.into(),
            false => without_rest(clean_type),
        };
        Self {
            outcome: match found.failures.is_empty() {
                true => Outcome::Ran,
                false => Outcome::RanInPart,
            },
            errors: Vec::new(),
            report: report::dataclean(text, &found.spans, cleaned_text),
            masked_text: (is_shown && differs).then(|| without_rest(CleanType::Masking)),
            in_part: found.in_part,
        }
    }
}
