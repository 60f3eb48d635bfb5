//! Types of finds in the statistics (CONTRACT 38): whoever invents names for patterns adds no rows without end.

use serde_json::{Value, json};
use support::KEY;
use support::api::post;
use support::eventually;
use support::sqlite::execute_now;
use support::stack::Stack;

/// The types of the only day, as soon as so many messages are in it.
#[track_caller]
fn types(stack: &Stack, messages: u64) -> Vec<Value> {
    eventually("the messages are counted", || {
        let answer = stack.analysis("/statistics", KEY).json();
        let day = answer["days"].get(0)?.clone();
        (day["messages"] == messages).then(|| day["types"].as_array().unwrap().clone())
    })
}

#[track_caller]
fn check(stack: &Stack, dataclean: &Value, text: &str) {
    let body = json!({
        "application_id": stack.application_id(),
        "message": text,
        "validation_config": {"source": "inline", "inline": {"dataclean": dataclean}},
    });
    let answer = post(stack, "/process_request/override/", &body);
    assert_eq!(answer.status(), 200, "{}", answer.text());
}

#[test]
fn names_of_patterns_that_come_with_requests_are_counted_as_one() {
    let stack = Stack::all().start();
    const REQUESTS: u64 = 3;
    for request in 0..REQUESTS {
        let own = (0..20)
            .map(|n| json!({"name": format!("NEW_{request}_{n}"), "regex": format!("word{n}x")}));
        let patterns: Vec<_> = own.chain([json!("EMAILS")]).collect();
        let words: String = (0..20).map(|n| format!("word{n}x ")).collect();
        check(
            &stack,
            &json!({"patterns": patterns}),
            &format!("{words} a@example.org"),
        );
    }
    let expected = [
        json!({"type": "EMAILS", "count": REQUESTS}),
        json!({"type": "custom", "count": 20 * REQUESTS}),
    ];
    assert_eq!(types(&stack, REQUESTS), expected);
    let path = "/records?type=NEW_0_0";
    let records = stack.analysis(path, KEY).json()["records"].clone();
    assert_eq!(records.as_array().unwrap().len(), 1, "the record has them");
}

#[test]
fn many_names_of_an_earlier_release_make_no_long_answer() {
    const NAMES: u64 = 5_000;
    let stack = Stack::all().start();
    check(&stack, &json!({"patterns": ["EMAILS"]}), "a@example.org");
    types(&stack, 1);
    let sql = format!(
        "PRAGMA busy_timeout = 20000;
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {NAMES})
        INSERT INTO statistics_types (application_id, day, stage, kind, finds)
        SELECT application_id, day, stage, printf('OLD %05d', n), 2 FROM statistics_types, numbers
        WHERE kind = 'EMAILS'"
    );
    execute_now(&stack.data_dir().join("monitor.db"), &sql);
    let types = types(&stack, 1);
    assert_eq!(types.len(), 102);
    let counts = types.iter().map(|one| one["count"].as_u64().unwrap());
    assert_eq!(counts.sum::<u64>(), 2 * NAMES + 1);
    let custom = types.iter().find(|one| one["type"] == "custom").unwrap();
    assert_eq!(custom["count"], 2 * (NAMES - 100));
}
