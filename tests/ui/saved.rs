//! Saved filters above the list of records: a person's own, shared ones, and whom they are not for.

use crate::accounts::colleague;
use crate::records::keep;
use crate::world::{administrator, administrators_browser};
use serde_json::json;
use support::stack::Stack;
use support::visitor::Visitor;

#[track_caller]
fn save(visitor: &mut Visitor, name: &str, filter: &str, shared: bool) -> u16 {
    visitor.get(&format!("/ui/records?{filter}"));
    let mut fields = vec![("name", name), ("filter", filter)];
    fields.extend(shared.then_some(("shared", "on")));
    visitor.post("/ui/records/filters", &fields).status()
}

fn removal(page: &str) -> String {
    let form = regex::Regex::new("/ui/records/filters/[0-9a-f-]{36}/remove").unwrap();
    form.find(page).unwrap().as_str().to_owned()
}

#[test]
#[ignore = "needs Chromium"]
fn a_filter_is_kept_under_a_name_gone_to_and_deleted() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    for user in ["ann", "bob"] {
        let body = json!({"application_id": stack.application_id(), "message": "hi",
            "additional_parameters": {"user_id": user}});
        keep(&stack, "pre", &body);
    }
    const EVIL: &str = "\"'><img src=x onerror=window.evil=1>";
    browser.open("/ui/records?user_id=ann&verdict=clean");
    browser.click(".keep-filter summary");
    browser.fill(".keep-filter [name=name]", EVIL);
    browser.click(".keep-filter button");
    browser.wait_for("document.querySelector('.chip a') !== null");
    browser.open("/ui/records");
    let rows = "document.querySelectorAll('#records tbody tr').length";
    assert_eq!(browser.value(rows), 2);
    assert_eq!(browser.text(".chip a").trim(), EVIL);
    browser.click(".chip a");
    browser.wait_for("location.search === '?user_id=ann&verdict=clean'");
    browser.wait_for(&format!("{rows} === 1"));
    assert_eq!(
        browser.value("document.querySelector('.chip a').ariaCurrent"),
        "true"
    );
    let harmless = "window.evil === undefined && !document.querySelector('img[src=x]')";
    assert_eq!(browser.value(harmless), true);
    browser.click(".chip button");
    browser.wait_for("document.querySelector('.chip') === null");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn own_filters_are_ones_own_and_shared_ones_stay_within_the_tenant() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let mut ann = colleague(&stack, &mut admin, ("ann", "analyst"), "");
    let own = stack.application_id();
    let mut tenant = colleague(&stack, &mut admin, ("tenant", "analyst"), &own);
    assert_eq!(save(&mut admin, "only hers", "user_id=q", false), 303);
    assert_eq!(save(&mut admin, "for all", "verdict=blocked", true), 303);
    let page = ann.get("/ui/records").text();
    assert!(page.contains("for all") && !page.contains("only hers"));
    assert!(
        !page.contains("/ui/records/filters/"),
        "another's is not hers to delete"
    );
    let theirs = tenant.get("/ui/records").text();
    assert!(!theirs.contains("for all"), "of another tenant");
    let path = removal(&admin.get("/ui/records").text());
    for other in [&mut ann, &mut tenant] {
        assert_eq!(other.post(&path, &[]).status(), 404);
    }
    assert_eq!(save(&mut ann, "hers", "verdict=failed", true), 303);
    assert!(admin.get("/ui/records").text().contains("hers"));
    assert_eq!(
        admin.post_bare(&path, &[]).status(),
        403,
        "without the form's token"
    );
    assert_eq!(admin.post(&path, &[]).status(), 303);
    let mut developer = colleague(&stack, &mut admin, ("dev", "developer"), "");
    developer.get("/ui/applications");
    assert_eq!(
        developer
            .post(
                "/ui/records/filters",
                &[("name", "x"), ("filter", "text=y")]
            )
            .status(),
        403
    );
}

#[test]
fn what_is_no_filter_is_not_kept_and_the_same_name_is_replaced() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    for (name, filter) in [
        ("", "text=a"),
        ("two\nlines", "text=a"),
        ("x", ""),
        ("x", "colour=red"),
        ("x", "before=7"),
    ] {
        assert_eq!(
            save(&mut admin, name, filter, false),
            422,
            "{name:?} {filter:?}"
        );
    }
    assert_eq!(save(&mut admin, "mine", "text=a&limit=3", false), 303);
    assert_eq!(save(&mut admin, "mine", "text=b", false), 303);
    let page = admin.get("/ui/records").text();
    assert_eq!(page.matches("class=\"chip\"").count(), 1);
    assert!(page.contains("href=\"/ui/records?text=b\""), "{page}");
    for number in 0..49 {
        assert_eq!(
            save(&mut admin, &format!("n{number}"), "text=c", false),
            303
        );
    }
    assert_eq!(save(&mut admin, "one too many", "text=c", false), 422);
}
