//! One exchange, one page (UI A5, B3, B6, B8): a row of the list is an exchange, its page has all of it, and the ways
//! to the next ones keep the filter.

use crate::defence::add_application;
use crate::records::{keep, keeping};
use crate::world::{administrator, administrators_browser};
use regex::Regex;
use serde_json::{Value, json};
use support::stack::Stack;
use support::visitor::Visitor;

const CALL: &str = r#"{"provider": "gpu-1", "status": 200, "latency_ms": 1200, "first_byte_ms": 80,
    "client_address": "192.0.2.7"}"#;

/// A prompt and its answer; gives their records.
fn exchange(stack: &Stack, application: &str, id: &str) -> [String; 2] {
    let call: Value = serde_json::from_str(CALL).unwrap();
    let body = |text: &str, parameters: Value| json!({"application_id": application, "message": text, "additional_parameters": parameters});
    let shared = json!({"request_id": id, "user_id": "ann", "session_id": "s"});
    let prompt = keep(
        stack,
        "pre",
        &body(
            &format!("question of {id}, mail ann@example.org"),
            shared.clone(),
        ),
    );
    let mut answer = shared;
    answer["model"] = "m-1".into();
    answer["call"] = call;
    let answer = keep(stack, "post", &body(&format!("reply to {id}"), answer));
    [prompt, answer]
}

fn page(visitor: &mut Visitor, path: &str) -> String {
    let page = visitor.get(path);
    assert_eq!(page.status(), 200, "{path}");
    page.text()
}

/// The records that the rows lead to.
fn rows(page: &str) -> Vec<String> {
    let row = Regex::new("data-record=\"([0-9a-f-]{36})\"").unwrap();
    let rows = row.captures_iter(page);
    rows.map(|row| row[1].to_owned()).collect()
}

/// The addresses of the links before and behind a record.
fn ways(page: &str) -> [Option<String>; 2] {
    ["prev", "next"].map(|rel| {
        let way = Regex::new(&format!("rel=\"{rel}\" href=\"([^\"]+)\"")).unwrap();
        let found = way.captures(page);
        found.map(|found| found[1].replace("&amp;", "&"))
    })
}

#[test]
fn a5_a_row_is_an_exchange_with_a_line_of_its_text_and_marked_finds() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "orders");
    let exchanges = ["x1", "x2", "x3"].map(|name| exchange(&stack, &id, name));
    let alone = keep(
        &stack,
        "pre",
        &json!({"application_id": id, "message": "alone"}),
    );
    let list = page(&mut admin, "/ui/records");
    let [[_, a1], [p2, a2], [_, a3]] = &exchanges;
    assert_eq!(rows(&list), [&alone, a3, a2, a1].map(String::as_str));
    assert!(!list.contains("ann@example.org"), "{list}");
    let line = "question of x2, mail <mark title=\"EMAILS\">[EMAILS]";
    assert!(list.contains(line), "{line} in {list}");
    assert_eq!(list.matches("⇄ Exchange").count(), 3);
    // By its prompt or by its answer, and once on pages of any size.
    assert_eq!(rows(&page(&mut admin, "/ui/records?stage=pre")).len(), 4);
    assert_eq!(rows(&page(&mut admin, "/ui/records?model=m-1")).len(), 3);
    assert_eq!(rows(&page(&mut admin, "/ui/records?model=m-2")).len(), 0);
    assert_eq!(rows(&page(&mut admin, "/ui/records?token=first")).len(), 4);
    let found = rows(&page(&mut admin, "/ui/records?verdict=dataclean"));
    assert!(found.contains(p2), "{found:?}");
    let (mut path, mut all) = ("/ui/records?limit=2".to_owned(), Vec::new());
    let older =
        Regex::new("class=\"button\" href=\"(/ui/records\\?[^\"]*before=[^\"]*)\"").unwrap();
    loop {
        let page = page(&mut admin, &path);
        all.extend(rows(&page));
        match older.captures(&page) {
            Some(way) => path = way[1].replace("&amp;", "&"),
            None => break,
        }
    }
    assert_eq!(all, rows(&list));
}

#[test]
fn a5_b8_a_page_has_both_messages_and_what_is_known_of_the_call() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "orders");
    let records = exchange(&stack, &id, "x1");
    for record in &records {
        let shown = page(&mut admin, &format!("/ui/records/{record}"));
        let at = |text: &str| {
            shown
                .find(text)
                .unwrap_or_else(|| panic!("{text} in {shown}"))
        };
        assert!(at("question of x1") < at("reply to x1"));
        for text in [
            "EMAILS × 1",
            "m-1",
            "gpu-1",
            ">200<",
            "1200.00",
            "80.00",
            "192.0.2.7",
            ">first<",
            "HTTP status",
            "Time to first byte",
            "Access key",
        ] {
            at(text);
        }
        assert!(!shown.contains("ann@example.org"), "{shown}");
        assert!(!shown.contains("No answer recorded"), "{shown}");
    }
    let title = |page: &str| {
        let title = Regex::new("<title>([^<]+)</title>").unwrap();
        title.captures(page).unwrap()[1].to_owned()
    };
    let [prompt, answer] =
        records.map(|record| title(&page(&mut admin, &format!("/ui/records/{record}"))));
    assert!(
        prompt.contains("Prompt") && prompt.contains("ann"),
        "{prompt}"
    );
    assert_ne!(prompt, answer);
}

#[test]
fn a5_without_an_answer_the_page_says_so_and_a_blocked_prompt_shows_the_phrase() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = add_application(
        &stack,
        &json!({"name": "bot", "policy": {"app_mode": "sync", "phrase": "Ask <a person>."},
            "rules": {"pre": {"dataclean": {"patterns": ["EMAILS"]}}}}),
    );
    let send = |name: &str, text: &str| {
        let parameters = json!({"request_id": name, "session_id": "s"});
        let body =
            json!({"application_id": id, "message": text, "additional_parameters": parameters});
        keep(&stack, "pre", &body)
    };
    let plain = send("x1", "hello");
    let shown = page(&mut admin, &format!("/ui/records/{plain}"));
    assert!(shown.contains("No answer recorded."), "{shown}");
    let blocked = send("x2", "mail ann@example.org");
    let shown = page(&mut admin, &format!("/ui/records/{blocked}"));
    assert!(shown.contains("Ask &lt;a person&gt;."), "{shown}");
    assert!(!shown.contains("No answer recorded."), "{shown}");
    let session = format!("/ui/sessions/one?application_id={id}&session_id=s");
    let told = "The client got the prepared phrase.";
    assert_eq!(page(&mut admin, &session).matches(told).count(), 1);
}

#[test]
fn b6_the_ways_to_the_next_exchanges_and_back_keep_the_filter() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "orders");
    let [one, two, three] = ["x1", "x2", "x3"].map(|name| exchange(&stack, &id, name));
    keep(
        &stack,
        "pre",
        &json!({"application_id": id, "message": "of nobody"}),
    );
    let list = page(&mut admin, "/ui/records?user_id=ann");
    let first = format!("/ui/records/{}?user_id=ann", three[1]);
    assert!(list.contains(&format!("href=\"{first}\"")), "{list}");
    let shown = page(&mut admin, &first);
    assert!(
        shown.contains("href=\"/ui/records?user_id=ann\""),
        "{shown}"
    );
    let second = format!("/ui/records/{}?user_id=ann", two[1]);
    assert_eq!(ways(&shown), [None, Some(second.clone())]);
    let last = format!("/ui/records/{}?user_id=ann", one[1]);
    let shown = page(&mut admin, &second);
    assert_eq!(ways(&shown), [Some(first.clone()), Some(last.clone())]);
    // The prompt's own page is of the same row.
    let shown = page(&mut admin, &format!("/ui/records/{}?user_id=ann", two[0]));
    assert_eq!(ways(&shown), [Some(first), Some(last.clone())]);
    assert_eq!(ways(&page(&mut admin, &last)), [Some(second), None]);
    let odd = page(&mut admin, &format!("/ui/records/{}?verdict=odd", two[1]));
    assert_eq!(ways(&odd), [None, None]);
}

#[test]
fn a5_a_session_has_the_messages_of_parallel_exchanges_together() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "orders");
    for (stage, name, text) in [
        ("pre", "x1", "question 1"),
        ("pre", "x2", "question 2"),
        ("post", "x1", "reply 1"),
        ("post", "x2", "reply 2"),
    ] {
        let parameters = json!({"request_id": name, "session_id": "s"});
        let body =
            json!({"application_id": id, "message": text, "additional_parameters": parameters});
        keep(&stack, stage, &body);
    }
    let session = format!("/ui/sessions/one?application_id={id}&session_id=s");
    let shown = page(&mut admin, &session);
    let places =
        ["question 1", "reply 1", "question 2", "reply 2"].map(|text| shown.find(text).unwrap());
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
#[ignore = "needs Chromium"]
fn a5_an_answer_joins_the_row_of_its_prompt_in_an_open_list() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let id = keeping(&stack, "orders");
    browser.open("/ui/records");
    browser.wait_for("document.querySelector('[data-tail]').dataset.state === 'going'");
    let body = |text: &str| json!({"application_id": id, "message": text, "additional_parameters": {"request_id": "x"}});
    keep(&stack, "pre", &body("a question"));
    browser.wait_for("document.querySelectorAll('#records tbody tr').length === 1");
    keep(&stack, "post", &body("a reply"));
    browser
        .wait_for("document.querySelector('#records tbody tr').textContent.includes('Exchange')");
    assert_eq!(
        browser.value("document.querySelectorAll('#records tbody tr').length"),
        1
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}
