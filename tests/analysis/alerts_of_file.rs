//! Rules and channels of alerts in the configuration file (UI.md B10): in force beside those of the API, which cannot
//! change them, and taken by a reload.

use crate::admin_world::{assert_refused, call, expect};
use crate::alerts::{MAIL, alerts, told};
use serde_json::{Value, json};
use support::api::analyse;
use support::eventually;
use support::line::order;
use support::stack::{Folder, Stack};
use support::upstream::Upstream;

const RULE: &str =
    "      - {name: Finds, kind: count, verdict: dataclean, per_user: true, channels: [hook]}\n";

fn yaml(url: &str, secret: &str) -> String {
    format!(
        "  alerts:\n    allow_networks: [127.0.0.0/8]\n    channels:\n      \
         - {{name: hook, kind: webhook, url: \"{url}\", secret_file: {secret}}}\n    rules:\n{RULE}"
    )
}

fn first(stack: &Stack, path: &str, list: &str) -> Value {
    expect(stack, 200, ("GET", path), Value::Null)[list][0].clone()
}

#[test]
fn b10_rules_and_channels_of_the_file_are_in_force_and_are_not_changed_elsewhere() {
    let hook = Upstream::json(200, "{}");
    let folder = Folder::new();
    let secret = folder.write("secret", "swordfish\n");
    let text = yaml(&hook.url(), &secret.display().to_string());
    let stack = Stack::all().yaml(&text).start();
    analyse(&stack, MAIL, json!({"user_id": "anna"}));
    let rule = first(&stack, "/alert_rules", "rules");
    let channel = first(&stack, "/alert_channels", "channels");
    assert_eq!(
        (&rule["in_file"], &channel["in_file"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(rule["channels"], json!([channel["id"]]));
    assert_eq!(channel["has_secret"], true);
    let paths = [
        (
            format!("/alert_rules/{}", rule["id"].as_str().unwrap()),
            "alerts.rules",
            json!({"name": "x", "kind": "gateway_silent"}),
        ),
        (
            format!("/alert_channels/{}", channel["id"].as_str().unwrap()),
            "alerts.channels",
            json!({"name": "x", "kind": "webhook", "url": hook.url()}),
        ),
    ];
    for (path, words, body) in paths {
        assert_refused(&call(&stack, "PUT", &path, body), 409, words);
        assert_refused(&call(&stack, "DELETE", &path, Value::Null), 409, words);
    }
    // A rule of the API may tell a channel of the file; its look is one at the file's rules too.
    let other = json!({"name": "Other", "kind": "gateway_silent", "channels": [channel["id"]]});
    expect(&stack, 201, ("POST", "/alert_rules"), other);
    let (alert, message) = told(&stack, "sent");
    assert_eq!(
        (&alert["rule"], &message["channel"]),
        (&json!("Finds"), &json!("hook"))
    );
    assert!(hook.last().head.header("x-monitor-signature").is_some());
}

#[test]
fn b10_a_reload_takes_other_rules_and_ends_the_alerts_of_those_that_are_gone() {
    let hook = Upstream::json(200, "{}");
    let folder = Folder::new();
    let secret = folder.write("secret", "swordfish");
    let text = yaml(&hook.url(), &secret.display().to_string());
    let stack = Stack::all().yaml(&text).start();
    analyse(&stack, MAIL, json!({"user_id": "anna"}));
    let path = stack.configuration();
    let whole = std::fs::read_to_string(&path).unwrap();
    // The reload looks at the rules at once.
    assert!(order(&stack, "reload", "all").status.success());
    told(&stack, "sent");
    let wrong = RULE.replace("[hook]", "[pager]");
    std::fs::write(&path, whole.replace(RULE, &wrong)).unwrap();
    assert!(!order(&stack, "reload", "all").status.success());
    assert_eq!(
        first(&stack, "/alert_rules", "rules")["name"],
        "Finds",
        "as before"
    );
    std::fs::write(&path, whole.replace(&format!("    rules:\n{RULE}"), "")).unwrap();
    let out = order(&stack, "reload", "all");
    assert!(out.status.success(), "{out:?}");
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(!said.contains("upgrade"), "{said}");
    let list = expect(&stack, 200, ("GET", "/alert_rules"), Value::Null);
    assert_eq!(list["rules"], json!([]));
    eventually("the alert ends", || {
        (alerts(&stack)[0]["state"] == "ended").then_some(())
    });
}
