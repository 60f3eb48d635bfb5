//! What passed without a verdict is called so wherever a verdict is shown, and a form with custom policies says that no
//! judge decides about them.

use crate::defence::add_application;
use crate::records::keep;
use crate::world::administrator;
use serde_json::{Value, json};
use support::stack::Stack;
use support::visitor::Visitor;

/// An application with a custom policy.
fn with_policy(stack: &Stack, mode: &str) -> String {
    let policy = json!({"app_mode": mode, "phrase": "No."});
    let rules = json!({"pre": {"custom_policies": [{"name": "loans", "prompt": "No advice about loans."}]}});
    let body = json!({"name": format!("{mode} bot"), "policy": policy, "rules": rules});
    add_application(stack, &body)
}

fn page(admin: &mut Visitor, path: &str) -> String {
    let page = admin.get(path);
    assert_eq!(page.status(), 200, "{path}");
    page.text()
}

#[test]
fn contract_13_what_passed_without_a_verdict_is_never_called_clean() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let (sync, observed) = (with_policy(&stack, "sync"), with_policy(&stack, "async"));
    let body = |id: &str, extra: Value| json!({"application_id": id, "message": "hello", "additional_parameters": extra});
    let prompt = body(&sync, json!({"session_id": "s1", "request_id": "x"}));
    let prompt = keep(&stack, "pre", &prompt);
    let answer = json!({"session_id": "s1", "request_id": "x", "unchecked": true});
    let answer = keep(&stack, "post", &body(&sync, answer));
    let other = keep(&stack, "pre", &body(&observed, json!({})));
    let session = format!("/ui/sessions/one?application_id={sync}&session_id=s1");
    let list = format!("/ui/records?application_id={sync}");
    let badge = "<span class=\"badge warn\">passed unchecked</span>";
    for (path, times) in [
        // A row is an exchange.
        (list.as_str(), 1),
        ("/ui/records?verdict=unchecked", 1),
        ("/ui/records?verdict=clean", 0),
        (session.as_str(), 2),
        // Beside the title, with the reason among the verdicts, and below the other message.
        (&format!("/ui/records/{prompt}"), 3),
        (&format!("/ui/records/{answer}"), 3),
    ] {
        let shown = page(&mut admin, path);
        assert_eq!(shown.matches(badge).count(), times, "{path}: {shown}");
        assert!(
            !shown.contains("<span class=\"dim\">clean</span>"),
            "{path}"
        );
    }
    // A check in part that nobody waited for is told, and quietly.
    let shown = page(&mut admin, &format!("/ui/records/{other}"));
    assert!(shown.contains("<span class=\"badge plain\">partly checked</span>"));
    assert!(!shown.contains(badge), "{shown}");
    let overview = page(&mut admin, "/ui/overview");
    let tile = regex::Regex::new(
        r#"verdict=unchecked"[^>]*>\s*<span class="dim">Passed unchecked</span><strong class="warn">2<"#,
    );
    assert!(tile.unwrap().is_match(&overview), "{overview}");
    for part in ["No judge is configured", "sync bot", "async bot"] {
        assert!(overview.contains(part), "{part} in {overview}");
    }
    for path in [
        format!("/ui/applications/{sync}"),
        "/ui/applications/new".to_owned(),
    ] {
        let form = page(&mut admin, &path);
        assert!(
            form.contains("No judge is configured: policies are"),
            "{form}"
        );
    }
    admin.post("/ui/preferences", &[("language", "ru"), ("next", "/ui")]);
    let shown = page(&mut admin, &list);
    assert_eq!(
        shown.matches("пропущено без проверки").count(),
        1,
        "{shown}"
    );
}
