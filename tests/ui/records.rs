//! Records and sessions: finding one, reading it, following a list while it is open, saving.

use crate::defence::add_application;
use crate::world::{ADMIN, PASSWORD, administrator, administrators_browser};
use serde_json::{Value, json};
use support::KEY;
use support::http::Response;
use support::request::Request;
use support::stack::Stack;

/// Keeps a prompt (`pre`) or an answer of an application; gives the record's id.
#[track_caller]
pub(crate) fn keep(stack: &Stack, stage: &str, body: &Value) -> String {
    let path = match stage {
        "pre" => "/process_request/",
        _ => "/process_response/",
    };
    let kept = send(stack, (path, KEY), body);
    assert_eq!(kept.status(), 200, "{}", kept.text());
    kept.json()["request_id"].as_str().unwrap().to_owned()
}

/// Sends a prompt with a token; gives the answer's status.
#[track_caller]
pub(crate) fn keep_with(stack: &Stack, key: &str, body: &Value) -> u16 {
    send(stack, ("/process_request/", key), body).status()
}

pub(crate) fn send(stack: &Stack, (path, key): (&str, &str), body: &Value) -> Response {
    Request::post(path, body.to_string())
        .without_key()
        .header("Authorization", &format!("Bearer {key}"))
        .call(stack.analysis_addr)
}

/// Attaches a file to a prompt.
#[track_caller]
pub(crate) fn attach(stack: &Stack, record: &str, name: &str, content: &str) {
    let body = format!(
        "--x\r\ncontent-disposition: form-data; name=\"attached_files\"; filename=\"{name}\"\r\n\
         content-type: text/plain\r\n\r\n{content}\r\n--x--\r\n"
    );
    let path = format!("/user_prompt_analysis/{record}/attach_files");
    let attached = Request::post(&path, body)
        .content_type("multipart/form-data; boundary=x")
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
        .call(stack.analysis_addr);
    assert_eq!(attached.status(), 200, "{}", attached.text());
}

/// An application that keeps what was said.
pub(crate) fn keeping(stack: &Stack, name: &str) -> String {
    add_application(
        stack,
        &json!({"name": name, "policy": {"app_mode": "sync", "phrase": "No."}, "rules": {
            "keep_original": true, "pre": {"dataclean": {"patterns": ["EMAILS"]}}}}),
    )
}

fn rows(page: &str) -> usize {
    page.matches("data-record=").count()
}

#[test]
fn contract_38_the_list_has_filters_and_keyset_pages() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "orders");
    for number in 0..60 {
        let user = if number % 20 == 0 { "ann" } else { "bob" };
        let text = if number == 7 { "Needle <7>" } else { "hay" };
        keep(
            &stack,
            "pre",
            &json!({"application_id": id, "message": text,
            "additional_parameters": {"user_id": user, "session_id": "s & 1"}}),
        );
    }
    let first = admin.get("/ui/records?text=&verdict=").text();
    assert_eq!(rows(&first), 50, "what is left empty is no filter");
    let older = regex::Regex::new(r#"/ui/records\?before=[0-9]+"#).unwrap();
    let older = older.find(&first).unwrap().as_str().to_owned();
    assert_eq!(rows(&admin.get(&older).text()), 10);
    for (query, expected) in [
        ("user_id=ann", 3),
        ("application_id=Orders&user_id=bob", 50),
        ("text=needle", 1),
        ("session_id=s+%26+1&user_id=ann", 3),
        ("stage=post", 0),
        ("verdict=clean", 50),
        ("verdict=dataclean", 0),
        ("from=2020-01-01T00:00&to=2020-01-02T00:00", 0),
    ] {
        let page = admin.get(&format!("/ui/records?{query}"));
        assert_eq!(
            (page.status(), rows(&page.text())),
            (200, expected),
            "{query}"
        );
    }
    for wrong in [
        "verdict=odd",
        "from=soon",
        "application_id=nobody",
        "from=2020-01-02T00:00&to=2020-01-01T00:00",
    ] {
        let page = admin.get(&format!("/ui/records?{wrong}"));
        assert_eq!(page.status(), 422, "{wrong}");
        assert!(page.text().contains("role=\"alert\""), "{wrong}");
    }
    // A type that no finding has is said to be unknown, with the one that is meant.
    let page = admin.get("/ui/records?type=card").text();
    assert!(
        page.contains("role=\"alert\"") && page.contains("type=BANK_CARD_NUMBER"),
        "{page}"
    );
    let page = admin.get("/ui/records?type=BANK_CARD_NUMBER").text();
    assert!(!page.contains("role=\"alert\""), "{page}");
}

#[test]
#[ignore = "needs Chromium"]
fn contract_37_a_record_shows_both_texts_its_finds_by_code_points_and_who_closed_it() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let id = keeping(&stack, "orders");
    let prompt = keep(
        &stack,
        "pre",
        &json!({"application_id": id, "message": "𝕏 Пишите ivan@example.org, ёж"}),
    );
    attach(&stack, &prompt, "note.txt", "mail to eve@example.org");
    browser.open(&format!("/ui/records/{prompt}"));
    let marks =
        "[...document.querySelectorAll('main mark')].map(one => one.firstChild.textContent).join()";
    assert_eq!(browser.value(marks), "[EMAILS]");
    browser.click("#reveal button");
    browser.wait_for("location.pathname.endsWith('/original')");
    browser.wait_for("document.querySelector('main mark') !== null");
    assert_eq!(browser.value(marks), "ivan@example.org");
    let page = browser.text("main");
    for text in [
        "Пишите [EMAILS], ёж",
        "blocked",
        "EMAILS × 1",
        "version 1",
        "note.txt",
    ] {
        assert!(page.contains(text), "{text} in {page}");
    }
    let error =
        json!({"type": "timeout", "code": 504, "message": "silent", "closed_by": "upstream"});
    let answer = keep(
        &stack,
        "post",
        &json!({"application_id": id, "message": "half an ans",
            "additional_parameters": {"error": error, "incomplete": true, "tenant": "blue"}}),
    );
    browser.open(&format!("/ui/records/{answer}"));
    let page = browser.text("main");
    for text in [
        "the model server",
        "timeout",
        "504",
        "silent",
        "incomplete",
        "tenant",
        "blue",
    ] {
        assert!(page.contains(text), "{text} in {page}");
    }
}

#[test]
fn a_session_reads_as_a_conversation() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "orders");
    for number in 0..12 {
        for (stage, text) in [("pre", "question"), ("post", "reply")] {
            keep(
                &stack,
                stage,
                &json!({"application_id": id, "message": format!("{text} {number}."),
                "additional_parameters": {"session_id": "talk/1", "user_id": "ann"}}),
            );
        }
    }
    let list = admin.get("/ui/sessions?application_id=orders").text();
    let link = regex::Regex::new(r#"/ui/sessions/one\?[^"]+"#).unwrap();
    let link = link.find(&list).unwrap().as_str().replace("&amp;", "&");
    let page = admin.get(&link).text();
    let at = |text: &str| {
        page.find(text)
            .unwrap_or_else(|| panic!("{text} in {page}"))
    };
    assert!(at("question 2.") < at("reply 2.") && at("reply 2.") < at("question 11."));
    assert!(!page.contains("question 1."), "twenty of twenty-four");
    let earlier = regex::Regex::new(r#"/ui/sessions/one\?[^"]*before=[0-9]+"#).unwrap();
    let earlier = earlier.find(&page).unwrap().as_str().replace("&amp;", "&");
    assert!(admin.get(&earlier).text().contains("question 1."));
}

#[test]
#[ignore = "needs Chromium"]
fn a_blocked_request_appears_in_the_open_list_and_signing_out_ends_it() {
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let id = keeping(&stack, "orders");
    browser.open("/ui/records?verdict=blocked");
    browser.wait_for("document.querySelector('[data-tail]').dataset.state === 'going'");
    assert_eq!(
        browser.value("document.querySelector('#records').hidden"),
        true
    );
    browser.value("window.unchanged = true");
    keep(
        &stack,
        "pre",
        &json!({"application_id": id, "message": "harmless"}),
    );
    let chat =
        json!({"model": "m", "messages": [{"role": "user", "content": "to ivan@example.org"}]});
    let answer = Request::chat(chat.to_string())
        .header("X-Application-Id", &id)
        .call(stack.gateway_addr);
    assert_eq!(
        answer.json()["metadata"]["monitor"]["response_replaced"],
        true
    );
    browser.wait_for("document.querySelectorAll('#records tbody tr').length === 1");
    let row = browser.text("#records tbody tr");
    assert!(
        row.contains("blocked") && row.contains("EMAILS × 1"),
        "{row}"
    );
    assert_eq!(browser.value("window.unchanged"), true, "without a reload");
    browser.value(
        "fetch('/ui/sign-out', {method: 'POST', body: new URLSearchParams(new FormData(\
         document.querySelector('form[action=\"/ui/sign-out\"]')))}).then(() => true)",
    );
    browser.wait_for("document.querySelector('[data-tail]').dataset.state === 'over'");
    let told = "document.querySelector('[data-tail] .problem:not([hidden])').textContent";
    let told = browser.value(told).as_str().unwrap().to_owned();
    assert!(told.contains("your session has ended"), "{told}");
    browser.click("[data-tail] .problem:not([hidden]) a");
    browser.wait_for("location.pathname === '/ui/sign-in'");
    browser.fill("input[name=name]", ADMIN);
    browser.fill("input[name=password]", PASSWORD);
    browser.click("form.stack button.primary");
    browser.wait_for("location.search === '?verdict=blocked'");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn what_is_saved_is_what_the_filter_shows() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "orders");
    for (user, message) in [("ann", "=1+1"), ("bob", "two"), ("ann", "three")] {
        keep(
            &stack,
            "pre",
            &json!({"application_id": id, "message": message, "additional_parameters": {"user_id": user}}),
        );
    }
    for format in ["csv", "jsonl"] {
        let own = admin.get(&format!("/ui/records/export?user_id=ann&format={format}"));
        let api = stack.analysis(&format!("/records/export?user_id=ann&format={format}"), KEY);
        assert_eq!(own.text(), api.text(), "{format}");
        let saved = own.head.header("content-disposition").unwrap();
        assert!(saved.starts_with("attachment"), "{saved}");
    }
    let record = keep(
        &stack,
        "pre",
        &json!({"application_id": id, "message": "four"}),
    );
    let json = admin.get(&format!("/ui/records/{record}/json"));
    assert_eq!(
        json.json(),
        stack.analysis(&format!("/records/{record}"), KEY).json()
    );
    assert_eq!(admin.get("/ui/records/export?format=exe").status(), 404);
}
