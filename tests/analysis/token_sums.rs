//! Tokens: thresholds per application and direction (CONTRACT 24, 38), and sums per application and
//! per end user.

use crate::admin_world::{application, expect, token};
use serde_json::{Value, json};
use support::KEY;
use support::api::{authorised, post};
use support::request::Request;
use support::stack::Stack;

#[track_caller]
fn say(stack: &Stack, path: &str, application: &str, user: Option<&str>, words: usize) -> Value {
    let parameters = user.map_or(json!({}), |user| json!({"user_id": user}));
    let body = json!({"application_id": application, "message": "word ".repeat(words),
        "additional_parameters": parameters});
    let answer = post(stack, path, &body);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()["tokens"].clone()
}

#[track_caller]
fn sums(stack: &Stack, query: &str) -> Value {
    let answer = stack.analysis(&format!("/statistics/users?{query}"), KEY);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

const PRE: &str = "/process_request/";
const POST: &str = "/process_response/";

#[test]
fn contract_24_each_application_has_thresholds_for_each_direction() {
    let stack = Stack::all().start();
    let (strict, plain) = (application(&stack, "strict"), application(&stack, "plain"));
    let thresholds =
        |low: u64| json!({"tokens": {"low": low, "high": low * 2, "critical": low * 3}});
    let rules = json!({"version": 1, "rules": {"pre": thresholds(10), "post": thresholds(100)}});
    let path = format!("/applications/{strict}/rules");
    expect(&stack, 200, ("PUT", &path), rules);
    for (path, application, words, severity) in [
        (PRE, &strict, 5, Value::Null),
        (PRE, &strict, 15, json!("low")),
        (PRE, &strict, 25, json!("high")),
        (PRE, &strict, 50, json!("critical")),
        (POST, &strict, 50, Value::Null),
        (POST, &strict, 150, json!("low")),
        (PRE, &plain, 5_000, Value::Null),
    ] {
        let tokens = say(&stack, path, application, None, words);
        assert_eq!(
            tokens["usage_severity"], severity,
            "{path} {words}: {tokens}"
        );
    }
    let sums = sums(&stack, &format!("application_id={strict}"));
    assert_eq!(
        sums["users"][0]["severities"],
        json!({"low": 2, "high": 1, "critical": 1})
    );
}

#[test]
fn tokens_are_summed_per_user_and_per_application() {
    let stack = Stack::all().start();
    let (one, two) = (application(&stack, "one"), application(&stack, "two"));
    let mut all = 0;
    let mut of = |path, application: &str, user, words| {
        let count = say(&stack, path, application, user, words)["count"]
            .as_u64()
            .unwrap();
        all += count;
        count
    };
    let anna = of(PRE, &one, Some("anna"), 10) + of(POST, &one, Some("anna"), 30);
    let boris = of(PRE, &one, Some("boris"), 100);
    let nobody = of(PRE, &one, None, 3);
    let other = of(PRE, &two, Some("anna"), 7);
    let sum = |application: &str, user: Value, messages: u64, tokens: u64| {
        json!({"application_id": application, "user_id": user, "messages": messages, "flagged": 0,
            "tokens": tokens, "severities": {"low": 0, "high": 0, "critical": 0}})
    };
    let mut expected = vec![
        sum(&one, json!("boris"), 1, boris),
        sum(&one, json!("anna"), 2, anna),
        sum(&two, json!("anna"), 1, other),
        sum(&one, Value::Null, 1, nobody),
    ];
    let whole = json!({"records": 5, "tokens": all, "user_count": 4, "users": expected, "next_before": null});
    assert_eq!(sums(&stack, ""), whole);
    let first = sums(&stack, "limit=1");
    assert_eq!(
        (&first["user_count"], &first["users"]),
        (&json!(4), &json!([expected[0]]))
    );
    let narrowed = sums(&stack, &format!("application_id={two}&user_id=anna"));
    assert_eq!(narrowed["users"], json!([expected.remove(2)]));
    assert_eq!(
        sums(&stack, "from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z")["records"],
        0
    );
    // Per application they stand in the statistics of the day.
    let days = stack.analysis("/statistics", KEY).json()["days"].clone();
    let of_two = days
        .as_array()
        .unwrap()
        .iter()
        .find(|day| day["application_id"] == *two);
    assert_eq!(of_two.unwrap()["tokens"], other);
}

#[test]
fn users_are_sorted_by_what_is_asked_for_and_found_by_a_part_of_their_name() {
    let stack = Stack::all().start();
    let one = application(&stack, "one");
    for (user, words, messages) in [("Anna", 2, 3), ("boris", 90, 1), ("vera", 1, 1)] {
        for _ in 0..messages {
            say(&stack, PRE, &one, Some(user), words);
        }
    }
    let body = json!({"application_id": one, "message": "write to eve@example.org",
        "additional_parameters": {"user_id": "vera"}});
    assert_eq!(post(&stack, PRE, &body).status(), 200);
    let names = |query: &str| {
        let sums = sums(&stack, query);
        let users = sums["users"].as_array().unwrap().iter();
        users
            .map(|user| user["user_id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("sort=tokens")[0], "boris");
    assert_eq!(names("sort=messages"), ["Anna", "vera", "boris"]);
    assert_eq!(names("sort=flagged")[0], "vera");
    assert_eq!(names("sort=share&limit=1"), ["vera"]);
    assert_eq!(names("user_part=NN"), ["Anna"]);
    let found = sums(&stack, "user_part=nobody");
    assert_eq!(
        (&found["user_count"], &found["records"]),
        (&json!(0), &json!(6))
    );
    let refused = stack.analysis("/statistics/users?sort=name", KEY);
    assert_eq!(refused.status(), 422);
    assert!(refused.text().contains("sort: "), "{}", refused.text());
}

#[test]
fn sums_are_for_readers_of_the_application_and_take_no_text() {
    let stack = Stack::all().start();
    let (own, other) = (application(&stack, "own"), application(&stack, "other"));
    for application in [&own, &other] {
        say(&stack, PRE, application, Some("u"), 3);
    }
    let bound = json!({"name": "r", "scopes": ["read"], "application_id": own});
    let (_, reader) = token(&stack, bound);
    let seen = stack.analysis("/statistics/users", &reader).json();
    assert_eq!(
        (&seen["records"], &seen["users"][0]["application_id"]),
        (&json!(1), &json!(own))
    );
    let path = format!("/statistics/users?application_id={other}");
    assert_eq!(stack.analysis(&path, &reader).status(), 403);
    let (_, ingest) = token(&stack, json!({"name": "i", "scopes": ["ingest"]}));
    assert_eq!(stack.analysis("/statistics/users", &ingest).status(), 403);
    let refused = stack.analysis("/statistics/users?text=x", KEY);
    assert_eq!(refused.status(), 422);
    assert!(refused.text().contains("text: "), "{}", refused.text());
    let wrong = authorised(Request::json("POST", "/statistics/users", "{}"));
    assert_eq!(wrong.call(stack.analysis_addr).status(), 405);
}
