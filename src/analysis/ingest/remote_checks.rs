//! Checks by other servers: the judge of custom policies (§2.8) runs beside the engine, a Presidio analyzer
//! before it, a guard model after it where the engine is unsure. All answers become one report.

use super::analyzer::MessageAnalyzer;
use super::owned_message::OwnedMessage;
use crate::analysis::clock::steady_us;
use crate::analysis::error::ApiError;
use crate::fair_queue::{Claim, on_account};
use crate::judge::{GuardModel, GuardQuery};
use futures_util::future::join;
use monitor_detect::custom_policy::Ruling;
use monitor_detect::guardrails::{CategoryThreshold, in_grey_zone};
use monitor_detect::rules::CustomPolicy;
use monitor_detect::{Compiled, ProposedFinds, Report};
use monitor_model::Stage;
use std::sync::Arc;

impl MessageAnalyzer {
    /// Runs the engine and the remote checks that the message needs; gives the message back with the
    /// report. Custom policies are for user messages only (§4.3).
    pub(crate) async fn analyze(
        &self,
        stage: Stage,
        rules: &Arc<Compiled>,
        message: OwnedMessage,
        claim: Claim,
    ) -> Result<(OwnedMessage, Report), ApiError> {
        let policies = match stage {
            Stage::PreCall => self.engine.custom_policies(rules),
            Stage::PostCall => &[],
        };
        if policies.is_empty() {
            return on_account(claim, self.detect(stage, rules, message, claim)).await;
        }
        let text = message.text.clone();
        // A model reads across the breaks between parts by itself.
        let joined = match self.remote.model_judge() {
            None => message.joined(),
            Some(_) => None,
        };
        // The judge first: its question is on its way while the engine works on this thread.
        let detected = self.detect(stage, rules, message, claim);
        let both = join(self.rule(policies, &text, joined.as_deref()), detected);
        let (ruled, detected) = on_account(claim, both).await;
        let (message, mut report) = detected?;
        let (ruling, took_us) = ruled;
        report.add_custom_policy(ruling, took_us);
        Ok((message, report))
    }

    /// `joined` is the text without the breaks between its parts, where the judge needs it.
    async fn rule(
        &self,
        policies: &[CustomPolicy],
        text: &str,
        joined: Option<&str>,
    ) -> (Ruling, u64) {
        let started = steady_us();
        let mut ruling = self.remote.judge().judge(policies, text).await;
        if let Some(joined) = joined {
            ruling.add_findings(self.remote.judge().judge(policies, joined).await);
        }
        (ruling, steady_us().saturating_sub(started))
    }

    /// The engine, with Presidio before it and the guard model after it.
    async fn detect(
        &self,
        stage: Stage,
        rules: &Arc<Compiled>,
        message: OwnedMessage,
        claim: Claim,
    ) -> Result<(OwnedMessage, Report), ApiError> {
        let started = steady_us();
        let proposed = self.proposed(rules, &message.text).await;
        let waited = steady_us().saturating_sub(started);
        let (message, mut report) = self.run_engine(message, rules, proposed, claim).await?;
        report.timings.dataclean_us += waited;
        report.timings.total_us += waited;
        if let Some(guard) = self.remote.guard()
            && in_grey_zone(&report.guardrails)
        {
            let started = steady_us();
            ask_guard(guard, stage, rules, &message.text, &mut report).await;
            let waited = steady_us().saturating_sub(started);
            report.timings.guardrails_us += waited;
            report.timings.total_us += waited;
        }
        Ok((message, report))
    }

    async fn proposed(&self, rules: &Compiled, message: &str) -> ProposedFinds {
        match self.remote.presidio() {
            Some(presidio) if self.engine.services().dataclean => {
                presidio.propose(message, rules).await
            }
            _ => ProposedFinds::default(),
        }
    }
}

/// Asks the guard model about a message on which the engine is unsure.
async fn ask_guard(
    guard: &GuardModel,
    stage: Stage,
    rules: &Compiled,
    message: &str,
    report: &mut Report,
) {
    let in_force = rules.guardrails();
    let names: Vec<_> = in_force
        .iter()
        .map(|asked| asked.category.as_str())
        .collect();
    let asked = GuardQuery {
        stage,
        text: message,
        categories: &names,
    };
    let failed = |why: &str| format!("guardrails: the guard model gave no verdict: {why}");
    match guard.opinion(asked).await {
        Ok((opinion, rest)) => {
            if opinion.is_unsafe {
                let is_named = |asked: &&CategoryThreshold| {
                    let mut names = opinion.categories.iter();
                    names.any(|name| name == asked.category.as_str())
                };
                let named: Vec<_> = in_force.iter().filter(is_named).copied().collect();
                report.add_second_opinion(&named);
            } else if let Some(rest) = rest {
                report.add_failure(failed(&rest));
            }
        }
        Err(fault) => report.add_failure(failed(&fault.to_string())),
    }
}
