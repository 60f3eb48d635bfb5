//! What a record must not do and who must not read it: files and texts that never become code in the page, and
//! records of another tenant.

use crate::accounts::colleague;
use crate::records::{attach, keep, keeping};
use crate::world::{administrator, administrators_browser};
use serde_json::json;
use support::stack::Stack;

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
