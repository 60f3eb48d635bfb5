//! Stored records judged again over HTTP (CONTRACT 38): who may ask, what is answered, and that
//! nothing changes by it. What comes out differently is tested beside the router.

use crate::admin_world::{application, assert_refused, call, call_as, expect, token};
use serde_json::{Value, json};
use support::stack::Stack;

const MAIL: &str = "write to a@example.org";

fn say(stack: &Stack, application: &str, message: &str) -> String {
    let body = json!({"application_id": application, "message": message});
    let answer = expect(stack, 200, ("POST", "/process_request/"), body);
    answer["request_id"].as_str().unwrap().to_owned()
}

#[test]
fn contract_38_a_verdict_is_explained_by_the_rules_that_gave_it() {
    let stack = Stack::all().start();
    let id = application(&stack, "explained");
    let record = say(&stack, &id, MAIL);
    let rules = json!({"version": 1, "rules": {"pre": {"dataclean": {"patterns": ["IP"]}}}});
    let path = format!("/applications/{id}/rules");
    expect(&stack, 200, ("PUT", &path), rules);
    for (path, body) in [
        (format!("/records/{record}/explain"), Value::Null),
        (format!("/api/records/{record}/explain/"), json!({})),
    ] {
        let explanation = expect(&stack, 200, ("POST", &path), body);
        assert_eq!(explanation["request_id"], *record);
        assert_eq!(explanation["rules_used"], json!({"version": 1}));
        assert_eq!(explanation["basis"], "cleaned_text");
        assert_eq!(explanation["differences"], json!([]));
        assert_eq!(explanation["answer"]["dataclean"]["flagged"], true);
    }
}

#[test]
fn an_explanation_takes_a_reader_and_a_record_within_reach() {
    let stack = Stack::all().start();
    let (own, other) = (application(&stack, "own"), application(&stack, "other"));
    let (mine, theirs) = (say(&stack, &own, MAIL), say(&stack, &other, MAIL));
    let path = |record: &str| format!("/records/{record}/explain");
    let bound = json!({"name": "r", "scopes": ["read"], "application_id": own});
    let (_, reader) = token(&stack, bound);
    let (_, admin) = token(&stack, json!({"name": "a", "scopes": ["admin"]}));
    let asked =
        |key: &str, record: &str, body: Value| call_as(key, &stack, ("POST", &path(record)), body);
    assert_eq!(asked(&reader, &mine, Value::Null).status(), 200);
    assert_refused(&asked(&reader, &theirs, Value::Null), 404, "not found");
    assert_refused(&asked(&reader, "none", Value::Null), 404, "not found");
    assert_refused(&asked(&admin, &mine, Value::Null), 403, "`read`");
    let odd = asked(&reader, &mine, json!({"rules": {}}));
    assert_refused(&odd, 422, "rules: is an unknown field; allowed: none");
}

#[test]
fn contract_38_a_draft_is_replayed_page_by_page_over_what_the_filters_leave() {
    let stack = Stack::all().start();
    let id = application(&stack, "replayed");
    let mut records: Vec<_> = (0..3).map(|_| say(&stack, &id, MAIL)).collect();
    say(&stack, &id, "nothing here");
    records.reverse();
    let draft = json!({"rules": {"pre": {"dataclean": {"patterns": ["IP"]}}}});
    let replay = |query: &str| {
        let path = format!("/applications/{id}/replay?{query}");
        expect(&stack, 200, ("POST", &path), draft.clone())
    };
    let (mut query, mut changed, mut pages) = ("limit=2&type=EMAILS".to_owned(), vec![], 0);
    loop {
        let page = replay(&query);
        pages += 1;
        changed.extend(page["changed"].as_array().unwrap().clone());
        let Some(next) = page["next_before"].as_i64() else {
            break;
        };
        query = format!("limit=2&type=EMAILS&before={next}");
    }
    assert_eq!(pages, 2);
    let ids: Vec<_> = changed.iter().map(|c| c["request_id"].clone()).collect();
    assert_eq!(json!(ids), json!(records));
    let flag = json!({"field": "dataclean.flagged", "was": true, "now": false});
    assert!(
        changed[0]["differences"]
            .as_array()
            .unwrap()
            .contains(&flag)
    );
    let all = replay("");
    assert_eq!(
        (&all["records"], &all["on_cleaned_text"]),
        (&json!(4), &json!(4))
    );
    let kept = expect(
        &stack,
        200,
        ("GET", &format!("/applications/{id}")),
        Value::Null,
    );
    assert_eq!((&kept["version"], &kept["rules"]), (&json!(1), &json!({})));
}

#[test]
fn a_replay_takes_a_reader_who_administers_and_a_draft_that_is_right() {
    let stack = Stack::all().start();
    let (own, other) = (application(&stack, "own"), application(&stack, "other"));
    let path = |id: &str| format!("/applications/{id}/replay");
    let draft = json!({"rules": {}});
    for (scopes, missing) in [(json!(["read"]), "`admin`"), (json!(["admin"]), "`read`")] {
        let (_, key) = token(&stack, json!({"name": "half", "scopes": scopes}));
        let refused = call_as(&key, &stack, ("POST", &path(&own)), draft.clone());
        assert_refused(&refused, 403, missing);
    }
    let both = json!({"name": "both", "scopes": ["read", "admin"], "application_id": own});
    let (_, key) = token(&stack, both);
    let asked = call_as(&key, &stack, ("POST", &path(&own)), draft.clone());
    assert_eq!(asked.status(), 200);
    let refused = call_as(&key, &stack, ("POST", &path(&other)), draft.clone());
    assert_refused(&refused, 403, "another application");
    let nobody = "00000000-0000-4000-8000-000000000000";
    let refused = call(&stack, "POST", &path(nobody), draft.clone());
    assert_refused(&refused, 404, "not found");
    for (query, body, words) in [
        ("", json!({}), "rules: missing"),
        ("", json!({"rules": null}), "rules: must be an object"),
        (
            "",
            json!({"rules": {}, "limit": 1}),
            "limit: is an unknown field",
        ),
        (
            "",
            json!({"rules": {"pre": {"dataclean": {"patterns": [{"name": "A", "regex": "("}]}}}}),
            "rules.pre.dataclean.patterns[0].regex: is not valid",
        ),
        (
            "",
            json!({"rules": {"pre": {"guardrails": {"categories": {"\u{0}": 1}}}}}),
            "NUL",
        ),
        (
            "?limit=201",
            draft.clone(),
            "limit: must be an integer from 1 to 200",
        ),
        ("?application_id=x", draft.clone(), "query: takes"),
    ] {
        let path = format!("{}{query}", path(&own));
        assert_refused(&call(&stack, "POST", &path, body), 422, words);
    }
}
