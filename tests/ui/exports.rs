//! Exports from the list of records: how far one has come, told to the one who exports and to nobody
//! else.

use crate::accounts::colleague;
use crate::records::{keep, keeping};
use crate::support::stack::{Folder, Stack};
use crate::visitor::Visitor;
use crate::world::{administrator, administrators_browser};
use serde_json::json;

fn three(stack: &Stack) {
    let id = keeping(stack, "orders");
    for user in ["ann", "bob", "ann"] {
        let body = json!({"application_id": id, "message": "hello",
            "additional_parameters": {"user_id": user}});
        keep(stack, "pre", &body);
    }
}

#[test]
fn an_export_says_how_many_records_it_has_written() {
    const ID: &str = "7b0c1c52-7a0e-4c11-9a55-00000000000a";
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let mut ann = colleague(&stack, &mut admin, ("ann", "analyst"), "");
    three(&stack);
    let told = format!("/ui/records/exports/{ID}");
    assert_eq!(admin.get(&told).status(), 404, "none has begun");
    let export = format!("/ui/records/export?user_id=ann&format=csv&progress={ID}");
    let lines = |visitor: &mut Visitor| visitor.get(&export).text().lines().count();
    assert_eq!(lines(&mut admin), 3, "a head and two records");
    assert!(admin.get(&told).text().contains("Exported: 2 records"));
    assert_eq!(ann.get(&told).status(), 404, "another one's");
    assert_eq!(lines(&mut ann), 3);
    assert!(ann.get(&told).text().contains("Exported: 2 records"));
    let odd = "/ui/records/export?format=jsonl&progress=odd";
    assert_eq!(admin.get(odd).status(), 200, "nobody asks about it");
}

#[test]
fn the_page_that_began_an_export_tells_when_it_is_over() {
    let stack = Stack::all().start();
    let Some(mut browser) = administrators_browser(&stack) else {
        return;
    };
    three(&stack);
    let saved = Folder::new();
    let place = json!({"behavior": "allow", "downloadPath": saved.path()});
    browser.call("Page.setDownloadBehavior", place);
    browser.open("/ui/records?user_id=ann");
    browser.click("a[data-progress*='/ui/records/exports/']");
    browser.wait_for("document.querySelector('#exported').textContent === 'Exported: 2 records'");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
