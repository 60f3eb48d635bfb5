//! What calls through the gateway cost whose model server does not say what they took.

use serde_json::{Value, json};
use support::api::records;
use support::eventually;
use support::request::Request;
use support::stack::Stack;
use support::upstream::{ANSWER, Upstream};

const PRICES: &str = "  prices: {currency: EUR, models: {\"*\": {input: 1, output: 1}}}\n";

/// The records of the answers, once there are so many.
fn answers(stack: &Stack, number: usize) -> Vec<Value> {
    eventually("the answers' records", || {
        let records = records(stack, "stage=post&limit=100");
        (records.len() == number).then_some(records)
    })
}

#[test]
fn the_call_that_begins_a_response_in_the_background_is_not_free() {
    let begun = json!({"id": "resp_1", "object": "response", "model": "m", "status": "queued", "background": true,
        "output": [], "usage": null});
    let upstream = Upstream::json(200, &begun.to_string());
    let stack = Stack::all().upstream(&upstream).yaml(PRICES).start();
    let body = json!({"model": "m", "input": "one two three", "background": true});
    let call = Request::post("/v1/responses", body.to_string());
    assert_eq!(stack.call(&call).status(), 200);
    let record = &answers(&stack, 1)[0];
    assert_eq!(record["priced"], "unpriced", "{record}");
    assert_eq!(
        (&record["cost"], &record["usage"]["completion_tokens"]),
        (&Value::Null, &Value::Null)
    );
    assert!(record["usage"]["prompt_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn the_prompt_of_a_call_is_counted_whose_answer_follows_at_once() {
    const CALLS: usize = 30;
    let usage = ",\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}";
    let silent = ANSWER.replace(usage, "");
    assert!(!silent.contains("usage"));
    let upstream = Upstream::json(200, &silent);
    let stack = Stack::all().upstream(&upstream).yaml(PRICES).start();
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "one two three"}]});
    for _ in 0..CALLS {
        assert_eq!(stack.call(&Request::chat(body.to_string())).status(), 200);
    }
    for record in answers(&stack, CALLS) {
        assert_eq!(record["priced"], "estimated", "{record}");
    }
}
