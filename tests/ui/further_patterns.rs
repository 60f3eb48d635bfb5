//! The further patterns on the page of an application: out of sight among all patterns, ticked one by one among chosen
//! ones.

use crate::world::administrators_browser;
use serde_json::json;
use support::KEY;
use support::stack::Stack;

#[test]
#[ignore = "needs Chromium"]
fn a_further_pattern_is_found_once_it_is_ticked_by_itself() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    browser.open("/ui/applications/new");
    browser.fill("[name=name]", "payments");
    let shown = "document.querySelector('[name=\"pre.pattern\"][value=IBAN]').checkVisibility()";
    assert_eq!(browser.value(shown), false);
    browser.click("[name='pre.which'][value=chosen]");
    assert_eq!(browser.value(shown), true);
    browser.click("[name='pre.pattern'][value=IBAN]");
    browser.fill("[name='try.text']", "iban de77718449530967118138");
    browser.wait_for("document.querySelector('#try-result mark')?.title === 'IBAN'");
    browser.click(".savebar button");
    browser.wait_for_page("location.search === '?saved'");
    let path = browser.value("location.pathname.replace('/ui', '')");
    let stored = stack.analysis(path.as_str().unwrap(), KEY).json();
    let rules = &stored["rules"]["pre"]["dataclean"];
    let patterns = rules["patterns"].as_array().unwrap();
    // The 21 were ticked before.
    assert_eq!(patterns.len(), 22);
    assert!(patterns.contains(&json!("IBAN")) && patterns.contains(&json!("SNILS")));
    assert_eq!(browser.complaints, Vec::<String>::new());
}
