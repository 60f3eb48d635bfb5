//! The pages of end users (UI B2): who sends most, who is flagged most, and one of them.

use crate::accounts::colleague;
use crate::records::{keep, keeping};
use crate::world::{administrator, administrators_browser};
use serde_json::json;
use support::stack::Stack;
use support::visitor::Visitor;

/// A message of a user; a flagged one has an address in it.
fn say(stack: &Stack, application: &str, user: &str, is_flagged: bool) {
    let text = match is_flagged {
        true => "write to ivan@example.org and eve@example.org",
        false => "hello",
    };
    let body = json!({"application_id": application, "message": text,
        "additional_parameters": {"user_id": user, "session_id": format!("s {user}")}});
    keep(stack, "pre", &body);
}

/// The names of users in the order of the list.
fn listed(page: &str) -> Vec<String> {
    let name = regex::Regex::new(r#"<a class="cut" href="/ui/people/user[^"]*" title="([^"]*)""#);
    let name = name.unwrap();
    let all = name.captures_iter(page);
    all.map(|found| found[1].to_owned()).collect()
}

/// An address of a page that begins like this.
fn address(page: &str, begins: &str) -> String {
    let address = regex::Regex::new(&format!("href=\"({}[^\"]*)\"", regex::escape(begins)));
    let found = address.unwrap().captures(page).unwrap();
    found[1].replace("&amp;", "&")
}

#[test]
fn ui_b2_users_are_listed_sorted_and_found_and_each_has_a_page() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let (shop, desk) = (keeping(&stack, "shop"), keeping(&stack, "desk"));
    for (user, messages, flagged) in [("d.volkov", 3, 2), ("anna<b>", 5, 1), ("boris", 1, 0)] {
        for number in 0..messages {
            say(&stack, &shop, user, number < flagged);
        }
    }
    say(&stack, &desk, "boris", false);
    let page = admin.get("/ui/people").text();
    assert_eq!(
        listed(&page),
        ["d.volkov", "anna&lt;b&gt;", "boris", "boris"]
    );
    assert!(
        page.contains("EMAILS × 4") && !page.contains("anna<b>"),
        "{page}"
    );
    for (query, expected) in [
        ("sort=messages", "anna&lt;b&gt;"),
        ("sort=share", "d.volkov"),
        ("name=VOLK", "d.volkov"),
        ("application_id=desk", "boris"),
    ] {
        let page = admin.get(&format!("/ui/people?{query}")).text();
        assert_eq!(listed(&page)[0], expected, "{query}");
    }
    let page = admin.get("/ui/people?from=2020-01-01&to=2020-01-31").text();
    assert!(page.contains("No end user sent a message"), "{page}");
    let own = address(
        &admin.get("/ui/people?name=volkov").text(),
        "/ui/people/user",
    );
    let page = admin.get(&own).text();
    for part in [
        "<h1>d.volkov</h1>",
        ">EMAILS</a>",
        "s d.volkov",
        "66.7% of all",
        "Messages by day",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("Where this name was used"), "{page}");
    let records = admin.get(&address(&page, "/ui/records?")).text();
    assert_eq!(records.matches("data-record=").count(), 3);
    let boris = admin.get("/ui/people?application_id=desk").text();
    let page = admin.get(&address(&boris, "/ui/people/user")).text();
    assert!(page.contains("Where this name was used"), "{page}");
    for (wrong, field) in [
        ("/ui/people?sort=name", "sort"),
        ("/ui/people?page=0", "page"),
        ("/ui/people?from=2026-02-01&to=2026-01-01", "from"),
        ("/ui/people?application_id=nobody", "application_id"),
    ] {
        let page = admin.get(wrong);
        assert_eq!(page.status(), 422, "{wrong}");
        let alert = format!("<code>{field}</code>");
        assert!(page.text().contains(&alert), "{wrong}");
    }
    assert_eq!(admin.get("/ui/people/user?user_id=boris").status(), 404);
}

#[test]
fn users_are_paged() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let application = keeping(&stack, "shop");
    for number in 0..26 {
        say(&stack, &application, &format!("user {number:02}"), false);
    }
    let first = admin.get("/ui/people").text();
    assert_eq!(listed(&first).len(), 25);
    let second = admin.get(&address(&first, "/ui/people?page=2")).text();
    assert_eq!(listed(&second), ["user 25"]);
    assert!(second.contains("/ui/people?page=1"), "{second}");
}

#[test]
fn a_tenant_sees_users_of_its_application_and_a_developer_none() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let (own, other) = (keeping(&stack, "own"), keeping(&stack, "other"));
    for (application, user) in [(&own, "anna"), (&other, "anna"), (&other, "boris")] {
        say(&stack, application, user, false);
    }
    let mut tenant = colleague(&stack, &mut admin, ("tenant", "analyst"), &own);
    assert_eq!(listed(&tenant.get("/ui/people").text()), ["anna"]);
    let one =
        |application: &str| format!("/ui/people/user?application_id={application}&user_id=anna");
    let page = tenant.get(&one(&own)).text();
    assert!(!page.contains(&other), "{page}");
    for path in [one(&other), format!("/ui/people?application_id={other}")] {
        assert_eq!(tenant.get(&path).status(), 404, "{path}");
    }
    let mut developer = colleague(&stack, &mut admin, ("dev", "developer"), "");
    let mut nobody = Visitor::new(stack.analysis_addr);
    for path in ["/ui/people".to_owned(), one(&own)] {
        assert_eq!(developer.get(&path).status(), 403, "{path}");
        assert_eq!(nobody.get(&path).status(), 303, "{path}");
    }
}

#[test]
#[ignore = "needs Chromium"]
fn ui_b6_keys_move_through_a_list_and_open_the_pages() {
    let stack = Stack::all().start();
    let application = keeping(&stack, "shop");
    for user in ["anna", "boris"] {
        say(&stack, &application, user, false);
    }
    let mut browser = administrators_browser(&stack);
    browser.open("/ui/people");
    let press = |keys: &str| {
        format!(
            "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{{keys}, bubbles: true}})); true"
        )
    };
    let focused = "document.activeElement.textContent.trim()";
    browser.value(&press("code: 'KeyJ', key: 'j'"));
    assert_eq!(browser.value(focused), "anna");
    browser.value(&press("code: 'KeyJ', key: 'о'"));
    assert_eq!(browser.value(focused), "boris");
    browser.value(&press("code: 'KeyK', key: 'k'"));
    assert_eq!(browser.value(focused), "anna");
    browser.value(&press("code: 'Slash', key: '/'"));
    assert_eq!(browser.value("document.activeElement.name"), "name");
    browser.value(&press("code: 'KeyJ', key: 'j'"));
    assert_eq!(
        browser.value("document.activeElement.name"),
        "name",
        "a letter that is typed does nothing"
    );
    browser.value(&press("code: 'KeyK', key: 'k', ctrlKey: true"));
    browser.fill("#palette input", "cost");
    browser.wait_for("document.querySelectorAll('#palette li:not([hidden])').length === 1");
    assert_eq!(browser.violations(), Vec::<String>::new());
    browser.value(&press("code: 'Enter', key: 'Enter'"));
    browser.wait_for("location.pathname === '/ui/costs'");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium"]
fn ui_b5_times_are_written_in_the_zone_of_the_browser_or_in_utc() {
    let stack = Stack::all().start();
    let application = keeping(&stack, "shop");
    say(&stack, &application, "anna", false);
    let mut browser = administrators_browser(&stack);
    browser.call(
        "Emulation.setTimezoneOverride",
        json!({"timezoneId": "Asia/Tokyo"}),
    );
    let shown = "(() => { const time = document.querySelector('main time'); \
        const at = new Date(time.dateTime.slice(0, 16) + ':00Z'); \
        const shift = new Date(time.textContent.trim().slice(0, 16).replace(' ', 'T') + ':00Z') - at; \
        return shift / 3600000; })()";
    browser.open("/ui/people");
    assert_eq!(browser.value(shown), 9);
    assert_eq!(browser.text("[data-zone]"), "Asia/Tokyo");
    browser.click(".switch button[value=utc]");
    browser.wait_for("document.documentElement.dataset.clock === 'utc'");
    browser.wait_for("document.readyState === 'complete'");
    assert_eq!(browser.value(shown), 0);
    assert_eq!(browser.text("[data-zone]"), "UTC");
}
