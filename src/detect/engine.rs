//! Runs the stages over one text and gathers their reports. A stage that fails is an entry in
//! `errors` and lowers the status; it is never a silent pass (CONTRACT 26). No rule of detection stands here.

use super::dataclean::{self, Detector, Found};
use super::report::{self, Report};
use super::rules::{DatacleanRules, Rules};
use super::tokens::Encoding;
use crate::model::{DatacleanReport, Status, Timings, TokensReport};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Every detector, built once. Shared between threads.
pub struct Engine {
    detectors: Vec<Box<dyn Detector>>,
}

/// How a stage that was asked for ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Ran,
    RanInPart,
    Failed,
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine {
    /// Builds every detector of the registry.
    pub fn new() -> Self {
        Self {
            detectors: dataclean::detectors(),
        }
    }

    /// Unpacks the token vocabulary and the numbering plans, so that the first message does not
    /// wait for them. Takes tens of milliseconds; without it the first analysis takes them.
    pub fn warm_up(&self, encoding: Encoding) {
        let rules = Rules {
            encoding,
            ..Rules::default()
        };
        self.analyse(
            "+7 912 345-67-89, +1 212 456 1234, +44 20 7946 0958",
            &rules,
            &|| 0,
        );
    }

    /// Analyses one text. `clock` gives microseconds and only ever goes forward. Time is linear in
    /// the text's length.
    pub fn analyse(&self, text: &str, rules: &Rules, clock: &dyn Fn() -> u64) -> Report {
        let started = clock();
        let mut errors = Vec::new();
        let (tokens, tokens_outcome) = count_tokens(text, rules.encoding, &mut errors);
        let counted = clock();
        let mut outcomes = vec![tokens_outcome];
        let mut dataclean = DatacleanReport::default();
        if let Some(rules) = &rules.dataclean {
            let (found, outcome) = self.clean(text, rules, &mut errors);
            dataclean = found;
            outcomes.push(outcome);
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
            dataclean,
            timings,
        }
    }

    fn clean(
        &self,
        text: &str,
        rules: &DatacleanRules,
        errors: &mut Vec<String>,
    ) -> (DatacleanReport, Outcome) {
        let stage = || {
            let Found { spans, failures } = dataclean::find(&self.detectors, text, &rules.patterns);
            if !rules.patterns.is_empty() && failures.len() == rules.patterns.len() {
                return (None, failures);
            }
            let cleaned = dataclean::clean(text, &spans, rules.clean_type, rules.mask_style);
            (Some(report::dataclean(text, &spans, cleaned)), failures)
        };
        // The panic's own text is dropped: it may quote the message.
        let Ok((report, failures)) = catch_unwind(AssertUnwindSafe(stage)) else {
            errors.push("dataclean: the stage failed".to_owned());
            return (DatacleanReport::default(), Outcome::Failed);
        };
        let whole = failures.is_empty();
        errors.extend(
            failures
                .into_iter()
                .map(|failure| format!("dataclean: {failure}")),
        );
        match report {
            Some(report) if whole => (report, Outcome::Ran),
            Some(report) => (report, Outcome::RanInPart),
            None => (DatacleanReport::default(), Outcome::Failed),
        }
    }
}

fn count_tokens(
    text: &str,
    encoding: Encoding,
    errors: &mut Vec<String>,
) -> (TokensReport, Outcome) {
    match catch_unwind(|| encoding.count(text)) {
        Ok(count) => (
            TokensReport {
                count,
                usage_severity: None,
            },
            Outcome::Ran,
        ),
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
    use crate::detect::rules::CleanType;

    struct Broken;

    impl Detector for Broken {
        fn name(&self) -> PatternName {
            PatternName::Emails
        }

        fn find(&self, text: &Text, _: &mut Vec<Span>) {
            std::panic::resume_unwind(Box::new(text.original().to_owned()));
        }
    }

    fn only(patterns: Vec<PatternName>) -> Rules {
        let dataclean = DatacleanRules {
            patterns,
            ..DatacleanRules::default()
        };
        Rules {
            dataclean: Some(dataclean),
            ..Rules::default()
        }
    }

    #[test]
    fn a_detector_that_panics_is_named_and_the_others_still_count() {
        let mut engine = Engine::new();
        engine
            .detectors
            .retain(|detector| detector.name() != PatternName::Emails);
        engine.detectors.push(Box::new(Broken));
        let report = engine.analyse("10.0.0.1 a@b.ru", &Rules::default(), &|| 0);
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
        };
        let report = engine.analyse("a@b.ru", &only(vec![PatternName::Emails]), &|| 0);
        assert_eq!(report.status, Status::PartialSuccess);
        assert_eq!(report.dataclean, DatacleanReport::default());
        assert_eq!(report.tokens.count, Encoding::O200kBase.count("a@b.ru"));
    }

    #[test]
    fn a_pattern_without_a_detector_is_named_only_when_asked_for() {
        let engine = Engine::new();
        assert_eq!(
            engine.analyse("x", &Rules::default(), &|| 0).status,
            Status::Success
        );
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
        let report = Engine::new().analyse("a@b.ru", &rules, &|| 0);
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
        let report = Engine::new().analyse("a@b.ru", &rules, &clock);
        assert_eq!(report.dataclean.cleaned_text.as_deref(), Some("a@b.ru"));
        assert!(report.dataclean.flagged);
        assert_eq!((report.timings.tokens_us, report.timings.total_us), (5, 10));
    }
}
