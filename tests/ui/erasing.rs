//! Erasing a user in the web UI (UI.md D): typed twice, in the audit log, for administrators and developers.

use crate::accounts::colleague;
use crate::records::{keep, keeping};
use crate::world::administrator;
use serde_json::json;
use support::KEY;
use support::stack::Stack;

fn left(stack: &Stack, user: &str) -> usize {
    let list = stack
        .analysis(&format!("/records?user_id={user}"), KEY)
        .json();
    list["records"].as_array().unwrap().len()
}

#[test]
fn ui_d_a_user_is_erased_once_typed_twice_and_the_audit_log_knows() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "orders");
    for (user, message) in [("anna", "one"), ("anna", "two"), ("boris", "three")] {
        let body = json!({"application_id": id, "message": message, "additional_parameters": {"user_id": user}});
        keep(&stack, "pre", &body);
    }
    let page = admin.get("/ui/erasure?user_id=anna").text();
    assert!(page.contains("value=\"anna\""), "{page}");
    let wrong = [("user_id", "anna"), ("confirmation", "boris")];
    let refused = admin.post("/ui/erasure", &wrong);
    assert_eq!(refused.status(), 422);
    let page = refused.text();
    assert!(page.contains("is not the same user as above"), "{page}");
    assert!(page.contains("value=\"anna\""), "what was typed stays");
    assert_eq!(left(&stack, "anna"), 2);
    let both = [("user_id", " anna"), ("confirmation", "anna")];
    let erased = admin.post("/ui/erasure", &both);
    assert_eq!(erased.status(), 200);
    let page = erased.text();
    assert!(page.contains("Erased: 2 records, 0 files"), "{page}");
    assert_eq!((left(&stack, "anna"), left(&stack, "boris")), (0, 1));
    let log = admin.get("/ui/audit?action=records.erase").text();
    let lines = log.matches("<th role=\"rowheader\"").count();
    assert_eq!(lines, 2, "begun and complete: {log}");
    assert!(
        log.contains("begun, not complete") && !log.contains("anna"),
        "{log}"
    );
    let empty = [("user_id", " "), ("confirmation", "")];
    assert_eq!(admin.post("/ui/erasure", &empty).status(), 422);
}

#[test]
fn ui_d_analysts_erase_nobody_and_tenants_in_their_application_alone() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let (own, other) = (keeping(&stack, "own"), keeping(&stack, "other"));
    for id in [&own, &other] {
        let body = json!({"application_id": id, "message": "hello", "additional_parameters": {"user_id": "anna"}});
        keep(&stack, "pre", &body);
    }
    let both = [("user_id", "anna"), ("confirmation", "anna")];
    let mut analyst = colleague(&stack, &mut admin, ("ann", "analyst"), "");
    assert_eq!(analyst.get("/ui/erasure").status(), 403);
    assert_eq!(analyst.post("/ui/erasure", &both).status(), 403);
    let mut tenant = colleague(&stack, &mut admin, ("tenant", "developer"), &own);
    tenant.get("/ui/erasure");
    let theirs = [&both[..], &[("application_id", other.as_str())]].concat();
    assert_eq!(tenant.post("/ui/erasure", &theirs).status(), 404);
    assert_eq!(tenant.post("/ui/erasure", &both).status(), 200);
    assert_eq!(left(&stack, "anna"), 1, "that of the other application");
}
