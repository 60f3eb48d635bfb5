//! Changes have entries in the audit log, which stay: those who are bound to one application make a bounded number of
//! them (`limits.application_changes`), and each that is made has its entry.

use crate::admin_world::{application, assert_refused, call, call_as, expect, token};
use serde_json::{Value, json};
use support::http::Response;
use support::stack::Stack;

const MOST: usize = 20;

/// An administrator of this application, and of no other.
#[track_caller]
fn administrator(stack: &Stack, application: &str) -> (String, String) {
    let scopes = json!(["admin", "read", "ingest"]);
    let bound = json!({"name": "bound", "scopes": scopes, "application_id": application});
    token(stack, bound)
}

#[track_caller]
fn entries(stack: &Stack, application: &str, action: &str) -> usize {
    let path = format!("/audit?application_id={application}&action={action}&limit=200");
    let page = expect(stack, 200, ("GET", &path), Value::Null);
    page["entries"].as_array().unwrap().len()
}

#[test]
fn those_of_one_application_make_a_bounded_number_of_changes_and_each_has_its_entry() {
    let yaml = format!("limits: {{application_changes: {MOST}}}");
    let stack = Stack::analysis_server().yaml(&yaml).start();
    let (flooding, quiet) = (
        application(&stack, "flooding"),
        application(&stack, "quiet"),
    );
    let (first, second) = (
        administrator(&stack, &flooding),
        administrator(&stack, &flooding),
    );
    let rename = |(id, key): &(String, String), name: usize| {
        let change = json!({"name": format!("name {name}")});
        call_as(key, &stack, ("PATCH", &format!("/tokens/{id}")), change)
    };
    let erase = |key: &str| {
        let path = format!("/records?user_id=u&application_id={flooding}");
        call_as(key, &stack, ("DELETE", &path), Value::Null)
    };
    let answers: Vec<Response> = (0..2 * MOST)
        .map(|number| match number {
            0 => erase(&first.1),
            _ if number % 2 == 0 => rename(&first, number),
            _ => rename(&second, number),
        })
        .collect();
    let made = answers.iter().filter(|it| it.status() == 200).count();
    // One comes back every half a minute.
    assert!((MOST..MOST + 3).contains(&made), "{made} changes");
    let last = answers.last().unwrap();
    assert_refused(last, 429, "limits.application_changes");
    let wait: u64 = last.head.header("Retry-After").unwrap().parse().unwrap();
    assert!((1..=30).contains(&wait), "{wait}");
    let refused = erase(&second.1);
    assert_refused(&refused, 429, "limits.application_changes");
    assert_eq!(entries(&stack, &flooding, "token.change"), made - 1);
    assert_eq!(
        entries(&stack, &flooding, "records.erase"),
        2,
        "begun and complete"
    );
    let path = format!("/tokens/{}", second.0);
    let revoked = call_as(&first.1, &stack, ("DELETE", &path), Value::Null);
    assert_eq!(revoked.status(), 200, "a key can always be revoked");
    let shown = stack.operations("/status").json()["changes"].clone();
    assert_eq!(
        shown,
        json!({"limit": MOST, "refused": 2 * MOST - made + 1})
    );
    // Neither another application nor those who are bound to none.
    let other = administrator(&stack, &quiet);
    assert_eq!(rename(&other, 0).status(), 200);
    for number in 0..2 * MOST {
        let change = json!({"name": format!("by all {number}")});
        let path = format!("/tokens/{}", first.0);
        assert_eq!(call(&stack, "PATCH", &path, change).status(), 200);
    }
    let all = made - 1 + 2 * MOST;
    assert_eq!(entries(&stack, &flooding, "token.change"), all);
}
