//! What pages must not let happen: forms of other sites, other tenants' data, texts that become code.

use crate::accounts::colleague;
use crate::world::{administrator, administrators_browser};
use serde_json::json;
use std::path::{Path, PathBuf};
use support::KEY;
use support::request::Request;
use support::stack::Stack;
use support::visitor::Visitor;

/// Makes an application through the API; gives its id.
pub(crate) fn add_application(stack: &Stack, body: &serde_json::Value) -> String {
    let made = Request::post("/applications", body.to_string())
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
        .call(stack.analysis_addr);
    assert_eq!(made.status(), 201, "{}", made.text());
    made.json()["id"].as_str().unwrap().to_owned()
}

/// The path of every form that the sources name, for things that are there or not.
fn forms(stack: &Stack) -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/analysis/ui");
    let route = r#"\.route\(\s*"([^"]+)",\s*((?:\.?(?:get|post)\([\w:]+\))+)"#;
    let route = regex::Regex::new(route).unwrap();
    let mut forms = Vec::new();
    for file in sources(Path::new(folder)) {
        let text = std::fs::read_to_string(file).unwrap();
        let routes = route.captures_iter(&text);
        for found in routes.filter(|found| found[2].contains("post(")) {
            let id = match found[1].starts_with("/applications/") {
                true => stack.application_id(),
                false => "00000000-0000-4000-8000-000000000000".to_owned(),
            };
            let path = found[1].replace("{id}", &id).replace("{value}", "mon_x");
            forms.push(format!("/ui{path}"));
        }
    }
    for known in [
        "/ui/sign-in",
        "/ui/link/mon_x",
        "/ui/applications/regex",
        "/ui/first-steps",
    ] {
        assert!(forms.iter().any(|form| form == known), "{known}: {forms:?}");
    }
    assert!(forms.len() >= 21, "{forms:?}");
    forms
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let all = paths.flat_map(|path| match path.is_dir() {
        true => sources(&path),
        false => vec![path],
    });
    all.filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}

#[test]
fn no_form_is_taken_without_the_token_of_its_browser() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let mut other = Visitor::new(stack.analysis_addr);
    other.get("/ui/sign-in");
    for path in forms(&stack) {
        let path = path.as_str();
        let foreign = other.form_token.clone();
        for token in [
            vec![],
            vec![("form_token", "")],
            vec![("form_token", foreign.as_str())],
        ] {
            assert_eq!(
                admin.post_bare(path, &token).status(),
                403,
                "{path} {token:?}"
            );
        }
    }
    let bare = Visitor::new(stack.analysis_addr).post_bare("/ui/sign-in", &[("form_token", "")]);
    assert_eq!(
        bare.status(),
        403,
        "nor from a browser that has no value yet"
    );
    assert_eq!(
        admin.get("/ui/users").status(),
        200,
        "nobody was signed out"
    );
}

#[test]
fn a_page_may_load_and_send_only_to_its_own_host() {
    let stack = Stack::all().start();
    let mut visitor = Visitor::new(stack.analysis_addr);
    for path in ["/ui/sign-in", "/ui/nothing", "/ui/users"] {
        let page = visitor.get(path);
        let policy = page
            .head
            .header("content-security-policy")
            .unwrap()
            .to_owned();
        assert!(
            policy.starts_with("default-src 'none'") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(page.head.header("cache-control"), Some("no-store"));
        assert_eq!(page.head.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(page.head.header("x-frame-options"), Some("DENY"));
    }
    assert_eq!(visitor.get("/ui/nothing").status(), 404);
    for path in ["/docs", "/redoc", "/openapi.json"] {
        assert_eq!(visitor.get(path).status(), 200, "{path} stays");
    }
    assert_eq!(visitor.get("/").head.header("location"), Some("/ui"));
    assert_eq!(
        visitor.get("/applications").status(),
        401,
        "the API stands beside, with its tokens"
    );
}

#[test]
fn another_tenants_application_is_not_found() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let (own, other) = (
        stack.application_id(),
        add_application(&stack, &json!({"name": "other"})),
    );
    let mut tenant = colleague(&stack, &mut admin, ("tenant", "administrator"), &own);
    assert_eq!(tenant.get(&format!("/ui/applications/{own}")).status(), 200);
    let missing = "00000000-0000-4000-8000-000000000000";
    for id in [other.as_str(), missing, "nonsense"] {
        let path = format!("/ui/applications/{id}");
        assert_eq!(tenant.get(&path).status(), 404, "{id}");
        assert_eq!(
            tenant.get(&format!("{path}/versions")).status(),
            404,
            "{id}"
        );
        for form in ["", "/remove", "/restore", "/replay"] {
            let fields = [
                ("version", "1"),
                ("restore", "1"),
                ("name", "x"),
                ("confirmation", "other"),
            ];
            let refused = tenant.post(&format!("{path}{form}"), &fields);
            assert_eq!(refused.status(), 404, "{id}{form}");
        }
    }
    assert!(!tenant.get("/ui/applications").text().contains(&other));
    assert_eq!(tenant.get("/ui/users").status(), 403);
    assert_eq!(
        admin.get(&format!("/ui/applications/{other}")).status(),
        200
    );
}

#[test]
#[ignore = "needs Chromium"]
fn stored_texts_never_become_code() {
    const EVIL: &str = "\"'><img src=x onerror=window.evil=1><script>window.evil=1</script>";
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let id = add_application(
        &stack,
        &json!({
            "name": EVIL, "description": EVIL,
            "policy": {"app_mode": "sync", "phrase": EVIL},
            "rules": {"pre": {
                "dataclean": {"patterns": [{"name": EVIL.get(..60).unwrap(), "regex": "evil"}]},
                "custom_policies": [{"name": EVIL.get(..60).unwrap(), "prompt": EVIL}],
                "guardrails": {"categories": {"jailbreak": 0.5}},
            }},
        }),
    );
    let token = json!({"name": EVIL, "scopes": ["read"], "application_id": id});
    let made = Request::post("/tokens", token.to_string())
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
        .call(stack.analysis_addr);
    assert_eq!(made.status(), 201, "{}", made.text());
    for path in [
        "/ui/tokens",
        "/ui/applications",
        &format!("/ui/applications/{id}"),
        &format!("/ui/applications/{id}/versions"),
    ] {
        browser.open(path);
        assert!(
            browser.text("body").contains("onerror"),
            "{path} shows the text"
        );
        assert_eq!(
            browser.value("window.evil === undefined && !document.querySelector('img[src=x]')"),
            true,
            "{path}"
        );
    }
    browser.open(&format!("/ui/applications/{id}"));
    browser.fill("[name='try.text']", EVIL);
    browser.wait_for("document.querySelector('#try-result mark') !== null");
    assert_eq!(
        browser.value("window.evil === undefined && !document.querySelector('img[src=x]')"),
        true
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}
