//! Runs the stages over one text and collects their reports. A stage that fails adds to `errors` and
//! lowers the status; it never passes silently (CONTRACT 26).

mod cleaned;
mod masked;

use super::compiled::Compiled;
use super::dataclean::{self, Detector, Detectors, Search, Span};
use super::guardrails::{self, Guardrail, SecondStage};
use super::message::{AnalysisBudget, Message};
use super::report::{self, Report};
use super::rules::{CustomPolicy, GuardrailsRules, Rules, TokenThresholds};
use super::seams::{Reader, bytes_across};
use super::tokens::Encoding;
use cleaned::Cleaned;
use monitor_model::Services;
use monitor_model::{
    CustomPolicyReport, DatacleanReport, GuardrailsReport, Stage, Status, Timings, TokensReport,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

/// Every detector, built once. Shared between threads.
pub struct Engine {
    detectors: Detectors,
    guardrails: Vec<Box<dyn Guardrail>>,
    second_stage: Option<SecondStage>,
    services: Services,
    budget: AnalysisBudget,
}

/// What others find in a text, for the engine to weigh with its own finds.
#[derive(Clone, Debug, Default)]
pub struct ProposedFinds {
    /// Their finds, in any order.
    pub spans: Vec<Span>,
    /// Why some of them found nothing: the text is then cleaned in part only.
    pub failures: Vec<String>,
}

/// How a stage that was asked for ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Ran,
    RanInPart,
    Failed,
}

/// What the guardrails stage gives.
struct Guarded {
    report: GuardrailsReport,
    /// One entry per failure, beginning with the stage's name.
    errors: Vec<String>,
    outcome: Outcome,
}

/// From here on guardrails have a thread of their own: starting one takes a small part of the time that
/// they spend on so long a text.
const PARALLEL_FROM_BYTES: usize = 8 * 1024;
const SWITCHED_OFF: &str = "switched off at this deployment (services)";

impl Default for Engine {
    fn default() -> Self {
        Self::new(Services::default())
    }
}

impl Engine {
    /// Builds every detector of the registry; `services` are those this deployment offers.
    pub fn new(services: Services) -> Self {
        Self {
            detectors: Detectors {
                local: dataclean::registry::detectors(),
                whole: Vec::new(),
            },
            guardrails: guardrails::registry::guardrails(),
            second_stage: None,
            services,
            budget: AnalysisBudget::UNBOUNDED,
        }
    }

    /// With further detectors, each beside those of its pattern. They bound their own work on a text.
    pub fn with(mut self, detectors: Vec<Box<dyn Detector>>) -> Self {
        self.detectors.whole.extend(detectors);
        self
    }

    /// With a bound on what is analyzed of one message.
    pub fn with_budget(mut self, budget: AnalysisBudget) -> Self {
        self.budget = budget;
        self
    }

    /// With a second stage behind the guardrails.
    pub fn with_second_stage(mut self, stage: Option<SecondStage>) -> Self {
        self.second_stage = stage;
        self
    }

    /// Unpacks the token vocabulary and the numbering plans, so that the first message does not
    /// wait for them. Takes tens of milliseconds; without it the first analysis takes them.
    pub fn warm_up(&self, encoding: Encoding) {
        for stage in [Stage::PreCall, Stage::PostCall] {
            let rules = Rules {
                encoding,
                guardrails: Some(GuardrailsRules::default()),
                ..Rules::default()
            };
            self.analyze(
                "+7 912 345-67-89, +1 212 456 1234, +44 20 7946 0958",
                &Compiled::of(stage, rules),
                &|| 0,
            );
        }
    }

    /// Analyzes one message. `clock` gives microseconds and only ever goes forward. Time is linear in
    /// the text's length up to the budget; that of custom patterns is bounded beside.
    pub fn analyze<'m>(
        &self,
        message: impl Into<Message<'m>>,
        rules: &Compiled,
        clock: &dyn Fn() -> u64,
    ) -> Report {
        self.analyze_with(message.into(), rules, &ProposedFinds::default(), clock)
    }

    /// The same with finds of sensitive data that others propose: byte offsets on borders of characters.
    pub fn analyze_with(
        &self,
        message: Message<'_>,
        rules: &Compiled,
        proposed: &ProposedFinds,
        clock: &dyn Fn() -> u64,
    ) -> Report {
        let started = clock();
        let mut errors = Vec::new();
        let (tokens, tokens_outcome) = count_tokens(message.text, rules.rules(), &mut errors);
        let counted = clock();
        let mut outcomes = vec![tokens_outcome];
        let mut cleaned = Cleaned::default();
        let (guarded, cleaned_at) = self.alongside_guardrails(message, rules, || {
            if rules.rules().dataclean.is_some() {
                cleaned = self.clean(message, rules, proposed, clock);
                outcomes.push(cleaned.outcome);
            }
            clock()
        });
        errors.append(&mut cleaned.errors);
        let timings = timings([started, counted, cleaned_at, clock()]);
        let guardrails = guarded.map(|guarded| {
            errors.extend(guarded.errors);
            outcomes.push(guarded.outcome);
            guarded.report
        });
        let no_judge = self.no_judge(rules.rules());
        outcomes.extend(no_judge.is_some().then_some(Outcome::Failed));
        errors.extend(no_judge);
        Report {
            status: status(&outcomes),
            errors,
            tokens,
            guardrails: guardrails.unwrap_or_default(),
            dataclean: cleaned.report,
            custom_policy: CustomPolicyReport::default(),
            masked_text: cleaned.masked_text,
            cleaned_in_part: cleaned.in_part,
            timings,
        }
    }

    /// The bytes that analyzing a message takes one look at: those of its text, and where it has parts, those of what
    /// is read across them within the budget.
    pub fn bytes_read(&self, message: Message<'_>, rules: &Compiled) -> usize {
        let reader = match rules.has_regexes() {
            true => Reader::CustomPatterns,
            false => Reader::Detectors,
        };
        message.text.len() + bytes_across(self.budget.of(message), reader)
    }

    /// Does the other work and the guardrails that the rules ask for: one after the other, or both at
    /// once where the text is long enough.
    fn alongside_guardrails<T>(
        &self,
        message: Message<'_>,
        rules: &Compiled,
        other: impl FnOnce() -> T,
    ) -> (Option<Guarded>, T) {
        if rules.rules().guardrails.is_none() {
            return (None, other());
        }
        let short = message.text.len() < PARALLEL_FROM_BYTES && self.second_stage.is_none();
        if short || !self.services.guardrails {
            let done = other();
            return (Some(self.guard(message, rules)), done);
        }
        thread::scope(|scope| {
            let start =
                || thread::Builder::new().spawn_scoped(scope, || self.guard(message, rules));
            let guarded = start();
            let done = other();
            let guarded = guarded.ok().and_then(|thread| thread.join().ok());
            // No thread to be had: it takes its turn here.
            (
                Some(guarded.unwrap_or_else(|| self.guard(message, rules))),
                done,
            )
        })
    }

    /// The verdict of the guardrails alone, and one entry per failure. Nothing where the rules do not
    /// ask for them.
    pub fn guardrails(&self, text: &str, rules: &Compiled) -> (GuardrailsReport, Vec<String>) {
        if rules.rules().guardrails.is_none() {
            return Default::default();
        }
        let guarded = self.guard(text.into(), rules);
        (guarded.report, guarded.errors)
    }

    fn guard(&self, message: Message<'_>, rules: &Compiled) -> Guarded {
        let failed = |reason| Guarded {
            report: GuardrailsReport::default(),
            errors: vec![format!("guardrails: {reason}")],
            outcome: Outcome::Failed,
        };
        if !self.services.guardrails {
            return failed(SWITCHED_OFF);
        }
        let asked = rules.guardrails();
        let looked = self.budget.of(message);
        let stage = || guardrails::check(&self.guardrails, looked, asked);
        // The panic's own text is dropped: it may quote the message.
        let Ok((mut report, mut failures)) = catch_unwind(AssertUnwindSafe(stage)) else {
            return failed("the stage failed");
        };
        let first = failures.len();
        if let Some(second) = &self.second_stage {
            failures.extend(second.add_to(&mut report, looked.text, asked));
        }
        let all_failed = first > 0 && first == asked.len();
        failures.extend(report::not_analyzed(message.text, looked.text.len()));
        let outcome = match failures.len() {
            0 => Outcome::Ran,
            _ if all_failed => Outcome::Failed,
            _ => Outcome::RanInPart,
        };
        let named = |failure| format!("guardrails: {failure}");
        Guarded {
            report,
            errors: failures.into_iter().map(named).collect(),
            outcome,
        }
    }

    /// What the dataclean stage alone says of a text, and one entry per failure; without a clean text
    /// where the stage did not run.
    pub fn sensitive_data(
        &self,
        text: &str,
        rules: &Compiled,
        clock: &dyn Fn() -> u64,
    ) -> (DatacleanReport, Vec<String>) {
        let cleaned = self.clean(text.into(), rules, &ProposedFinds::default(), clock);
        (cleaned.report, cleaned.errors)
    }

    /// What this deployment offers.
    pub fn services(&self) -> Services {
        self.services
    }

    /// The custom policies of a direction that are to be judged, beside the engine.
    pub fn custom_policies<'r>(&self, rules: &'r Compiled) -> &'r [CustomPolicy] {
        match self.services.custom_policy {
            true => &rules.rules().custom_policies,
            false => &[],
        }
    }

    /// Custom policies that are asked for and switched off: never a silent pass (CONTRACT 26). Where
    /// they are on, a judge beside the engine rules on them.
    fn no_judge(&self, rules: &Rules) -> Option<String> {
        let is_missing = !rules.custom_policies.is_empty() && !self.services.custom_policy;
        is_missing.then(|| format!("custom_policy: {SWITCHED_OFF}"))
    }

    fn search<'s>(&self, message: Message<'s>, proposed: &'s [Span]) -> Search<'s> {
        Search {
            message,
            budget: self.budget,
            proposed,
        }
    }

    fn clean(
        &self,
        message: Message<'_>,
        rules: &Compiled,
        proposed: &ProposedFinds,
        clock: &dyn Fn() -> u64,
    ) -> Cleaned {
        let failed = |reason| Cleaned {
            errors: vec![format!("dataclean: {reason}")],
            ..Cleaned::default()
        };
        if !self.services.dataclean {
            return failed(SWITCHED_OFF);
        }
        let stage = || {
            let search = self.search(message, &proposed.spans);
            let mut found = dataclean::find(&self.detectors, search, rules, clock);
            found.in_part |= !proposed.failures.is_empty();
            found.failures.extend(proposed.failures.iter().cloned());
            let has_run = found.ran > 0 || found.failures.is_empty();
            let rest = report::not_analyzed(message.text, found.looked_to);
            found.failures.extend(rest);
            let mut cleaned = match &rules.rules().dataclean {
                Some(dataclean) if has_run => Cleaned::of(message.text, dataclean, &found),
                _ => Cleaned::default(),
            };
            let failures = found.failures.into_iter();
            cleaned.errors = failures.map(|why| format!("dataclean: {why}")).collect();
            cleaned
        };
        // The panic's own text is dropped: it may quote the message.
        catch_unwind(AssertUnwindSafe(stage)).unwrap_or_else(|_| failed("the stage failed"))
    }
}

/// From the moments at which an analysis began, had counted, had cleaned and ended.
fn timings([started, counted, cleaned, ended]: [u64; 4]) -> Timings {
    Timings {
        dataclean_us: cleaned.saturating_sub(counted),
        guardrails_us: ended.saturating_sub(cleaned),
        tokens_us: counted.saturating_sub(started),
        custom_policy_us: 0,
        total_us: ended.saturating_sub(started),
    }
}

fn count_tokens(text: &str, rules: &Rules, errors: &mut Vec<String>) -> (TokensReport, Outcome) {
    match catch_unwind(|| rules.encoding.count(text)) {
        Ok(count) => {
            let severity = |thresholds: TokenThresholds| thresholds.severity(count);
            let tokens = TokensReport {
                count,
                usage_severity: rules.tokens.and_then(severity),
            };
            (tokens, Outcome::Ran)
        }
        Err(_) => {
            errors.push("tokens: the stage failed".to_owned());
            (TokensReport::default(), Outcome::Failed)
        }
    }
}

fn status(outcomes: &[Outcome]) -> Status {
    if outcomes.iter().all(|outcome| *outcome == Outcome::Ran) {
        Status::Success
    } else if outcomes.iter().all(|outcome| *outcome == Outcome::Failed) {
        Status::Error
    } else {
        Status::PartialSuccess
    }
}

#[cfg(test)]
mod tests;
