//! A running `monitor all` and its first administrator.

use crate::browser::Browser;
use support::stack::Stack;
use support::visitor::Visitor;

/// What the first administrator is called, and the password these tests give it.
pub(crate) const ADMIN: &str = "admin";
pub(crate) const PASSWORD: &str = "a long enough password";

/// The one-time link that the console shows.
#[track_caller]
pub(crate) fn console_link(stack: &Stack) -> String {
    let pattern = regex::Regex::new(r"https?://[^ ]+(/ui/link/[A-Za-z0-9_-]+)").unwrap();
    stack
        .process
        .await_stdout("the link to sign in by", |text| {
            Some(pattern.captures(text)?[1].to_owned())
        })
}

/// A client without a browser, signed in as the first administrator.
#[track_caller]
pub(crate) fn administrator(stack: &Stack) -> Visitor {
    let mut visitor = Visitor::new(stack.analysis_addr);
    let link = console_link(stack);
    let page = visitor.get(&link);
    assert_eq!(page.status(), 200, "{}", page.text());
    let entered = visitor.post(&link, &[("password", PASSWORD), ("again", PASSWORD)]);
    assert_eq!(entered.status(), 303, "{}", entered.text());
    visitor
}

/// A browser, signed in as the first administrator.
pub(crate) fn administrators_browser(stack: &Stack) -> Browser {
    let mut browser = Browser::start(stack.analysis_addr);
    browser.open(&console_link(stack));
    browser.fill("input[name=password]", PASSWORD);
    browser.fill("input[name=again]", PASSWORD);
    browser.click("button.primary");
    browser.wait_for("document.querySelector('.corner .who strong')?.textContent === 'admin'");
    browser
}
