//! Bounds of custom and allowed patterns, and what they find across parts.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::dataclean::PatternName;
use crate::rules::{DatacleanRules, Rules};
use crate::seams::joined_bytes;

/// A clock whose every look takes a tenth of the time of custom patterns.
fn slow() -> impl Fn() -> u64 {
    let now = std::cell::Cell::new(0);
    move || now.replace(now.get() + CUSTOM_TIME_US / 10)
}

fn with_custom(regexes: &[&str]) -> Compiled {
    let pattern = |regex: &&str| crate::rules::CustomPattern {
        name: (*regex).to_owned(),
        regex: (*regex).to_owned(),
    };
    let patterns = regexes.iter().map(pattern);
    let dataclean = DatacleanRules {
        patterns: Some(patterns.map(crate::rules::Pattern::Custom).collect()),
        ..DatacleanRules::default()
    };
    Compiled::new(Rules {
        dataclean: Some(dataclean),
        ..Rules::default()
    })
}

fn finds_of(rules: &Compiled, parts: &[&str]) -> usize {
    let text = parts.join("\n");
    let ends = parts.iter().scan(0, |end, part| {
        *end += part.len() + 1;
        Some(*end - 1)
    });
    let part_breaks: Vec<usize> = ends.take(parts.len() - 1).collect();
    let message = Message {
        text: &text,
        part_breaks: &part_breaks,
    };
    let report = crate::Engine::default().analyze(message, rules, &|| 0);
    assert_eq!(report.errors, [""; 0]);
    report.dataclean.entities.len()
}

fn with_allowed(allowed: &[&str]) -> Compiled {
    let pattern = |regex: &&str| crate::rules::CustomPattern {
        name: "ours".to_owned(),
        regex: (*regex).to_owned(),
    };
    let dataclean = DatacleanRules {
        patterns: Some(vec![PatternName::Emails.into()]),
        allowed_patterns: allowed.iter().map(pattern).collect(),
        ..DatacleanRules::default()
    };
    Compiled::new(Rules {
        dataclean: Some(dataclean),
        ..Rules::default()
    })
}

#[test]
fn allowed_patterns_have_the_time_of_custom_patterns_and_what_was_not_compared_stays_a_find() {
    let engine = crate::Engine::default();
    let text = "a@ours.example ".repeat(20);
    let said = |rules: &Compiled, clock: &dyn Fn() -> u64| {
        let (report, errors) = engine.sensitive_data(&text, rules, clock);
        (report.entities.len(), errors)
    };
    let rules = with_allowed(&["b@.*", r"a@ours\.example"]);
    assert_eq!(said(&rules, &|| 0), (0, Vec::new()));
    // The first look begins; nine more are within the time: four finds and a half.
    let (finds, errors) = said(&rules, &slow());
    assert_eq!(finds, 16);
    assert_eq!(
        errors,
        [
            "dataclean: allowed patterns were stopped: 16 findings were not compared with all of them and \
          stay findings; allowed: 100000 findings, and 1000 ms together with custom patterns"
        ]
    );
}

#[test]
fn a_find_that_is_too_long_for_a_large_regex_says_so() {
    let large = r"[\w@.]{80}";
    let rules = with_allowed(&[large, "b@.*"]);
    assert!(rules.weight() > 1 << 20 && rules.failures().is_empty());
    let clock = &|| 0;
    let custom = CustomSearch::new(&rules, clock);
    let mut found = Found {
        spans: Vec::new(),
        failures: Vec::new(),
        ran: 0,
        in_part: false,
        looked_to: 0,
    };
    let text = "a".repeat(LARGE_WINDOW + 1);
    let span = |end| Span {
        kind: Kind::Predefined(PatternName::Emails),
        start: 0,
        end,
        strength: Strength::CheckDigits,
    };
    found.spans = vec![span(LARGE_WINDOW), span(LARGE_WINDOW + 1)];
    custom.except(&text, &mut found);
    assert_eq!(found.spans.len(), 2);
    assert_eq!(
        found.failures,
        [
            "allowed patterns: 1 findings were not compared with large regexes and stay findings; allowed: \
          findings of at most 4096 bytes"
        ]
    );
}

#[test]
fn a_blank_between_parts_is_what_a_regex_asks_for_or_nothing() {
    let rules = with_custom(&[r"\bfoo bar\b"]);
    for (parts, finds) in [
        (&["x", "foo", " ", "bar", "y"][..], 1),
        (&["x", "foo ", "bar", "y"], 1),
        (&["x", "foo ", " ", "bar", "y"], 1),
        (&["x", "foo", "bar", "y"], 0),
    ] {
        assert_eq!(finds_of(&rules, parts), finds, "{parts:?}");
    }
}

/// Work is counted, not timed.
#[test]
fn what_is_read_across_parts_is_put_together_once_for_all_patterns() {
    let parts = ["word"; 500];
    let bytes = |patterns: usize| {
        let regexes: Vec<_> = (0..patterns)
            .map(|number| format!("none{number}"))
            .collect();
        let regexes: Vec<_> = regexes.iter().map(String::as_str).collect();
        let rules = with_custom(&regexes);
        let before = joined_bytes();
        assert_eq!(finds_of(&rules, &parts), 0);
        joined_bytes() - before
    };
    assert!(bytes(1) > 0);
    assert_eq!(bytes(1), bytes(20));
}

#[test]
fn the_time_of_custom_patterns_is_none_of_allowed_ones() {
    let mut rules = with_allowed(&[r"a@ours\.example"]).rules().clone();
    let custom = crate::rules::CustomPattern {
        name: "X".to_owned(),
        regex: "x".to_owned(),
    };
    if let Some(dataclean) = &mut rules.dataclean {
        let patterns = dataclean.patterns.as_mut();
        patterns
            .unwrap()
            .push(crate::rules::Pattern::Custom(custom));
    }
    let rules = Compiled::new(rules);
    let engine = crate::Engine::default();
    let text = "x ".repeat(9) + "a@ours.example";
    let clock = slow();
    let (report, errors) = engine.sensitive_data(&text, &rules, &clock);
    assert_eq!(report.entities.len(), 10);
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].contains("custom pattern X was stopped"));
    assert!(errors[1].contains("10 findings were not compared"));
}
