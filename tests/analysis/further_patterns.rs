//! The further patterns through the API (CONTRACT 27, 38): found where rules name them, counted by their own names, and
//! no obstacle to an application's own pattern of the same name.

use serde_json::{Value, json};
use support::KEY;
use support::api::{analyse, patch, post, records};
use support::eventually;
use support::stack::Stack;

const TEXT: &str = "write to a@b.example, iban de77718449530967118138";

/// The dataclean report on a text by rules that come with it.
#[track_caller]
fn checked(stack: &Stack, dataclean: &Value) -> Value {
    let body = json!({
        "application_id": stack.application_id(),
        "message": TEXT,
        "validation_config": {"source": "inline", "inline": {"dataclean": dataclean}},
    });
    let answer = post(stack, "/process_request/override/", &body);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()["dataclean"].clone()
}

/// CONTRACT 27: patterns missing means the 21 of §2.8.
#[test]
fn contract_27_a_further_pattern_is_found_only_where_the_rules_name_it() {
    let stack = Stack::all().start();
    let emails = json!({"type": "EMAILS", "count": 1});
    let iban = json!({"type": "IBAN", "count": 1});
    for (dataclean, cleaned, types) in [
        (
            json!({}),
            "write to [EMAILS], iban de77718449530967118138",
            json!([emails]),
        ),
        (
            json!({"patterns": ["IBAN"]}),
            "write to a@b.example, iban [IBAN]",
            json!([iban]),
        ),
        (
            json!({"patterns": ["EMAILS", "IBAN"], "clean_type": "DELETION"}),
            "write to, iban",
            json!([emails, iban]),
        ),
        // Whoever gave an own pattern this name keeps it.
        (
            json!({"patterns": [{"name": "IBAN", "regex": "write to"}]}),
            "[IBAN] a@b.example, iban de77718449530967118138",
            json!([iban]),
        ),
    ] {
        let report = checked(&stack, &dataclean);
        assert_eq!(report["cleaned_text"], cleaned, "{dataclean}");
        assert_eq!(report["types"], types, "{dataclean}");
    }
}

/// CONTRACT 38: the rules of an application, statistics and filters know the names.
#[test]
fn contract_38_finds_of_a_further_pattern_are_counted_and_searched_for_by_its_name() {
    let stack = Stack::all().start();
    let path = format!("/applications/{}", stack.application_id());
    let rules = json!({"pre": {"dataclean": {"patterns": ["IBAN", "API_KEY"]}}});
    patch(&stack, &path, &json!({"version": 1, "rules": rules}));
    // In parts, so that nothing that looks for leaked keys finds one here.
    let key = format!("gh{}_{}", "p", "7kQ2mZx9Tb4N".repeat(3));
    let answer = analyse(&stack, &format!("{TEXT}, key {key}"), json!({}));
    let expected = "write to a@b.example, iban [IBAN], key [API_KEY]";
    assert_eq!(answer["dataclean"]["cleaned_text"], expected);
    // Rules of a request are counted by the names that all applications share.
    checked(&stack, &json!({"patterns": ["IBAN"]}));
    let types = eventually("both messages are counted", || {
        let day = stack.analysis("/statistics", KEY).json()["days"]
            .get(0)?
            .clone();
        (day["messages"] == 2).then(|| day["types"].clone())
    });
    let expected = json!([{"type": "API_KEY", "count": 1}, {"type": "IBAN", "count": 2}]);
    assert_eq!(types, expected);
    assert_eq!(records(&stack, "type=IBAN").len(), 2);
    assert_eq!(records(&stack, "type=API_KEY").len(), 1);
}
