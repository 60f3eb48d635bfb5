//! What a token may do (CONTRACT 27, 30): scopes, the application it is bound to, and that nobody
//! hands out what he does not have.

use crate::admin_world::{application, assert_refused, call_as, expect, token};
use serde_json::{Value, json};
use support::api::analyse;
use support::request::{HELLO, Request};
use support::stack::Stack;
use support::{KEY, eventually};

/// How a call is refused: the status, and words of its message.
#[derive(Clone, Copy)]
struct Refusal {
    status: u16,
    words: &'static str,
}

const NOT_FOUND: Refusal = Refusal {
    status: 404,
    words: "not found",
};

const fn forbidden(words: &'static str) -> Refusal {
    Refusal { status: 403, words }
}

/// A server with two applications and an administrator of the first one.
struct Tenants {
    stack: Stack,
    own: String,
    other: String,
    key: String,
}

impl Tenants {
    fn with_scopes(scopes: &[&str]) -> Self {
        let stack = Stack::all().start();
        let (own, other) = (application(&stack, "own"), application(&stack, "other"));
        let body = json!({"name": "tenant", "scopes": scopes, "application_id": own});
        let (_, key) = token(&stack, body);
        Self {
            stack,
            own,
            other,
            key,
        }
    }

    #[track_caller]
    fn call(&self, method: &str, path: &str, body: Value) -> support::http::Response {
        call_as(&self.key, &self.stack, (method, path), body)
    }

    #[track_caller]
    fn refused(&self, (method, path): (&str, &str), body: Value, refusal: Refusal) {
        assert_refused(
            &self.call(method, path, body),
            refusal.status,
            refusal.words,
        );
    }
}

#[test]
fn reading_takes_the_scope_read_or_admin_and_changing_takes_admin() {
    // CONTRACT 27, 30.
    let stack = Stack::all().start();
    let id = stack.application_id();
    let keys = ["ingest", "read", "admin"]
        .map(|scope| token(&stack, json!({"name": scope, "scopes": [scope]})).1);
    let statuses = |method: &str, path: &str, body: Value| {
        keys.each_ref()
            .map(|key| call_as(key, &stack, (method, path), body.clone()).status())
    };
    for path in ["", "/rules", "/policy", "/versions", "/versions/1"] {
        let path = format!("/applications/{id}{path}");
        assert_eq!(
            statuses("GET", &path, Value::Null),
            [403, 200, 200],
            "{path}"
        );
    }
    assert_eq!(
        statuses("GET", "/applications", Value::Null),
        [403, 200, 200]
    );
    assert_eq!(
        statuses("POST", "/applications", json!({"name": "x"})),
        [403, 403, 201]
    );
    assert_eq!(statuses("GET", "/tokens", Value::Null), [403, 403, 200]);
    assert_eq!(
        statuses("GET", "/audit", Value::Null),
        [403, 403, 403],
        "it takes both"
    );
    let rename = json!({"version": 1, "name": "x"});
    assert_eq!(
        statuses("PATCH", &format!("/applications/{id}"), rename),
        [403, 403, 200]
    );
    assert_eq!(statuses("GET", "/records", Value::Null), [403, 200, 403]);
}

#[test]
fn a_bound_administrator_manages_its_own_application() {
    // CONTRACT 27, 30.
    let tenants = Tenants::with_scopes(&["ingest", "read", "admin"]);
    let own = format!("/applications/{}", tenants.own);
    let list = tenants.call("GET", "/applications", Value::Null).json();
    assert_eq!(list["applications"].as_array().unwrap().len(), 1);
    assert_eq!(list["applications"][0]["id"], tenants.own);
    let rules = json!({"version": 1, "rules": {"keep_original": true}});
    assert_eq!(
        tenants.call("PUT", &format!("{own}/rules"), rules).status(),
        200
    );
    let policy = json!({"version": 2, "policy": {"app_mode": "async"}});
    assert_eq!(
        tenants
            .call("PATCH", &format!("{own}/policy"), policy)
            .status(),
        200
    );
    let restore = json!({"version": 3, "restore": 1});
    assert_eq!(
        tenants
            .call("POST", &format!("{own}/restore"), restore)
            .status(),
        200
    );
    // A token it makes is bound as it is, also when that is not said.
    for body in [
        json!({"name": "t", "scopes": ["ingest"]}),
        json!({"name": "t", "scopes": ["ingest"], "application_id": null}),
        json!({"name": "t", "scopes": ["ingest"], "application_id": tenants.own}),
    ] {
        let made = tenants.call("POST", "/tokens", body);
        assert_eq!(
            (made.status(), &made.json()["application_id"]),
            (201, &json!(tenants.own))
        );
    }
    let tokens = tenants.call("GET", "/tokens", Value::Null).json();
    assert_eq!(tokens["tokens"].as_array().unwrap().len(), 4);
    let audit = tenants.call("GET", "/audit", Value::Null).json();
    for entry in audit["entries"].as_array().unwrap() {
        assert_eq!(entry["application_id"], tenants.own);
    }
}

#[test]
fn another_application_is_forbidden_where_it_is_named_and_not_there_where_it_is_not() {
    // CONTRACT 27, 30.
    let tenants = Tenants::with_scopes(&["ingest", "read", "admin"]);
    let unknown = "00000000-0000-4000-8000-000000000000";
    // The same answer for one that exists and one that does not.
    for id in [tenants.other.as_str(), unknown] {
        let path = format!("/applications/{id}");
        let bound = forbidden("bound to another application");
        for part in ["", "/rules", "/policy", "/versions", "/versions/1"] {
            tenants.refused(("GET", &format!("{path}{part}")), Value::Null, bound);
        }
        tenants.refused(("PATCH", &path), json!({"version": 1, "name": "x"}), bound);
        tenants.refused(
            ("PUT", &format!("{path}/policy")),
            json!({"version": 1, "policy": null}),
            bound,
        );
        tenants.refused(
            ("POST", &format!("{path}/restore")),
            json!({"version": 1, "restore": 1}),
            bound,
        );
        for list in ["/tokens", "/audit", "/records"] {
            tenants.refused(
                ("GET", &format!("{list}?application_id={id}")),
                Value::Null,
                bound,
            );
        }
        let body = json!({"name": "x", "scopes": ["ingest"], "application_id": id});
        tenants.refused(("POST", "/tokens"), body, bound);
    }
    let record = analyse(&tenants.stack, "of the first application", json!({}));
    let record = format!("/records/{}", record["request_id"].as_str().unwrap());
    tenants.refused(("GET", &record), Value::Null, NOT_FOUND);
    let unbound = token(&tenants.stack, json!({"name": "u", "scopes": ["ingest"]})).0;
    let others = json!({"name": "o", "scopes": ["ingest"], "application_id": tenants.other});
    for id in [unbound, token(&tenants.stack, others).0, unknown.to_owned()] {
        let path = format!("/tokens/{id}");
        for (method, path) in [
            ("GET", path.clone()),
            ("DELETE", path.clone()),
            ("POST", format!("{path}/rotate")),
        ] {
            tenants.refused((method, &path), Value::Null, NOT_FOUND);
        }
        tenants.refused(("PATCH", &path), json!({"name": "mine"}), NOT_FOUND);
    }
}

#[test]
fn making_and_removing_applications_takes_an_unbound_token() {
    // CONTRACT 27, 30.
    let tenants = Tenants::with_scopes(&["ingest", "read", "admin"]);
    let words = forbidden("not bound to an application");
    tenants.refused(
        ("POST", "/applications"),
        json!({"name": "mine too"}),
        words,
    );
    let own = format!("/applications/{}?version=1", tenants.own);
    tenants.refused(("DELETE", &own), Value::Null, words);
}

#[test]
fn nobody_hands_out_a_scope_he_does_not_have() {
    // CONTRACT 27, 30.
    let tenants = Tenants::with_scopes(&["admin"]);
    let words = forbidden("scopes: the access token does not have `read` and cannot grant it");
    tenants.refused(
        ("POST", "/tokens"),
        json!({"name": "x", "scopes": ["read"]}),
        words,
    );
    tenants.refused(
        ("POST", "/tokens"),
        json!({"name": "x", "scopes": ["admin", "read"]}),
        words,
    );
    // A new value of a token that has more, or a longer life for it, would be the same by a detour.
    let reader = json!({"name": "r", "scopes": ["read"], "application_id": tenants.own});
    let path = format!("/tokens/{}", token(&tenants.stack, reader).0);
    tenants.refused(("POST", &format!("{path}/rotate")), Value::Null, words);
    tenants.refused(("PATCH", &path), json!({"expires_in": "1h"}), words);
    // To end it is no gain of power.
    assert_eq!(tenants.call("DELETE", &path, Value::Null).status(), 200);
    // The rule holds for an administrator of everything too.
    let (_, admin) = token(&tenants.stack, json!({"name": "a", "scopes": ["admin"]}));
    let body = json!({"name": "x", "scopes": ["ingest"]});
    let refused = call_as(&admin, &tenants.stack, ("POST", "/tokens"), body);
    assert_refused(&refused, 403, "`ingest`");
    let tokens = expect(&tenants.stack, 200, ("GET", "/tokens"), Value::Null);
    assert_eq!(tokens["tokens"].as_array().unwrap().len(), 4);
}

#[test]
fn contract_5_a_bound_token_does_not_learn_the_id_under_which_a_gateway_numbers_its_records() {
    // With it, anybody who may send records could take numbers of the gateway.
    let tenants = Tenants::with_scopes(&["ingest", "read"]);
    let stack = &tenants.stack;
    let call = Request::chat(HELLO).without_key();
    let answer = stack.call(&call.header("X-Monitor-Api-Key", &tenants.key));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let path = format!("/records?application_id={}", tenants.own);
    let ids = eventually("both records are stored", || {
        let list = stack.analysis(&path, KEY).json()["records"].clone();
        let list = list.as_array().filter(|list| list.len() == 2)?.clone();
        Some(list.into_iter().map(|record| record["request_id"].clone()))
    });
    let mut gateways = Vec::new();
    for id in ids {
        let path = format!("/records/{}", id.as_str().unwrap());
        let whole = stack.analysis(&path, KEY).json();
        let own = stack.analysis(&path, &tenants.key).json();
        let mut without = whole["additional_parameters"].clone();
        let chain = without.as_object_mut().unwrap().remove("chain").unwrap();
        assert_eq!(own["additional_parameters"], without);
        gateways.push(chain["gateway"].as_str().unwrap().to_owned());
    }
    for path in [
        "/records",
        "/records/export",
        "/records/export?format=csv",
        "/sessions",
        "/chain",
    ] {
        let answer = stack.analysis(path, &tenants.key);
        let told = gateways.iter().any(|id| answer.text().contains(id));
        assert!(!told, "{path}: {}", answer.text());
    }
}
