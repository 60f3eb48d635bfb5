//! What models find: those of `made`.

use super::made::{LABELS, parts};
use super::{Classifier, Parts, Tagger};
use crate::config::settings::Services;
use crate::detect::rules::Pattern;
use crate::detect::{Compiled, DatacleanRules, Engine, PatternName, Rules};
use crate::model::Status;

fn meant() -> Vec<(String, PatternName)> {
    vec![
        ("PER".to_owned(), PatternName::Name),
        ("ORG".to_owned(), PatternName::Company),
    ]
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
    let engine = engine(Tagger::new(parts(false), &meant(), 4).unwrap());
    let rules = rules(&[PatternName::Name, PatternName::Company, PatternName::Emails]);
    let report = engine.analyse("кто: зубров лосев, рога a@b.ru", &rules, &|| 0);
    assert_eq!(report.status, Status::Success, "{:?}", report.errors);
    assert_eq!(
        report.dataclean.cleaned_text.unwrap(),
        "кто: [NAME], [COMPANY] [EMAILS]"
    );
}

#[test]
fn a_long_text_is_read_in_windows_and_its_end_is_not_lost() {
    let engine = engine(Tagger::new(parts(false), &meant(), 20).unwrap());
    let text = format!("{}зубров", "рога, ".repeat(1000));
    let report = engine.analyse(&text, &rules(&[PatternName::Name]), &|| 0);
    let found = &report.dataclean.entities;
    assert_eq!((found.len(), found[0].start, found[0].end), (1, 6000, 6006));
}

#[test]
fn beyond_its_bound_the_model_says_so_and_what_it_found_stays() {
    let engine = engine(Tagger::new(parts(false), &meant(), 1).unwrap());
    let text = format!("зубров {}", "рога, ".repeat(1000));
    let report = engine.analyse(
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
fn a_model_that_fails_is_an_error_and_the_other_detectors_still_count() {
    let mut broken = parts(false);
    broken.config = broken.config.replace("I-ORG", "B-PER\", \"4\": \"O");
    let engine = engine(Tagger::new(broken, &meant(), 4).unwrap());
    let report = engine.analyse(
        "зубров a@b.ru",
        &rules(&[PatternName::Name, PatternName::Emails]),
        &|| 0,
    );
    assert_eq!(report.status, Status::PartialSuccess);
    let why = "dataclean: model: the model answers more or fewer labels than config.json has";
    assert_eq!(report.errors, [why]);
    assert_eq!(report.dataclean.cleaned_text.unwrap(), "зубров [EMAILS]");
}

#[test]
fn a_folder_that_is_no_model_says_what_is_wrong_with_it() {
    let told = |change: fn(&mut Parts)| {
        let mut parts = parts(false);
        change(&mut parts);
        Tagger::new(parts, &meant(), 4).err().unwrap_or_default()
    };
    assert!(told(|parts| parts.model = vec![1, 2, 3]).starts_with("model.onnx: "));
    assert_eq!(
        told(|parts| parts.vocabulary.clear()),
        "the vocabulary has no [UNK]"
    );
    assert_eq!(told(|parts| parts.config.clear()), "config.json is no JSON");
    let unmeant = Tagger::new(parts(false), &[], 4).err().unwrap_or_default();
    assert_eq!(
        unmeant,
        "none of the model's labels stands for a pattern: O, B-PER, I-PER, I-ORG"
    );
    let of_texts = engine(Tagger::new(parts(true), &meant(), 4).unwrap());
    let report = of_texts.analyse("зубров", &rules(&[PatternName::Name]), &|| 0);
    assert!(
        report.errors[0].contains("the model answers no scores"),
        "{:?}",
        report.errors
    );
}

#[test]
fn a_classifier_gives_the_shares_of_its_loudest_window() {
    let classifier = Classifier::new(parts(true), 20).unwrap();
    assert_eq!(classifier.labels(), LABELS);
    let (scores, whole) = classifier
        .classify("лосев лосев лосев лосев лосев")
        .unwrap();
    assert!(whole && scores[2] > 0.9 && (scores.iter().sum::<f64>() - 1.0).abs() < 1e-6);
    let (buried, _) = classifier
        .classify(&format!("{} {}", ", ".repeat(700), "лосев ".repeat(300)))
        .unwrap();
    assert!(buried[2] > 0.9, "{buried:?}");
    assert!(
        !Classifier::new(parts(true), 1)
            .unwrap()
            .classify(&", ".repeat(700))
            .unwrap()
            .1
    );
}
