//! `GET /audit` (CONTRACT 30, 38): who did what, to what, from which version to which.

use crate::admin_world::{application, assert_refused, call, call_as, expect, token};
use serde_json::{Value, json};
use support::api::analyse;
use support::postgres::Postgres;
use support::sqlite;
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
                &json!({"version_from": 1, "version_to": 2, "changed": ["name", "policy", "rules.pre.dataclean.mask_style"]})
            ),
            (
                "application.change",
                "first",
                &json!({"version_from": 2, "version_to": 3, "changed": ["policy.phrase"]})
            ),
            (
                "application.restore",
                "first",
                &json!({"version_from": 3, "version_to": 4, "restored": 1, "weakened": ["policy.app_mode"],
                    "changed": ["name", "policy", "rules.pre.dataclean.mask_style"]})
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
fn what_weakens_protection_is_named_by_what_is_in_force() {
    // CONTRACT 30, 38. Left out is the default, null is off.
    let stack = Stack::all().start();
    let policy = json!({"app_mode": "sync", "phrase": "No.", "on_backend_failure": "closed"});
    let made = json!({"name": "bot", "policy": policy});
    let made = expect(&stack, 201, ("POST", "/applications"), made);
    let path = format!("/applications/{}", made["id"].as_str().unwrap());
    let off = json!({"pre": {"dataclean": null, "guardrails": {"disabled": ["hate"]}}});
    let on =
        json!({"pre": {"dataclean": {}, "guardrails": {"disabled": []}}, "keep_original": true});
    let open = json!({"on_backend_failure": null, "block_on": {"guardrails": false}});
    for (change, expected) in [
        (
            json!({"rules": off}),
            json!({"changed": ["rules.pre.dataclean", "rules.pre.guardrails", "rules.pre.guardrails.categories.hate"],
                "switched_off": ["rules.pre.dataclean", "rules.pre.guardrails.categories.hate"],
                "switched_on": ["rules.pre.guardrails"], "weakened": ["rules.pre.dataclean"]}),
        ),
        (
            json!({"rules": on}),
            json!({"changed": ["rules.keep_original", "rules.pre.dataclean", "rules.pre.guardrails.categories.hate"],
                "switched_on": ["rules.keep_original", "rules.pre.dataclean", "rules.pre.guardrails.categories.hate"],
                "weakened": ["rules.keep_original"]}),
        ),
        (
            json!({"policy": open}),
            json!({"changed": ["policy.block_on.guardrails", "policy.on_backend_failure"],
                "switched_off": ["policy.block_on.guardrails"],
                "weakened": ["policy.block_on.guardrails", "policy.on_backend_failure"]}),
        ),
        (json!({"rules": {"post": {}}}), json!({"changed": []})),
    ] {
        let version = expect(&stack, 200, ("GET", &path), Value::Null)["version"].clone();
        let mut body = change;
        body["version"] = version.clone();
        let changed = match body.get("policy") {
            Some(_) => expect(&stack, 200, ("PATCH", &format!("{path}/policy")), body),
            None => expect(&stack, 200, ("PATCH", &path), body),
        };
        let mut expected = expected;
        expected["version_from"] = version;
        expected["version_to"] = changed["version"].clone();
        let lines = audit(&stack, "action=application.change&limit=1");
        assert_eq!(lines[0]["details"], expected);
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

/// What the changes of [`a_change_whose_line_cannot_be_written_is_refused`] change.
fn settings(stack: &Stack) -> Value {
    let list = |path: &str, items: &str, fields: &[&str]| {
        let page = expect(stack, 200, ("GET", path), Value::Null);
        let items = page[items].as_array().unwrap().clone();
        let of = |item: &Value| fields.iter().map(|field| item[field].clone()).collect();
        items.iter().map(of).collect::<Vec<Value>>()
    };
    json!([
        list(
            "/tokens",
            "tokens",
            &["id", "name", "expires_at_ms", "revoked_at_ms"]
        ),
        list("/applications", "applications", &["id", "name", "version"]),
    ])
}

fn a_change_whose_line_cannot_be_written_is_refused(stack: &Stack, execute: impl Fn(&str)) {
    let bot = application(stack, "bot");
    let (old, _) = token(stack, json!({"name": "old", "scopes": ["read"]}));
    let (bot, old) = (format!("/applications/{bot}"), format!("/tokens/{old}"));
    let rotate = format!("{old}/rotate");
    let remove = |version: u8| format!("{bot}?version={version}");
    let new = || json!({"name": "new", "scopes": ["read"]});
    let changes = |remove: &str| {
        let none = Value::Null;
        [
            (201, "POST", "/tokens", new(), "token.create"),
            (200, "PATCH", &old, json!({"name": "x"}), "token.change"),
            (201, "POST", &rotate, json!({"grace": 60}), "token.rotate"),
            (200, "DELETE", &old, none.clone(), "token.revoke"),
            (
                201,
                "POST",
                "/applications",
                json!({"name": "new"}),
                "application.create",
            ),
            (
                200,
                "PATCH",
                &bot,
                json!({"version": 1, "name": "x"}),
                "application.change",
            ),
            (204, "DELETE", remove, none.clone(), "application.remove"),
            (
                200,
                "DELETE",
                "/records?user_id=anna",
                none,
                "records.erase",
            ),
        ]
        .map(|(status, method, path, body, action)| (status, method, path.to_owned(), body, action))
    };
    let (before, lines) = (settings(stack), audit(stack, ""));
    execute("ALTER TABLE audit_log RENAME TO audit_away");
    for (_, method, path, body, action) in changes(&remove(1)) {
        let answer = call(stack, method, &path, body);
        assert_eq!(answer.status(), 503, "{action}: {}", answer.text());
        assert_eq!(settings(stack), before, "{action} is not made");
    }
    execute("ALTER TABLE audit_away RENAME TO audit_log");
    assert_eq!(audit(stack, ""), lines);
    let of_anna = analyse(stack, "hello", json!({"user_id": "anna"}));
    assert_eq!(of_anna["warnings"], json!([]), "she is not erased");
    for (status, method, path, body, action) in changes(&remove(2)) {
        expect(stack, status, (method, &path), body);
        assert_eq!(audit(stack, "")[0]["action"], action);
    }
    assert_ne!(settings(stack), before);
}

#[test]
fn a_change_whose_line_cannot_be_written_is_not_made_in_the_embedded_database() {
    // CONTRACT 30, 38.
    let stack = Stack::all().start();
    let file = stack.data_dir().join("monitor.db");
    a_change_whose_line_cannot_be_written_is_refused(&stack, |sql| {
        sqlite::execute_now(&file, &sql.replace("audit_log", "audit"));
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_change_whose_line_cannot_be_written_is_not_made_in_postgresql() {
    // CONTRACT 30, 38.
    let server = Postgres::shared();
    let database = server.empty_database();
    let variables = database.owner_env().into_iter();
    let stack = variables
        .fold(Stack::analysis_server(), |builder, (name, value)| {
            builder.env(name, value)
        })
        .start();
    a_change_whose_line_cannot_be_written_is_refused(&stack, |sql| database.execute(sql));
}

#[test]
fn an_erasure_has_a_line_before_it_begins_and_one_with_its_counts() {
    // CONTRACT 30, 38.
    let stack = Stack::all().start();
    analyse(&stack, "hello", json!({"user_id": "anna"}));
    let erase = ("DELETE", "/records?user_id=anna");
    expect(&stack, 200, erase, Value::Null);
    let lines = audit(&stack, "action=records.erase");
    let said: Vec<_> = lines.iter().rev().map(|line| &line["details"]).collect();
    let counts = json!({"records": 1, "attachments": 0});
    assert_eq!(said, [&json!({"incomplete": true}), &counts]);
    assert_eq!(lines[0]["target"], lines[1]["target"]);
}
