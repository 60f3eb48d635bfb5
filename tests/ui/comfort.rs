//! What scripts and switches add to pages, and what they must not do by themselves.

use crate::accounts::{account_path, colleague};
use crate::world::{ADMIN, administrator, administrators_browser};
use support::stack::Stack;
use support::visitor::Visitor;

#[test]
#[ignore = "needs Chromium"]
fn copying_says_done_only_when_something_was_copied_and_else_marks_the_text() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let button = "button[data-copy='#application-id']";
    let is_done = format!("document.querySelector(\"{button}\").classList.contains('done')");
    let path = format!("/ui/applications/{}", stack.application_id());
    for clipboard in [
        "undefined",
        "{writeText: () => Promise.reject(new Error('not allowed'))}",
    ] {
        browser.open(&path);
        browser.value(&format!(
            "Object.defineProperty(navigator, 'clipboard', {{value: {clipboard}}}); true"
        ));
        browser.click(button);
        let marked = format!("getSelection().toString() === '{}'", stack.application_id());
        browser.wait_for(&marked);
        assert_eq!(browser.value(&is_done), false, "{clipboard}");
    }
    browser.open(&path);
    browser.value(
        "Object.defineProperty(navigator, 'clipboard', \
         {value: {writeText: text => { window.copied = text; return Promise.resolve(); }}}); true",
    );
    browser.click(button);
    browser.wait_for(&is_done);
    assert_eq!(
        browser.value("window.copied"),
        stack.application_id().as_str()
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium"]
fn a_role_is_changed_by_its_button_and_not_by_going_through_the_choices() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    colleague(&stack, &mut admin, ("ann", "analyst"), "");
    let form = format!(
        "{}/edit",
        account_path(&admin.get("/ui/users").text(), "ann")
    );
    let mut browser = crate::browser::Browser::start(stack.analysis_addr);
    browser.open("/ui/sign-in");
    browser.fill("input[name=name]", ADMIN);
    browser.fill("input[name=password]", crate::world::PASSWORD);
    browser.click("button.primary");
    browser.wait_for("document.querySelector('.corner .who strong')?.textContent === 'admin'");
    browser.open("/ui/users");
    let select = format!("form[action='{form}'] select");
    browser.value(&format!(
        "(() => {{ document.addEventListener('submit', () => {{ window.sent = true; }}); \
         const select = document.querySelector(\"{select}\"); select.value = 'administrator'; \
         for (const kind of ['input', 'change']) select.dispatchEvent(new Event(kind, {{bubbles: true}})); }})()"
    ));
    assert_eq!(browser.value("window.sent === undefined"), true);
    let role = "document.querySelector(\"SELECT\").value".replace("SELECT", &select);
    browser.open("/ui/users");
    assert_eq!(browser.value(&role), "analyst");
    browser.value(&role.replace(".value", ".value = 'developer'"));
    let button = format!("form[action='{form}'] select + button");
    let is_seen = format!("document.querySelector(\"{button}\").checkVisibility()");
    assert_eq!(browser.value(&is_seen), true);
    browser.click(&button);
    browser.wait_for("document.querySelector('.notice.good') !== null");
    assert_eq!(browser.value(&role), "developer");
}

/// Follows the switches of a page that a form made.
#[track_caller]
fn leads_to_a_page(visitor: &mut Visitor, (path, page): (&str, &str)) {
    let next = regex::Regex::new(r#"name="next" value="([^"]*)""#).unwrap();
    let next = next.captures(page).unwrap()[1].to_owned();
    let switched = visitor.post("/ui/preferences", &[("theme", "dark"), ("next", &next)]);
    let to = switched.head.header("location").unwrap().to_owned();
    assert_eq!(to, next, "{path}");
    assert_eq!(visitor.get(&to).status(), 200, "{path} leads to {to}");
}

#[test]
fn the_switches_of_a_page_that_a_form_made_lead_to_a_page() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    colleague(&stack, &mut admin, ("ann", "analyst"), "");
    let ann = account_path(&admin.get("/ui/users").text(), "ann");
    let application = format!("/ui/applications/{}", stack.application_id());
    admin.get("/ui/tokens");
    let made = admin.post(
        "/ui/tokens",
        &[("name", "t"), ("scopes", "read"), ("expires", "90")],
    );
    let token = regex::Regex::new("/ui/tokens/[0-9a-f-]{36}/revoke").unwrap();
    let token = token.find(&made.text()).unwrap().as_str().to_owned();
    for (path, fields, status) in [
        ("/ui/users", vec![("name", "x y"), ("role", "analyst")], 422),
        (&format!("{ann}/edit"), vec![("role", "developer")], 200),
        (&format!("{ann}/link"), vec![], 200),
        (&token, vec![], 200),
        ("/ui/records/filters", vec![("name", "")], 422),
        ("/ui/password", vec![("password", "a"), ("again", "b")], 422),
        ("/ui/applications", vec![("name", "")], 422),
        (&application, vec![("name", ""), ("version", "1")], 422),
        (&format!("{application}/remove"), vec![], 422),
        (&format!("{application}/restore"), vec![], 404),
        ("/ui/users/nobody/link", vec![], 404),
    ] {
        let page = admin.post(path, &fields);
        assert_eq!(page.status(), status, "{path}");
        leads_to_a_page(&mut admin, (path, &page.text()));
    }
    let page = admin.post_bare("/ui/sign-out", &[("form_token", "")]);
    assert_eq!(page.status(), 403);
    assert!(page.text().contains("value=\"/ui\""), "{}", page.text());
}
