//! Rules tried on a text that is not kept, as they stand in a form that is not saved. Whether the
//! rules may be meant is checked as strictly as when they are saved.

use super::Service;
use super::error::{ApiError, FieldProblem};
use super::inline::Validation;
use super::process;
use super::rules::ApplicationRules;
use crate::detect::Rules;
use crate::detect::rules::{CustomPattern, Pattern};
use crate::detect::{CleanType, DatacleanRules};
use crate::model::{AnalysisResponse, Stage};
use serde_json::Value;

/// The longest text that is tried, in Unicode code points.
pub(super) const LONGEST_TRIED: usize = 20_000;

impl Service {
    /// Judges a text by one direction of a draft.
    pub(super) async fn try_draft(
        &self,
        draft: Value,
        stage: Stage,
        text: String,
    ) -> Result<AnalysisResponse, ApiError> {
        let parsed = tokio::task::spawn_blocking(move || ApplicationRules::parse(&draft));
        let parsed = parsed.await.map_err(|_| ApiError::Internal)?;
        let rules = parsed.map_err(ApiError::Fields)?;
        self.try_rules(rules.of(stage).clone(), text).await
    }

    /// Looks for one regex in a text.
    pub(super) async fn try_regex(
        &self,
        regex: String,
        text: String,
    ) -> Result<AnalysisResponse, ApiError> {
        let pattern = CustomPattern {
            name: "MATCH".to_owned(),
            regex,
        };
        let dataclean = DatacleanRules {
            patterns: Some(vec![Pattern::Custom(pattern)]),
            clean_type: CleanType::Detection,
            ..DatacleanRules::default()
        };
        let rules = Rules {
            dataclean: Some(dataclean),
            ..Rules::default()
        };
        self.try_rules(rules, text).await
    }

    async fn try_rules(&self, rules: Rules, text: String) -> Result<AnalysisResponse, ApiError> {
        if text.chars().nth(LONGEST_TRIED).is_some() {
            let problem = format!("is too long; allowed: {LONGEST_TRIED} characters");
            return Err(FieldProblem::new("text", problem).into());
        }
        let inline = self.inline_rules.compile(Validation::stored(rules)).await?;
        let (_, report) = self.analyst.analyse(text, &inline.rules).await?;
        Ok(process::answer(report))
    }
}
