//! Bounds of what clients may have stored beside their message: ids and `additional_parameters`.

use serde_json::{Value, json};
use support::api::{post, records};
use support::http::Response;
use support::request::{HELLO, Request};
use support::stack::Stack;
use support::{KEY, assert_envelope, eventually};

fn analyzed(stack: &Stack, parameters: Value) -> Response {
    let body = json!({"application_id": stack.application_id(), "message": "hello",
        "additional_parameters": parameters});
    post(stack, "/process_request/", &body)
}

#[test]
fn ids_and_parameters_over_their_bounds_are_refused_by_name() {
    // §2.7; the bounds themselves are tested beside the code.
    let stack = Stack::all().start();
    for (parameters, named) in [
        (
            json!({"user_id": "u".repeat(513)}),
            "additional_parameters.user_id: has 513 bytes; allowed: at most 512",
        ),
        (
            json!({"session_id": "s".repeat(4 << 20)}),
            "additional_parameters: ",
        ),
        (
            json!({"request_id": "r".repeat(513)}),
            "additional_parameters.request_id: ",
        ),
        (
            json!({"own": "x".repeat(65_536)}),
            "additional_parameters: has 65539 bytes",
        ),
        (json!({"own": vec![0; 300_000]}), "additional_parameters: "),
    ] {
        let refused = analyzed(&stack, parameters);
        assert_eq!(refused.status(), 422, "{named}");
        assert_envelope(&refused.body, "invalid_request_error", 422);
        assert!(refused.text().contains(named), "{}", refused.text());
    }
    assert_eq!(records(&stack, "").len(), 0);
    let id = "u".repeat(512);
    let taken = analyzed(
        &stack,
        json!({"user_id": id, "session_id": id, "own": {"a": [1, "b"]}}),
    );
    assert_eq!(taken.status(), 200, "{}", taken.text());
}

#[test]
fn a_gateway_cuts_and_marks_the_ids_that_are_too_long_and_serves_the_call() {
    // X-User-Id, X-Session-Id (§2.1).
    let stack = Stack::all().start();
    let long = "ivan.petrov@example.org ".repeat(1_000);
    for suffix in ["1", "2"] {
        let id = format!("{long}{suffix}");
        let call = Request::chat(HELLO)
            .header("X-User-Id", &id)
            .header("X-Session-Id", &id);
        assert_eq!(stack.call(&call).status(), 200);
    }
    let found = eventually("four records", || {
        let found = records(&stack, "");
        (found.len() == 4).then_some(found)
    });
    let mut users: Vec<&str> = found
        .iter()
        .map(|one| one["user_id"].as_str().unwrap())
        .collect();
    users.sort_unstable();
    users.dedup();
    assert_eq!(users.len(), 2, "two that begin alike stay two");
    for user in users {
        assert!(
            user.len() <= 512 && user.starts_with(&long[..400]) && user.contains('…'),
            "{user}"
        );
    }
    for record in found {
        assert_eq!(record["session_id"], record["user_id"]);
        let path = format!("/records/{}", record["request_id"].as_str().unwrap());
        let whole = stack.analysis(&path, KEY).json();
        assert_eq!(whole["additional_parameters"]["user_id"], record["user_id"]);
    }
}

#[test]
fn a_record_of_an_earlier_gateway_is_cut_and_not_lost() {
    // It is accepted already: a refusal would make it a dead letter.
    let stack = Stack::all().start();
    let long = "u".repeat(5_000);
    let chain = json!({"gateway": "6a0b2c1e-98a5-4b53-a7a4-2f6f3a7d8e10", "sequence": 1, "previous": "0".repeat(64)});
    let kept = analyzed(&stack, json!({"user_id": long, "chain": chain}));
    assert_eq!(kept.status(), 200, "{}", kept.text());
    let found = records(&stack, "");
    let user = found[0]["user_id"].as_str().unwrap();
    assert!(user.len() <= 512 && user.contains('…'), "{user}");
    let erased = Request::new("DELETE", &format!("/records?user_id={long}"))
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
        .call(stack.analysis_addr);
    assert_eq!(erased.status(), 200, "{}", erased.text());
    assert_eq!(
        records(&stack, "").len(),
        0,
        "found by the whole id as well"
    );
}
