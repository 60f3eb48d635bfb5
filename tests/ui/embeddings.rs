//! What happens to the texts of embeddings (CONTRACT 46), in the form of an application.

use crate::world::administrator;
use serde_json::Value;
use support::KEY;
use support::stack::Stack;

fn policy(stack: &Stack) -> Value {
    let path = format!("/applications/{}", stack.application_id());
    stack.analysis(&path, KEY).json()["policy"].clone()
}

#[test]
fn what_happens_to_embeddings_is_chosen_in_the_form() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let path = format!("/ui/applications/{}", stack.application_id());
    assert!(admin.get(&path).text().contains("name=\"embeddings\""));
    let fields = |version, mode, chosen| {
        [
            ("name", "default"),
            ("version", version),
            ("mode", mode),
            ("phrase", "No."),
            ("scan_roles", "last_user"),
            ("on_backend_failure", "open"),
            ("stream_in_sync", "off"),
            ("embeddings", chosen),
            ("pre.encoding", "o200k_base"),
            ("post.encoding", "o200k_base"),
        ]
    };
    let refused = admin.post(&path, &fields("1", "async", "check"));
    assert_eq!(refused.status(), 422);
    let told = "check needs app_mode sync: in async mode nothing is awaited";
    assert!(refused.text().contains(told), "{}", refused.text());
    assert_eq!(
        admin.post(&path, &fields("1", "sync", "check")).status(),
        303
    );
    assert_eq!(policy(&stack)["embeddings"], "check");
    assert_eq!(admin.post(&path, &fields("2", "sync", "off")).status(), 303);
    assert!(
        policy(&stack).get("embeddings").is_none(),
        "a policy leaves the default out"
    );
}
