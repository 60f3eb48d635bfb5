//! Every pattern that has a detector has a table of good examples and near misses.

use monitor_detect::{Compiled, DatacleanRules, Engine, PatternName, Rules};
use serde::Deserialize;
use std::path::Path;

const FEWEST_ROWS: usize = 25;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    positive: Vec<Positive>,
    negative: Vec<Negative>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Positive {
    text: String,
    /// Every find, in the order of the text.
    find: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Negative {
    text: String,
}

fn fixture(name: PatternName) -> Fixture {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pii");
    let file = folder.join(format!("{name}.toml"));
    let text = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// What `engine` finds of one pattern, cut out of the text by code points.
fn found(engine: &Engine, text: &str, rules: &Compiled, name: PatternName) -> Vec<String> {
    let report = engine.analyze(text, rules, &|| 0);
    assert_eq!(report.errors, Vec::<String>::new(), "{text}");
    let cut = |start, end| text.chars().skip(start).take(end - start).collect();
    let entities = report.dataclean.entities.into_iter();
    entities
        .filter(|e| &*e.kind == name.as_str())
        .map(|e| cut(e.start, e.end))
        .collect()
}

/// Runs every row and gathers all failures, so that one run shows the whole picture.
fn check(rules: impl Fn(PatternName) -> Rules) {
    let engine = Engine::default();
    let mut wrong = Vec::new();
    for name in PatternName::all() {
        let rules = Compiled::new(rules(name));
        let fixture = fixture(name);
        let positive = fixture.positive.into_iter().map(|row| (row.text, row.find));
        let negative = fixture
            .negative
            .into_iter()
            .map(|row| (row.text, Vec::new()));
        for (text, expected) in positive.chain(negative) {
            let found = found(&engine, &text, &rules, name);
            if found != expected {
                wrong.push(format!(
                    "{name}: {text:?}: found {found:?}, expected {expected:?}"
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_pattern_alone_finds_its_good_examples_and_no_near_miss() {
    check(|name| {
        let dataclean = DatacleanRules {
            patterns: Some(vec![name.into()]),
            ..DatacleanRules::default()
        };
        Rules {
            dataclean: Some(dataclean),
            ..Rules::default()
        }
    });
}

#[test]
fn no_pattern_takes_the_examples_of_another_when_all_are_on() {
    check(|_| Rules::default());
}

#[test]
fn every_table_has_enough_rows_and_none_twice() {
    for name in PatternName::all() {
        let fixture = fixture(name);
        assert!(
            fixture.positive.len() >= FEWEST_ROWS,
            "{name}: {} positive",
            fixture.positive.len()
        );
        assert!(
            fixture.negative.len() >= FEWEST_ROWS,
            "{name}: {} negative",
            fixture.negative.len()
        );
        let mut texts: Vec<String> = fixture.positive.into_iter().map(|row| row.text).collect();
        texts.extend(fixture.negative.into_iter().map(|row| row.text));
        let rows = texts.len();
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), rows, "{name}: a text stands twice");
    }
}
