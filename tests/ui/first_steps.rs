//! The first steps: a key, the snippets with it, and the first record coming in while the page is open.

use crate::world::{administrator, administrators_browser};
use support::eventually;
use support::request::Request;
use support::stack::Stack;

#[test]
#[ignore = "needs Chromium"]
fn a_newcomer_makes_a_key_copies_a_snippet_and_sees_the_record_arrive() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    browser.open("/ui/first-steps");
    assert!(browser.text("#snippet-curl").contains("YOUR_ACCESS_KEY"));
    browser.click(".steps form button");
    browser.wait_for("document.querySelector('#made-key') !== null");
    browser.wait_for("document.readyState === 'complete'");
    let key = browser.text("#made-key");
    let (id, gateway) = (stack.application_id(), stack.gateway_addr.to_string());
    for snippet in ["#snippet-curl", "#snippet-python", "#snippet-javascript"] {
        let text = browser.text(snippet);
        assert!(
            text.contains(&key)
                && text.contains(&id)
                && text.contains(&format!("http://{gateway}/v1")),
            "{text}"
        );
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
