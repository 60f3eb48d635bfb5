//! Alerts (UI.md B10): rules, channels and messages through the API, with receivers that a test scripts.

use crate::admin_world::{assert_refused, call, call_as, expect, token};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use support::api::analyse;
use support::stack::Stack;
use support::upstream::{Upstream, json as answer};
use support::{contains, eventually};

pub(crate) const LOCAL: &str =
    "  alerts: {allow_networks: [127.0.0.0/8]}\n  ui: {public_url: \"https://m.example\"}\n";
pub(crate) const MAIL: &str = "write to a@example.org";

pub(crate) fn channel(stack: &Stack, channel: Value) -> String {
    let made = expect(stack, 201, ("POST", "/alert_channels"), channel);
    made["id"].as_str().unwrap().to_owned()
}

pub(crate) fn rule(stack: &Stack, rule: Value) -> String {
    let made = expect(stack, 201, ("POST", "/alert_rules"), rule);
    made["id"].as_str().unwrap().to_owned()
}

/// A rule that each find fires.
pub(crate) fn finds(channel: &str) -> Value {
    json!({"name": "Finds", "kind": "count", "verdict": "dataclean", "per_user": true, "channels": [channel]})
}

pub(crate) fn alerts(stack: &Stack) -> Vec<Value> {
    let list = expect(stack, 200, ("GET", "/alerts"), Value::Null);
    list["alerts"].as_array().unwrap().clone()
}

fn deliveries(stack: &Stack, alert: &Value) -> Vec<Value> {
    let path = format!("/alerts/{}/deliveries", alert["id"].as_str().unwrap());
    let list = expect(stack, 200, ("GET", &path), Value::Null);
    list["deliveries"].as_array().unwrap().clone()
}

/// The only alert, once its only message has this state.
pub(crate) fn told(stack: &Stack, state: &str) -> (Value, Value) {
    eventually("an alert is told", || {
        let alert = alerts(stack).into_iter().next()?;
        let message = deliveries(stack, &alert).into_iter().next()?;
        (message["state"] == state).then_some((alert, message))
    })
}

#[test]
fn b10_a_signed_webhook_is_told_of_finds_without_a_name_and_without_a_value() {
    let hook = Upstream::json(200, "{}");
    let stack = Stack::all().yaml(LOCAL).start();
    analyse(&stack, MAIL, json!({"user_id": "anna-7"}));
    let url = format!("{}/hook", hook.url());
    let id = channel(
        &stack,
        json!({"name": "hook", "kind": "webhook", "url": url, "secret": "swordfish"}),
    );
    let rule_id = rule(&stack, finds(&id));
    let (alert, message) = told(&stack, "sent");
    assert_eq!(
        (&alert["rule"], &alert["state"]),
        (&json!("Finds"), &json!("firing"))
    );
    assert_eq!(
        (&alert["count"], &alert["user_id"]),
        (&json!(1), &Value::Null)
    );
    assert_eq!(
        (&message["channel"], &message["attempts"]),
        (&json!("hook"), &json!(1))
    );
    let request = hook.last();
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(request.head.target(), "/hook");
    assert_eq!(body["delivery_id"], message["id"]);
    assert_eq!(body["title"], "Alert: Finds");
    let link = body["link"].as_str().unwrap();
    assert!(
        link.starts_with("https://m.example/ui/records?verdict=dataclean&"),
        "{link}"
    );
    let signature = request.head.header("x-monitor-signature").unwrap();
    assert!(signature.starts_with("sha256=") && signature.len() == 71);
    assert!(request.head.header("x-monitor-timestamp").is_some());
    for secret in ["anna-7", "a@example.org", "swordfish"] {
        assert!(!contains(&request.body, secret.as_bytes()), "{secret}");
    }
    let shown = call(&stack, "GET", "/alert_channels", Value::Null).text();
    assert!(
        !shown.contains("swordfish") && !shown.contains("/hook"),
        "{shown}"
    );
    let sent = r#"monitor_alert_deliveries_total{channel_kind="webhook",result="sent"}"#;
    assert!(stack.metric(sent) >= 1.0);
    let path = format!("/alert_rules/{rule_id}");
    expect(&stack, 204, ("DELETE", &path), Value::Null);
    assert_eq!(alerts(&stack)[0]["state"], "ended");
    let audit = call(&stack, "GET", "/audit", Value::Null).text();
    assert!(audit.contains("alert_channel.set") && audit.contains("alert_rule.remove"));
    assert!(!audit.contains("swordfish") && !stack.stderr().contains("swordfish"));
}

#[test]
fn b10_slack_teams_and_telegram_get_their_own_forms_and_the_name_where_the_rule_says_so() {
    let server = Upstream::json(200, "{\"ok\":true}");
    let stack = Stack::all().yaml(LOCAL).start();
    analyse(&stack, MAIL, json!({"user_id": "<!channel>"}));
    let url = server.url();
    let ids = [
        json!({"name": "s", "kind": "slack", "url": format!("{url}/slack")}),
        json!({"name": "t", "kind": "teams", "url": format!("{url}/teams")}),
        json!({"name": "b", "kind": "telegram", "url": url, "secret": "12:ab", "chat": "-5"}),
    ]
    .map(|one| channel(&stack, one));
    let mut rule_body = finds(&ids[0]);
    rule_body["channels"] = json!(ids);
    rule_body["include_user"] = json!(true);
    rule(&stack, rule_body);
    let body = |path: &str| {
        eventually("a message", || {
            let requests = server.seen().requests;
            let found = requests.iter().find(|one| one.head.target() == path);
            found.map(|one| serde_json::from_slice::<Value>(&one.body).unwrap())
        })
    };
    let slack = body("/slack")["text"].as_str().unwrap().to_owned();
    assert!(slack.contains("User: &lt;!channel&gt;"), "{slack}");
    let card = &body("/teams")["attachments"][0]["content"];
    assert_eq!(
        (&card["type"], &card["body"][0]["type"]),
        (&json!("AdaptiveCard"), &json!("RichTextBlock"))
    );
    let telegram = body("/bot12:ab/sendMessage");
    assert_eq!(telegram["chat_id"], "-5");
    assert!(
        telegram["text"]
            .as_str()
            .unwrap()
            .starts_with("Alert: Finds\n")
    );
}

#[test]
fn b10_a_message_waits_for_its_channel_and_a_closed_alert_stays_closed() {
    let tries = AtomicUsize::new(0);
    let server = Upstream::answering(move |_| match tries.fetch_add(1, Ordering::Relaxed) {
        0 => answer(503, "{}"),
        _ => answer(200, "{}"),
    });
    let stack = Stack::all().yaml(LOCAL).start();
    analyse(&stack, MAIL, json!({"user_id": "anna"}));
    let id = channel(
        &stack,
        json!({"name": "h", "kind": "webhook", "url": server.url()}),
    );
    rule(&stack, finds(&id));
    let (alert, message) = told(&stack, "sent");
    assert_eq!(message["attempts"], 2);
    let path = format!("/alerts/{}/resolve", alert["id"].as_str().unwrap());
    expect(&stack, 204, ("POST", &path), Value::Null);
    assert_eq!(
        call(&stack, "POST", &path, Value::Null).status(),
        404,
        "it is closed"
    );
    // A look at the rules, which still find it.
    rule(
        &stack,
        json!({"name": "Other", "kind": "gateway_silent", "window": "1h"}),
    );
    analyse(&stack, MAIL, json!({"user_id": "berta"}));
    rule(
        &stack,
        json!({"name": "Another", "kind": "gateway_silent", "window": "1h"}),
    );
    let all = eventually("the second user", || {
        let all = alerts(&stack);
        (all.len() == 2).then_some(all)
    });
    assert_eq!(all[1]["id"], alert["id"]);
    assert_eq!(
        (&all[1]["state"], &all[0]["state"]),
        (&json!("closed"), &json!("firing"))
    );
    let path = format!("/alerts/{}/mute", all[0]["id"].as_str().unwrap());
    expect(&stack, 204, ("POST", &path), json!({"for": "2h"}));
    assert!(alerts(&stack)[0]["muted_until_ms"].is_i64());
}

#[test]
fn b10_channels_reach_no_address_of_the_servers_network_and_a_secret_no_other_server() {
    let server = Upstream::json(200, "{}");
    let stack = Stack::all().start();
    let bot =
        json!({"name": "b", "kind": "telegram", "url": server.url(), "secret": "1:a", "chat": "2"});
    let id = channel(&stack, bot.clone());
    let test = format!("/alert_channels/{id}/test");
    let tested = expect(&stack, 200, ("POST", &test), Value::Null);
    assert_eq!(tested["sent"], false);
    assert!(
        tested["failure"]
            .as_str()
            .unwrap()
            .contains("alerts.allow_networks")
    );
    server.assert_untouched();
    let mut moved = bot;
    moved["url"] = json!("https://elsewhere.example");
    moved.as_object_mut().unwrap().remove("secret");
    let path = format!("/alert_channels/{id}");
    assert_refused(
        &call(&stack, "PUT", &path, moved.clone()),
        422,
        "entered again",
    );
    moved["secret"] = json!("3:b");
    let shown = expect(&stack, 200, ("PUT", &path), moved);
    assert_eq!(shown["host"], "elsewhere.example");
}

#[test]
fn b10_only_who_administers_the_whole_server_sees_alerts_and_wrong_rules_are_told() {
    let stack = Stack::all().start();
    let bound =
        json!({"name": "t", "scopes": ["admin", "read"], "application_id": stack.application_id()});
    let (_, bound) = token(&stack, bound);
    let (_, reader) = token(&stack, json!({"name": "r", "scopes": ["read"]}));
    for key in [bound, reader] {
        for path in ["/alerts", "/alert_rules", "/alert_channels"] {
            let refused = call_as(&key, &stack, ("GET", path), Value::Null);
            assert_eq!(refused.status(), 403, "{path}");
        }
    }
    for (wrong, field) in [
        (json!({"name": "x", "kind": "pigeon"}), "kind"),
        (json!({"name": "x", "kind": "count"}), "verdict"),
        (
            json!({"name": "x", "kind": "share", "verdict": "blocked", "window": "90m"}),
            "window",
        ),
        (
            json!({"name": "x", "kind": "gateway_silent", "channels": [stack.application_id()]}),
            "channels",
        ),
    ] {
        let refused = call(&stack, "POST", "/alert_rules", wrong);
        assert_refused(&refused, 422, field);
    }
}
