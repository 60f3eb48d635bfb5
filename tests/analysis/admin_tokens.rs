//! `/tokens` (CONTRACT 30): a value is shown once, two live side by side, the end of one is live.

use crate::admin_world::{assert_refused, call, call_as, expect, registers, token};
use serde_json::{Value, json};
use support::request::Request;
use support::stack::{Folder, Stack};
use support::{KEY, contains, eventually};

fn ingest(name: &str) -> Value {
    json!({"name": name, "scopes": ["ingest"]})
}

#[test]
fn a_value_is_in_the_answer_that_makes_it_and_nowhere_else() {
    // CONTRACT 30.
    let folder = Folder::new();
    let stack = Stack::all().folder(&folder).start();
    let made = call(&stack, "POST", "/tokens", ingest("gateway 1"));
    assert_eq!(made.status(), 201);
    assert_eq!(made.head.header("cache-control"), Some("no-store"));
    let (id, value) = (made.json()["id"].clone(), made.json()["value"].clone());
    let (id, value) = (id.as_str().unwrap(), value.as_str().unwrap());
    assert!(value.starts_with("mon_") && value.len() == 47);
    assert_eq!(
        made.head.header("location"),
        Some(format!("/tokens/{id}").as_str())
    );
    assert_eq!(registers(&stack, value, &stack.application_id()), 200);
    let mut shown = made.json();
    shown.as_object_mut().unwrap().remove("value");
    let one = expect(&stack, 200, ("GET", &format!("/tokens/{id}")), Value::Null);
    assert!(one["last_used_at_ms"].is_i64() || one["last_used_at_ms"].is_null());
    for field in [
        "id",
        "name",
        "scopes",
        "application_id",
        "created_at_ms",
        "expires_at_ms",
        "revoked_at_ms",
    ] {
        assert_eq!(one[field], shown[field], "{field}");
    }
    for path in ["/tokens", "/audit", &format!("/tokens/{id}")] {
        assert!(
            !call(&stack, "GET", path, Value::Null)
                .text()
                .contains(value),
            "{path}"
        );
    }
    assert!(!contains(stack.stderr().as_bytes(), value.as_bytes()));
    for entry in std::fs::read_dir(folder.path().join("data")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap_or_default();
        assert!(!contains(&bytes, value.as_bytes()));
    }
}

#[test]
fn a_rotated_token_lives_beside_the_new_one_for_the_grace_that_was_named() {
    // CONTRACT 30.
    let stack = Stack::all().start();
    let application = stack.application_id();
    let (id, old) = token(&stack, ingest("rotated"));
    let rotated = expect(
        &stack,
        201,
        ("POST", &format!("/tokens/{id}/rotate")),
        json!({"grace": "10m"}),
    );
    let new = rotated["value"].as_str().unwrap();
    assert_ne!(new, old);
    assert_eq!(
        (&rotated["name"], &rotated["scopes"]),
        (&json!("rotated"), &json!(["ingest"]))
    );
    assert_eq!(rotated["expires_at_ms"], Value::Null);
    for value in [old.as_str(), new] {
        assert_eq!(registers(&stack, value, &application), 200);
    }
    assert!(
        expect(&stack, 200, ("GET", &format!("/tokens/{id}")), Value::Null)["expires_at_ms"]
            .is_i64()
    );
    // Without a grace, and without a body, the old value ends at once.
    let path = format!("/tokens/{}/rotate/", rotated["id"].as_str().unwrap());
    let third = expect(&stack, 201, ("POST", &path), Value::Null);
    assert_eq!(registers(&stack, new, &application), 401);
    assert_eq!(
        registers(&stack, third["value"].as_str().unwrap(), &application),
        200
    );
    assert_refused(
        &call(&stack, "POST", &path, Value::Null),
        409,
        "expired or revoked",
    );
    let long = call(&stack, "POST", &path, json!({"grace": "31d"}));
    assert_refused(&long, 422, "grace: is too long; allowed: up to 30d");
}

#[test]
fn an_application_has_a_bounded_number_of_keys() {
    let yaml = "  limits: {application_keys: 3}";
    let stack = Stack::all().yaml(yaml).start();
    let application = stack.application_id();
    let bound =
        |scopes: Value| json!({"name": "bound", "scopes": scopes, "application_id": application});
    let (_, admin) = token(&stack, bound(json!(["ingest", "admin"])));
    let make = |as_whom: &str| {
        call_as(
            as_whom,
            &stack,
            ("POST", "/tokens"),
            bound(json!(["ingest"])),
        )
    };
    let mut last = Value::Null;
    for _ in 0..2 {
        let made = make(&admin);
        assert_eq!(made.status(), 201, "{}", made.text());
        last = made.json()["id"].clone();
    }
    for as_whom in [&*admin, KEY] {
        assert_refused(&make(as_whom), 409, "limits.application_keys");
    }
    // Keys of no application and of another one go on.
    token(&stack, ingest("unbound"));
    let rotate = format!("/tokens/{}/rotate", last.as_str().unwrap());
    let graced = call(&stack, "POST", &rotate, json!({"grace": "10m"}));
    assert_refused(&graced, 409, "limits.application_keys");
    let mut path = rotate;
    // With those that are over there may be ten times as many: 30, and three are made.
    for _ in 0..27 {
        let rotated = expect(&stack, 201, ("POST", &path), Value::Null);
        path = format!("/tokens/{}/rotate", rotated["id"].as_str().unwrap());
    }
    assert_refused(&call(&stack, "POST", &path, Value::Null), 409, "ten times");
}

#[test]
fn a_revocation_is_live_on_every_path_at_once() {
    // CONTRACT 30.
    let stack = Stack::all().start();
    let application = stack.application_id();
    let (id, value) = token(
        &stack,
        json!({"name": "all", "scopes": ["ingest", "read", "admin"]}),
    );
    let statuses = || {
        let get = |path: &str| call_as(&value, &stack, ("GET", path), Value::Null).status();
        [
            registers(&stack, &value, &application),
            get("/records"),
            get("/tokens"),
            get("/applications"),
        ]
    };
    assert_eq!(statuses(), [200; 4]);
    let revoked = expect(
        &stack,
        200,
        ("DELETE", &format!("/tokens/{id}")),
        Value::Null,
    );
    assert!(revoked["revoked_at_ms"].is_i64());
    assert_eq!(statuses(), [401; 4]);
    // It stays as it is, whatever is done to it.
    let again = expect(
        &stack,
        200,
        ("DELETE", &format!("/tokens/{id}")),
        Value::Null,
    );
    assert_eq!(again, revoked);
    let late = json!({"expires_at_ms": null});
    expect(&stack, 200, ("PATCH", &format!("/tokens/{id}")), late);
    assert_eq!(statuses(), [401; 4]);
}

#[test]
fn a_revoked_key_is_refused_by_the_gateway_of_the_same_process() {
    // CONTRACT 13: in sync mode a refused key is no outage.
    let stack = Stack::all().start();
    let path = format!("/applications/{}/policy", stack.application_id());
    let policy = json!({"app_mode": "sync", "phrase": "No."});
    expect(
        &stack,
        200,
        ("PUT", &path),
        json!({"version": 1, "policy": policy}),
    );
    let (id, value) = token(&stack, ingest("gateway"));
    let ask = || {
        let messages = json!([{"role": "user", "content": "mail a@example.org"}]);
        let body = json!({"model": "demo", "messages": messages}).to_string();
        let request = Request::chat(body).without_key();
        stack.call(&request.header("X-Monitor-Api-Key", &value))
    };
    eventually("the policy is in force", || {
        ask().text().contains("No.").then_some(())
    });
    expect(
        &stack,
        200,
        ("DELETE", &format!("/tokens/{id}")),
        Value::Null,
    );
    assert_refused(&ask(), 401, "access key");
}

#[test]
fn a_token_ends_when_it_was_said_to() {
    // CONTRACT 30.
    let stack = Stack::all().start();
    let application = stack.application_id();
    let body = json!({"name": "short", "scopes": ["ingest"], "expires_in": "1s"});
    let made = expect(&stack, 201, ("POST", "/tokens"), body);
    assert_eq!(
        made["expires_at_ms"].as_i64().unwrap() - made["created_at_ms"].as_i64().unwrap(),
        1000
    );
    let value = made["value"].as_str().unwrap();
    eventually("the token ends", || {
        (registers(&stack, value, &application) == 401).then_some(())
    });
    // An administrator may bring it back.
    let path = format!("/tokens/{}", made["id"].as_str().unwrap());
    let longer = expect(
        &stack,
        200,
        ("PATCH", &path),
        json!({"expires_in": 3600, "name": "longer"}),
    );
    assert_eq!(longer["name"], "longer");
    assert_eq!(registers(&stack, value, &application), 200);
}

#[test]
fn everything_that_is_wrong_with_a_token_is_named() {
    // CONTRACT 30.
    let stack = Stack::all().start();
    let unknown = "00000000-0000-4000-8000-000000000000";
    for (body, words) in [
        (json!({}), "name: must be text of 1 to 200 characters"),
        (
            json!({}),
            "scopes: must be a list of at least one of ingest, read, admin, read_cleaned, triage",
        ),
        (
            json!({"name": "x".repeat(201), "scopes": ["read"]}),
            "name: has 201 characters",
        ),
        (json!({"name": "x", "scopes": []}), "scopes: must be a list"),
        (
            json!({"name": "x", "scopes": ["king"]}),
            "scopes: must be a list",
        ),
        (
            json!({"name": "x", "scopes": ["read"], "application_id": "x"}),
            "application_id: must be a UUID or null",
        ),
        (
            json!({"name": "x", "scopes": ["read"], "application_id": unknown}),
            "application_id: no application has this id",
        ),
        (
            json!({"name": "x", "scopes": ["read"], "expires_at_ms": 1}),
            "expires_at_ms: must be in the future",
        ),
        (
            json!({"name": "x", "scopes": ["read"], "expires_at_ms": "2030"}),
            "expires_at_ms: must be an integer",
        ),
        (
            json!({"name": "x", "scopes": ["read"], "expires_at_ms": i64::MAX}),
            "before the year 10000",
        ),
        (
            json!({"name": "x", "scopes": ["read"], "expires_in": "soon"}),
            "expires_in: must be a duration",
        ),
        (
            json!({"name": "x", "scopes": ["read"], "expires_in": 0}),
            "expires_in: must be longer than zero",
        ),
        (
            json!({"name": "x", "scopes": ["read"], "expires_in": 1, "expires_at_ms": null}),
            "expires_in: cannot be combined with",
        ),
        (
            json!({"name": "x", "scopes": ["read"], "value": "mon_mine"}),
            "value: is an unknown field",
        ),
    ] {
        let response = call(&stack, "POST", "/tokens", body);
        assert_refused(&response, 422, words);
        assert!(!response.text().contains("mon_mine"));
    }
    for (method, path) in [
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/rotate"),
    ] {
        for id in ["x", unknown] {
            let body = if method == "PATCH" {
                json!({})
            } else {
                Value::Null
            };
            expect(&stack, 404, (method, &format!("/tokens/{id}{path}")), body);
        }
    }
    for query in [
        "before=1",
        "before=x.y",
        "application_id=x",
        "limit=201",
        "state=valid",
    ] {
        assert_eq!(
            call(&stack, "GET", &format!("/tokens?{query}"), Value::Null).status(),
            422,
            "{query}"
        );
    }
}

#[test]
fn the_list_pages_by_key_newest_first() {
    // CONTRACT 30.
    let stack = Stack::all().start();
    for number in 0..4 {
        token(&stack, ingest(&format!("t{number}")));
    }
    let (mut names, mut query) = (Vec::new(), String::new());
    loop {
        let page = expect(
            &stack,
            200,
            ("GET", &format!("/tokens?limit=2{query}")),
            Value::Null,
        );
        let tokens = page["tokens"].as_array().unwrap();
        assert!(tokens.len() <= 2);
        names.extend(
            tokens
                .iter()
                .map(|token| token["name"].as_str().unwrap().to_owned()),
        );
        match page["next_before"].as_str() {
            Some(next) => query = format!("&before={next}"),
            None => break,
        }
    }
    names.sort();
    assert_eq!(names, ["first", "t0", "t1", "t2", "t3"]);
}

#[test]
fn the_last_use_is_noted() {
    // CONTRACT 30.
    let stack = Stack::all().start();
    let (id, value) = token(&stack, ingest("used"));
    let used = || {
        expect(&stack, 200, ("GET", &format!("/tokens/{id}")), Value::Null)["last_used_at_ms"]
            .clone()
    };
    assert_eq!(used(), Value::Null);
    assert_eq!(registers(&stack, &value, &stack.application_id()), 200);
    eventually("the use is written", || used().is_i64().then_some(()));
}

#[test]
fn an_unauthorised_caller_sends_no_body_to_be_read() {
    // CONTRACT 30.
    // The token is looked at before the body: its answer does not wait for one.
    let stack = Stack::all().start();
    let request = Request::json("POST", "/tokens", vec![b'x'; 1 << 10]).without_key();
    let mut connection = support::http::Conn::open(stack.analysis_addr);
    connection.send(&request.head());
    assert_eq!(connection.response().status(), 401);
}
