//! Finds and failures with the models of `test_models`.

use super::test_models::{self, BEYOND, LABELS, Scored};
use super::{Classifier, InferenceLimits, ModelFiles, Tagger};
use crate::guardrails::{Category, SecondStage, Text};
use crate::rules::{GuardrailsRules, Pattern};
use crate::{Compiled, DatacleanRules, Engine, PatternName, Rules};
use monitor_model::Services;
use monitor_model::ShownWhen;
use monitor_model::{Stage, Status};
use std::sync::atomic::{AtomicU64, Ordering};

fn parts(scored: Scored) -> ModelFiles {
    let vocabulary = match scored {
        Scored::Words => test_models::vocabulary(),
        Scored::Texts => test_models::tokenizer(),
    };
    ModelFiles {
        model: test_models::model(scored),
        vocabulary,
        config: test_models::config(LABELS, false),
    }
}

fn meant() -> Vec<(String, PatternName)> {
    vec![
        ("PER".to_owned(), PatternName::Name),
        ("ORG".to_owned(), PatternName::Company),
    ]
}

fn up_to(max_windows: usize) -> InferenceLimits {
    InferenceLimits {
        max_windows,
        time_us: 1000,
        clock: || 0,
    }
}

fn tagger(max_windows: usize) -> Tagger {
    Tagger::new(parts(Scored::Words), &meant(), up_to(max_windows)).unwrap()
}

fn rules(names: &[PatternName]) -> Compiled {
    let patterns = names.iter().map(|name| Pattern::from(*name)).collect();
    Compiled::new(Rules {
        dataclean: Some(DatacleanRules {
            patterns: Some(patterns),
            ..DatacleanRules::default()
        }),
        ..Rules::default()
    })
}

fn engine(tagger: Tagger) -> Engine {
    Engine::new(Services::default()).with(tagger.detectors())
}

#[test]
fn a_model_finds_beside_the_built_in_tagger_and_its_words_join() {
    let engine = engine(tagger(4));
    let rules = rules(&[PatternName::Name, PatternName::Company, PatternName::Emails]);
    let report = engine.analyze("кто: зубров лосев, рога a@b.ru", &rules, &|| 0);
    assert_eq!(report.status, Status::Success, "{:?}", report.errors);
    assert_eq!(
        report.dataclean.cleaned_text.as_deref(),
        Some("кто: [NAME], [COMPANY] [EMAILS]")
    );
}

#[test]
fn a_long_text_is_read_in_windows_and_its_end_is_not_lost() {
    let engine = engine(tagger(20));
    let text = format!("{}зубров", "рога, ".repeat(1000));
    let report = engine.analyze(&text, &rules(&[PatternName::Name]), &|| 0);
    let found = &report.dataclean.entities;
    assert_eq!((found.len(), found[0].start, found[0].end), (1, 6000, 6006));
}

#[test]
fn beyond_its_bound_the_model_says_so_and_what_it_found_stays() {
    let engine = engine(tagger(1));
    let text = format!("зубров {}", "рога, ".repeat(1000));
    let report = engine.analyze(
        &text,
        &rules(&[PatternName::Name, PatternName::Emails]),
        &|| 0,
    );
    assert_eq!(report.status, Status::PartialSuccess);
    assert_eq!(
        report.errors,
        ["dataclean: model: the model was shown the first 254 pieces of words only"]
    );
    assert_eq!(report.dataclean.entities.len(), 1);
}

#[test]
fn a_model_out_of_time_is_stopped_between_windows_and_what_it_found_stays() {
    /// Each look at it takes 600 µs.
    fn slow() -> u64 {
        static NOW: AtomicU64 = AtomicU64::new(0);
        NOW.fetch_add(600, Ordering::Relaxed)
    }
    let bounds = InferenceLimits {
        clock: slow,
        ..up_to(20)
    };
    let tagger = Tagger::new(parts(Scored::Words), &meant(), bounds).unwrap();
    let text = format!("зубров {}", "рога, ".repeat(1000));
    let report = engine(tagger).analyze(&text, &rules(&[PatternName::Name]), &|| 0);
    assert_eq!(report.status, Status::PartialSuccess);
    let why = "dataclean: model: the model was stopped after 1 ms; it was shown the first 412 pieces of \
        words only";
    assert_eq!(report.errors, [why]);
    assert!(report.cleaned_in_part);
    assert_eq!(report.dataclean.entities.len(), 1);
}

#[test]
fn a_model_that_fails_is_an_error_and_the_other_detectors_still_count() {
    let engine = engine(tagger(4));
    let report = engine.analyze(
        &format!("зубров {BEYOND} a@b.ru"),
        &rules(&[PatternName::Name, PatternName::Emails]),
        &|| 0,
    );
    assert_eq!(report.status, Status::PartialSuccess);
    let why = &report.errors[0];
    let told = why.starts_with("dataclean: model: the model cannot run: ");
    assert!(told && !why.contains(BEYOND), "{:?}", report.errors);
    let cleaned = report.dataclean.cleaned_text.unwrap();
    assert_eq!(*cleaned, format!("зубров {BEYOND} [EMAILS]"));
}

#[test]
fn a_folder_that_is_no_model_says_what_is_wrong_with_it() {
    let told = |change: fn(&mut ModelFiles)| {
        let mut parts = parts(Scored::Words);
        change(&mut parts);
        let tagger = Tagger::new(parts, &meant(), up_to(4));
        tagger.err().unwrap_or_default()
    };
    assert!(told(|parts| parts.model = vec![1, 2, 3]).starts_with("model.onnx: "));
    let no_unknown = told(|parts| parts.vocabulary.clear());
    assert_eq!(no_unknown, "the vocabulary has no [UNK]");
    assert_eq!(told(|parts| parts.config.clear()), "config.json is no JSON");
    assert_eq!(
        told(|parts| parts.config = test_models::config(&["O", "PER", "ORG"], false)),
        "a window of 256 tokens: the model answers with 4 labels and config.json has 3"
    );
    let of_texts = told(|parts| parts.model = test_models::model(Scored::Texts));
    assert!(
        of_texts.contains("the model answers no scores"),
        "{of_texts}"
    );
}

#[test]
fn labels_that_stand_for_nothing_or_are_not_the_models_are_refused() {
    let told = |meant: &[(String, PatternName)]| {
        let tagger = Tagger::new(parts(Scored::Words), meant, up_to(4));
        tagger.err().unwrap_or_default()
    };
    let labels = "its labels are O, B-PER, I-PER, I-ORG";
    let none = format!("none of its labels stands for a pattern; {labels}");
    assert_eq!(told(&[]), none);
    let unknown = format!("it has no label LOC; {labels}");
    assert_eq!(told(&[("LOC".to_owned(), PatternName::Address)]), unknown);
    let one = [("I-PER".to_owned(), PatternName::Name)];
    assert_eq!(told(&one), "");
}

/// A model whose second label is an insult and whose fourth is a jailbreak.
fn classifier(several: bool, max_windows: usize) -> Result<Classifier, String> {
    let parts = ModelFiles {
        config: test_models::config(&["fine", "insult", "toxicity", "LABEL_3"], several),
        ..parts(Scored::Texts)
    };
    let meant = [
        ("insult".to_owned(), Category::Toxicity),
        ("LABEL_3".to_owned(), Category::Jailbreak),
    ];
    let thresholds = [("LABEL_3".to_owned(), 0.999_95)];
    Classifier::new(parts, &meant, &thresholds, up_to(max_windows))
}

/// The scores of toxicity and of jailbreaks, and why there may be more.
fn scores(classifier: Classifier, text: &str) -> (Vec<f64>, Option<String>) {
    let guardrails = classifier.guardrails();
    let text = Text::new(text);
    let found = guardrails.iter().rev().map(|one| one.check(&text).unwrap());
    let found = found.map(|finding| (finding.score * 1e3).round() / 1e3);
    (found.collect(), guardrails[0].failure(&text))
}

#[test]
fn labels_of_one_category_count_together_and_a_threshold_moves_to_the_middle() {
    let several = |text| scores(classifier(true, 4).unwrap(), text).0;
    assert_eq!(several("кто там"), [0.0, 0.0]);
    assert_eq!(several("зубр"), [1.0, 0.0]);
    assert_eq!(several("лосев"), [1.0, 0.0]);
    assert_eq!(several("лосяш"), [0.731, 0.0]);
    // 0.9999 of 1, but less than its label takes.
    assert_eq!(several("рога, зубр"), [1.0, 0.5]);
    // One label only: the shares of all of them are 1.
    let one = |text| scores(classifier(false, 4).unwrap(), text).0;
    assert_eq!(one("кто там"), [0.0, 0.0]);
    assert_eq!(one("лосяш"), [0.269, 0.0]);
}

#[test]
fn of_a_long_text_the_loudest_window_counts_and_what_lies_beyond_is_told() {
    let text = format!("{} лосев", ", ".repeat(700));
    assert_eq!(scores(classifier(true, 20).unwrap(), &text).0[0], 1.0);
    let (found, failure) = scores(classifier(true, 1).unwrap(), &text);
    assert_eq!(found[0], 0.0);
    let why = "classifier: the model was shown the first 254 pieces of words only";
    assert_eq!(failure.as_deref(), Some(why));
}

#[test]
fn a_classifier_is_a_second_stage_and_its_failure_a_failure_of_the_guardrails() {
    let stage = SecondStage::new(classifier(true, 4).unwrap().guardrails(), ShownWhen::Always);
    let engine = Engine::default().with_second_stage(Some(stage));
    let rules = Rules {
        guardrails: Some(GuardrailsRules::default()),
        ..Rules::default()
    };
    let rules = Compiled::of(Stage::PreCall, rules);
    let report = engine.analyze("лосев", &rules, &|| 0);
    assert_eq!(report.status, Status::Success, "{:?}", report.errors);
    let found = &report.guardrails.categories[0];
    assert_eq!((&*found.name, &*found.reason), ("toxicity", "classifier"));
    assert!(report.guardrails.flagged);
    let report = engine.analyze(BEYOND, &rules, &|| 0);
    assert_eq!(report.status, Status::PartialSuccess);
    let why = "guardrails: classifier: the model cannot run: ";
    assert!(report.errors.len() == 1 && report.errors[0].starts_with(why));
    assert!(!report.guardrails.flagged);
}
