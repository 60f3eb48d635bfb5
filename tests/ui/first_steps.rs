//! The first steps: a key, the snippets with it, and the first record coming in while the page is open.

use crate::accounts::colleague;
use crate::browser::Browser;
use crate::world::{PASSWORD, administrator, administrators_browser, console_link};
use std::path::Path;
use std::process::Command;
use support::KEY;
use support::eventually;
use support::request::Request;
use support::snippets::{claude_code, of_agent};
use support::stack::Stack;

/// The snippets of the page, and whether the base URL in them has `/v1`.
const SNIPPETS: [(&str, bool); 8] = [
    ("snippet-curl", true),
    ("snippet-powershell", true),
    ("snippet-python", true),
    ("snippet-javascript", true),
    ("snippet-agents-sdk", true),
    ("snippet-anthropic", false),
    ("snippet-codex", true),
    ("snippet-claude-code", false),
];
/// What stands in the snippets until a key is made.
const NO_KEY: &str = "YOUR_ACCESS_KEY";

/// A snippet of the page, as its button copies it.
#[track_caller]
fn snippet(page: &str, id: &str) -> String {
    let pattern = format!("(?s)<pre[^>]* id=\"{id}\"[^>]*>(.*?)</pre>");
    let found = regex::Regex::new(&pattern).unwrap().captures(page);
    let text = found.unwrap_or_else(|| panic!("no {id} in {page}"))[1].to_owned();
    let escapes = [
        ("&quot;", "\""),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    escapes
        .iter()
        .fold(text, |text, (escape, plain)| text.replace(escape, plain))
}

#[test]
#[ignore = "needs Chromium"]
fn a_newcomer_makes_a_key_copies_a_snippet_and_sees_the_record_arrive() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    browser.open("/ui/first-steps");
    assert!(browser.text("#snippet-curl").contains("YOUR_ACCESS_KEY"));
    browser.click("form[action='/ui/first-steps'] button.primary");
    browser.wait_for("document.querySelector('#made-key') !== null");
    browser.wait_for("document.readyState === 'complete'");
    let key = browser.text("#made-key");
    let (id, gateway) = (stack.application_id(), stack.gateway_addr.to_string());
    for (snippet, _) in SNIPPETS {
        let text = browser.text(&format!("#{snippet}"));
        let is_filled = text.contains(&key) && text.contains(&id) && text.contains(&gateway);
        assert!(is_filled, "{text}");
    }
    browser.value(
        "window.copied = []; navigator.clipboard.writeText = text => { copied.push(text); return Promise.resolve(); }",
    );
    browser.click("button[data-copy='#snippet-curl']");
    assert_eq!(browser.value("copied[0]"), browser.text("#snippet-curl"));
    browser.wait_for("document.querySelector('[data-tail]').dataset.state === 'going'");
    let shown = browser.text("#snippet-curl");
    let body = regex::Regex::new(r"-d '(\{.*\})'").unwrap();
    let body = body.captures(&shown).unwrap()[1].to_owned();
    let answer = Request::chat(body)
        .without_key()
        .header("X-Monitor-Api-Key", &key)
        .header("X-Application-Id", &id)
        .call(stack.gateway_addr);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    browser.wait_for("document.querySelectorAll('#records tbody tr').length >= 1");
    let row = browser.text("#records tbody");
    assert!(row.contains("BANK_CARD_NUMBER"), "{row}");
    browser.open("/ui/first-steps");
    let page = browser.text("main");
    assert!(
        page.contains("YOUR_ACCESS_KEY") && !page.contains(&key),
        "shown once"
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium"]
fn ui_c_three_clicks_lead_from_the_sign_in_link_to_a_blocked_request() {
    let stack = Stack::all().start();
    let mut browser = Browser::start(stack.analysis_addr);
    browser.open(&console_link(&stack));
    browser.fill("input[name=password]", PASSWORD);
    browser.fill("input[name=again]", PASSWORD);
    let clicks = [
        ("button.primary", "location.pathname === '/ui/first-steps'"),
        (
            "form[action='/ui/first-steps/block'] button",
            "document.querySelector('.steps > li:first-child').classList.contains('done')",
        ),
        (
            "form[action='/ui/first-steps/send'] button",
            "document.querySelector('#sent-answer') !== null",
        ),
    ];
    for (button, then) in clicks {
        browser.click(button);
        browser.wait_for_page(then);
    }
    let answer = browser.text("#sent-answer");
    assert!(answer.contains("must not be sent"), "{answer}");
    browser.wait_for("document.querySelectorAll('#records tbody tr').length >= 1");
    let row = browser.text("#records tbody");
    assert!(row.contains("BANK_CARD_NUMBER"), "{row}");
    assert!(row.contains("blocked"), "{row}");
    let blocks = "document.querySelector(\"form[action='/ui/first-steps/block']\") === null";
    assert_eq!(browser.value(blocks), true, "it is done");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn ui_c_what_is_sent_from_the_page_takes_a_key_that_soon_expires_and_the_demo_model_is_named() {
    let stack = Stack::all().start();
    let (id, mut admin) = (stack.application_id(), administrator(&stack));
    let page = admin.get("/ui/first-steps").text();
    assert!(page.contains("No real model is attached"), "{page}");
    let named = [("application_id", id.as_str())];
    let blocked = admin.post("/ui/first-steps/block", &named);
    assert_eq!(blocked.status(), 303, "{}", blocked.text());
    let sent = admin.post("/ui/first-steps/send", &named);
    assert_eq!(sent.status(), 200, "{}", sent.text());
    let page = sent.text();
    assert!(
        page.contains("The gateway answered with status 200:"),
        "{page}"
    );
    assert!(page.contains("must not be sent"), "{page}");
    let tokens = stack.analysis("/tokens", KEY).json();
    let key = &tokens["tokens"][0];
    assert_eq!(key["name"], "first steps of admin");
    let life = key["expires_at_ms"].as_i64().unwrap() - key["created_at_ms"].as_i64().unwrap();
    assert_eq!(life, 300_000, "{key}");
    let nobody = [("application_id", "00000000-0000-4000-8000-000000000000")];
    for path in ["/ui/first-steps/block", "/ui/first-steps/send"] {
        assert_eq!(admin.post(path, &nobody).status(), 404, "{path}");
    }
    let mut analyst = colleague(&stack, &mut admin, ("ann", "analyst"), "");
    let page = analyst.get("/ui/first-steps").text();
    assert!(!page.contains("/ui/first-steps/send"), "{page}");
    for path in ["/ui/first-steps/block", "/ui/first-steps/send"] {
        assert_eq!(analyst.post(path, &named).status(), 403, "{path}");
    }
}

#[test]
fn every_snippet_has_the_address_and_the_key_in_both_languages() {
    let stack = Stack::all().start();
    let (id, gateway) = (stack.application_id(), stack.gateway_addr.to_string());
    let mut admin = administrator(&stack);
    let ids = regex::Regex::new("<pre[^>]* id=\"(snippet-[^\"]+)\"").unwrap();
    for language in ["en", "ru"] {
        let cookie = ("monitor_language".to_owned(), language.to_owned());
        admin.cookies.extend([cookie]);
        let page = admin.get("/ui/first-steps").text();
        assert!(
            page.contains(&format!("<html lang=\"{language}\"")),
            "{page}"
        );
        let ids: Vec<String> = ids
            .captures_iter(&page)
            .map(|id| id[1].to_owned())
            .collect();
        assert_eq!(ids, SNIPPETS.map(|(snippet, _)| snippet), "none is unread");
        for (name, has_v1) in SNIPPETS {
            let text = snippet(&page, name);
            assert!(text.contains(NO_KEY) && text.contains(&id), "{text}");
            let base = format!("http://{gateway}");
            assert!(text.contains(&base), "{text}");
            assert_eq!(text.contains(&format!("{base}/v1")), has_v1, "{text}");
        }
    }
}

#[test]
fn the_snippets_of_codex_and_claude_code_are_the_blocks_of_the_documentation() {
    // The tests of these programs take their settings from the same blocks.
    let stack = Stack::all().start();
    let (id, gateway) = (stack.application_id(), stack.gateway_addr);
    let (root, gateway) = (
        Path::new(env!("CARGO_MANIFEST_DIR")),
        format!("http://{gateway}"),
    );
    let page = administrator(&stack).get("/ui/first-steps").text();
    let own = [
        format!("# export MONITOR_API_KEY='{NO_KEY}'\n"),
        format!("\nhttp_headers = {{ \"X-Application-Id\" = \"{id}\" }}"),
    ];
    let [export, application] = &own;
    let documented = of_agent(root, "toml", &gateway);
    assert_eq!(
        snippet(&page, "snippet-codex"),
        format!("{export}{documented}{application}")
    );
    let shown = claude_code(&snippet(&page, "snippet-claude-code"), "of another page");
    let mut documented = claude_code(&of_agent(root, "sh", &gateway), NO_KEY);
    documented.headers.push(("X-Application-Id".to_owned(), id));
    assert_eq!(shown, documented);
}

#[test]
#[ignore = "needs Python and its packages"]
fn the_python_of_the_page_runs_as_it_stands() {
    let python = support::tool("MONITOR_TEST_PYTHON");
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    admin.get("/ui/first-steps");
    let page = admin.post("/ui/first-steps", &[("application_id", "")]);
    assert_eq!(page.status(), 200, "{}", page.text());
    for name in ["snippet-python", "snippet-agents-sdk", "snippet-anthropic"] {
        let text = snippet(&page.text(), name);
        assert!(!text.contains(NO_KEY), "{text}");
        let output = Command::new(&python).args(["-c", &text]).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{text}\n{said}");
        assert!(said.contains("This is the demo upstream"), "{text}\n{said}");
    }
}

#[test]
fn the_address_is_that_of_the_configuration_the_own_gateways_or_a_marked_guess() {
    let named = Stack::all()
        .yaml("  ui: {gateway_url: 'https://gateway.example/ai/v1'}")
        .start();
    let page = administrator(&named).get("/ui/first-steps").text();
    assert!(
        page.contains("https://gateway.example/ai/v1/chat/completions"),
        "{page}"
    );
    assert!(!page.contains("role=\"alert\""));
    let alone = Stack::analysis_server().start();
    let page = administrator(&alone).get("/ui/first-steps").text();
    assert!(
        page.contains("http://gateway.test:4100/v1/chat/completions"),
        "{page}"
    );
    assert!(page.contains("ui.gateway_url"), "a guess is said to be one");
    assert!(page.contains("YOUR_MODEL_KEY"));
}

#[test]
fn an_application_that_blocks_is_said_to() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let watching = admin.get("/ui/first-steps").text();
    assert!(watching.contains("only observes so far"), "{watching}");
    let id = crate::records::keeping(&stack, "orders");
    let blocking = eventually("the application", || {
        let page = admin
            .get(&format!("/ui/first-steps?application_id={id}"))
            .text();
        page.contains("its mode is synchronous").then_some(page)
    });
    assert!(blocking.contains("<strong>orders</strong>"));
    let by_name = admin.get("/ui/first-steps?application_id=Orders");
    assert!(by_name.text().contains("<strong>orders</strong>"));
    let unknown = admin.get("/ui/first-steps?application_id=nobody%27s");
    assert_eq!(unknown.status(), 422);
    assert!(unknown.text().contains("role=\"alert\""));
}
