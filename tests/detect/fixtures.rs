//! Every pattern that has a detector has a table of good examples and near misses.

use monitor_detect::{Compiled, DatacleanRules, Engine, PatternName, Rules};
use serde::Deserialize;
use std::path::Path;

const FEWEST_ROWS: usize = 25;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fixture {
    positive: Vec<Row>,
    negative: Vec<Negative>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) text: String,
    /// Every find of the table's pattern, in the order of the text.
    find: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Negative {
    text: String,
}

impl Fixture {
    /// Those with finds, then those without.
    pub(super) fn rows(self) -> impl Iterator<Item = Row> {
        let without = self.negative.into_iter().map(|row| Row {
            text: row.text,
            find: Vec::new(),
        });
        self.positive.into_iter().chain(without)
    }
}

/// The table of a pattern. `{+}` stands in keys so that what looks for leaked ones finds none there.
pub(super) fn fixture(name: PatternName) -> Fixture {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pii");
    let file = folder.join(format!("{name}.toml"));
    let text = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    toml::from_str(&text.replace("{+}", ""))
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Everything that `engine` finds, as type and value, which is cut out of the text by code points.
pub(super) fn all_found(engine: &Engine, text: &str, rules: &Compiled) -> Vec<(String, String)> {
    let report = engine.analyze(text, rules, &|| 0);
    assert_eq!(report.errors, Vec::<String>::new(), "{text}");
    let cut = |start, end| text.chars().skip(start).take(end - start).collect();
    let entities = report.dataclean.entities.iter();
    entities
        .map(|e| (e.kind.to_string(), cut(e.start, e.end)))
        .collect()
}

/// What `engine` finds of one pattern.
fn found(engine: &Engine, text: &str, rules: &Compiled, name: PatternName) -> Vec<String> {
    let all = all_found(engine, text, rules).into_iter();
    all.filter(|(kind, _)| kind == name.as_str())
        .map(|(_, value)| value)
        .collect()
}

/// Runs every row and gathers all failures, so that one run shows the whole picture.
pub(super) fn check(
    names: impl Iterator<Item = PatternName>,
    rules: impl Fn(PatternName) -> Rules,
) {
    let engine = Engine::default();
    let mut wrong = Vec::new();
    for name in names {
        let rules = Compiled::new(rules(name));
        for Row { text, find } in fixture(name).rows() {
            let found = found(&engine, &text, &rules, name);
            if found != find {
                wrong.push(format!(
                    "{name}: {text:?}: found {found:?}, expected {find:?}"
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
    check(PatternName::all(), |name| {
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
    check(PatternName::all(), |_| Rules::default());
}

#[test]
fn every_table_has_enough_rows_and_none_twice() {
    enough_rows(PatternName::all(), FEWEST_ROWS);
}

/// Asserts that every table has so many rows of both kinds and no text twice.
pub(super) fn enough_rows(names: impl Iterator<Item = PatternName>, fewest: usize) {
    for name in names {
        let fixture = fixture(name);
        assert!(fixture.positive.iter().all(|row| !row.find.is_empty()));
        let (with, without) = (fixture.positive.len(), fixture.negative.len());
        assert!(with >= fewest, "{name}: {with} positive");
        assert!(without >= fewest, "{name}: {without} negative");
        let mut texts: Vec<String> = fixture.rows().map(|row| row.text).collect();
        let rows = texts.len();
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), rows, "{name}: a text stands twice");
    }
}

/// Blanks that look like one, or like the end of a line; all but the no-break ones of ordinary prose are strangers to
/// numbers.
const BLANKS: &str = "\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\
                      \u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";

#[test]
fn blanks_of_other_scripts_between_the_groups_of_a_number_hide_none() {
    let (engine, mut wrong, mut grouped) = (Engine::default(), Vec::new(), 0);
    for name in PatternName::all() {
        let rules = Compiled::new(Rules {
            dataclean: Some(DatacleanRules {
                patterns: Some(vec![name.into()]),
                ..DatacleanRules::default()
            }),
            ..Rules::default()
        });
        for row in fixture(name).positive {
            let is_grouped = |find: &String| {
                let groups = find.split(' ').collect::<Vec<_>>();
                groups.len() > 1
                    && groups.iter().all(|group| {
                        group.contains(|c: char| c.is_ascii_digit()) && group.is_ascii()
                    })
            };
            let kinds = ["DATE", "DEADLINE_DATE", "DURATION", "MONEY", "ADDRESS"];
            if kinds.contains(&name.as_str()) || !row.find.iter().any(is_grouped) {
                continue;
            }
            grouped += 1;
            for blank in BLANKS.chars() {
                let other = |find: &String| match is_grouped(find) {
                    true => find.replace(' ', &blank.to_string()),
                    false => find.clone(),
                };
                let expected: Vec<_> = row.find.iter().map(other).collect();
                let mut text = row.text.clone();
                for (find, other) in row.find.iter().zip(&expected) {
                    text = text.replace(find.as_str(), other);
                }
                let found = found(&engine, &text, &rules, name);
                if found != expected {
                    wrong.push(format!("{name}: {text:?}: found {found:?}"));
                }
            }
        }
    }
    assert!(grouped > 30, "{grouped} rows");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_lone_carriage_return_between_the_groups_of_a_card_number_hides_it_no_more_than_a_line_feed() {
    let engine = Engine::default();
    let name = PatternName::all().find(|name| name.as_str() == "BANK_CARD_NUMBER");
    let name = name.unwrap();
    let rules = Compiled::new(Rules {
        dataclean: Some(DatacleanRules {
            patterns: Some(vec![name.into()]),
            ..DatacleanRules::default()
        }),
        ..Rules::default()
    });
    for end in ["\n", "\r\n", "\r"] {
        let card = ["4276", "5493", "6034", "4563"].join(end);
        let text = format!("карта {card} на двоих");
        assert_eq!(found(&engine, &text, &rules, name), [card], "{end:?}");
    }
}
