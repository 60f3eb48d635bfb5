//! Reports of an engine whose stages fail.

use super::*;
use crate::dataclean::{PatternName, Span, Text};
use crate::rules::Pattern;

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
    let report = engine.analyze("10.0.0.1 a@b.ru", &Compiled::new(Rules::default()), &|| 0);
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
        guardrails: Vec::new(),
        second_stage: None,
        services: Services::default(),
    };
    let report = engine.analyze("a@b.ru", &only(vec![PatternName::Emails]), &|| 0);
    assert_eq!(report.status, Status::PartialSuccess);
    assert_eq!(report.dataclean, DatacleanReport::default());
    assert_eq!(report.tokens.count, Encoding::O200kBase.count("a@b.ru"));
}

#[test]
fn a_pattern_without_a_detector_is_named_only_when_asked_for() {
    let mut engine = Engine::default();
    let offered = engine.analyze("x", &Compiled::new(Rules::default()), &|| 0);
    assert_eq!(offered.status, Status::Success);
    let lacks = |name| name == PatternName::Diagnosis;
    engine.detectors.retain(|detector| !lacks(detector.name()));
    let asked = only(vec![PatternName::Diagnosis, PatternName::Ip]);
    let report = engine.analyze("x", &asked, &|| 0);
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
    let report = Engine::default().analyze("a@b.ru", &rules.into(), &|| 0);
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
    let report = Engine::default().analyze("a@b.ru", &rules.into(), &clock);
    assert_eq!(report.dataclean.cleaned_text.as_deref(), Some("a@b.ru"));
    assert!(report.dataclean.flagged);
    assert_eq!((report.timings.tokens_us, report.timings.total_us), (5, 15));
}
