//! `/applications` (CONTRACT 38): making, reading, changing and removing; what is refused; what a
//! change does at once. Tokens, versions and the audit log are tested beside.

use crate::admin_world::{application, assert_refused, call, expect, registers, token};
use monitor_model::ScanRole;
use serde_json::{Value, json};
use support::api::{analyse, authorised};
use support::request::Request;
use support::stack::Stack;
use support::{KEY, eventually};

#[test]
fn an_application_is_made_read_changed_and_removed_on_every_form_of_its_path() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    let made = call(
        &stack,
        "POST",
        "/applications/",
        json!({
            "name": "support bot", "description": "two\nlines",
            "rules": {"keep_original": true}, "policy": {"app_mode": "async"},
        }),
    );
    assert_eq!(made.status(), 201, "{}", made.text());
    assert_eq!(made.head.header("etag"), Some("\"1\""));
    assert_eq!(made.head.header("cache-control"), Some("no-store"));
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/applications/{id}");
    assert_eq!(made.head.header("location"), Some(path.as_str()));
    for form in [
        path.clone(),
        format!("{path}/"),
        format!("/api{path}"),
        format!("/api{path}/"),
    ] {
        assert_eq!(
            expect(&stack, 200, ("GET", &form), Value::Null),
            made.json(),
            "{form}"
        );
    }
    let changed = expect(
        &stack,
        200,
        ("PATCH", &path),
        json!({"version": 1, "description": ""}),
    );
    assert_eq!(
        (&changed["version"], &changed["name"]),
        (&json!(2), &json!("support bot"))
    );
    assert_eq!(changed["rules"], json!({"keep_original": true}));
    assert_eq!(changed["app_mode"], "async");
    // PUT is whole: what it leaves out has its default.
    let whole = expect(
        &stack,
        200,
        ("PUT", &path),
        json!({"version": 2, "name": "bot"}),
    );
    assert_eq!(
        (&whole["rules"], &whole["policy"]),
        (&json!({}), &Value::Null)
    );
    assert_eq!(expect(&stack, 200, ("GET", &path), Value::Null), whole);
    expect(
        &stack,
        204,
        ("DELETE", &format!("{path}?version=3")),
        Value::Null,
    );
    for method in ["GET", "DELETE"] {
        let path = format!("{path}{}", if method == "GET" { "" } else { "?version=3" });
        assert_refused(&call(&stack, method, &path, Value::Null), 404, "not found");
    }
}

#[test]
fn every_role_that_can_be_checked_can_be_stored_by_post_put_and_patch() {
    // CONTRACT 3, 38.
    let stack = Stack::all().start();
    for role in ScanRole::ALL {
        let policy = json!({"app_mode": "async", "scan_roles": [role.as_str()]});
        let body = json!({"name": role.as_str(), "policy": policy});
        let made = expect(&stack, 201, ("POST", "/applications"), body.clone());
        let path = format!("/applications/{}", made["id"].as_str().unwrap());
        let mut whole = body;
        whole["version"] = json!(1);
        let set = expect(&stack, 200, ("PUT", &path), whole);
        let change = json!({"version": set["version"], "description": "x", "policy": policy});
        let changed = expect(&stack, 200, ("PATCH", &path), change);
        assert_eq!(changed["policy"]["scan_roles"], json!([role.as_str()]));
    }
}

#[test]
fn a_list_pages_by_key_and_finds_names_in_any_letter_case() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    for number in 0..5 {
        application(&stack, &format!("Бот {number}"));
    }
    let names = |query: &str| -> (Vec<String>, Value) {
        let list = expect(
            &stack,
            200,
            ("GET", &format!("/applications?{query}")),
            Value::Null,
        );
        let names = list["applications"].as_array().unwrap().iter();
        let names = names.map(|item| item["name"].as_str().unwrap().to_owned());
        (names.collect(), list["next_after"].clone())
    };
    let (first, after) = names("limit=4");
    assert_eq!(first, ["default", "Бот 0", "Бот 1", "Бот 2"]);
    let (last, end) = names(&format!("limit=4&after={after}"));
    assert_eq!(
        (last, end),
        (vec!["Бот 3".to_owned(), "Бот 4".to_owned()], Value::Null)
    );
    // %25 and _ are characters, not patterns.
    assert_eq!(names("name=%D0%B1%D0%BE%D1%82%203").0, ["Бот 3"]);
    assert!(names("name=%25").0.is_empty() && names("name=_").0.is_empty());
}

#[test]
fn names_are_data_whatever_they_look_like() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    for name in [
        "<script>alert(1)</script>",
        "'; DROP TABLE applications; --",
        "=1+1",
        "\u{202e}txt",
    ] {
        let id = application(&stack, name);
        let shown = expect(
            &stack,
            200,
            ("GET", &format!("/applications/{id}")),
            Value::Null,
        );
        assert_eq!(shown["name"], name);
    }
}

#[test]
fn everything_that_is_wrong_is_named_with_its_limit() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    let id = stack.application_id();
    let path = format!("/applications/{id}");
    let post = |body: Value, words: &str| {
        assert_refused(&call(&stack, "POST", "/applications", body), 422, words);
    };
    post(json!({}), "name: is empty; allowed: 1 to 200");
    post(
        json!({"name": "x".repeat(201)}),
        "name: has 201 characters; allowed: 1 to 200",
    );
    post(
        json!({"name": "two\nlines"}),
        "name: has control characters",
    );
    post(json!({"name": 7}), "name: must be text");
    post(
        json!({"name": "x", "description": "x".repeat(2001)}),
        "description: has 2001 characters; allowed: up to 2000",
    );
    post(
        json!({"name": "x", "colour": 1}),
        "colour: is an unknown field; allowed: id, name, description, rules, policy",
    );
    post(json!({"name": "x", "id": "7"}), "id: must be a UUID");
    post(
        json!({"name": "x", "rules": []}),
        "rules: must be an object",
    );
    post(json!({"name": "x", "rules": {"pre": 1}}), "rules");
    post(
        json!({"name": "x", "policy": {"app_mode": "sync"}}),
        "policy.phrase: is not set; app_mode sync needs the text",
    );
    post(
        json!({"name": "", "description": 1, "x": 1}),
        "x: is an unknown field",
    );
    post(json!([]), "body: must be an object");
    let taken = json!({"name": "x", "id": id});
    assert_refused(&call(&stack, "POST", "/applications", taken), 409, "id: ");
    for (query, words) in [
        ("limit=0", "limit: must be an integer from 1 to 200"),
        ("limit=1&limit=2", "limit: is repeated"),
        ("after=x", "after: must be an integer"),
        ("user=1", "query: takes name, after, limit only"),
    ] {
        let list = call(
            &stack,
            "GET",
            &format!("/applications?{query}"),
            Value::Null,
        );
        assert_refused(&list, 422, words);
    }
    assert_refused(
        &call(&stack, "PUT", &path, json!({"version": 1})),
        422,
        "name: missing",
    );
    for body in [
        json!({"version": 1}),
        json!({"version": 1, "policy": {}, "rules": {}}),
    ] {
        let put = call(&stack, "PUT", &format!("{path}/policy"), body);
        assert_eq!(put.status(), 422, "{}", put.text());
    }
    let untouched = expect(&stack, 200, ("GET", &path), Value::Null);
    assert_eq!(untouched["version"], 1);
}

#[test]
fn refusals_of_the_wire_have_their_status() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    let large = json!({"name": "x".repeat(1 << 20)}).to_string();
    let untyped = authorised(Request::new("POST", "/applications"));
    for (status, request) in [
        (400, authorised(Request::post("/applications", "{"))),
        (413, authorised(Request::post("/applications", &large))),
        (
            413,
            authorised(Request::post("/applications", &large).chunked(64 << 10)),
        ),
        (415, untyped),
        (404, authorised(Request::get("/applications/x"))),
        (
            404,
            authorised(Request::get(
                "/applications/00000000-0000-4000-8000-000000000000/rules",
            )),
        ),
        (401, Request::get("/applications").without_key()),
    ] {
        let mut connection = support::http::Conn::open(stack.analysis_addr);
        let _ = connection.try_send(&request.bytes());
        let response = connection.response();
        assert_eq!(response.status(), status, "{}", response.text());
    }
    for (path, allow) in [
        ("/applications", "GET,HEAD,POST"),
        ("/applications/x/restore", "POST"),
        ("/tokens/x/rotate/", "POST"),
        ("/api/audit", "GET,HEAD"),
    ] {
        let response = call(&stack, "DELETE", path, Value::Null);
        assert_refused(&response, 405, "method");
        assert_eq!(response.head.header("allow"), Some(allow), "{path}");
    }
}

#[test]
fn rules_are_in_force_for_the_very_next_message() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    let path = format!("/applications/{}/rules", stack.application_id());
    let cleaned =
        || analyse(&stack, "to a@example.org", json!({}))["dataclean"]["cleaned_text"].clone();
    assert_eq!(cleaned(), "to [EMAILS]");
    let deletes = json!({"pre": {"dataclean": {"clean_type": "DELETION"}}});
    let put = expect(
        &stack,
        200,
        ("PUT", &path),
        json!({"version": 1, "rules": deletes}),
    );
    assert_eq!(put, json!({"version": 2, "rules": deletes}));
    assert_eq!(cleaned(), "to");
    // Null is a value: the stage is off, and the other direction stays as it is.
    let patch = json!({"version": 2, "rules": {"pre": {"dataclean": null}, "post": {"dataclean": {"mask_style": "x"}}}});
    let patched = expect(&stack, 200, ("PATCH", &path), patch);
    assert_eq!(
        patched["rules"],
        json!({"pre": {"dataclean": null}, "post": {"dataclean": {"mask_style": "x"}}})
    );
    assert_eq!(cleaned(), Value::Null);
    let record = stack.analysis("/records?limit=1", KEY).json();
    assert_eq!(record["records"][0]["rules_version"], 3);
}

#[test]
fn a_policy_is_live_at_the_gateway_without_a_restart() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    let path = format!("/applications/{}/policy", stack.application_id());
    let ask = || {
        let messages = json!([{"role": "user", "content": "my card is 4111 1111 1111 1111"}]);
        let body = json!({"model": "demo", "messages": messages}).to_string();
        stack.call(&Request::chat(body)).json()
    };
    let is_blocked = |answer: &Value| {
        answer["id"]
            .as_str()
            .unwrap()
            .starts_with("monitor-guardrails-")
    };
    assert!(!is_blocked(&ask()));
    let policy = json!({"app_mode": "sync", "phrase": "Not with a card."});
    expect(
        &stack,
        200,
        ("PUT", &path),
        json!({"version": 1, "policy": policy}),
    );
    let blocked = eventually("the policy is in force", || Some(ask()).filter(is_blocked));
    assert_eq!(
        blocked["choices"][0]["message"]["content"],
        "Not with a card."
    );
    let patch = json!({"version": 2, "policy": {"block_on": {"dataclean": false}}});
    let patched = expect(&stack, 200, ("PATCH", &path), patch);
    assert_eq!(patched["policy"]["phrase"], "Not with a card.");
    eventually("it no longer blocks", || {
        Some(ask()).filter(|answer| !is_blocked(answer))
    });
    expect(
        &stack,
        200,
        ("PATCH", &path),
        json!({"version": 3, "policy": null}),
    );
    let none = expect(&stack, 200, ("GET", &path), Value::Null);
    assert_eq!(
        none,
        json!({"version": 4, "policy": null, "policy_source": "store"})
    );
}

#[test]
fn a_removed_application_takes_its_tokens_along() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    let id = application(&stack, "short-lived");
    let (token_id, value) = token(
        &stack,
        json!({"name": "t", "scopes": ["ingest"], "application_id": id}),
    );
    assert_eq!(registers(&stack, &value, &id), 200);
    expect(
        &stack,
        204,
        ("DELETE", &format!("/applications/{id}?version=1")),
        Value::Null,
    );
    assert_eq!(registers(&stack, &value, &id), 401);
    assert_eq!(registers(&stack, KEY, &id), 422);
    expect(
        &stack,
        404,
        ("GET", &format!("/tokens/{token_id}")),
        Value::Null,
    );
}
