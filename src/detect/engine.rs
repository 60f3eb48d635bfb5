//! Runs the stages over one text and gathers their reports. A stage that fails is an entry in
//! `errors` and lowers the status; it is never a silent pass (CONTRACT 26). No rule of detection stands here.

use super::compiled::Compiled;
use super::dataclean::{self, Detector, Found};
use super::report::{self, Report};
use super::rules::{CleanType, DatacleanRules, Rules, TokenThresholds};
use super::tokens::Encoding;
use crate::config::settings::Services;
use crate::model::{DatacleanReport, Status, Timings, TokensReport};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Every detector, built once. Shared between threads.
pub struct Engine {
    detectors: Vec<Box<dyn Detector>>,
    services: Services,
}

/// How a stage that was asked for ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Ran,
    RanInPart,
    Failed,
}

/// What the dataclean stage gives beside its report.
#[derive(Default)]
struct Cleaned {
    report: DatacleanReport,
    masked_text: Option<String>,
    in_part: bool,
}

const SWITCHED_OFF: &str = "switched off at this deployment (services)";
const NOT_AVAILABLE: &str = "not available in this version";

impl Default for Engine {
    fn default() -> Self {
        Self::new(Services::default())
    }
}

impl Engine {
    /// Builds every detector of the registry; `services` are those this deployment offers.
    pub fn new(services: Services) -> Self {
        Self {
            detectors: dataclean::detectors(),
            services,
        }
    }

    /// With further detectors, each beside those of its pattern.
    pub fn with(mut self, detectors: Vec<Box<dyn Detector>>) -> Self {
        self.detectors.extend(detectors);
        self
    }

    /// Unpacks the token vocabulary and the numbering plans, so that the first message does not
    /// wait for them. Takes tens of milliseconds; without it the first analysis takes them.
    pub fn warm_up(&self, encoding: Encoding) {
        let rules = Compiled::new(Rules {
            encoding,
            ..Rules::default()
        });
        self.analyse(
            "+7 912 345-67-89, +1 212 456 1234, +44 20 7946 0958",
            &rules,
            &|| 0,
        );
    }

    /// Analyses one text. `clock` gives microseconds and only ever goes forward. Time is linear in
    /// the text's length; that of custom patterns is bounded beside.
    pub fn analyse(&self, text: &str, rules: &Compiled, clock: &dyn Fn() -> u64) -> Report {
        let started = clock();
        let mut errors = Vec::new();
        let (tokens, tokens_outcome) = count_tokens(text, rules.rules(), &mut errors);
        let counted = clock();
        let mut outcomes = vec![tokens_outcome];
        let mut cleaned = Cleaned::default();
        if rules.rules().dataclean.is_some() {
            let outcome = self.clean(text, rules, clock, (&mut cleaned, &mut errors));
            outcomes.push(outcome);
        }
        for error in self.not_offered(rules.rules()) {
            errors.push(error);
            outcomes.push(Outcome::Failed);
        }
        let ended = clock();
        let timings = Timings {
            dataclean_us: ended.saturating_sub(counted),
            tokens_us: counted.saturating_sub(started),
            total_us: ended.saturating_sub(started),
        };
        Report {
            status: status(&outcomes),
            errors,
            tokens,
            dataclean: cleaned.report,
            masked_text: cleaned.masked_text,
            cleaned_in_part: cleaned.in_part,
            timings,
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
        let (mut cleaned, mut errors) = (Cleaned::default(), Vec::new());
        self.clean(text, rules, clock, (&mut cleaned, &mut errors));
        (cleaned.report, errors)
    }

    /// A short text with what the rules look for masked; None where the stage is off or did not run
    /// whole.
    pub fn mask(&self, text: &str, rules: &Compiled, clock: &dyn Fn() -> u64) -> Option<String> {
        let dataclean = rules.rules().dataclean.as_ref()?;
        let mask = || {
            let found = dataclean::find(&self.detectors, text, rules, clock);
            let style = dataclean.mask_style;
            (!found.in_part)
                .then(|| dataclean::clean(text, &found.spans, CleanType::Masking, style))
        };
        let masked = catch_unwind(AssertUnwindSafe(mask)).ok();
        masked.flatten().filter(|_| self.services.dataclean)
    }

    /// Stages that the rules ask for and nothing here runs: never a silent pass (CONTRACT 26).
    fn not_offered(&self, rules: &Rules) -> impl Iterator<Item = String> {
        let stages = [
            (
                "guardrails",
                rules.guardrails.is_some(),
                self.services.guardrails,
            ),
            (
                "custom_policy",
                !rules.custom_policies.is_empty(),
                self.services.custom_policy,
            ),
        ];
        stages
            .into_iter()
            .filter(|(_, is_asked, _)| *is_asked)
            .map(|(stage, _, is_on)| match is_on {
                true => format!("{stage}: {NOT_AVAILABLE}"),
                false => format!("{stage}: {SWITCHED_OFF}"),
            })
    }

    fn clean(
        &self,
        text: &str,
        rules: &Compiled,
        clock: &dyn Fn() -> u64,
        (cleaned, errors): (&mut Cleaned, &mut Vec<String>),
    ) -> Outcome {
        if !self.services.dataclean {
            errors.push(format!("dataclean: {SWITCHED_OFF}"));
            return Outcome::Failed;
        }
        let stage = || {
            let found = dataclean::find(&self.detectors, text, rules, clock);
            let has_run = found.ran > 0 || found.failures.is_empty();
            let result = match &rules.rules().dataclean {
                Some(dataclean) if has_run => Some(clean(text, dataclean, &found)),
                _ => None,
            };
            (result, found.failures)
        };
        // The panic's own text is dropped: it may quote the message.
        let Ok((result, failures)) = catch_unwind(AssertUnwindSafe(stage)) else {
            errors.push("dataclean: the stage failed".to_owned());
            return Outcome::Failed;
        };
        let is_whole = failures.is_empty();
        let failures = failures.into_iter();
        errors.extend(failures.map(|failure| format!("dataclean: {failure}")));
        let Some(result) = result else {
            return Outcome::Failed;
        };
        *cleaned = result;
        match is_whole {
            true => Outcome::Ran,
            false => Outcome::RanInPart,
        }
    }
}

fn clean(text: &str, dataclean: &DatacleanRules, found: &Found<'_>) -> Cleaned {
    let DatacleanRules {
        clean_type,
        mask_style,
        ..
    } = *dataclean;
    let cleaned_text = dataclean::clean(text, &found.spans, clean_type, mask_style);
    let is_shown = clean_type == CleanType::Detection && !found.spans.is_empty();
    Cleaned {
        report: report::dataclean(text, &found.spans, cleaned_text),
        masked_text: is_shown
            .then(|| dataclean::clean(text, &found.spans, CleanType::Masking, mask_style)),
        in_part: found.in_part,
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
mod tests {
    use super::*;
    use crate::detect::dataclean::{PatternName, Span, Text};
    use crate::detect::rules::Pattern;

    struct Broken;

    impl Detector for Broken {
        fn name(&self) -> PatternName {
            PatternName::Emails
        }

        fn find(&self, text: &Text, _: &mut Vec<Span>) {
            std::panic::resume_unwind(Box::new(text.original().to_owned()));
        }
    }

    fn only(patterns: Vec<PatternName>) -> Compiled {
        let dataclean = DatacleanRules {
            patterns: Some(patterns.into_iter().map(Pattern::from).collect()),
            ..DatacleanRules::default()
        };
        Compiled::new(Rules {
            dataclean: Some(dataclean),
            ..Rules::default()
        })
    }

    #[test]
    fn a_detector_that_panics_is_named_and_the_others_still_count() {
        let mut engine = Engine::default();
        engine
            .detectors
            .retain(|detector| detector.name() != PatternName::Emails);
        engine.detectors.push(Box::new(Broken));
        let report = engine.analyse("10.0.0.1 a@b.ru", &Compiled::new(Rules::default()), &|| 0);
        assert_eq!(report.status, Status::PartialSuccess);
        assert_eq!(report.errors, ["dataclean: the detector of EMAILS failed"]);
        assert_eq!(
            report.dataclean.cleaned_text.as_deref(),
            Some("[IP] a@b.ru")
        );
    }

    #[test]
    fn a_stage_without_any_working_detector_has_failed() {
        let engine = Engine {
            detectors: vec![Box::new(Broken)],
            services: Services::default(),
        };
        let report = engine.analyse("a@b.ru", &only(vec![PatternName::Emails]), &|| 0);
        assert_eq!(report.status, Status::PartialSuccess);
        assert_eq!(report.dataclean, DatacleanReport::default());
        assert_eq!(report.tokens.count, Encoding::O200kBase.count("a@b.ru"));
    }

    #[test]
    fn a_pattern_without_a_detector_is_named_only_when_asked_for() {
        let mut engine = Engine::default();
        let offered = engine.analyse("x", &Compiled::new(Rules::default()), &|| 0);
        assert_eq!(offered.status, Status::Success);
        let lacks = |name| name == PatternName::Diagnosis;
        engine.detectors.retain(|detector| !lacks(detector.name()));
        let asked = only(vec![PatternName::Diagnosis, PatternName::Ip]);
        let report = engine.analyse("x", &asked, &|| 0);
        assert_eq!(report.status, Status::PartialSuccess);
        assert_eq!(
            report.errors,
            ["dataclean: pattern DIAGNOSIS has no detector"]
        );
        assert_eq!(report.dataclean.cleaned_text.as_deref(), Some("x"));
    }

    #[test]
    fn a_stage_that_is_switched_off_flags_nothing() {
        let rules = Rules {
            dataclean: None,
            ..Rules::default()
        };
        let report = Engine::default().analyse("a@b.ru", &rules.into(), &|| 0);
        assert_eq!(
            (report.status, report.dataclean),
            (Status::Success, DatacleanReport::default())
        );
    }

    #[test]
    fn all_stages_failing_is_an_error() {
        assert_eq!(status(&[Outcome::Failed, Outcome::Failed]), Status::Error);
        assert_eq!(
            status(&[Outcome::Ran, Outcome::Failed]),
            Status::PartialSuccess
        );
        assert_eq!(status(&[Outcome::RanInPart]), Status::PartialSuccess);
    }

    #[test]
    fn detection_leaves_the_text_and_the_clock_is_the_callers() {
        let mut rules = Rules::default();
        if let Some(dataclean) = &mut rules.dataclean {
            dataclean.clean_type = CleanType::Detection;
        }
        let tick = std::cell::Cell::new(0);
        let clock = || tick.replace(tick.get() + 5);
        let report = Engine::default().analyse("a@b.ru", &rules.into(), &clock);
        assert_eq!(report.dataclean.cleaned_text.as_deref(), Some("a@b.ru"));
        assert!(report.dataclean.flagged);
        assert_eq!((report.timings.tokens_us, report.timings.total_us), (5, 10));
    }
}
