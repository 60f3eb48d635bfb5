//! Tries a draft of rules on a text; neither is stored. The draft is checked as strictly as when it is
//! saved.

use super::Admin;
use crate::analysis::access::caller::Caller;
use crate::analysis::error::{ApiError, FieldProblem};
use crate::analysis::ingest::inline_rules::Validation;
use crate::analysis::ingest::verdict;
use crate::fair_queue::{Claim, Urgency};
use monitor_detect::rules::{CustomPattern, Pattern};
use monitor_detect::{CleanType, DatacleanRules, Rules};
use monitor_model::{AnalysisResponse, Stage};
use serde_json::Value;

/// The longest text that is tried, in Unicode code points.
pub(crate) const LONGEST_TRIED: usize = 20_000;

/// Whether the judge is asked about custom policies, which takes time and may cost money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CustomPolicies {
    Asked,
    LeftOut,
}

/// What a draft is tried on.
pub(crate) struct Trial {
    pub(crate) stage: Stage,
    pub(crate) policies: CustomPolicies,
    pub(crate) text: String,
}

impl Admin {
    /// Analyzes a text by one direction of a draft.
    pub(crate) async fn try_draft(
        &self,
        caller: &Caller,
        draft: Value,
        trial: Trial,
    ) -> Result<AnalysisResponse, ApiError> {
        let Trial {
            stage,
            policies,
            text,
        } = trial;
        let rules = self.compilations.parse(claim(caller), draft).await?;
        let mut rules = rules.of(stage).clone();
        if policies == CustomPolicies::LeftOut {
            rules.custom_policies.clear();
        }
        self.try_rules(caller, stage, rules, text).await
    }

    /// Searches a text for one regex.
    pub(crate) async fn try_regex(
        &self,
        caller: &Caller,
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
        self.try_rules(caller, Stage::PreCall, rules, text).await
    }

    async fn try_rules(
        &self,
        caller: &Caller,
        stage: Stage,
        rules: Rules,
        text: String,
    ) -> Result<AnalysisResponse, ApiError> {
        if text.chars().nth(LONGEST_TRIED).is_some() {
            let problem = format!("is too long; allowed: {LONGEST_TRIED} characters");
            return Err(FieldProblem::new("text", problem).into());
        }
        let validation = Validation::stored(stage, rules);
        let claim = claim(caller);
        let inline = self.inline_rules.compile(validation, claim).await?;
        let message = text.into();
        let analyzed = self.analyzer.analyze(stage, &inline.rules, message, claim);
        let (_, report) = analyzed.await?;
        Ok(verdict::answer(report))
    }
}

fn claim(caller: &Caller) -> Claim {
    Claim {
        tenant: caller.trials(),
        urgency: Urgency::Deferred,
    }
}
