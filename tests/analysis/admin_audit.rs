//! `GET /audit` (CONTRACT 30, 38): who did what, to what, from which version to which.

use crate::admin_world::{assert_refused, call, call_as, expect, token};
use serde_json::{Value, json};
use support::stack::Stack;

fn audit(stack: &Stack, query: &str) -> Vec<Value> {
    let page = expect(stack, 200, ("GET", &format!("/audit?{query}")), Value::Null);
    page["entries"].as_array().unwrap().clone()
}

#[test]
fn every_action_leaves_a_line_with_names_of_fields_and_no_values() {
    // CONTRACT 30, 38.
    let stack = Stack::all().start();
    let made = expect(
        &stack,
        201,
        ("POST", "/applications"),
        json!({"name": "bot"}),
    );
    let id = made["id"].as_str().unwrap();
    let path = format!("/applications/{id}");
    let policy = json!({"app_mode": "sync", "phrase": "a hidden phrase"});
    let rules = json!({"pre": {"dataclean": {"mask_style": "x"}}});
    expect(
        &stack,
        200,
        ("PATCH", &path),
        json!({"version": 1, "name": "robot", "policy": policy, "rules": rules}),
    );
    let patch = json!({"version": 2, "policy": {"phrase": "another hidden phrase"}});
    expect(&stack, 200, ("PATCH", &format!("{path}/policy")), patch);
    expect(
        &stack,
        200,
        ("POST", &format!("{path}/restore")),
        json!({"version": 3, "restore": 1}),
    );
    let (token_id, value) = token(
        &stack,
        json!({"name": "admin", "scopes": ["admin"], "application_id": id}),
    );
    let own = format!("/tokens/{token_id}");
    call_as(&value, &stack, ("PATCH", &own), json!({"name": "renamed"}));
    let rotated = expect(
        &stack,
        201,
        ("POST", &format!("{own}/rotate")),
        json!({"grace": 60}),
    );
    expect(&stack, 200, ("DELETE", &own), Value::Null);
    expect(
        &stack,
        204,
        ("DELETE", &format!("{path}?version=4")),
        Value::Null,
    );

    let lines = audit(&stack, &format!("application_id={id}"));
    let said: Vec<_> = lines
        .iter()
        .rev()
        .map(|line| {
            (
                line["action"].as_str().unwrap(),
                line["actor"].as_str().unwrap(),
                &line["details"],
            )
        })
        .collect();
    let ends = &lines[2]["details"]["old_expires_at_ms"];
    assert!(ends.is_i64());
    assert_eq!(
        said,
        [
            (
                "application.create",
                "first",
                &json!({"version_from": null, "version_to": 1, "changed": ["name"]})
            ),
            (
                "application.change",
                "first",
                &json!({"version_from": 1, "version_to": 2, "changed": ["name", "policy", "rules.pre"]})
            ),
            (
                "application.change",
                "first",
                &json!({"version_from": 2, "version_to": 3, "changed": ["policy.phrase"]})
            ),
            (
                "application.restore",
                "first",
                &json!({"version_from": 3, "version_to": 4, "restored": 1, "changed": ["name", "policy", "rules.pre"]})
            ),
            (
                "token.create",
                "first",
                &json!({"name": "admin", "scopes": ["admin"], "expires_at_ms": null})
            ),
            (
                "token.change",
                "admin",
                &json!({"changed": ["name"], "expires_at_ms": null})
            ),
            (
                "token.rotate",
                "first",
                &json!({"new_token_id": rotated["id"], "old_expires_at_ms": ends})
            ),
            (
                "token.revoke",
                "first",
                &json!({"name": "renamed", "scopes": ["admin"], "expires_at_ms": ends})
            ),
            (
                "application.remove",
                "first",
                &json!({"version_from": 4, "version_to": null})
            ),
        ]
    );
    assert_eq!(lines[3]["token_id"], token_id);
    assert_eq!(
        (&lines[3]["target"], &lines[0]["target"]),
        (&json!(token_id), &json!(id))
    );
    let text = json!(lines).to_string();
    for hidden in ["hidden phrase", &value, rotated["value"].as_str().unwrap()] {
        assert!(!text.contains(hidden) && !stack.stderr().contains(hidden));
    }
}

#[test]
fn refused_actions_and_reads_leave_none() {
    // CONTRACT 30, 38.
    let stack = Stack::all().start();
    let path = format!("/applications/{}", stack.application_id());
    call(&stack, "PATCH", &path, json!({"version": 9, "name": "x"}));
    call(&stack, "PATCH", &path, json!({"version": 1, "name": ""}));
    call(&stack, "POST", "/tokens", json!({"name": ""}));
    call(&stack, "GET", &path, Value::Null);
    assert_eq!(audit(&stack, ""), Vec::<Value>::new());
}

#[test]
fn the_log_is_narrowed_and_paged() {
    // CONTRACT 30, 38.
    let stack = Stack::all().start();
    for number in 0..3 {
        token(
            &stack,
            json!({"name": format!("t{number}"), "scopes": ["read"]}),
        );
        expect(
            &stack,
            201,
            ("POST", "/applications"),
            json!({"name": format!("a{number}")}),
        );
    }
    let made = audit(&stack, "action=token.create");
    assert_eq!(made.len(), 3);
    assert_eq!(made[0]["details"]["name"], "t2");
    assert_eq!(made[0]["application_id"], Value::Null);
    let page = expect(&stack, 200, ("GET", "/audit?limit=4"), Value::Null);
    assert_eq!(page["entries"].as_array().unwrap().len(), 4);
    let rest = audit(&stack, &format!("before={}", page["next_before"]));
    assert_eq!(rest.len(), 2);
    assert_refused(
        &call(&stack, "GET", "/audit?action=token.steal", Value::Null),
        422,
        "action: must be one of application.create",
    );
    assert_refused(
        &call(&stack, "GET", "/audit?who=me", Value::Null),
        422,
        "query: takes action, actor, application_id, before, limit only",
    );
}
