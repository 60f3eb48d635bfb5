//! A model that marks words beside the built-in detection: §2.8, §2.9, CONTRACT 25, 26, 36.

use super::folder::{keys, lines, scan, stack, tagger};
use monitor_detect::onnx::test_models::BEYOND;
use serde_json::{Value, json};
use support::api::{post, record};
use support::stack::Stack;

const LABELS: &str = ", labels: {PER: NAME, ORG: COMPANY}";
/// "зубров лосев" is a person to the model, "рога" a company; the built-in tagger knows neither.
const TEXT: &str = "ту: зубров лосев, рога a@b.ru";
const ENDPOINTS: [&str; 2] = ["/process_request/override/", "/process_response/override/"];

/// What an override endpoint says.
#[track_caller]
fn judged(stack: &Stack, path: &str, text: &str) -> Value {
    let rules = json!({"dataclean": {"patterns": ["NAME", "COMPANY", "EMAILS"]}});
    let body = json!({"application_id": stack.application_id(), "message": text,
        "validation_config": {"source": "inline", "inline": rules}});
    let answer = post(stack, path, &body);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

#[test]
fn section_2_8_both_overrides_tell_what_a_model_finds_beside_the_engines_own() {
    let folder = tagger();
    let with = stack(&keys("tagger", &folder, LABELS));
    let without = Stack::all().start();
    for path in ENDPOINTS {
        let answer = judged(&with, path, TEXT);
        assert_eq!(answer["status"], "success", "{answer}");
        let dataclean = &answer["dataclean"];
        assert_eq!(dataclean["cleaned_text"], "ту: [NAME], [COMPANY] [EMAILS]");
        let person = json!({"type": "NAME", "start": 4, "end": 16});
        assert_eq!(dataclean["entities"][0], person);
        let company = json!({"type": "COMPANY", "count": 1});
        assert_eq!(dataclean["types"][1], company);
        let own = judged(&without, path, TEXT);
        let cleaned = "ту: зубров лосев, рога [EMAILS]";
        assert_eq!(own["dataclean"]["cleaned_text"], cleaned);
    }
}

#[test]
fn contract_26_a_model_that_fails_is_told_the_others_find_on_and_the_next_message_is_whole() {
    let folder = tagger();
    let stack = stack(&keys("tagger", &folder, LABELS));
    for path in ENDPOINTS {
        let answer = judged(&stack, path, &format!("лосев {BEYOND} a@b.ru"));
        assert_eq!(answer["status"], "partial_success", "{answer}");
        let errors = answer["errors"].as_array().unwrap();
        let told = errors[0].as_str().unwrap();
        assert!(errors.len() == 1 && told.starts_with("dataclean: model: the model cannot run"));
        assert!(!told.contains(BEYOND), "no piece of a text: {told}");
        let cleaned = format!("лосев {BEYOND} [EMAILS]");
        assert_eq!(answer["dataclean"]["cleaned_text"], cleaned);
        let kept = record(&stack, &answer["request_id"]);
        assert_eq!(kept["cleaned_text"], Value::Null, "it may not be clean");
        let next = judged(&stack, path, TEXT);
        assert_eq!(
            (&next["status"], &next["errors"]),
            (&json!("success"), &json!([]))
        );
    }
}

#[test]
fn contract_26_a_text_beyond_the_windows_of_a_model_is_told() {
    let folder = tagger();
    let stack = stack(&keys(
        "tagger",
        &folder,
        &format!("{LABELS}, max_windows: 1"),
    ));
    let answer = judged(&stack, ENDPOINTS[0], &format!("лосев {}", ", ".repeat(300)));
    assert_eq!(answer["status"], "partial_success", "{answer}");
    let told = "dataclean: model: the model was shown the first 254 pieces of words only";
    assert_eq!(answer["errors"], json!([told]));
    let found = json!([{"type": "NAME", "count": 1}]);
    assert_eq!(answer["dataclean"]["types"], found);
}

#[test]
fn contract_36_a_scan_with_a_configuration_file_looks_with_its_model_and_with_all_of_it() {
    let folder = tagger();
    let keys = keys(
        "tagger",
        &folder,
        &format!("{LABELS}, max_windows: 1, timeout: 1ms"),
    );
    let output = scan(&keys, &["--mask"], TEXT);
    let masked = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(masked, "ту: [NAME], [COMPANY] [EMAILS]");
    // Nobody waits for a scan: the bounds of a message do not hold for it.
    let long = format!("{} лосев", ", ".repeat(600));
    let input = [
        json!({"id": 1, "text": long}),
        json!({"id": 2, "text": BEYOND}),
        json!({"id": 3, "text": "рога"}),
    ];
    let input = input.map(|line| line.to_string()).join("\n");
    let output = scan(&keys, &["--jsonl"], &input);
    let found = lines(&output);
    let last = json!([{"type": "NAME", "start": 1201, "end": 1206}]);
    assert_eq!(found[0]["entities"], last);
    let told = found[1]["errors"][0].as_str().unwrap();
    assert!(
        told.starts_with("dataclean: model: the model cannot run"),
        "{told}"
    );
    assert_eq!(found[2]["entities"][0]["type"], "COMPANY");
    assert_eq!(
        output.status.code(),
        Some(1),
        "a line was not looked through"
    );
}
