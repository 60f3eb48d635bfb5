//! Every text that the services may say about fields and refusals has a row.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::analysis::admin::replay::NOT_ASKED;
use crate::analysis::alerts::channel::{Channel, ChannelKind, Mail};
use crate::analysis::alerts::rule::{Rule, RuleKind};
use crate::analysis::api::extract::query::Query;
use crate::analysis::api::records::{costs, filters};
use crate::analysis::ingest::process::{NOT_STORED, OTHER_TEXT};
use crate::analysis::people::administration::check_name;
use crate::analysis::people::passwords;
use crate::analysis::rules::application_rules::ApplicationRules;
use crate::analysis::{ApiError, FieldProblem, text_checks};
use crate::observe::TurnRefusal;
use monitor_model::{Policy, Secret};
use serde_json::json;

fn is_told(problems: &[FieldProblem]) {
    assert!(!problems.is_empty());
    for FieldProblem { field, problem } in problems {
        let told = russian(problem).unwrap_or_else(|| panic!("{field}: {problem}"));
        assert!(told.chars().any(|c| ('а'..='я').contains(&c)), "{told}");
    }
}

#[test]
fn what_varies_stands_in_its_place_and_is_told_too() {
    for (english, expected) in [
        (
            "has 201 characters; allowed: 1 to 200",
            "символов 201; допустимо от 1 до 200",
        ),
        ("is a number; allowed: text", "это число; допустимо: текст"),
        (
            "is not valid: unclosed group",
            "это не регулярное выражение: скобка не закрыта",
        ),
        (
            "the identity provider refuses with status 400 invalid_grant",
            "провайдер идентификации отказал со статусом 400 invalid_grant",
        ),
    ] {
        assert_eq!(russian(english).as_deref(), Some(expected));
    }
    assert_eq!(russian("a text of nobody"), None);
    assert_eq!(russian(""), None);
}

#[test]
fn a_row_has_as_many_places_in_both_languages_and_is_not_hidden_by_one_before_it() {
    for (at, (english, told)) in TABLE.iter().enumerate() {
        let places = |text: &str| text.matches("{}").count();
        assert_eq!(places(english), places(told), "{english}");
        let first = TABLE
            .iter()
            .position(|(row, _)| varying(row, &english.replace("{}", "7")).is_some());
        assert_eq!(first, Some(at), "{english}");
    }
}

#[test]
fn what_may_be_wrong_with_rules_is_told() {
    let wrong = ApplicationRules::parse(&json!({
        "keep_original": "no", "colour": 1, "retention": {"days": 0},
        "pre": {
            "dataclean": {"patterns": ["emails", 5, {"name": "A", "regex": "("},
                {"name": "", "regex": "x*"}, {"name": "B", "regex": "\\w{900}{900}"},
                {"name": " C", "regex": "a)"}, {"name": "D\u{0}", "regex": "[a"},
                {"name": "E", "regex": "*"}, {"name": "F", "regex": "\\1(a)"},
                {"name": "G", "regex": "(?=a)b"}, {"name": "H", "regex": "a\\"},
                {"name": "I", "regex": "\\y"}, {"name": "J", "regex": "a{2"},
                {"regex": "x".repeat(2_001)}], "clean_type": "hide", "allowed_patterns": 7},
            "guardrails": {"categories": {"prompt_injection": 2, "odd": 1}, "disabled": [1]},
            "tokens": {"low": 3}, "custom_policies": {}},
        "post": {"custom_policies": [{"name": "p", "prompt": "x"}], "encoding": 7,
            "tokens": {"low": 3, "high": 2, "critical": 1}, "dataclean": 5},
    }));
    is_told(&wrong.unwrap_err());
    let many: Vec<_> = (0..101)
        .map(|n| json!({"name": format!("n{n}"), "regex": "a"}))
        .collect();
    is_told(
        &ApplicationRules::parse(&json!({"pre": {"dataclean": {"patterns": many}}})).unwrap_err(),
    );
}

#[test]
fn what_is_left_out_of_a_verdict_is_told() {
    let pattern = |n: usize| json!({"name": format!("n{n}"), "regex": format!("\\w{{210}}{n}")});
    let large: Vec<_> = (0..4).map(pattern).collect();
    let wrong = ApplicationRules::parse(&json!({"pre": {"dataclean": {"patterns": large}}}));
    let wrong = wrong.unwrap_err();
    let last = &wrong.last().unwrap().problem;
    assert!(last.ends_with("with the regexes before it"), "{wrong:?}");
    is_told(&wrong);
    for text in [
        NOT_ASKED,
        NOT_STORED,
        OTHER_TEXT,
        monitor_store::STORED_APART,
        "is not compiled: the regexes before it took 5000 ms",
        "validation_config.inline.custom: ignored, custom policies are for user messages only",
        "validation_config.inline.x: not known, ignored",
        "additional_parameters.call.status is not valid and was ignored",
        "dataclean: custom pattern N: its regex is not compiled: the regexes before it took 5000 ms",
        "dataclean: allowed patterns: 2 findings were not compared with large regexes and stay findings; \
         allowed: findings of at most 4096 bytes",
        "dataclean: allowed patterns were stopped: 2 findings were not compared with all of them and stay \
         findings; allowed: 100000 findings, and 1000 ms together with custom patterns",
    ] {
        is_told(&[FieldProblem::new("text", text)]);
    }
}

#[test]
fn a_file_of_costs_that_would_be_cut_is_told() {
    is_told(&[costs::too_many(10_000)]);
}

#[test]
fn a_file_of_the_audit_log_that_would_be_cut_is_told() {
    is_told(&[crate::analysis::ui::audit::too_many()]);
}

#[test]
fn what_may_be_wrong_with_a_policy_is_told() {
    for policy in [
        json!([]),
        json!({"phrase": 7, "block_on": [], "scan_roles": "x", "colour": 1, "app_mode": true,
            "replace_response": "yes", "stream_in_sync": "x".repeat(50), "limits": []}),
        json!({"app_mode": "synk", "scan_roles": ["system", "system"], "local_patterns": ["INN", "x"],
            "limits": {"burst": 0, "odd": 1, "requests_per_second": 1, "requests_per_minute": 1}}),
        json!({"app_mode": "async", "budgets": {}}),
        json!({"app_mode": "async", "budgets": vec![1; 9]}),
        json!({"app_mode": "async", "budgets": [7, {"per": "team", "tokens": 0, "cost": "x", "odd": 1},
            {"per": "user", "window": "day", "action": "stop", "warn_at": 101},
            {"per": "user", "window": "day", "action": "stop", "tokens": 1},
            {"per": "user", "window": "day", "action": "warn", "tokens": 2}]}),
        json!({"app_mode": "sync"}),
        json!({"app_mode": "sync", "phrase": "x".repeat(10_001), "scan_roles": []}),
        json!({"app_mode": "async", "replace_response": true, "stream_in_sync": "hold_back",
            "on_backend_failure": "closed", "local_patterns": []}),
        json!({"app_mode": "async", "stream_in_sync": "replay", "block_details": "header", "embeddings": "check"}),
        json!({"app_mode": "sync", "phrase": "No.", "stream_in_sync": "hold_back",
            "replace_response": true, "block_on": {"dataclean": false}}),
        json!({"app_mode": "sync", "phrase": "No.", "stream_in_sync": "hold_back", "redact_upstream": true}),
        json!({"app_mode": "sync", "phrase": "No.", "local_patterns": ["EMAILS"], "limits": {"burst": 2}}),
    ] {
        let wrong = Policy::from_value(&policy).expect_err(&policy.to_string());
        for problem in wrong.0 {
            is_told(&[FieldProblem::new(problem.key, problem.text)]);
        }
    }
}

#[test]
fn b10_what_may_be_wrong_with_a_rule_of_alerts_is_told() {
    let rule = Rule {
        window_s: 1,
        threshold: 0,
        minimum: 0,
        repeat_after_s: 0,
        user_id: Some(String::new()),
        channels: vec![uuid::Uuid::nil(); 21],
        ..Rule::default()
    };
    is_told(&rule.problems());
    let share = Rule {
        kind: RuleKind::Share,
        window_s: 3_601,
        ..rule
    };
    is_told(&share.problems());
}

#[test]
fn b10_what_may_be_wrong_with_a_channel_of_alerts_is_told() {
    for (user, secret) in [("", "p"), ("\u{1}", "")] {
        let channel = Channel {
            name: "mail".to_owned(),
            kind: ChannelKind::Email,
            url: Secret::new("smtp.example.com"),
            secret: Secret::new(secret),
            chat: "x".repeat(2_001),
            mail: Mail {
                user: user.to_owned(),
                ..Mail::default()
            },
        };
        let wrong = channel.wrong().into_iter();
        let wrong: Vec<_> = wrong
            .map(|(field, problem)| FieldProblem::new(field, problem))
            .collect();
        assert!(wrong.len() >= 5, "{wrong:?}");
        is_told(&wrong);
    }
    for text in [
        "the letter cannot be written",
        "the mail server offers no STARTTLS",
        "the mail server offers no sign-in by PLAIN or LOGIN",
        "http, or mail without TLS, is for allowed addresses only (alerts.allow_networks)",
        "the configuration file (alerts.rules) has this rule: change it there",
        "the configuration file (alerts.channels) has this channel: change it there",
    ] {
        is_told(&[FieldProblem::new("text", text)]);
    }
}

#[test]
fn what_may_be_wrong_with_what_people_type_is_told() {
    for bad in ["", "two\nlines", &"x".repeat(300)] {
        is_told(&[text_checks::check_name(bad).unwrap_err()]);
    }
    is_told(&[text_checks::check_description(&"x".repeat(3_000)).unwrap_err()]);
    is_told(&[text_checks::check_description("\u{1b}").unwrap_err()]);
    is_told(&[text_checks::check_no_nul("policy", &json!("\0")).unwrap_err()]);
    is_told(&[check_name("two words").unwrap_err()]);
    for bad in ["short", "administrator", &"x".repeat(20), &"ab".repeat(200)] {
        is_told(&[passwords::check(&Secret::new(bad), "administrator").unwrap_err()]);
    }
    for (name, text) in [
        ("verdict", "odd"),
        ("from", "soon"),
        ("stage", "middle"),
        ("before", "x"),
        ("limit", "0"),
        ("application_id", "x"),
        ("user_id", &*"x".repeat(2_000)),
    ] {
        let pairs = vec![(name.to_owned(), text.to_owned())];
        match filters::records(Query::of(pairs)).expect_err(name) {
            ApiError::Fields(problems) => is_told(&problems),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn refusals_of_what_pages_ask_are_told() {
    for error in [
        ApiError::VersionConflict(7),
        ApiError::StoreDown,
        ApiError::StoreRefused,
        ApiError::SlowBody,
        ApiError::Overloaded,
        ApiError::Busy(TurnRefusal::Full),
        ApiError::Busy(TurnRefusal::Late),
        ApiError::RulesBusy(TurnRefusal::Full),
        ApiError::RulesBusy(TurnRefusal::Late),
        ApiError::ReadsBusy(TurnRefusal::Full),
        ApiError::ReadsBusy(TurnRefusal::Late),
        ApiError::Internal,
        ApiError::NotFound,
    ] {
        assert!(russian(&error.to_string()).is_some(), "{error}");
    }
}
