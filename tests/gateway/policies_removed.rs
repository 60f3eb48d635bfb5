//! Applications that are removed while calls come: none of them goes on without the policy that it began with, and
//! calls that name no application need a default one that is known (CONTRACT 16, 44).

use crate::policies_listed::{
    ADDED, LISTED, application, call_with_card, card_for, listed, phrase,
};
use serde_json::json;
use support::api::{authorised, post};
use support::backend::Backend;
use support::http::Conn;
use support::line::order;
use support::request::{HELLO, Request};
use support::stack::Stack;
use support::upstream::{ANSWER, Upstream};
use support::{assert_envelope, eventually};

/// A call that is admitted and has not sent its body, and that body.
fn half_sent(stack: &Stack, application: &str) -> (Conn, Vec<u8>) {
    let request = card_for(application).header("Expect", "100-continue");
    let head = request.head();
    let mut conn = Conn::open(stack.gateway_addr);
    conn.send(&head);
    assert_eq!(conn.head().status(), 100);
    (conn, request.bytes()[head.len()..].to_vec())
}

fn with_another(policies: &str) -> String {
    policies.to_owned() + &format!("- {{id: {ADDED}, name: other, app_mode: async}}\n")
}

#[test]
fn contract_16_a_call_keeps_the_policy_that_it_began_with_though_a_reload_removes_it() {
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("4111"));
    let rule = "monitor: {unknown_application: refuse}\n";
    let list = with_another(&listed("first"));
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml(&format!("{rule}{list}"))
        .start();
    let (mut conn, body) = half_sent(&stack, LISTED);
    let text = std::fs::read_to_string(stack.configuration()).unwrap();
    let text = text.replace(&list, &with_another("applications:\n"));
    std::fs::write(stack.configuration(), text).unwrap();
    let out = order(&stack, "reload", "gateway");
    assert!(out.status.success(), "{out:?}");
    eventually("the application is unknown", || {
        (call_with_card(&stack, LISTED).status() == 403).then_some(())
    });
    conn.send(&body);
    assert_eq!(phrase(&conn.response()), "first");
    upstream.assert_untouched();
}

#[test]
fn contract_16_a_call_keeps_the_policy_that_it_began_with_though_its_application_is_removed() {
    let upstream = Upstream::ok();
    let stack = Stack::all().upstream(&upstream).start();
    let policy = json!({"app_mode": "sync", "phrase": "no", "on_backend_failure": "closed"});
    let body = json!({"id": LISTED, "name": "listed", "policy": policy});
    assert_eq!(post(&stack, "/applications", &body).status(), 201);
    assert_eq!(phrase(&call_with_card(&stack, LISTED)), "no");
    let (mut conn, body) = half_sent(&stack, LISTED);
    remove(&stack, LISTED);
    conn.send(&body);
    // Nobody can check it any more.
    assert_ne!(conn.response().text(), ANSWER);
    assert_envelope(
        &call_with_card(&stack, LISTED).body,
        "invalid_request_error",
        403,
    );
    upstream.assert_untouched();
}

fn remove(stack: &Stack, id: &str) {
    let version = &application(stack, id)["version"];
    let path = format!("/applications/{id}?version={version}");
    let removed = authorised(Request::new("DELETE", &path)).call(stack.analysis_addr);
    assert_eq!(removed.status(), 204, "{}", removed.text());
}

#[test]
fn contract_44_calls_that_name_no_application_need_a_default_one_that_is_known() {
    let upstream = Upstream::ok();
    let stack = Stack::all().upstream(&upstream).start();
    let default = stack.application_id();
    assert_eq!(stack.call(&Request::chat(HELLO)).text(), ANSWER);
    remove(&stack, &default);
    let before = upstream.heads();
    for request in [
        Request::chat(HELLO),
        Request::chat(HELLO).header("X-Application-Id", &default),
    ] {
        let answer = stack.call(&request);
        assert_envelope(&answer.body, "invalid_request_error", 403);
    }
    assert_eq!(upstream.heads(), before);
    let refused = r#"monitor_unknown_callers_total{outcome="application_refused"}"#;
    assert_eq!(stack.metric(refused), 2.0);
}

#[test]
fn contract_44_a_reload_does_not_take_the_policy_of_calls_that_name_no_application() {
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("4111"));
    let yaml = |id: &str| {
        format!(
            "monitor: {{application_id: {id}}}\napplications:\n\
             - {{id: {id}, name: default, app_mode: sync, phrase: checked}}\n"
        )
    };
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml(&yaml(LISTED))
        .start();
    let text = std::fs::read_to_string(stack.configuration()).unwrap();
    std::fs::write(stack.configuration(), text.replace(LISTED, ADDED)).unwrap();
    let out = order(&stack, "reload", "gateway");
    let said = String::from_utf8([out.stdout, out.stderr].concat()).unwrap();
    assert!(!out.status.success(), "{said}");
    assert!(said.contains("monitor.application_id"), "{said}");
    let card = HELLO.replace("hello", "my card is 4111 1111 1111 1111");
    assert_eq!(phrase(&stack.call(&Request::chat(card))), "checked");
    upstream.assert_untouched();
}
