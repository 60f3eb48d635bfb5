//! Lists in a window of 360 pixels (§1.7): a row is a card, every column is there with its name, what can
//! be done with a row is within reach, and to screen readers it is the same table.

use crate::accounts::colleague;
use crate::browser::Browser;
use crate::looks::{assert_fits, example, talk};
use crate::world::{ADMIN, PASSWORD, administrators_browser};
use serde_json::{Value, json};
use support::request::{HELLO, Request};
use support::stack::Stack;
use support::visitor::Visitor;
use support::{KEY, eventually};

const NARROW: (u32, u32) = (360, 740);
const WIDE: (u32, u32) = (1280, 860);
/// Pages with tables, and what their pictures are called.
const LISTS: [(&str, &str); 8] = [
    ("/ui/tokens", "tokens"),
    ("/ui/users", "users"),
    ("/ui/applications", "applications"),
    ("/ui/records", "records"),
    ("/ui/sessions", "sessions"),
    ("/ui/people", "people"),
    ("/ui/audit", "audit"),
    ("/ui/status", "status"),
];

/// A server with several of everything, and its administrator's browser; also a record with verdicts.
fn busy() -> (Stack, Browser, String) {
    let stack = Stack::all().start();
    let browser = administrators_browser(&stack);
    let id = example(&stack);
    let (record, _) = talk(&stack, &id);
    let mut admin = Visitor::new(stack.analysis_addr);
    admin.get("/ui/sign-in");
    let fields = [("name", ADMIN), ("password", PASSWORD)];
    assert_eq!(admin.post("/ui/sign-in", &fields).status(), 303);
    let long = "a-very-long-name.of-a-person_with@many-parts.example";
    colleague(&stack, &mut admin, (long, "developer"), &id);
    for (name, scopes) in [
        ("gateway-of-the-second-data-centre-blue", json!(["ingest"])),
        ("reporting", json!(["ingest", "read", "admin"])),
    ] {
        let token = json!({"name": name, "scopes": scopes, "application_id": id});
        let made = Request::post("/tokens", token.to_string())
            .without_key()
            .header("Authorization", &format!("Bearer {KEY}"))
            .call(stack.analysis_addr);
        assert_eq!(made.status(), 201, "{}", made.text());
    }
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    eventually("the gateway is known", || {
        let page = admin.get("/ui/status").text();
        page.contains("<table").then_some(())
    });
    (stack, browser, record)
}

fn speak(browser: &mut Browser, language: &str) {
    browser.open("/ui/password");
    browser.click(&format!(".switch button[value={language}]"));
    browser.wait_for(&format!("document.documentElement.lang === '{language}'"));
    browser.wait_for("document.readyState === 'complete'");
}

#[test]
#[ignore = "needs Chromium"]
fn every_list_is_whole_at_360_pixels_in_both_languages_and_themes() {
    let (_stack, mut browser, record) = busy();
    let record = format!("/ui/records/{record}");
    let one = [(record.as_str(), "record")];
    for language in ["en", "ru"] {
        browser.size(WIDE.0, WIDE.1);
        speak(&mut browser, language);
        for (path, name) in LISTS.into_iter().chain(one) {
            let name = format!("{name}-360-{language}");
            browser.size(NARROW.0, NARROW.1);
            browser.open(path);
            for theme in ["light", "dark"] {
                browser.theme(theme);
                let violations = browser.violations();
                assert!(violations.is_empty(), "{name} {theme}: {violations:#?}");
                browser.screenshot(&format!("{name}-{theme}"), NARROW.0);
                browser.size(NARROW.0, NARROW.1);
            }
            assert_fits(&mut browser, &name);
        }
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium"]
fn no_table_scrolls_sideways_at_any_width() {
    let (_stack, mut browser, record) = busy();
    let record = format!("/ui/records/{record}");
    let one = [(record.as_str(), "record")];
    speak(&mut browser, "ru");
    for (path, name) in LISTS.into_iter().chain(one) {
        browser.open(path);
        for width in [320, 480, 768, 1024, 1230, 1231, 1280] {
            browser.size(width, 740);
            assert_fits(&mut browser, &format!("{name} at {width}"));
        }
    }
}

/// Presses the middle of an element, as a finger does: where it is hidden or covered, nothing happens.
fn touch(browser: &mut Browser, selector: &str) {
    let place = browser.value(&format!(
        "(() => {{ const one = document.querySelector({}); one.scrollIntoView({{block: 'center'}}); \
         const box = one.getBoundingClientRect(); \
         return [box.x + box.width / 2, box.y + box.height / 2]; }})()",
        json!(selector)
    ));
    for kind in ["mousePressed", "mouseReleased"] {
        let event =
            json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
        browser.call("Input.dispatchMouseEvent", event);
    }
}

#[test]
#[ignore = "needs Chromium"]
fn what_can_be_done_with_a_row_is_within_reach_at_360_pixels() {
    let (_stack, mut browser, _) = busy();
    browser.size(NARROW.0, NARROW.1);
    for (path, fewest) in [("/ui/tokens", 3), ("/ui/users", 4)] {
        browser.open(path);
        let seen = browser.value(
            "[...document.querySelectorAll('td.actions button')].filter(one => { \
             const box = one.getBoundingClientRect(); \
             return box.left >= 0 && box.right <= innerWidth && box.width >= 44 && box.height >= 36; }).length",
        );
        let all = browser.value("document.querySelectorAll('td.actions button').length");
        assert_eq!(seen, all, "{path}");
        assert!(all.as_u64() >= Some(fewest), "{path}: {all}");
    }
    browser.open("/ui/applications");
    touch(&mut browser, "tbody tr:last-child td.number a");
    browser.wait_for("location.pathname.endsWith('/versions')");
    browser.open("/ui/tokens");
    touch(&mut browser, "tbody tr:first-child td.actions button");
    browser.wait_for("document.querySelector('.notice.good')?.textContent.includes('reporting')");
}

/// How many elements of each part of a table assistive technology is told of.
fn roles(browser: &mut Browser) -> Vec<usize> {
    let tree = browser.call("Accessibility.getFullAXTree", json!({}));
    let nodes = tree["nodes"].as_array().unwrap();
    let heard = nodes.iter().filter(|node| node["ignored"] == false);
    let heard: Vec<&Value> = heard.map(|node| &node["role"]["value"]).collect();
    let count = |role: &str| heard.iter().filter(|heard| **heard == role).count();
    ["table", "row", "columnheader", "rowheader", "cell"]
        .map(count)
        .to_vec()
}

#[test]
#[ignore = "needs Chromium"]
fn a_screen_reader_hears_the_same_table_at_every_width() {
    let (_stack, mut browser, _) = busy();
    for (path, name) in LISTS {
        browser.open(path);
        browser.size(WIDE.0, WIDE.1);
        let wide = roles(&mut browser);
        assert!(wide.iter().all(|count| *count > 0), "{name}: {wide:?}");
        browser.size(NARROW.0, NARROW.1);
        assert_eq!(roles(&mut browser), wide, "{name}");
    }
}
