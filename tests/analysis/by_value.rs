//! Records by a value that was found in them (UI.md A4): however it is written, without it being stored, by those who
//! may read records, and with an entry in the audit log.

use crate::admin_world::{assert_refused, call, call_as, expect, token};
use serde_json::{Value, json};
use support::KEY;
use support::stack::Stack;

const SEARCH: &str = "/records/by_value";
const ROTATE: &str = "/value_keys/rotate";
const CARD: &str = "4111 1111 1111 1111";

/// Another application, which keeps no originals either.
#[track_caller]
fn application(stack: &Stack, name: &str) -> String {
    let rules = json!({"pre": {"dataclean": {"patterns": ["BANK_CARD_NUMBER", "EMAILS"]}}});
    let body = json!({"name": name, "rules": rules});
    let made = expect(stack, 201, ("POST", "/applications"), body);
    made["id"].as_str().unwrap().to_owned()
}

/// Keeps a prompt; gives its identifier.
#[track_caller]
fn prompt(stack: &Stack, application: &str, message: &str) -> Value {
    let body = json!({"application_id": application, "message": message});
    expect(stack, 200, ("POST", "/process_request/"), body)["request_id"].clone()
}

fn ids(page: &Value) -> Vec<Value> {
    let records = page["records"].as_array().unwrap().iter();
    records.map(|record| record["request_id"].clone()).collect()
}

#[track_caller]
fn found(stack: &Stack, body: Value) -> Vec<Value> {
    ids(&expect(stack, 200, ("POST", SEARCH), body))
}

#[test]
fn a_value_is_found_however_it_is_written_where_no_original_is_kept() {
    let stack = Stack::all().start();
    let own = stack.application_id();
    let other = application(&stack, "other");
    let first = prompt(&stack, &own, &format!("my card is {CARD}"));
    let second = prompt(
        &stack,
        &other,
        "card: 4111111111111111, write to Anna@Example.com",
    );
    prompt(&stack, &own, "card 5500 0055 5555 5559");
    let newest_first = [second.clone(), first.clone()];
    for written in [CARD, "4111-1111-1111-1111", "4111111111111111"] {
        assert_eq!(
            found(&stack, json!({"value": written})),
            newest_first,
            "{written}"
        );
    }
    let card = json!({"value": CARD, "type": "BANK_CARD_NUMBER", "application_id": own});
    assert_eq!(found(&stack, card), std::slice::from_ref(&first));
    assert_eq!(
        found(&stack, json!({"value": "anna@example.com"})),
        std::slice::from_ref(&second)
    );
    assert_eq!(
        found(&stack, json!({"value": CARD, "type": "OMS_POLICY"})).len(),
        0
    );
    let page = expect(
        &stack,
        200,
        ("POST", SEARCH),
        json!({"value": CARD, "limit": 1}),
    );
    assert_eq!(ids(&page), [second]);
    let next = json!({"value": CARD, "limit": 1, "before": page["next_before"]});
    let page = expect(&stack, 200, ("POST", SEARCH), next);
    assert_eq!(
        (ids(&page), &page["next_before"]),
        (vec![first], &Value::Null)
    );
}

#[test]
fn a_search_has_an_entry_without_the_value_and_a_wrong_one_is_refused() {
    let stack = Stack::all().start();
    prompt(&stack, &stack.application_id(), &format!("card {CARD}"));
    found(&stack, json!({"value": CARD, "type": "BANK_CARD_NUMBER"}));
    found(&stack, json!({"value": CARD, "type": "my own"}));
    let page = expect(
        &stack,
        200,
        ("GET", "/audit?action=records.find_value"),
        Value::Null,
    );
    let entries = page["entries"].as_array().unwrap();
    let types: Vec<_> = entries
        .iter()
        .map(|entry| &entry["details"]["type"])
        .collect();
    assert_eq!(types, ["[given]", "BANK_CARD_NUMBER"]);
    assert!(!page.to_string().contains(CARD), "{page}");
    for (body, words) in [
        (json!({}), "value: "),
        (json!({"value": ""}), "value: "),
        (json!({"value": "x".repeat(1001)}), "value: "),
        (
            json!({"value": "123", "type": "CVC"}),
            "value: is no value of this type",
        ),
        (json!({"value": CARD, "limit": 0}), "limit: "),
        (
            json!({"value": CARD, "text": "x"}),
            "text: is an unknown field",
        ),
    ] {
        assert_refused(&call(&stack, "POST", SEARCH, body), 422, words);
    }
}

#[test]
fn who_reads_cleaned_texts_may_search_and_each_tenant_finds_its_own() {
    let stack = Stack::all().start();
    let (own, other) = (stack.application_id(), application(&stack, "other"));
    let first = prompt(&stack, &own, &format!("card {CARD}"));
    prompt(&stack, &other, &format!("card {CARD}"));
    let bound = json!({"name": "b", "scopes": ["read_cleaned"], "application_id": own});
    let (_, reviewer) = token(&stack, bound);
    let search = || json!({"value": CARD});
    let answer = call_as(&reviewer, &stack, ("POST", SEARCH), search());
    assert_eq!(ids(&answer.json()), [first]);
    let elsewhere = json!({"value": CARD, "application_id": other});
    let refused = call_as(&reviewer, &stack, ("POST", SEARCH), elsewhere);
    assert_eq!(refused.status(), 403);
    let (_, ingester) = token(&stack, json!({"name": "i", "scopes": ["ingest"]}));
    let refused = call_as(&ingester, &stack, ("POST", SEARCH), search());
    assert_refused(&refused, 403, "`read`");
}

#[test]
fn values_are_found_with_the_three_keys_before_the_newest() {
    let stack = Stack::all().start();
    let own = stack.application_id();
    let first = prompt(&stack, &own, &format!("card {CARD}"));
    let made = expect(&stack, 201, ("POST", ROTATE), Value::Null);
    assert_eq!(made, json!({"key_id": 2}));
    let second = prompt(&stack, &own, &format!("my card: {CARD}"));
    let search = || json!({"value": CARD});
    assert_eq!(found(&stack, search()), [second.clone(), first]);
    for _ in 0..3 {
        expect(&stack, 201, ("POST", ROTATE), json!({}));
    }
    assert_eq!(
        found(&stack, search()),
        [second],
        "its key is one of the four"
    );
    let audit = "/audit?action=value_key.rotate";
    let page = expect(&stack, 200, ("GET", audit), Value::Null);
    assert_eq!(page["entries"].as_array().unwrap().len(), 4);
    let bound = json!({"name": "b", "scopes": ["admin"], "application_id": own});
    let (_, bound) = token(&stack, bound);
    for (key, status) in [(bound.as_str(), 403), (KEY, 201)] {
        let answer = call_as(key, &stack, ("POST", ROTATE), Value::Null);
        assert_eq!(answer.status(), status, "{}", answer.text());
    }
}
