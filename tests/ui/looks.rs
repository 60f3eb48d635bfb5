//! Every page in both themes and both languages: whole at 360 pixels, without a fault that axe-core
//! knows of. The pictures in `target/screenshots` are for people.

use crate::accounts::colleague;
use crate::browser::Browser;
use crate::defence::add_application;
use crate::records::{attach, keep};
use crate::world::{administrators_browser, console_link};
use serde_json::{Value, json};
use support::identity_provider::IdentityProvider;
use support::stack::Stack;

/// What one page may take over the wire.
const MOST_BYTES: u64 = 150 * 1024;

/// Opens a page with nothing kept from before: it is small, and nothing in it moves by itself.
fn open(browser: &mut Browser, path: &str) {
    browser.forget_files();
    browser.open(path);
    let ((shift, moved), bytes) = (browser.shift(), browser.transferred());
    assert!(shift < 0.001, "{path} moves by {shift}: {moved:#}");
    assert!(
        (1..=MOST_BYTES).contains(&bytes),
        "{path} takes {bytes} bytes"
    );
}

/// Looks at a page in both themes and at both widths.
pub(crate) fn look(browser: &mut Browser, name: &str) {
    for theme in ["light", "dark"] {
        browser.theme(theme);
        browser.size(1280, 860);
        browser.screenshot(&format!("{name}-{theme}"), 1280);
        let violations = browser.violations();
        assert!(violations.is_empty(), "{name} {theme}: {violations:#?}");
    }
    browser.size(360, 740);
    browser.screenshot(&format!("{name}-narrow"), 360);
    assert_fits(browser, name);
    browser.size(1280, 860);
}

/// Nothing of the page is beside its window, also when everything on it is unfolded.
#[track_caller]
pub(crate) fn assert_fits(browser: &mut Browser, name: &str) {
    let beside = browser.value(
        "(() => { for (const one of document.querySelectorAll('details')) one.open = true; \
         const scrolls = one => one.scrollWidth > one.clientWidth; \
         const tables = [...document.querySelectorAll('.table')].filter(scrolls); \
         const cut = one => { const box = one.getBoundingClientRect(); \
         return box.width > 0 && (box.left < 0 || box.right > innerWidth); }; \
         const controls = 'main :is(a, button, input, select, textarea, summary)'; \
         const out = [...document.querySelectorAll(controls)].filter(cut); \
         const wide = document.documentElement.scrollWidth > innerWidth ? [document.body] : []; \
         return [...tables, ...out, ...wide].map(one => one.outerHTML.slice(0, 160)); })()",
    );
    assert_eq!(beside, json!([]), "{name}");
}

#[test]
#[ignore = "needs Chromium"]
fn every_page_is_whole_and_accessible() {
    let stack = Stack::all().start();
    let mut alone = Browser::start(stack.analysis_addr);
    open(&mut alone, "/ui/sign-in");
    look(&mut alone, "sign-in");
    alone.open(&console_link(&stack));
    look(&mut alone, "link");
    let mut browser = administrators_browser(&stack);
    let id = example(&stack);
    for (path, name) in [
        ("/ui/applications".to_owned(), "applications"),
        ("/ui/applications/new".to_owned(), "application-new"),
        ("/ui/erasure".to_owned(), "erasure"),
        (format!("/ui/applications/{id}/versions"), "versions"),
        ("/ui/users".to_owned(), "users"),
        ("/ui/alerts".to_owned(), "alerts"),
        ("/ui/overview".to_owned(), "overview-empty"),
        ("/ui/first-steps".to_owned(), "first-steps-empty"),
        ("/ui/tokens".to_owned(), "tokens"),
        ("/ui/password".to_owned(), "password"),
        ("/ui/second-factor".to_owned(), "second-factor"),
        ("/ui/sign-ins".to_owned(), "sign-ins"),
        ("/ui/nothing".to_owned(), "not-found"),
    ] {
        open(&mut browser, &path);
        look(&mut browser, name);
    }
    let (record, failed) = talk(&stack, &id);
    for (path, name) in [
        ("/ui/records".to_owned(), "records"),
        ("/ui/records?user_id=nobody".to_owned(), "records-none"),
        ("/ui/records?verdict=odd".to_owned(), "records-refused"),
        (format!("/ui/records/{record}"), "record"),
        (format!("/ui/records/{failed}"), "record-failed"),
        ("/ui/records/by-value".to_owned(), "records-by-value"),
        ("/ui/sessions".to_owned(), "sessions"),
        ("/ui/costs".to_owned(), "costs"),
        ("/ui/findings".to_owned(), "findings"),
        ("/ui/findings/precision".to_owned(), "precision"),
        ("/ui/people".to_owned(), "people"),
        (
            format!("/ui/people/user?application_id={id}&user_id=ivan.petrov@shop.example"),
            "person",
        ),
        ("/ui/overview".to_owned(), "overview"),
        ("/ui/overview?period=30d".to_owned(), "overview-month"),
        ("/ui/overview/chain".to_owned(), "chain"),
        ("/ui/status".to_owned(), "status"),
        ("/ui/audit".to_owned(), "audit"),
        (
            format!("/ui/first-steps?application_id={id}"),
            "first-steps",
        ),
        (
            format!("/ui/sessions/one?application_id={id}&session_id=checkout-7f3a"),
            "conversation",
        ),
    ] {
        open(&mut browser, &path);
        look(&mut browser, name);
    }
    browser.open(&format!("/ui/applications/{id}"));
    browser.fill(
        "[name='try.text']",
        "Please refund order ORD-884512 to card 4111 1111 1111 1111, ivan@example.org",
    );
    browser.wait_for("document.querySelectorAll('#try-result mark').length === 3");
    look(&mut browser, "application");
    browser.open("/ui/tokens");
    browser.click("details.card summary");
    browser.fill("[name=name]", "gateway 1");
    browser.click("form[action='/ui/tokens'] button.primary");
    browser.wait_for("document.querySelector('#made-token') !== null");
    look(&mut browser, "token-made");
    browser.click("details.card summary");
    look(&mut browser, "token-form");
    browser.open("/ui/records?verdict=flagged&user_id=ivan.petrov@shop.example");
    for (name, shared) in [("Ivan, flagged", false), ("Все нарушения", true)] {
        browser.click(".keep-filter summary");
        browser.fill(".keep-filter [name=name]", name);
        if shared {
            browser.click(".keep-filter [name=shared]");
            look(&mut browser, "filter-form");
        }
        browser.click(".keep-filter button");
        browser.wait_for(&format!(
            "[...document.querySelectorAll('.chip a')].some(a => a.textContent.includes('{name}'))"
        ));
    }
    look(&mut browser, "records-saved");
    browser.open(&format!("/ui/applications/{id}"));
    browser.click(".switch button[value=ru]");
    browser.wait_for("document.documentElement.lang === 'ru'");
    look(&mut browser, "application-ru");
    for (path, name) in [
        ("/ui/overview", "overview-ru"),
        ("/ui/status", "status-ru"),
        ("/ui/audit", "audit-ru"),
        ("/ui/first-steps", "first-steps-ru"),
    ] {
        open(&mut browser, path);
        look(&mut browser, name);
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// An application with something of everything.
pub(crate) fn example(stack: &Stack) -> String {
    for (name, mode) in [
        ("support-bot", "sync"),
        ("Внутренний помощник", "async"),
        ("batch-summaries", "async"),
    ] {
        add_application(
            stack,
            &json!({"name": name, "description": "Answers customers on the web site",
            "policy": {"app_mode": mode, "phrase": "I cannot help with that."}}),
        );
    }
    add_application(
        stack,
        &json!({
            "name": "orders", "description": "Takes orders and refunds",
            "policy": {"app_mode": "sync", "phrase": "I cannot help with that."},
            "rules": {"keep_original": true, "retention": {"days": 90}, "pre": {
                "dataclean": {"patterns": ["EMAILS", "BANK_CARD_NUMBER", "PHONE_NUMBER", {"name": "ORDER", "regex": "ORD-[0-9]{6}"}],
                    "allowed_patterns": [{"name": "our own", "regex": ".+@shop\\.example"}]},
                "guardrails": {},
                "custom_policies": [{"name": "no price promises", "prompt": "The user must not be promised a price."}],
                "tokens": {"low": 500, "high": 2000, "critical": 8000},
            }},
        }),
    )
}

/// Records of everything a list may hold; a flagged one with a file, and one that failed.
pub(crate) fn talk(stack: &Stack, id: &str) -> (String, String) {
    let say = |stage, text: &str, more: Value| {
        let mut parameters =
            json!({"user_id": "ivan.petrov@shop.example", "session_id": "checkout-7f3a"});
        let own = parameters.as_object_mut().unwrap();
        own.extend(more.as_object().unwrap().clone());
        let body =
            json!({"application_id": id, "message": text, "additional_parameters": parameters});
        keep(stack, stage, &body)
    };
    say(
        "pre",
        "Hello, where is my parcel? It was due on Monday.",
        json!({}),
    );
    say(
        "post",
        "Hello! I will look it up. Could you tell me the order's number?",
        json!({}),
    );
    let asked = "Order ORD-884512. Refund it to card 4111 1111 1111 1111 and write to ivan@example.org, please.";
    let record = say(
        "pre",
        asked,
        json!({"channel": "web", "request_id": "5f0c1c52-7a0e-4c11-9a55-000000000001"}),
    );
    attach(
        stack,
        &record,
        "receipt.txt",
        "Paid with 4111 1111 1111 1111",
    );
    attach(stack, &record, "Договор поставки.txt", "no finds");
    let error = json!({"type": "upstream_error", "code": 504, "message": "the upstream was silent for 60 s", "closed_by": "upstream"});
    let failed = say(
        "post",
        "I have found your order, and the refu",
        json!({"error": error, "incomplete": true}),
    );
    let other = json!({"application_id": stack.application_id(), "message": "Summarise the quarterly report.",
        "additional_parameters": {"user_id": "batch"}});
    keep(stack, "pre", &other);
    (record, failed)
}

#[test]
#[ignore = "needs Chromium"]
fn the_way_in_by_another_server_and_its_failure_are_whole_and_accessible() {
    let provider = IdentityProvider::start();
    let yaml = provider.yaml(", label: Corp ID, default_role: analyst");
    let stack = Stack::all().yaml(&yaml).start();
    let mut browser = Browser::start(stack.analysis_addr);
    browser.open("/ui/sign-in");
    look(&mut browser, "sign-in-oidc");
    browser.open("/ui/oidc/callback?code=x&state=y");
    look(&mut browser, "sign-in-refused");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn the_language_follows_the_browser_and_the_switch() {
    let stack = Stack::all().start();
    let mut admin = crate::world::administrator(&stack);
    let mut ann = colleague(&stack, &mut admin, ("ann", "analyst"), "");
    assert!(
        ann.get("/ui/applications")
            .text()
            .contains("<html lang=\"en\"")
    );
    let chosen = ann.post(
        "/ui/preferences",
        &[("language", "ru"), ("next", "/ui/applications")],
    );
    assert_eq!(chosen.head.header("location"), Some("/ui/applications"));
    let page = ann.get("/ui/applications").text();
    assert!(page.contains("<html lang=\"ru\"") && page.contains("Приложения"));
    ann.post("/ui/preferences", &[("theme", "dark"), ("next", "/ui")]);
    assert!(
        ann.get("/ui/password")
            .text()
            .contains("data-theme=\"dark\"")
    );
}
