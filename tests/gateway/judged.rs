//! Sync mode of `monitor all` with a judge (CONTRACT 12, 13): custom policies block a call as any other
//! finding does, and a judge that fails is no verdict.

use serde_json::{Value, json};
use support::api::patch;
use support::eventually;
use support::judge::Judge;
use support::request::Request;
use support::stack::{Builder, Stack};
use support::upstream::{Upstream, json};

const PHRASE: &str = "We do not talk about that.";

fn prompt(text: &str) -> Request {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": text}]});
    Request::chat(body.to_string())
}

/// An application in sync mode that forbids loans; `policy` is added to its policy.
#[track_caller]
fn forbidding_loans(builder: Builder, policy: &Value) -> Stack {
    let stack = builder.start();
    let mut all = json!({"app_mode": "sync", "phrase": PHRASE});
    for (key, value) in policy.as_object().unwrap() {
        all[key] = value.clone();
    }
    let change = json!({"version": 1, "policy": all, "rules": {"pre": {
        "custom_policies": [{"name": "loans", "prompt": "No loans."}]}}});
    let path = format!("/applications/{}", stack.application_id());
    patch(&stack, &path, &change);
    stack
}

/// The type of the block, once the policy is in force.
#[track_caller]
fn blocked(stack: &Stack, text: &str) -> Value {
    eventually("the call is blocked", || {
        let answer = stack.call(&prompt(text));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let body = answer.json();
        (body["choices"][0]["message"]["content"] == PHRASE).then_some(body)
    })
}

#[test]
fn contract_12_a_violated_custom_policy_blocks_before_the_model_is_called() {
    let stack = forbidding_loans(Stack::all().env("JUDGE_URL", "upstream"), &json!({}));
    let body = blocked(&stack, "Which loan for a@example.org?");
    let monitor = &body["metadata"]["monitor"];
    // Custom policies come before sensitive data.
    assert_eq!(monitor["response_replacement"]["type"], "custom_policy");
    assert_eq!(monitor["prepared_response"]["status"], "success");
    assert_eq!(
        monitor["prepared_response"]["custom_policy"],
        json!({"flagged": true, "policies": [{"name": "loans", "flagged": true}]})
    );
    let passed = stack.call(&prompt("Which bicycle is best?"));
    assert_ne!(passed.json()["choices"][0]["message"]["content"], PHRASE);
    assert_eq!(
        stack.metric(r#"monitor_unchecked_total{reason="incomplete"}"#),
        0.0
    );
}

#[test]
fn contract_13_a_judge_that_fails_is_no_verdict_and_the_policy_says_what_follows() {
    for (policy, status) in [
        (json!({"block_on": {"dataclean": false}}), 200),
        (
            json!({"block_on": {"dataclean": false}, "on_backend_failure": "closed"}),
            502,
        ),
    ] {
        let (upstream, judge) = (Upstream::ok(), Judge(Upstream::raw(json(500, "{}"))));
        let builder = Stack::all().yaml(&judge.yaml("")).upstream(&upstream);
        let stack = forbidding_loans(builder, &policy);
        let counter = r#"monitor_unchecked_total{reason="incomplete"}"#;
        let answer = eventually("the policy is in force", || {
            let answer = stack.call(&prompt("Which loan is best?"));
            (stack.metric(counter) > 0.0).then_some(answer)
        });
        assert_eq!(answer.status(), status, "{}", answer.text());
    }
}
