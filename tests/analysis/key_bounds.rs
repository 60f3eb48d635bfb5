//! The bound of an application's access keys (`limits.application_keys`), whichever way they come to be valid.

use crate::admin_world::{assert_refused, call, expect, registers, token};
use serde_json::json;
use support::eventually;
use support::stack::Stack;

#[test]
fn many_at_once_and_keys_that_were_over_stay_within_the_bound() {
    const MOST: usize = 5;
    let yaml = format!("  limits: {{application_keys: {MOST}}}");
    let stack = Stack::all().yaml(&yaml).start();
    let application = stack.application_id();
    let bound = json!({"name": "bound", "scopes": ["ingest"], "application_id": application});
    let mut short = bound.clone();
    short["expires_in"] = json!("1s");
    let (over, value) = token(&stack, short);
    eventually("it is over", || {
        (registers(&stack, &value, &application) == 401).then_some(())
    });
    let statuses = std::thread::scope(|scope| {
        let make = || call(&stack, "POST", "/tokens", bound.clone()).status();
        let made: Vec<_> = (0..4 * MOST).map(|_| scope.spawn(make)).collect();
        let made = made.into_iter().map(|one| one.join().unwrap());
        made.collect::<Vec<_>>()
    });
    let made = statuses.iter().filter(|status| **status == 201);
    assert_eq!(made.count(), MOST, "{statuses:?}");
    let path = format!("/tokens/{over}");
    let revive = json!({"expires_at_ms": null});
    let revived = call(&stack, "PATCH", &path, revive);
    assert_refused(&revived, 409, "limits.application_keys");
    // Its name may be changed.
    expect(&stack, 200, ("PATCH", &path), json!({"name": "over"}));
}
