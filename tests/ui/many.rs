//! As many applications as a large house has: none of the pages holds them all, and whoever types a part
//! of a name finds the one that is meant, also the last.

use crate::accounts::colleague;
use crate::defence::add_application;
use crate::looks::look;
use crate::records::keep;
use crate::world::{administrator, administrators_browser};
use serde_json::json;
use support::KEY;
use support::request::Request;
use support::stack::Stack;
use support::visitor::Visitor;

const APPLICATIONS: usize = 300;
const LAST: &str = "Платёжный шлюз";
/// What one page may take, its files aside.
const MOST_BYTES: usize = 150 * 1024;
/// What one answer with suggestions may take.
const FEW_BYTES: usize = 8 * 1024;

/// Adds many, and then one of another name; gives its id.
fn many(stack: &Stack) -> String {
    for number in 1..APPLICATIONS {
        let text = "Отвечает на вопросы. ".repeat(90);
        let name = format!("Сервис {number:03}");
        add_application(stack, &json!({"name": name, "description": text}));
    }
    add_application(stack, &json!({"name": LAST}))
}

fn suggested(visitor: &mut Visitor, part: &str) -> Vec<String> {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("part", part);
    let answer = visitor.get(&format!("/ui/applications/suggestions?{}", query.finish()));
    assert_eq!(answer.status(), 200, "{part}");
    let text = answer.text();
    assert!(text.len() < FEW_BYTES, "{part}: {} bytes", text.len());
    let values = regex::Regex::new("data-value=\"([^\"]*)\"").unwrap();
    let values = values.captures_iter(&text);
    values.map(|found| found[1].to_owned()).collect()
}

#[test]
fn a_part_of_a_name_finds_the_last_of_many_in_any_letter_case() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = many(&stack);
    for part in ["ЁЖНЫЙ ШЛ", "платёжный", &id] {
        assert_eq!(suggested(&mut admin, part), [LAST], "{part}");
    }
    let first = suggested(&mut admin, "сервис");
    assert_eq!((first.len(), &*first[0]), (10, "Сервис 001"));
    assert_eq!(suggested(&mut admin, "ервис 29").len(), 10);
    assert_eq!(suggested(&mut admin, "").len(), 10);
    assert!(suggested(&mut admin, "nobody's").is_empty());
    assert!(suggested(&mut admin, &"ё".repeat(500)).is_empty());
    let short = add_application(&stack, &json!({"name": "сервис"}));
    assert_eq!(
        suggested(&mut admin, "СЕРВИС")[0],
        "сервис",
        "the whole name first"
    );
    let twin = add_application(&stack, &json!({"name": "Сервис"}));
    let twins = suggested(&mut admin, "сервис");
    assert_eq!(
        (&twins[0], &twins[1]),
        (&short, &twin),
        "by what tells them apart"
    );
}

#[test]
fn suggestions_are_of_the_applications_that_whoever_asks_may_see() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let other = add_application(&stack, &json!({"name": "of another tenant"}));
    let own = stack.application_id();
    for (name, role) in [("ann", "analyst"), ("dev", "developer")] {
        let mut visitor = colleague(&stack, &mut admin, (name, role), "");
        assert_eq!(suggested(&mut visitor, "tenant").len(), 1, "{role}");
        let bound = format!("bound-{name}");
        let mut tenant = colleague(&stack, &mut admin, (&bound, role), &own);
        assert!(suggested(&mut tenant, "tenant").is_empty(), "{bound}");
        assert!(suggested(&mut tenant, &other).is_empty(), "{bound}");
        assert_eq!(suggested(&mut tenant, "").len(), 1, "{bound}");
    }
    let mut nobody = Visitor::new(stack.analysis_addr);
    assert_eq!(
        nobody.get("/ui/applications/suggestions?part=a").status(),
        303
    );
}

#[test]
fn no_page_grows_with_the_number_of_applications_and_each_takes_a_name() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = many(&stack);
    keep(
        &stack,
        "pre",
        &json!({"application_id": id, "message": "hello"}),
    );
    for path in [
        "/ui/applications",
        "/ui/overview",
        "/ui/records",
        "/ui/sessions",
        "/ui/costs",
        "/ui/findings",
        "/ui/people",
        "/ui/tokens",
        "/ui/users",
        "/ui/audit",
        "/ui/status",
        "/ui/first-steps",
    ] {
        let page = admin.get(path);
        assert_eq!(page.status(), 200, "{path}");
        let text = page.text();
        assert!(text.len() < MOST_BYTES, "{path}: {} bytes", text.len());
        let links = text.matches("<a href=\"/ui/applications/").count();
        let named = text.matches(">Сервис ").count();
        // Both lists have fifty lines; the audit log's are of applications that were made.
        let most = match path {
            "/ui/applications" | "/ui/audit" => 50,
            _ => 0,
        };
        assert!(
            named <= most && links <= 2 * most + 1,
            "{path}: {named} {links}"
        );
    }
    for path in [
        "/ui/overview",
        "/ui/records",
        "/ui/sessions",
        "/ui/costs",
        "/ui/findings",
        "/ui/people",
        "/ui/first-steps",
    ] {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("application_id", "платёжный ШЛЮЗ");
        let page = admin.get(&format!("{path}?{}", query.finish()));
        assert_eq!(page.status(), 200, "{path}: {}", page.text());
    }
    let fields = [
        ("name", "of the last"),
        ("scopes", "ingest"),
        ("expires", "never"),
        ("application_id", LAST),
    ];
    admin.get("/ui/tokens");
    assert_eq!(admin.post("/ui/tokens", &fields).status(), 200);
    assert!(stack.analysis("/tokens", KEY).text().contains(&id));
    let by_name = [
        ("name", "tenant"),
        ("role", "analyst"),
        ("application_id", LAST),
    ];
    assert_eq!(admin.post("/ui/users", &by_name).status(), 200);
    assert!(admin.get("/ui/users").text().contains(&id));
}

#[test]
fn the_list_of_applications_is_read_page_by_page_and_searched_in_any_letter_case() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = many(&stack);
    let row = "<th role=\"rowheader\" scope=\"row\"><a href=\"/ui/applications/([0-9a-f-]{36})\"";
    let row = regex::Regex::new(row).unwrap();
    let next = regex::Regex::new("href=\"(/ui/applications\\?[^\"]*after=[0-9]+)\"").unwrap();
    let mut whole = |path: &str| {
        let (mut ids, mut path, mut pages) = (Vec::new(), path.to_owned(), 0);
        loop {
            let page = admin.get(&path).text();
            pages += 1;
            let found = row.captures_iter(&page).map(|row| row[1].to_owned());
            ids.extend(found);
            match next.captures(&page) {
                Some(found) => path = found[1].replace("&amp;", "&"),
                None => break,
            }
        }
        (ids, pages)
    };
    let (ids, pages) = whole("/ui/applications");
    let different: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(
        (ids.len(), different.len(), pages),
        (APPLICATIONS + 1, APPLICATIONS + 1, 7)
    );
    assert_eq!(ids.last(), Some(&id));
    let (ids, _) = whole("/ui/applications?name=%D0%A8%D0%9B%D0%AE%D0%97");
    assert_eq!(ids, [id]);
    let (ids, pages) = whole("/ui/applications?name=%D0%A1%D0%95%D0%A0%D0%92%D0%98%D0%A1");
    assert_eq!((ids.len(), pages), (APPLICATIONS - 1, 6));
    let answer = Request::get("/applications?name=%D0%A8%D0%9B%D0%AE%D0%97&limit=5")
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
        .call(stack.analysis_addr);
    assert_eq!(answer.json()["applications"].as_array().unwrap().len(), 1);
}

#[test]
#[ignore = "needs Chromium"]
fn in_a_browser_the_keyboard_reaches_what_is_offered_and_a_choice_narrows_the_list() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let id = many(&stack);
    for (path, opener) in [
        ("/ui/overview", None),
        ("/ui/sessions", None),
        ("/ui/first-steps", None),
        ("/ui/tokens", Some("details.card summary")),
        ("/ui/users", Some("details.card summary")),
        ("/ui/records", None),
    ] {
        browser.open(path);
        if let Some(opener) = opener {
            browser.click(opener);
        }
        browser.fill("[data-suggests] input", "шлюз");
        browser.wait_for("document.querySelectorAll('.offered [role=option]').length === 1");
        assert!(browser.text(".offered").contains(LAST), "{path}");
    }
    let field = "document.querySelector('[data-suggests] input')";
    assert_eq!(
        browser.value(&format!("{field}.getAttribute('aria-expanded')")),
        "true"
    );
    assert!(
        browser
            .text("[data-suggests] [role=status]")
            .contains("found: 1")
    );
    browser.press("Escape");
    assert_eq!(
        browser.value("document.querySelector('.offered').hidden"),
        true
    );
    assert_eq!(
        browser.value(&format!("{field}.value")),
        "шлюз",
        "the text stays"
    );
    browser.fill("[data-suggests] input", "сервис");
    browser.wait_for("document.querySelectorAll('.offered [role=option]').length === 10");
    look(&mut browser, "suggestions");
    browser.press("ArrowDown");
    browser.press("ArrowUp");
    let pointed = format!(
        "document.getElementById({field}.getAttribute('aria-activedescendant')).textContent"
    );
    assert_eq!(browser.value(&pointed), "Сервис 010", "round the end");
    browser.fill("[data-suggests] input", "шлюз");
    browser.wait_for("document.querySelectorAll('.offered [role=option]').length === 1");
    browser.press("ArrowDown");
    browser.press("Enter");
    assert_eq!(browser.value(&format!("{field}.value")), LAST);
    assert_eq!(
        browser.value("location.search"),
        "",
        "a choice is not yet sent"
    );
    keep(
        &stack,
        "pre",
        &json!({"application_id": id, "message": "hello"}),
    );
    browser.click("form.filters button.primary");
    browser.wait_for("location.search.includes('application_id=')");
    browser.wait_for("document.querySelectorAll('#records tbody tr').length === 1");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
