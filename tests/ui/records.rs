//! Records and sessions: finding one, reading it, following a list while it is open, saving.

use crate::accounts::colleague;
use crate::defence::add_application;
use crate::world::{administrator, administrators_browser};
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
    for wrong in ["verdict=odd", "from=soon", "application_id=nobody"] {
        let page = admin.get(&format!("/ui/records?{wrong}"));
        assert_eq!(page.status(), 422, "{wrong}");
        assert!(page.text().contains("role=\"alert\""), "{wrong}");
    }
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
    assert_eq!(
        browser.value("document.querySelectorAll('main mark').length"),
        1
    );
    assert_eq!(
        browser.value("document.querySelector('main mark').firstChild.textContent"),
        "ivan@example.org"
    );
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

#[test]
fn a_file_is_only_ever_saved() {
    const EVIL: &str = "<img src=x onerror=alert(1)>.html";
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "orders");
    let record = keep(
        &stack,
        "pre",
        &json!({"application_id": id, "message": "see file"}),
    );
    attach(&stack, &record, EVIL, "<script>alert(1)</script>");
    let page = admin.get(&format!("/ui/records/{record}")).text();
    assert!(page.contains("&lt;img src=x") && !page.contains("<img src=x"));
    let link = regex::Regex::new("/ui/records/[^\"]+/attachments/[0-9a-f]{64}").unwrap();
    let file = admin.get(link.find(&page).unwrap().as_str());
    assert_eq!(file.text(), "<script>alert(1)</script>");
    for (name, expected) in [
        ("content-type", "application/octet-stream"),
        ("x-content-type-options", "nosniff"),
        // The handler's own, stricter than the page's.
        ("content-security-policy", "default-src 'none'; sandbox"),
        ("cache-control", "private, no-store"),
        ("x-frame-options", "DENY"),
    ] {
        assert_eq!(file.head.values(name), [expected], "{name}");
        assert_eq!(file.head.header(name), Some(expected));
    }
    let saved = file.head.header("content-disposition").unwrap();
    assert!(saved.starts_with("attachment"), "{saved}");
}

#[test]
fn records_of_another_tenant_are_not_found_and_developers_read_none() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let (own, other) = (keeping(&stack, "own"), keeping(&stack, "other"));
    let talk = |id: &str| json!({"application_id": id, "message": "hidden thing", "additional_parameters": {"session_id": "s"}});
    let record = keep(&stack, "pre", &talk(&other));
    let mine = keep(&stack, "pre", &talk(&own));
    attach(&stack, &record, "a.txt", "text");
    let page = admin.get(&format!("/ui/records/{record}")).text();
    let file = regex::Regex::new("/ui/records/[^\"]+/attachments/[0-9a-f]{64}").unwrap();
    let file = file.find(&page).unwrap().as_str().to_owned();
    let mut tenant = colleague(&stack, &mut admin, ("tenant", "analyst"), &own);
    for path in [
        format!("/ui/records/{record}"),
        format!("/ui/records/{record}/json"),
        file,
        "/ui/records/nonsense".to_owned(),
        format!("/ui/records?application_id={other}"),
        format!("/ui/records/live?application_id={other}"),
        format!("/ui/records/export?format=csv&application_id={other}"),
        format!("/ui/sessions?application_id={other}"),
        format!("/ui/sessions/one?application_id={other}&session_id=s"),
    ] {
        assert_eq!(tenant.get(&path).status(), 404, "{path}");
    }
    for path in [
        "/ui/records",
        "/ui/records/export?format=jsonl",
        "/ui/sessions",
    ] {
        let page = tenant.get(path).text();
        assert!(!page.contains(&record) && !page.contains(&other), "{path}");
    }
    assert!(tenant.get("/ui/records").text().contains(&mine));
    let mut developer = colleague(&stack, &mut admin, ("dev", "developer"), "");
    for path in [
        "/ui/records",
        "/ui/records/live",
        &format!("/ui/records/{mine}"),
        &format!("/ui/records/{mine}/json"),
        "/ui/records/export?format=csv",
        "/ui/sessions",
        &format!("/ui/sessions/one?application_id={own}&session_id=s"),
    ] {
        assert_eq!(developer.get(path).status(), 403, "{path}");
    }
    let mut nobody = support::visitor::Visitor::new(stack.analysis_addr);
    assert_eq!(nobody.get("/ui/records/live").status(), 303);
}

#[test]
#[ignore = "needs Chromium"]
fn texts_of_records_never_become_code() {
    const EVIL: &str =
        "\"'><img src=x onerror=window.evil=1><script>window.evil=1</script>\n</table>";
    let stack = Stack::all().start();
    let mut browser = administrators_browser(&stack);
    let id = keeping(&stack, EVIL.trim_end().lines().next().unwrap());
    browser.open("/ui/records");
    browser.wait_for("document.querySelector('[data-tail]').dataset.state === 'going'");
    let body = json!({"application_id": id, "message": format!("{EVIL} a@example.org {EVIL}"),
        "additional_parameters": {"user_id": EVIL, "session_id": EVIL, "request_id": EVIL, EVIL: EVIL,
            "error": {"type": EVIL, "message": EVIL, "closed_by": EVIL, "code": EVIL}}});
    let record = keep(&stack, "pre", &body);
    browser.wait_for("document.querySelectorAll('#records tbody tr').length === 1");
    let harmless = "window.evil === undefined && !document.querySelector('img[src=x]')";
    assert_eq!(browser.value(harmless), true, "by the live tail");
    let mut session = url::form_urlencoded::Serializer::new(String::new());
    session.extend_pairs([("application_id", id.as_str()), ("session_id", EVIL)]);
    for path in [
        "/ui/records".to_owned(),
        format!("/ui/records?{}", session.finish()),
        format!("/ui/records/{record}"),
        "/ui/sessions".to_owned(),
    ] {
        browser.open(&path);
        assert!(
            browser.text("body").contains("onerror"),
            "{path} shows the text"
        );
        assert_eq!(browser.value(harmless), true, "{path}");
    }
    browser.click("table.records th a");
    browser.wait_for("document.querySelector('.conversation mark') !== null");
    assert_eq!(browser.value(harmless), true, "the conversation");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
