//! Which rules of a request are read, and which are kept compiled.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::config::AnalysisQueue;
use crate::fair_queue::{Tenant, Urgency};
use monitor_detect::{CleanType, PatternName};
use serde_json::json;

fn cache() -> InlineRulesCache {
    InlineRulesCache::new(Compilations::new(AnalysisQueue::default(), None))
}

fn claim() -> Claim {
    Claim {
        tenant: Tenant::new(&1, &()),
        urgency: Urgency::Awaited,
    }
}

fn read(inline: Value, stage: Stage) -> Validation {
    let config = json!({"source": "inline", "inline": inline});
    Validation::read(Some(&config), stage).unwrap()
}

#[test]
fn contract_27_what_an_override_leaves_out_has_its_default() {
    let validation = read(json!({"dataclean": {"enabled": true}}), Stage::PreCall);
    let dataclean = validation.rules.dataclean.clone().unwrap();
    assert_eq!(
        (dataclean.patterns, dataclean.clean_type),
        (None, CleanType::Masking)
    );
    assert_eq!(validation.rules.guardrails, None);
    let validation = read(json!({}), Stage::PreCall);
    assert_eq!(validation.rules.dataclean, None);
    let named = json!({"dataclean": {"clean_type": "deletion", "patterns": ["IP"]}});
    let dataclean = read(named, Stage::PreCall).rules.dataclean.unwrap();
    assert_eq!(dataclean.clean_type, CleanType::Deletion);
    assert_eq!(dataclean.patterns.unwrap(), [PatternName::Ip.into()]);
    let off = json!({"dataclean": {"enabled": false}, "guardrails": {"enabled": false}});
    let validation = read(off, Stage::PreCall);
    assert_eq!(
        (validation.rules.dataclean, validation.rules.guardrails),
        (None, None)
    );
}

#[test]
fn custom_policies_of_an_answer_and_unknown_keys_are_warned_about() {
    let inline = json!({"custom": {"enabled": true, "policies": [{"name": "n", "prompt": "p"}]},
        "dataclean": {"pattern": []}});
    let validation = read(inline.clone(), Stage::PreCall);
    assert_eq!(validation.rules.custom_policies.len(), 1);
    let validation = read(inline, Stage::PostCall);
    assert!(validation.rules.custom_policies.is_empty());
    assert_eq!(
        validation.warnings,
        [
            Warning::new(
                WarningCode::UnknownField,
                "validation_config.inline.dataclean.pattern: not known, ignored"
            ),
            Warning::new(
                WarningCode::PoliciesIgnored,
                "validation_config.inline.custom: ignored, custom policies are for user messages only"
            )
        ]
    );
}

#[tokio::test]
async fn refused_rules_are_compiled_once_too_and_refused_with_the_same_words() {
    let inline = cache();
    // Over the bound of a compiled regex, which shows only when it is compiled.
    let pattern = json!({"name": "N", "regex": r"(\w{1000}){1000}"});
    let rules = || {
        read(
            json!({"dataclean": {"patterns": [pattern]}}),
            Stage::PreCall,
        )
    };
    let hash = hash(Stage::PreCall, &rules().rules);
    let first = inline.compile(rules(), claim()).await.err().unwrap();
    assert!(
        matches!(&inline.take(&hash), Some(Err(kept)) if ApiError::Fields(kept.clone()) == first)
    );
    // The second refusal is the one that is kept.
    let kept = vec![FieldProblem::new("kept", "x")];
    inline.keep(hash, Err(kept.clone()));
    let again = inline.compile(rules(), claim()).await.err().unwrap();
    assert_eq!(again, ApiError::Fields(kept));
}

#[tokio::test]
async fn equal_rules_are_compiled_once_and_the_latest_are_remembered() {
    let inline = cache();
    let of = |number: usize| {
        let pattern = json!({"name": "N", "regex": format!("N{number}")});
        read(
            json!({"dataclean": {"patterns": [pattern]}}),
            Stage::PreCall,
        )
    };
    let first = inline.compile(of(0), claim()).await.unwrap().rules;
    let again = inline.compile(of(0), claim()).await.unwrap().rules;
    assert!(Arc::ptr_eq(&first, &again));
    for number in 1..=CAPACITY {
        inline.compile(of(number), claim()).await.unwrap();
        assert!(inline.latest_first.lock().unwrap().len() <= CAPACITY);
    }
    let again = inline.compile(of(0), claim()).await.unwrap().rules;
    assert!(!Arc::ptr_eq(&first, &again));
}
