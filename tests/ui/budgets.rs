//! Budgets in the form of an application, and what is spent of them on its page.

use crate::records::keep;
use crate::world::{administrator, administrators_browser};
use serde_json::{Value, json};
use support::KEY;
use support::api::patch;
use support::stack::Stack;
use support::within_a_day;

fn address(stack: &Stack) -> String {
    format!("/applications/{}", stack.application_id())
}

fn set(stack: &Stack, budgets: &Value) {
    let version = stack.analysis(&address(stack), KEY).json()["version"].clone();
    let policy = json!({"app_mode": "async", "budgets": budgets});
    patch(
        stack,
        &address(stack),
        &json!({"version": version, "policy": policy}),
    );
}

fn answer(stack: &Stack, user: &str) {
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500});
    let body = json!({"application_id": stack.application_id(), "message": "said",
        "additional_parameters": {"model": "m-1", "user_id": user, "usage": usage}});
    keep(stack, "post", &body);
}

#[test]
fn what_is_spent_of_budgets_stands_on_the_page_of_the_application() {
    within_a_day(|| {
        let prices = "  prices: {currency: EUR, models: {m-1: {input: 2, output: 8}}}\n";
        let stack = Stack::all().yaml(prices).start();
        let mut admin = administrator(&stack);
        let path = format!("/ui{}", address(&stack));
        let page = admin.get(&path).text();
        assert!(!page.contains("budget-use"), "{page}");
        set(
            &stack,
            &json!([
                {"per": "user", "window": "month", "tokens": 1500, "action": "stop"},
                {"per": "application", "window": "month", "cost": "0.0065", "action": "warn"},
            ]),
        );
        let page = admin.get(&path).text();
        assert!(page.contains("Nothing is spent yet."), "{page}");
        answer(&stack, "anna<b>");
        let page = admin.get(&path).text();
        for part in [
            "each user, month: 1\u{a0}500 tokens",
            "anna&lt;b&gt;",
            ">1\u{a0}500<",
            "badge bad\">spent",
            "the application, month: 0.0065",
            "0.006 EUR",
            "badge warn\">nearly spent",
            "name=\"budget.amount\" value=\"1500\"",
            "name=\"budget.amount\" value=\"0.0065\"",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    });
}

#[test]
#[ignore = "needs Chromium"]
fn a_budget_set_in_the_form_is_stored_and_an_emptied_row_removes_it() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    browser.open(&format!("/ui{}", address(&stack)));
    browser.click("[name=mode][value=async]");
    browser.fill("[name='budget.amount']", "250");
    browser.click(".savebar button");
    browser.wait_for_page("location.search === '?saved'");
    let policy = || stack.analysis(&address(&stack), KEY).json()["policy"].clone();
    let expected = json!([{"per": "application", "window": "day", "tokens": 250, "action": "stop", "warn_at": 80}]);
    assert_eq!(policy()["budgets"], expected);
    browser.click("#budgets [data-drop-row]");
    browser.click(".savebar button");
    browser.wait_for_page("document.querySelector('[name=version]').value === '3'");
    assert_eq!(policy().get("budgets"), None);
    assert_eq!(browser.complaints, Vec::<String>::new());
}
