//! What a draft does, in words: the page that says what each check saw, and the replay of stored records.

use crate::records::{keep, keeping};
use crate::world::administrator;
use serde_json::json;
use support::stack::Stack;
use support::visitor::Visitor;

/// The form of an application with checks of prompts.
fn form<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let common = [
        ("name", "orders"),
        ("version", "1"),
        ("mode", "sync"),
        ("phrase", "No."),
        ("stream_in_sync", "off"),
        ("on_backend_failure", "open"),
        ("scan_roles", "last_user"),
        ("block.dataclean", "on"),
        ("pre.guardrails", "on"),
        ("pre.category_on", "jailbreak"),
        ("pre.clean_type", "MASKING"),
        ("pre.mask_style", "label"),
        ("post.clean_type", "MASKING"),
        ("post.mask_style", "label"),
        ("pre.encoding", "o200k_base"),
        ("post.encoding", "o200k_base"),
        ("pre.which", "all"),
        ("post.which", "all"),
    ];
    [&common[..], more].concat()
}

#[test]
fn ui_d_a_page_says_what_each_check_saw_in_a_text_and_nothing_is_stored() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let page = admin.get("/ui/applications/new").text();
    assert!(page.contains("formaction=\"/ui/applications/explain\""));
    let tried = form(&[
        ("pre.dataclean", "on"),
        ("try.text", "Write to ivan@example.org and anna@example.org"),
        ("pre.policy.name", "no loans"),
        ("pre.policy.prompt", "Nobody is offered a loan."),
    ]);
    let explained = admin.post("/ui/applications/explain", &tried);
    assert_eq!(explained.status(), 200, "{}", explained.text());
    let page = explained.text();
    for part in [
        "What each check saw",
        "on, blocks",
        "2 findings",
        "ivan@example.org",
        "9–25",
        "1 policy",
        "not asked here",
        "would be blocked",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let off = form(&[("try.text", "Write to ivan@example.org")]);
    let page = admin.post("/ui/applications/explain", &off).text();
    assert!(
        page.contains("would pass") && !page.contains("1 finding"),
        "{page}"
    );
    let empty = admin.post("/ui/applications/explain", &form(&[]));
    assert!(empty.text().contains("Enter a text above first"));
    let wrong = form(&[
        ("pre.dataclean", "on"),
        ("pre.custom.name", "X"),
        ("pre.custom.regex", "("),
        ("try.text", "x"),
    ]);
    assert_eq!(admin.post("/ui/applications/explain", &wrong).status(), 422);
    let records = admin.get("/ui/records").text();
    assert!(!records.contains("data-record="), "{records}");
}

fn replayed(admin: &mut Visitor, id: &str, more: &[(&str, &str)]) -> (u16, String) {
    let path = format!("/ui/applications/{id}/replay");
    let answer = admin.post(&path, &form(more));
    (answer.status(), answer.text())
}

#[test]
fn ui_d_a_replay_says_how_many_verdicts_change_and_groups_them_by_what_changes() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let id = keeping(&stack, "orders");
    for message in ["to ivan@example.org", "to anna@example.org", "ORD-123456"] {
        keep(
            &stack,
            "pre",
            &json!({"application_id": id, "message": message}),
        );
    }
    admin.get(&format!("/ui/applications/{id}"));
    let (status, lost) = replayed(&mut admin, &id, &[]);
    assert_eq!(status, 200, "{lost}");
    let told = "2 of 3 verdicts change: 2 no longer found, 0 new.";
    assert!(lost.contains(told), "{lost}");
    assert!(
        lost.contains("EMAILS is no longer found · 2 records"),
        "{lost}"
    );
    assert!(lost.contains("No longer blocked · 2 records"), "{lost}");
    assert_eq!(lost.matches("href=\"/ui/records/").count(), 4, "{lost}");
    let order = [
        ("pre.dataclean", "on"),
        ("pre.custom.name", "ORDER"),
        ("pre.custom.regex", "ORD-[0-9]{6}"),
    ];
    let (_, new) = replayed(&mut admin, &id, &order);
    let told = "1 of 3 verdicts changes: 0 no longer found, 1 new.";
    assert!(new.contains(told), "{new}");
    assert!(new.contains("ORDER is newly found · 1 record"), "{new}");
    let past = [("try.to", "2001-01-01T00:00")];
    let (_, none) = replayed(&mut admin, &id, &past);
    assert!(
        none.contains("There are no records in this period."),
        "{none}"
    );
    let since = [("try.from", "2001-01-01T00:00"), ("pre.dataclean", "on")];
    let (_, same) = replayed(&mut admin, &id, &since);
    assert!(same.contains("None of 3 verdicts changes."), "{same}");
    let turned = [
        ("try.from", "2002-01-01T00:00"),
        ("try.to", "2001-01-01T00:00"),
    ];
    let (status, refused) = replayed(&mut admin, &id, &turned);
    assert_eq!(status, 422, "{refused}");
    assert!(refused.contains("<code>from</code>"), "{refused}");
}
