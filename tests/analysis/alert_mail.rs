//! Alerts by mail (UI.md B10): letters to a mail server that a test scripts.

use crate::admin_world::{assert_refused, call, expect};
use crate::alerts::{LOCAL, MAIL, channel, finds, rule, told};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use support::api::analyse;
use support::smtp::MailServer;
use support::stack::{Folder, Stack};
use support::tls::Identity;

fn mail(server: &MailServer, tls: &str) -> Value {
    json!({"name": "mail", "kind": "email", "url": server.address(), "tls": tls,
        "from": "monitor@example.com", "to": ["a@example.com", "b@example.com"]})
}

/// What a test of the channel says.
fn tested(stack: &Stack, id: &str) -> Value {
    let path = format!("/alert_channels/{id}/test");
    expect(stack, 200, ("POST", &path), Value::Null)
}

#[test]
fn b10_a_letter_goes_over_starttls_with_a_sign_in_and_again_after_a_temporary_refusal() {
    let tries = AtomicUsize::new(0);
    let identity = Identity::new();
    let server = MailServer::start(Some(&identity), move |command| {
        let is_second = command.starts_with("RCPT TO:<b@");
        let is_first_time = is_second && tries.fetch_add(1, Ordering::Relaxed) == 0;
        is_first_time.then_some("451 later")
    });
    let folder = Folder::new();
    let authority = folder.write("ca.pem", &identity.cert_pem);
    let stack = Stack::all()
        .env("SSL_CERT_FILE", authority.display().to_string())
        .yaml(LOCAL)
        .start();
    analyse(&stack, MAIL, json!({"user_id": "anna-7"}));
    let mut body = mail(&server, "starttls");
    body["user"] = json!("monitor");
    body["secret"] = json!("swordfish");
    let id = channel(&stack, body);
    rule(&stack, finds(&id));
    let (_, message) = told(&stack, "sent");
    assert_eq!(message["attempts"], 2);
    let letters = server.letters();
    assert_eq!(
        letters.len(),
        1,
        "nobody gets a letter that another one is refused"
    );
    let letter = &letters[0];
    assert!(letter.encrypted);
    assert_eq!(letter.login.as_deref(), Some("\0monitor\0swordfish"));
    assert_eq!(letter.from, "monitor@example.com");
    assert_eq!(letter.to, ["a@example.com", "b@example.com"]);
    let id = format!(
        "Message-ID: <{}@example.com>",
        message["id"].as_str().unwrap()
    );
    for part in [
        "Subject: Alert: Finds\n",
        id.as_str(),
        "dataclean",
        "https://m.example/ui/",
    ] {
        assert!(letter.text.contains(part), "{part} in {}", letter.text);
    }
    for secret in ["anna-7", "a@example.org", "swordfish"] {
        assert!(!letter.text.contains(secret), "{secret}");
    }
    let shown = call(&stack, "GET", "/alert_channels", Value::Null).text();
    assert!(
        shown.contains("b@example.com") && !shown.contains("swordfish"),
        "{shown}"
    );
    let sent = r#"monitor_alert_deliveries_total{channel_kind="email",result="sent"}"#;
    assert!(stack.metric(sent) >= 1.0);
    assert!(!stack.stderr().contains("swordfish"));
}

#[test]
fn b10_a_letter_is_not_sent_in_clear_text_unless_the_channel_and_the_configuration_say_so() {
    let server = MailServer::start(None, |command| {
        command.starts_with("RCPT TO:<c@").then_some("550 unknown")
    });
    let stack = Stack::all().yaml(LOCAL).start();
    let id = channel(&stack, mail(&server, "starttls"));
    let refused = tested(&stack, &id);
    assert_eq!(refused["failure"], "the mail server offers no STARTTLS");
    let mut open = mail(&server, "none");
    let path = format!("/alert_channels/{id}");
    expect(&stack, 200, ("PUT", &path), open.clone());
    assert_eq!(tested(&stack, &id)["sent"], true);
    assert!(!server.letters()[0].encrypted);
    open["to"] = json!(["a@example.com", "c@example.com"]);
    expect(&stack, 200, ("PUT", &path), open);
    assert_eq!(tested(&stack, &id)["failure"], "status 550");
    assert_eq!(server.letters().len(), 1);
    let stranger = Stack::all().start();
    let before = server.connections();
    for tls in ["none", "starttls", "tls"] {
        let id = channel(&stranger, mail(&server, tls));
        let failure = tested(&stranger, &id)["failure"].clone();
        assert!(
            failure.as_str().unwrap().contains("alerts.allow_networks"),
            "{failure}"
        );
    }
    assert_eq!(server.connections(), before);
}

#[test]
fn b10_what_is_wrong_with_a_channel_of_mail_is_named() {
    let server = MailServer::start(None, |_| None);
    let stack = Stack::all().yaml(LOCAL).start();
    for (field, value) in [
        ("url", json!("smtp://mail.example")),
        ("tls", json!("sometimes")),
        ("from", json!("Monitor")),
        ("to", json!([])),
        ("to", json!("a@example.com")),
        ("to", json!(["a@example.com\r\nBcc: c@example.com"])),
        ("secret", json!("swordfish")),
    ] {
        let mut body = mail(&server, "none");
        body[field] = value;
        let refused = call(&stack, "POST", "/alert_channels", body);
        let named = if field == "secret" { "user" } else { field };
        assert_refused(&refused, 422, named);
    }
}

#[test]
fn b10_answers_that_no_mail_server_gives_are_a_failure_of_the_letter_only() {
    let endless: &'static str = "x".repeat(3 << 20).leak();
    for answer in ["250-mail.test\r\n250  ", "nonsense", endless] {
        let server = MailServer::start(None, move |command| {
            command.starts_with("EHLO").then_some(answer)
        });
        let stack = Stack::all().yaml(LOCAL).start();
        let id = channel(&stack, mail(&server, "none"));
        let failure = tested(&stack, &id)["failure"].clone();
        assert_eq!(failure, "no connection, or it was closed");
        // The server still answers.
        assert_eq!(tested(&stack, &id)["sent"], false);
    }
}
