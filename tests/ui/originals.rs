//! Originals in the web UI: masked until somebody reveals them, which the audit log knows, and not there at all for
//! reviewers.

use crate::accounts::colleague;
use crate::records::{attach, keep, keeping};
use crate::world::administrator;
use serde_json::json;
use support::stack::Stack;
use support::visitor::Visitor;

const SECRET: &str = "anna@example.org";

/// A prompt with the secret and with a file of that name, in a session.
fn prompt(stack: &Stack, application: &str) -> String {
    let body = json!({"application_id": application, "message": format!("write to {SECRET}, please"),
        "additional_parameters": {"session_id": "s", "note": format!("of {SECRET}")}});
    let record = keep(stack, "pre", &body);
    attach(stack, &record, &format!("{SECRET}.txt"), "text");
    record
}

/// The lines of the audit log about this action.
fn lines(admin: &mut Visitor, action: &str) -> usize {
    let page = admin.get(&format!("/ui/audit?action={action}")).text();
    page.matches("<th role=\"rowheader\"").count()
}

#[test]
fn an_original_is_masked_until_it_is_revealed_and_on_the_next_visit_again() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "orders");
    let record = prompt(&stack, &id);
    let path = format!("/ui/records/{record}");
    let session = format!("/ui/sessions/one?application_id={id}&session_id=s");
    let masked = "write to <mark title=\"EMAILS\">[EMAILS]";
    let whole = "write to <mark title=\"EMAILS\">anna@example.org";
    for page in [&path, &session] {
        let page = admin.get(page).text();
        assert!(page.contains(masked) && !page.contains(whole), "{page}");
    }
    assert_eq!(lines(&mut admin, "record.read_original"), 0);
    // The form of the page, as a browser without scripts sends it.
    let page = admin.get(&path).text();
    let form = format!("method=\"post\" action=\"{path}/original\"");
    assert!(page.contains(&form), "{page}");
    let revealed = admin.post(&format!("{path}/original"), &[]);
    assert_eq!(revealed.status(), 200);
    assert_eq!(revealed.head.header("cache-control"), Some("no-store"));
    assert!(revealed.text().contains(whole), "{}", revealed.text());
    assert_eq!(lines(&mut admin, "record.read_original"), 1);
    assert!(!admin.get(&path).text().contains(whole), "the next visit");
    let page = admin.get(&session).text();
    assert!(
        page.contains("action=\"/ui/sessions/one/original?"),
        "{page}"
    );
    let of_session = session.replace("/one?", "/one/original?");
    let revealed = admin.post(&of_session, &[]).text();
    assert!(revealed.contains(whole), "{revealed}");
    assert_eq!(lines(&mut admin, "record.read_original"), 2);
    assert!(
        !admin.get(&session).text().contains(whole),
        "the next visit"
    );
    assert_eq!(
        admin.get(&format!("{path}/original")).status(),
        404,
        "it takes a form"
    );

    // Files that are saved have their lines as well, each with a link to its record.
    assert!(admin.get(&format!("{path}/json")).text().contains(SECRET));
    assert_eq!(lines(&mut admin, "record.read_original"), 3);
    let file = regex::Regex::new(r#"href="(/ui/records/[^"]+/attachments/[^"]+)""#).unwrap();
    let page = admin.get(&path).text();
    let file = file.captures(&page).unwrap()[1].replace("&amp;", "&");
    assert_eq!(admin.get(&file).text(), "text");
    assert_eq!(lines(&mut admin, "attachment.download"), 1);
    let export = admin.get("/ui/records/export?format=jsonl&user_id=&verdict=dataclean");
    assert!(export.text().contains(SECRET));
    let page = admin.get("/ui/audit").text();
    assert_eq!(
        page.matches(&format!("href=\"{path}\"")).count(),
        4,
        "{page}"
    );
    for part in ["exported records", "verdict: ", "dataclean", "records: "] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("anna"), "{page}");
}

#[test]
fn a_reviewer_sees_cleaned_texts_and_no_original_anywhere() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "orders");
    let record = prompt(&stack, &id);
    let path = format!("/ui/records/{record}");
    let page = admin.get(&path).text();
    let file = regex::Regex::new("/ui/records/[^\"]+/attachments/[0-9a-f]{64}").unwrap();
    let file = file.find(&page).unwrap().as_str().to_owned();
    let mut reviewer = colleague(&stack, &mut admin, ("rita", "reviewer"), "");
    let session = format!("/ui/sessions/one?application_id={id}&session_id=s");
    for (page, part) in [
        ("/ui/overview", "<h1>Overview"),
        ("/ui/records", "EMAILS × 1"),
        (path.as_str(), "write to [EMAILS], please"),
        (&format!("{path}/json"), "write to [EMAILS], please"),
        (&session, "write to <mark title=\"EMAILS\">[EMAILS]"),
        ("/ui/sessions", "orders"),
        ("/ui/applications", "orders"),
        ("/ui/records/export?format=csv", "write to [EMAILS], please"),
        (
            "/ui/records/export?format=jsonl",
            "write to [EMAILS], please",
        ),
    ] {
        let shown = reviewer.get(page);
        assert_eq!(shown.status(), 200, "{page}");
        let shown = shown.text();
        assert!(shown.contains(part), "{part} in {page}: {shown}");
        assert!(
            !shown.contains("anna") && !shown.contains("name=\"text\""),
            "{page}: {shown}"
        );
    }
    let page = reviewer.get(&path).text();
    assert!(
        !page.contains("/original") && !page.contains("/attachments/"),
        "{page}"
    );
    for page in [
        file.as_str(),
        "/ui/audit",
        "/ui/users",
        "/ui/tokens",
        "/ui/applications/new",
    ] {
        assert_eq!(reviewer.get(page).status(), 403, "{page}");
    }
    assert_eq!(
        reviewer.post(&format!("{path}/original"), &[]).status(),
        403
    );
    let of_session = session.replace("/one?", "/one/original?");
    assert_eq!(reviewer.post(&of_session, &[]).status(), 403);
    let replay = format!("/ui/applications/{id}/replay");
    assert_eq!(reviewer.post(&replay, &[]).status(), 403);
    for page in [
        "/ui/records?text=anna",
        "/ui/records/export?format=csv&text=anna",
    ] {
        assert_eq!(reviewer.get(page).status(), 422, "{page}");
    }
    assert_eq!(lines(&mut admin, "record.read_original"), 0);
}
