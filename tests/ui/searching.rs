//! Large lists: a search that goes on by itself, exports that say how far they are, and pages that stay
//! small whatever callers send along. Records are put into the store's file, not through the analysis.

use crate::browser::Browser;
use crate::defence::add_application;
use crate::world::{administrator, administrators_browser};
use monitor_model::{Entity, Stage};
use monitor_store::{NewRecord, RecordStore, SqliteStore, StoreEngine};
use serde_json::{Map, json};
use support::KEY;
use support::bed::answer;
use support::stack::Stack;
use support::visitor::Visitor;

/// More than two pages of a search look at.
const HAY: usize = 4_500;
/// A page's bytes at most (issue: "Numbers").
const PAGE: usize = 150 * 1024;

fn record(stack: &Stack, text: &str) -> NewRecord {
    let mut answer = answer();
    answer.dataclean.cleaned_text = Some(text.into());
    NewRecord {
        application_id: stack.application_id().parse().unwrap(),
        stage: Stage::PreCall,
        exchange_id: None,
        tool: None,
        user_id: None,
        session_id: None,
        created_at_ms: 1_700_000_000_000,
        rules_version: Some(1),
        inline_rules: None,
        tool_parts: monitor_model::CheckedParts::default(),
        blocked: false,
        unchecked: false,
        found_values: Vec::new(),
        message: None,
        additional_parameters: Map::new(),
        chain: None,
        cost: None,
        call: None,
        token: None,
        answer,
    }
}

/// Puts records into the file of a server, in their order.
fn put(stack: &Stack, records: Vec<NewRecord>) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let file = stack.data_dir().join("monitor.db");
        let store = SqliteStore::open(&file).await.unwrap();
        let mut durable = Vec::with_capacity(records.len());
        for record in records {
            durable.push(store.begin_insert(record).await.unwrap());
        }
        for one in durable {
            one.await.unwrap();
        }
        store.close().await;
    });
}

/// One needle below a lot of hay.
fn haystack(stack: &Stack) {
    let mut records = vec![record(stack, "the old Needle")];
    records.extend((0..HAY).map(|_| record(stack, "hay")));
    put(stack, records);
}

fn way_on(page: &str) -> Option<String> {
    let way = regex::Regex::new(r#"class="button" href="(/ui/records\?text=[^"]*before=[^"]*)""#);
    let way = way.unwrap().captures(page)?[1].replace("&amp;", "&");
    Some(way)
}

fn before_scripts(browser: &mut Browser, script: &str) {
    let source = json!({"source": script});
    browser.call("Page.addScriptToEvaluateOnNewDocument", source);
}

#[test]
#[ignore = "needs Chromium"]
fn an_old_text_below_thousands_of_records_is_found_by_itself() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    haystack(&stack);
    browser.open("/ui/records?text=needle");
    let rows = "document.querySelectorAll('#records tbody tr').length === 1";
    browser.wait_for(rows);
    browser.wait_for("document.querySelector('.seek').dataset.state === 'over'");
    let told = browser.text(".seek .told").replace('\u{a0}', " ");
    assert!(
        told.contains("Searched all records of this filter: 4 501"),
        "{told}"
    );
    assert_eq!(
        browser.text(".seek [role=status]").replace('\u{a0}', " "),
        told
    );
    for (expression, expected) in [
        ("document.querySelector('.seek button').hidden", true),
        ("document.querySelector('#nothing').hidden", true),
        ("document.querySelector('#records').hidden", false),
        ("document.querySelector('#ways a') === null", true),
        ("location.search === '?text=needle'", true),
    ] {
        assert_eq!(browser.value(expression), expected, "{expression}");
    }
    browser.open("/ui/records?text=nowhere");
    browser.wait_for("document.querySelector('.seek').dataset.state === 'over'");
    assert_eq!(
        browser.value("document.querySelector('#nothing').hidden"),
        false
    );
    assert!(
        browser.text("#nothing").contains("Nothing found"),
        "{}",
        browser.text("#nothing")
    );
    assert_eq!(browser.violations(), Vec::<String>::new());
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium"]
fn a_search_is_stopped_where_it_stands_and_goes_on_from_there() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    haystack(&stack);
    // Parts of the search wait until the test lets them go.
    before_scripts(
        &mut browser,
        "const ask = window.fetch; window.gate = new Promise((open) => { window.open_gate = open; }); \
         window.fetch = (...all) => window.gate.then(() => ask(...all));",
    );
    browser.open("/ui/records?text=needle");
    browser.wait_for("document.querySelector('.seek').dataset.state === 'going'");
    let told = browser.text(".seek .told").replace('\u{a0}', " ");
    assert!(told.contains("back to 2023-11-14 22:13:20 UTC"), "{told}");
    assert_eq!(
        browser.value("document.querySelector('.seek button').hidden"),
        false
    );
    browser.click(".seek button");
    assert_eq!(
        browser.value("document.querySelector('.seek').dataset.state"),
        "stopped"
    );
    browser.value("window.open_gate()");
    let said = browser.text(".seek [role=status]");
    assert!(said.ends_with("Stopped."), "{said}");
    assert_eq!(
        browser.value("document.querySelector('.seek button').hidden"),
        true
    );
    let way = browser.value("document.querySelector('#ways a').getAttribute('href')");
    let way = way.as_str().unwrap().to_owned();
    assert!(way.contains("before=") && way.contains("looked="), "{way}");
    browser.open(&way);
    browser.value("window.open_gate()");
    browser.wait_for("document.querySelectorAll('#records tbody tr').length === 1");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn without_scripts_a_search_goes_on_by_its_button_and_says_how_far_it_is() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    haystack(&stack);
    let (mut path, mut pages) = ("/ui/records?text=needle".to_owned(), 0);
    let found = loop {
        let page = admin.get(&path).text();
        pages += 1;
        match way_on(&page) {
            _ if page.contains("data-record=") => break page,
            Some(way) => {
                assert!(page.contains("Records searched: "), "{path}");
                assert!(page.contains("Search older records"), "{path}");
                path = way;
            }
            None => panic!("not found by {path}"),
        }
    };
    assert!(pages > 2, "a page looks at 2,000 at most");
    let found = found.replace('\u{a0}', " ");
    assert!(found.contains("Searched all records of this filter: 4 501."));
}

/// What the browser was given to save.
const SAVED: &str = "window.saved = []; const make = URL.createObjectURL; \
    URL.createObjectURL = (blob) => { window.saved.push(blob); return make.call(URL, blob); };";

#[test]
#[ignore = "needs Chromium"]
fn an_export_says_how_far_it_is_and_saves_what_the_api_exports() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let texts = ["one", "two \"quoted\",\nin two lines", "three"];
    put(&stack, texts.map(|text| record(&stack, text)).into());
    before_scripts(&mut browser, SAVED);
    browser.open("/ui/records?verdict=clean");
    for (at, format) in ["csv", "jsonl"].into_iter().enumerate() {
        browser.click(&format!("a[download='records.{format}']"));
        browser.wait_for(&format!("window.saved.length === {}", at + 1));
        browser.wait_for("document.querySelector('.exporting').dataset.state === 'over'");
        assert_eq!(
            browser.text(".exporting .told"),
            "Records saved: 3",
            "{format}"
        );
        assert_eq!(browser.text(".exporting [role=status]"), "Records saved: 3");
        let api = format!("/records/export?verdict=clean&format={format}");
        let saved = browser.value(&format!("window.saved[{at}].text()"));
        assert_eq!(saved, stack.analysis(&api, KEY).text(), "{format}");
    }
    assert_eq!(
        browser.value("document.querySelector('.exporting button').hidden"),
        true
    );
    assert_eq!(browser.violations(), Vec::<String>::new());
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium"]
fn an_export_that_is_cancelled_or_breaks_off_saves_nothing() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    before_scripts(&mut browser, SAVED);
    // One line comes, and then nothing or a broken connection.
    before_scripts(
        &mut browser,
        "window.fetch = () => Promise.resolve(new Response(new ReadableStream({ \
         start(stream) { window.stream = stream; stream.enqueue(new TextEncoder().encode('{}\\n')); } }))); \
         window.followed = []; const follow = HTMLAnchorElement.prototype.click; \
         HTMLAnchorElement.prototype.click = function () { \
         if (this.isConnected) follow.call(this); else window.followed.push(this.href); };",
    );
    browser.open("/ui/records");
    browser.click("a[download='records.jsonl']");
    browser.wait_for(
        "document.querySelector('.exporting .told').textContent.startsWith('Records so far: 1 ')",
    );
    browser.click(".exporting button");
    browser.wait_for("document.querySelector('.exporting').dataset.state === 'over'");
    assert_eq!(
        browser.text(".exporting .told"),
        "Canceled. Nothing was saved."
    );
    browser.click("a[download='records.csv']");
    browser.wait_for(
        "document.querySelector('.exporting .told').textContent.startsWith('Records so far: 0 ')",
    );
    browser.value("window.stream.error(new TypeError('cut'))");
    browser.wait_for("document.querySelector('.exporting').dataset.state === 'over'");
    assert_eq!(
        browser.text(".exporting .told"),
        "The export was interrupted. Nothing was saved."
    );
    // One that is larger than the page keeps is left to the browser.
    browser.value("document.querySelector('[data-exports]').dataset.exports = '2'");
    browser.click("a[download='records.jsonl']");
    browser.wait_for("document.querySelector('.exporting').dataset.state === 'over'");
    let told = browser.text(".exporting .told");
    assert!(told.contains("the browser saves it directly"), "{told}");
    assert_eq!(
        browser.value(
            "window.followed.map((one) => new URL(one).pathname + new URL(one).search).join()"
        ),
        "/ui/records/export?format=jsonl"
    );
    assert_eq!(browser.value("window.saved.length"), 0);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[track_caller]
fn small(visitor: &mut Visitor, path: &str) -> String {
    let page = visitor.get(path);
    assert_eq!(page.status(), 200, "{path}");
    let page = page.text();
    assert!(page.len() <= PAGE, "{path}: {} bytes", page.len());
    page
}

#[test]
fn what_callers_send_along_leaves_pages_small() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let long = |piece: &str| piece.repeat(60_000 / piece.len());
    let large = |user: &str| {
        let mut one = record(&stack, &long("<ё>"));
        one.message = Some(long("\"&").into());
        one.user_id = Some(format!("{user}{}", long("ю<")));
        one.session_id = Some(format!("{user}{}", long("\"s")));
        one.exchange_id = Some(format!("{user}{}", long("&x")));
        one.rules_version = None;
        one.inline_rules = Some(json!({"rules": vec![long("r"); 4]}));
        let mut parameters = Map::new();
        parameters.insert("a large one".to_owned(), json!([long("<v>")]));
        parameters.extend((0..5_000).map(|n| (format!("p{n}"), json!("<>"))));
        let error = json!({"message": long("<e>"), "type": long("t"), "code": [long("c")]});
        parameters.insert("error".to_owned(), error);
        one.additional_parameters = parameters;
        let find = |start| Entity {
            kind: "EMAILS".into(),
            start,
            end: start + 1,
        };
        one.answer.dataclean.entities = (0..2_000).map(|n| find(2 * n)).collect();
        one
    };
    let users: Vec<_> = (0..50).map(|n| format!("{n:02}-")).collect();
    put(&stack, users.iter().map(|user| large(user)).collect());
    let list = small(&mut admin, "/ui/records");
    // A page is bounded in the bytes of its ids as well, and goes on.
    let older = regex::Regex::new(r#"class="button" href="(/ui/records\?before=[0-9]+)""#).unwrap();
    let (mut page, mut shown) = (list.clone(), 0);
    loop {
        shown += page.matches("data-record=").count();
        assert!(shown <= 50, "{shown}");
        match older.captures(&page) {
            Some(way) => page = small(&mut admin, &way[1]),
            None => break,
        }
    }
    assert_eq!(shown, 50);
    assert!(list.contains("49-ю&lt;ю") && !list.contains("user_id=49-"));
    assert!(small(&mut admin, "/ui/sessions").contains("49-&quot;s"));
    let way = regex::Regex::new("/ui/records/[0-9a-f-]{36}").unwrap();
    let way = way.find(&list).unwrap().as_str();
    let page = small(&mut admin, way);
    for part in ["a large one", "Only the beginning is shown", "49-ю&lt;"] {
        assert!(page.contains(part), "{part}");
    }
    let whole = admin.get(&format!("{way}/json")).text();
    assert!(
        whole.contains(&long("<v>")) && whole.contains("p4999"),
        "whole in the file"
    );
}

#[test]
fn a_conversation_of_long_messages_is_small() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let message = |_| {
        let mut one = record(&stack, &"\"<".repeat(50_000));
        one.session_id = Some("talk".to_owned());
        one
    };
    put(&stack, (0..20).map(message).collect());
    let id = stack.application_id();
    let path = format!("/ui/sessions/one?application_id={id}&session_id=talk");
    let page = small(&mut admin, &path);
    assert_eq!(page.matches("/ui/records/").count(), 20);
}

#[test]
fn a_name_of_ordinary_length_still_leads_on() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let name = format!("{}@example.org", "n".repeat(300));
    let mut one = record(&stack, "text");
    one.user_id = Some(name.clone());
    one.session_id = Some(name.clone());
    put(&stack, vec![one]);
    let way = regex::Regex::new(r#"href="(/ui/[^"]*(?:user|session)_id=nnn[^"]*)""#).unwrap();
    for path in ["/ui/records", "/ui/sessions"] {
        let page = admin.get(path).text();
        let ways: Vec<_> = way
            .captures_iter(&page)
            .map(|way| way[1].replace("&amp;", "&"))
            .collect();
        assert!(!ways.is_empty(), "{path}");
        for way in ways {
            let page = admin.get(&way).text();
            let leads_on = page.contains("data-record=") || page.contains("class=\"conversation\"");
            assert!(leads_on, "{way}");
        }
    }
}

#[test]
fn every_application_leads_to_its_first_steps_however_many_there_are() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let mut last = String::new();
    for number in 0..105 {
        last = add_application(&stack, &json!({"name": format!("bot {number}")}));
    }
    let page = admin.get(&format!("/ui/applications/{last}")).text();
    let way = format!("/ui/first-steps?application_id={last}");
    assert!(page.contains(&format!("href=\"{way}\"")), "{page}");
    let page = admin.get(&way).text();
    let chosen = format!("type=\"hidden\" name=\"application_id\" value=\"{last}\"");
    assert!(page.contains(&chosen), "{page}");
    assert!(page.contains("<strong>bot 104</strong>"), "{page}");
}
