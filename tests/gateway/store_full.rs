//! The embedded database on a full disk (CONTRACT 23, 30): it is refused what it cannot keep, and goes on by itself
//! once there is room.

use crate::spool::Small;
use serde_json::json;
use support::api::{post, records};
use support::http::Response;
use support::stack::{Folder, Stack};
use support::{KEY, eventually};

fn analyze(stack: &Stack, message: &str) -> Response {
    let body = json!({"application_id": stack.application_id(), "message": message});
    post(stack, "/process_request/", &body)
}

#[test]
#[ignore = "needs the right to mount a file system"]
fn the_database_goes_on_once_a_full_disk_has_room_again() {
    let folder = Folder::new();
    let disk = Small::mount(&folder, "8m");
    let yaml = format!("  database: {}/monitor.db", disk.0.display());
    let stack = Stack::all().yaml(&yaml).start();
    let before = analyze(&stack, "before");
    assert_eq!(before.status(), 200);
    let ballast = disk.0.join("ballast");
    // Whatever fits; the rest is refused, which is the point.
    let _ = std::fs::write(&ballast, vec![0; 16 << 20]);
    let long = "a long message ".repeat(4_000);
    eventually("the disk is full", || {
        (analyze(&stack, &long).status() == 503).then_some(())
    });
    let name = json!({"name": "refused", "scopes": ["read"]});
    eventually("a change is refused too", || {
        (post(&stack, "/tokens", &name).status() == 503).then_some(())
    });
    std::fs::remove_file(&ballast).unwrap();
    let after = eventually("messages are kept again", || {
        let answer = analyze(&stack, "after");
        (answer.status() == 200).then_some(answer)
    });
    let name = json!({"name": "made", "scopes": ["read"]});
    assert_eq!(post(&stack, "/tokens", &name).status(), 201);
    let kept = records(&stack, "limit=100");
    for answered in [&before, &after] {
        let id = &answered.json()["request_id"];
        assert!(id.is_string(), "{}", answered.text());
        let is_kept = kept.iter().any(|record| record["request_id"] == *id);
        assert!(is_kept, "{id} is not among {kept:?}");
    }
    assert_eq!(stack.analysis("/tokens", KEY).status(), 200);
}
