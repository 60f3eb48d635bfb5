//! What is known of a record's call (UI B8): read from its sender, in lists, exports and filters.

use serde_json::{Value, json};
use support::KEY;
use support::api::{new_key, post, record, records};
use support::request::Request;
use support::stack::Stack;

fn send(stack: &Stack, path: &str, parameters: Value) -> Value {
    let body = json!({"application_id": stack.application_id(), "message": "hello",
        "additional_parameters": parameters});
    let answer = post(stack, path, &body);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

#[test]
fn b8_a_record_has_the_facts_of_its_call_and_the_name_of_its_access_key() {
    let stack = Stack::all().start();
    let call = json!({"provider": "gpu-1", "status": 200, "latency_ms": 1_200, "first_byte_ms": 80,
        "client_address": "192.0.2.7"});
    let told = send(
        &stack,
        "/process_response/",
        json!({"request_id": "x", "model": "m-1", "call": call}),
    );
    assert_eq!(told["warnings"], json!([]));
    let key = new_key(
        &stack,
        &json!({"name": "app, of two", "scopes": ["ingest"]}),
    );
    let body = json!({"application_id": stack.application_id(), "message": "hello",
        "additional_parameters": {"request_id": "x"}});
    let prompt = Request::post("/process_request/", body.to_string())
        .without_key()
        .header("Authorization", &format!("Bearer {key}"))
        .call(stack.analysis_addr);
    assert_eq!(prompt.status(), 200, "{}", prompt.text());
    let prompt = prompt.json();
    let whole = record(&stack, &told["request_id"]);
    assert_eq!(whole["additional_parameters"]["call"], call, "as received");
    let listed = records(&stack, "stage=post");
    for shown in [&whole, &listed[0]] {
        for (name, expected) in [
            ("model", json!("m-1")),
            ("provider", json!("gpu-1")),
            ("http_status", json!(200)),
            ("latency_ms", json!(1_200)),
            ("first_byte_ms", json!(80)),
            ("client_address", json!("192.0.2.7")),
            ("token", json!("first")),
        ] {
            assert_eq!(shown[name], expected, "{name} in {shown}");
        }
    }
    let other = record(&stack, &prompt["request_id"]);
    assert_eq!(other["token"], "app, of two");
    assert!(other["provider"].is_null() && other["latency_ms"].is_null());
    for (query, expected) in [
        ("model=m-1", vec![&told]),
        ("model=m", vec![]),
        ("token=first", vec![&told]),
        ("token=app%2C%20of%20two", vec![&prompt]),
        ("token=first&model=m-1&verdict=clean", vec![&told]),
        ("token=nobody", vec![]),
    ] {
        let found = records(&stack, query);
        let ids: Vec<_> = found.iter().map(|one| &one["request_id"]).collect();
        let expected: Vec<_> = expected.iter().map(|one| &one["request_id"]).collect();
        assert_eq!(ids, expected, "{query}");
        let path = format!("/records/export?format=jsonl&{query}");
        let exported = stack.analysis(&path, KEY).text();
        assert_eq!(exported.lines().count(), expected.len(), "{query}");
    }
    let csv = stack.analysis("/records/export?format=csv", KEY).text();
    let mut lines = csv.lines();
    let head = lines.next().unwrap();
    let last = ",provider,http_status,latency_ms,first_byte_ms,client_address,token";
    assert!(head.ends_with(last), "{head}");
    let ends: Vec<&str> = lines.collect();
    assert!(ends[0].ends_with(",,,,,,\"app, of two\""), "{csv}");
    assert!(
        ends[1].ends_with(",gpu-1,200,1200,80,192.0.2.7,first"),
        "{csv}"
    );
}

#[test]
fn b8_what_is_not_valid_of_a_call_is_ignored_with_a_warning() {
    let stack = Stack::all().start();
    let call = json!({"provider": "a b", "status": "200", "latency_ms": 7});
    let told = send(&stack, "/process_response/", json!({ "call": call }));
    let warnings = told["warnings"].as_array().unwrap();
    let about: Vec<_> = warnings.iter().map(|one| one["message"].clone()).collect();
    for (name, message) in ["provider", "status"].into_iter().zip(&about) {
        let message = message.as_str().unwrap();
        assert!(message.starts_with(&format!("additional_parameters.call.{name} ")));
    }
    assert_eq!(about.len(), 2, "{told}");
    let kept = record(&stack, &told["request_id"]);
    assert_eq!(kept["latency_ms"], 7);
    assert!(kept["provider"].is_null() && kept["http_status"].is_null());
    // Another caller uses the name for something of its own.
    let own = send(&stack, "/process_request/", json!({"call": "back at 5"}));
    assert_eq!(own["warnings"], json!([]));
    let kept = record(&stack, &own["request_id"]);
    assert_eq!(kept["additional_parameters"]["call"], "back at 5");
}
