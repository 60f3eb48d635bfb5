//! Access tokens (CONTRACT 30) in a browser: making one, using it, revoking it; who may, and for what.

use crate::accounts::colleague;
use crate::defence::add_application;
use crate::records::keep_with;
use crate::world::{administrator, administrators_browser};
use serde_json::{Value, json};
use support::KEY;
use support::stack::Stack;

fn listed(stack: &Stack) -> Vec<Value> {
    let list = stack.analysis("/tokens", KEY).json();
    list["tokens"].as_array().unwrap().clone()
}

fn named(stack: &Stack, name: &str) -> Value {
    let all = listed(stack);
    all.into_iter().find(|token| token["name"] == name).unwrap()
}

#[test]
#[ignore = "needs Chromium"]
fn contract_30_a_token_is_made_used_and_revoked_and_the_next_call_is_refused() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    browser.open("/ui/tokens");
    browser.click("details.card summary");
    browser.fill("[name=name]", "gateway 1");
    browser.click("form[action='/ui/tokens'] button.primary");
    browser.wait_for("document.querySelector('#made-token') !== null");
    let value = browser.text("#made-token");
    let body = json!({"application_id": stack.application_id(), "message": "hello"});
    assert_eq!(keep_with(&stack, &value, &body), 200);
    let token = named(&stack, "gateway 1");
    assert_eq!(token["scopes"], json!(["ingest"]));
    let life = token["expires_at_ms"].as_i64().unwrap() - token["created_at_ms"].as_i64().unwrap();
    assert_eq!(life, 90 * 86_400_000);
    browser.open("/ui/tokens");
    assert!(!browser.text("body").contains(&value), "shown once");
    let id = token["id"].as_str().unwrap();
    browser.click(&format!("form[action='/ui/tokens/{id}/revoke'] button"));
    browser.wait_for("document.querySelector('.notice.good')?.textContent.includes('gateway 1')");
    assert_eq!(keep_with(&stack, &value, &body), 401, "with the next call");
    assert!(named(&stack, "gateway 1")["revoked_at_ms"].is_i64());
    let log = stack.analysis("/audit", KEY).text();
    assert!(log.contains("token.create") && log.contains("token.revoke"));
    assert!(!log.contains(&value) && !stack.stderr().contains(&value));
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_wrong_token_is_told_what_is_wrong_and_what_was_typed_stays() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    admin.get("/ui/tokens");
    let wrong = [
        (
            vec![("name", " "), ("scopes", "ingest"), ("expires", "90")],
            "name",
        ),
        (vec![("name", "x"), ("expires", "90")], "scopes"),
        (
            vec![("name", "x"), ("scopes", "ingest"), ("expires", "1")],
            "expires",
        ),
        (
            vec![
                ("name", "x"),
                ("scopes", "ingest"),
                ("expires", "day"),
                ("last_day", "2001-01-01"),
            ],
            "expires_at_ms",
        ),
        (
            vec![
                ("name", "x"),
                ("scopes", "ingest"),
                ("expires", "never"),
                ("application_id", "nobody's"),
            ],
            "application_id",
        ),
    ];
    for (fields, field) in wrong {
        let refused = admin.post("/ui/tokens", &fields);
        assert_eq!(refused.status(), 422, "{field}");
        let page = refused.text();
        assert!(
            page.contains(&format!("<code>{field}</code>")),
            "{field}: {page}"
        );
    }
    assert_eq!(listed(&stack).len(), 1, "the first one alone");
    let named_application = [
        ("name", "bound"),
        ("scopes", "read"),
        ("expires", "never"),
        ("application_id", "DEFAULT"),
    ];
    assert_eq!(admin.post("/ui/tokens", &named_application).status(), 200);
    let bound = named(&stack, "bound");
    assert_eq!(bound["application_id"], json!(stack.application_id()));
    assert_eq!(bound["expires_at_ms"], Value::Null);
}

#[test]
fn developers_give_what_they_have_analysts_nothing_and_tenants_their_own() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let other = add_application(&stack, &json!({"name": "other"}));
    let fields = |name, scope| [("name", name), ("scopes", scope), ("expires", "never")];
    let mut developer = colleague(&stack, &mut admin, ("dev", "developer"), "");
    let page = developer.get("/ui/tokens").text();
    assert!(page.contains("value=\"admin\"") && !page.contains("value=\"read\""));
    assert_eq!(
        developer
            .post("/ui/tokens", &fields("own", "ingest"))
            .status(),
        200
    );
    assert_eq!(
        developer
            .post("/ui/tokens", &fields("more", "read"))
            .status(),
        403
    );
    let mut analyst = colleague(&stack, &mut admin, ("ann", "analyst"), "");
    assert_eq!(analyst.get("/ui/tokens").status(), 403);
    assert_eq!(
        analyst.post("/ui/tokens", &fields("x", "read")).status(),
        403
    );
    let own = stack.application_id();
    let mut tenant = colleague(&stack, &mut admin, ("tenant", "developer"), &own);
    tenant.get("/ui/tokens");
    assert_eq!(
        tenant
            .post("/ui/tokens", &fields("mine", "ingest"))
            .status(),
        200
    );
    assert_eq!(named(&stack, "mine")["application_id"], json!(own));
    let theirs = [
        ("name", "theirs"),
        ("scopes", "ingest"),
        ("expires", "never"),
        ("application_id", &*other),
    ];
    assert_eq!(tenant.post("/ui/tokens", &theirs).status(), 404);
    assert_eq!(
        tenant
            .get(&format!("/ui/tokens?application_id={other}"))
            .status(),
        404
    );
    let page = tenant.get("/ui/tokens").text();
    assert!(
        page.contains("mine") && !page.contains("\"row\">first"),
        "only what is bound to it"
    );
    let first = named(&stack, "first")["id"].as_str().unwrap().to_owned();
    for id in [
        first.as_str(),
        "00000000-0000-4000-8000-000000000000",
        "nonsense",
    ] {
        let refused = tenant.post(&format!("/ui/tokens/{id}/revoke"), &[]);
        assert_eq!(refused.status(), 404, "{id}");
    }
    assert_eq!(named(&stack, "first")["revoked_at_ms"], Value::Null);
}

#[test]
fn ui_d_a_token_is_rotated_and_its_new_value_is_shown_once() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    admin.get("/ui/tokens");
    let fields = [
        ("name", "gateway 1"),
        ("scopes", "ingest"),
        ("expires", "90"),
    ];
    let value = regex::Regex::new("mon_[A-Za-z0-9_-]{20,}").unwrap();
    let shown = |page: &str| value.find(page).unwrap().as_str().to_owned();
    let old = shown(&admin.post("/ui/tokens", &fields).text());
    let token = named(&stack, "gateway 1");
    let path = format!("/ui/tokens/{}/rotate", token["id"].as_str().unwrap());
    let list = admin.get("/ui/tokens").text();
    assert!(list.contains(&format!("href=\"{path}\"")), "{list}");
    assert!(admin.get(&path).text().contains("gateway 1"));
    let rotated = admin.post(&path, &[("grace", "0")]);
    assert_eq!(rotated.status(), 200, "{}", rotated.text());
    let new = shown(&rotated.text());
    let body = json!({"application_id": stack.application_id(), "message": "hello"});
    assert_eq!(keep_with(&stack, &new, &body), 200);
    assert_eq!(keep_with(&stack, &old, &body), 401);
    assert!(!admin.get("/ui/tokens").text().contains(&new), "shown once");
    let again = admin.post(&path, &[("grace", "0")]);
    assert_eq!(again.status(), 409);
    assert!(again.text().contains("expired or revoked"));
    assert_eq!(admin.post(&path, &[("grace", "7")]).status(), 404);
    let log = stack.analysis("/audit", KEY).text();
    assert!(log.contains("token.rotate") && !log.contains(&new));
    let first = named(&stack, "first")["id"].as_str().unwrap().to_owned();
    let theirs = format!("/ui/tokens/{first}/rotate");
    let mut developer = colleague(&stack, &mut admin, ("dev", "developer"), "");
    let list = developer.get("/ui/tokens").text();
    assert!(!list.contains(&theirs), "it reads records: {list}");
    let refused = developer.post(&theirs, &[("grace", "0")]);
    assert_eq!(refused.status(), 403);
    let mut analyst = colleague(&stack, &mut admin, ("ann", "analyst"), "");
    assert_eq!(analyst.get(&path).status(), 403);
}

#[test]
fn whoever_revokes_a_token_stays_where_it_was_listed() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = add_application(&stack, &json!({"name": "orders"}));
    admin.get("/ui/tokens");
    let fields = [
        ("name", "theirs"),
        ("scopes", "ingest"),
        ("expires", "never"),
        ("application_id", "orders"),
    ];
    assert_eq!(admin.post("/ui/tokens", &fields).status(), 200);
    let list = admin.get(&format!("/ui/tokens?application_id={id}")).text();
    let hidden = format!("type=\"hidden\" name=\"application_id\" value=\"{id}\"");
    assert!(list.contains(&hidden), "{list}");
    let token = named(&stack, "theirs")["id"].as_str().unwrap().to_owned();
    let revoked = admin.post(
        &format!("/ui/tokens/{token}/revoke"),
        &[("application_id", &id)],
    );
    let page = revoked.text();
    assert!(page.contains("Revoked: theirs"), "{page}");
    assert!(!page.contains("\"row\">first"), "still of that application");
}
