//! Triage in the web UI (UI.md B1): the queue, the panel of a record, and the way from a false alarm to an exception.
//! All of it works without scripts.

use crate::accounts::colleague;
use crate::records::{keep, keeping};
use crate::world::administrator;
use serde_json::json;
use support::stack::Stack;
use support::visitor::Visitor;

fn prompt(stack: &Stack, application: &str, user: &str) -> String {
    let body = json!({"application_id": application, "message": "write to anna@example.org, please",
        "additional_parameters": {"user_id": user}});
    keep(stack, "pre", &body)
}

fn page(visitor: &mut Visitor, path: &str) -> String {
    let page = visitor.get(path);
    assert_eq!(page.status(), 200, "{path}: {}", page.text());
    page.text()
}

fn rows(page: &str) -> usize {
    page.matches("name=\"id\"").count()
}

#[test]
fn b1_a_finding_is_closed_on_its_record_with_a_reason_and_leads_to_an_exception() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let application = keeping(&stack, "orders");
    let record = prompt(&stack, &application, "u1");
    let address = format!("/ui/records/{record}");
    let queue = page(&mut admin, "/ui/findings");
    assert!(queue.contains(&format!("{address}#triage")), "{queue}");
    let shown = page(&mut admin, &address);
    assert!(
        shown.contains(&format!("action=\"{address}/triage\"")),
        "{shown}"
    );
    let triage = format!("{address}/triage");
    let wrong = [("state", "false_alarm"), ("state_was", "open")];
    let refused = admin.post(&triage, &wrong);
    assert_eq!(refused.status(), 422);
    assert!(refused.text().contains("is required to close a finding"));
    let right = [
        ("state", "false_alarm"),
        ("state_was", "open"),
        ("reason", "not_sensitive"),
        ("assignee", "admin"),
        ("assignee_was", ""),
        ("note", "our own address"),
    ];
    let decided = admin.post(&triage, &right);
    assert_eq!(decided.status(), 303, "{}", decided.text());
    let shown = page(&mut admin, &address);
    for part in [
        "false alarm",
        "Not sensitive",
        "our own address",
        "open → false alarm",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert_eq!(rows(&page(&mut admin, "/ui/findings")), 0);
    assert_eq!(
        rows(&page(
            &mut admin,
            "/ui/findings?state=false_alarm&assignee=admin"
        )),
        1
    );
    let exception = format!("/ui/applications/{application}/exception");
    assert!(
        shown.contains(&format!("action=\"{exception}\"")),
        "{shown}"
    );
    page(&mut admin, &address);
    let form = admin.post(&exception, &[("record", &record)]);
    assert_eq!(form.status(), 200);
    let form = form.text();
    assert!(form.contains("anna@example\\.org"), "{form}");
    assert!(form.contains("Not saved yet."), "{form}");
    let precision = page(&mut admin, "/ui/findings/precision");
    assert!(
        precision.contains("EMAILS") && precision.contains("0 %"),
        "{precision}"
    );
    let audit = page(&mut admin, "/ui/audit?action=finding.triage");
    assert!(audit.contains("decided about a finding"), "{audit}");
}

#[test]
fn b1_ticked_findings_are_decided_at_once_with_those_that_are_alike() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let application = keeping(&stack, "orders");
    let first = prompt(&stack, &application, "u1");
    let second = prompt(&stack, &application, "u1");
    prompt(&stack, &application, "u2");
    let queue = page(&mut admin, "/ui/findings");
    assert_eq!(rows(&queue), 2, "{queue}");
    assert!(queue.contains("× 2"), "{queue}");
    assert_eq!(rows(&page(&mut admin, "/ui/findings?each=true")), 3);
    let nothing = [
        ("state", "confirmed"),
        ("reason", "real_data"),
        ("filter", ""),
    ];
    let refused = admin.post("/ui/findings/bulk", &nothing);
    assert_eq!(refused.status(), 422);
    assert!(refused.text().contains("select at least one finding"));
    let fields = [
        ("id", second.as_str()),
        ("alike", "on"),
        ("state", "confirmed"),
        ("reason", "real_data"),
        ("filter", "user_id=u1"),
    ];
    let decided = admin.post("/ui/findings/bulk", &fields);
    assert_eq!(decided.status(), 303);
    let place = decided.head.header("location");
    assert_eq!(place, Some("/ui/findings?user_id=u1"));
    assert_eq!(rows(&page(&mut admin, "/ui/findings?each=true")), 1);
    let shown = page(&mut admin, &format!("/ui/records/{first}"));
    assert!(
        shown.contains("Real data that must not be there"),
        "{shown}"
    );
}

#[test]
fn b1_reviewers_decide_and_developers_see_no_findings() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let application = keeping(&stack, "orders");
    let record = prompt(&stack, &application, "u1");
    let mut reviewer = colleague(&stack, &mut admin, ("rita", "reviewer"), "");
    let mut developer = colleague(&stack, &mut admin, ("dan", "developer"), "");
    assert_eq!(developer.get("/ui/findings").status(), 403);
    let address = format!("/ui/records/{record}");
    page(&mut reviewer, &address);
    let fields = [
        ("state", "false_alarm"),
        ("state_was", "open"),
        ("reason", "test_data"),
    ];
    let decided = reviewer.post(&format!("{address}/triage"), &fields);
    assert_eq!(decided.status(), 303, "{}", decided.text());
    // Whoever cannot change the application is not led to its form.
    let shown = page(&mut reviewer, &address);
    assert!(!shown.contains("/exception"), "{shown}");
    let exception = format!("/ui/applications/{application}/exception");
    let refused = reviewer.post(&exception, &[("record", &record)]);
    assert_eq!(refused.status(), 403);
    reviewer.post("/ui/preferences", &[("language", "ru"), ("next", "/ui")]);
    let queue = page(&mut reviewer, "/ui/findings?state=all");
    assert!(
        queue.contains("Срабатывания") && queue.contains("ложное"),
        "{queue}"
    );
}
