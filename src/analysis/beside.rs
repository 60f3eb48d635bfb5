//! What goes on beside the engine while it looks at a message: the ruling on custom policies (§2.8). The
//! two run at the same time; their reports become one.

use super::clock::steady_us;
use super::error::ApiError;
use super::process::{Analyst, Judging};
use crate::detect::Report;
use crate::detect::custom_policy::Ruling;
use crate::detect::rules::CustomPolicy;
use crate::model::Stage;
use futures_util::future::join;

impl Analyst {
    /// Runs the engine and the judge; gives the message back with the report. Custom policies are for
    /// user messages only (§4.3).
    pub(super) async fn judge(
        &self,
        judging: &Judging,
        message: String,
    ) -> Result<(String, Report), ApiError> {
        let rules = judging.rules();
        let policies = match judging.stage {
            Stage::PreCall => self.engine.custom_policies(rules),
            Stage::PostCall => &[],
        };
        if policies.is_empty() {
            return self.analyse(message, rules).await;
        }
        let text = message.clone();
        // The judge first: its question is on its way while the engine works on this thread.
        let (ruled, analysed) =
            join(self.rule(policies, &text), self.analyse(message, rules)).await;
        let (message, mut report) = analysed?;
        let (ruling, took_us) = ruled;
        report.add_custom_policy(ruling, took_us);
        Ok((message, report))
    }

    async fn rule(&self, policies: &[CustomPolicy], text: &str) -> (Ruling, u64) {
        let started = steady_us();
        let ruling = self.remote.judge().judge(policies, text).await;
        (ruling, steady_us().saturating_sub(started))
    }
}
