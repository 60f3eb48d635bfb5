//! Applications and policies that are added while calls come: none is called for before its policy is in force
//! (CONTRACT 16).

use crate::policies_listed::{
    ADDED, LISTED, add_by_reload, add_to_the_file, application, call_with_card, card_for, listed,
    phrase,
};
use serde_json::json;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use support::api::{patch, post};
use support::backend::Backend;
use support::line::{Line, order};
use support::request::{HELLO, Request};
use support::stack::Stack;
use support::upstream::{ANSWER, Upstream};

/// Ends what goes on beside a test, also when an assertion fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Makes a change while forbidden calls for the added application come without pause: none of them may reach the
/// model server.
fn under_calls<T>(stack: &Stack, change: impl FnOnce() -> T) -> T {
    let (at, stop) = (stack.gateway_addr, AtomicBool::new(false));
    let calls = || {
        while !stop.load(Ordering::Relaxed) {
            let answer = card_for(ADDED).call(at);
            assert!(answer.text() != ANSWER, "a call reached the model server");
        }
    };
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(calls);
        change()
    })
}

#[test]
fn contract_16_an_application_that_a_reload_adds_is_checked_at_once() {
    for unknown in ["refuse", "async"] {
        let upstream = Upstream::ok();
        let callers = format!("monitor: {{unknown_application: {unknown}}}\n");
        let yaml = callers + &listed("first");
        let stack = Stack::all().upstream(&upstream).yaml(&yaml).start();
        assert_eq!(phrase(&call_with_card(&stack, LISTED)), "first");
        let (is_done, said) = match unknown {
            // Before it is known it is refused.
            "refuse" => under_calls(&stack, || add_by_reload(&stack)),
            _ => add_by_reload(&stack),
        };
        assert!(is_done, "{said}");
        let answer = call_with_card(&stack, ADDED);
        assert_eq!(phrase(&answer), "from the reload", "{unknown}");
        let unchecked = stack.metrics();
        let mut unchecked = unchecked
            .lines()
            .filter(|line| line.starts_with("monitor_unchecked"));
        assert!(unchecked.all(|line| line.ends_with(" 0")));
        assert_eq!(application(&stack, ADDED)["policy_source"], "file");
    }
}

#[test]
fn contract_16_an_application_that_an_upgrade_adds_is_checked_by_both_processes() {
    let upstream = Upstream::ok();
    let yaml = listed("first");
    let stack = Stack::all().upstream(&upstream).yaml(&yaml).start();
    assert_eq!(phrase(&call_with_card(&stack, LISTED)), "first");
    let mut line = Line::default();
    // One connection lasts beyond the hand-over.
    let mut kept = card_for(ADDED).send(stack.gateway_addr);
    assert_eq!(kept.response().status(), 403);
    add_to_the_file(&stack);
    under_calls(&stack, || line.upgrade(&stack, "all"));
    assert_eq!(phrase(&call_with_card(&stack, ADDED)), "from the reload");
    if kept.try_send(&card_for(ADDED).bytes()).is_ok()
        && let Some(head) = kept.try_head()
    {
        assert_eq!(head.status(), 403);
    }
}

#[test]
fn contract_16_a_policy_of_the_api_is_in_force_for_the_next_call() {
    let upstream = Upstream::ok();
    let stack = Stack::all().upstream(&upstream).start();
    for round in 0..10 {
        let policy = json!({"app_mode": "sync", "phrase": "made"});
        let body = json!({"name": format!("a {round}"), "policy": policy});
        let made = post(&stack, "/applications", &body).json();
        let id = made["id"].as_str().expect("an id");
        assert_eq!(phrase(&call_with_card(&stack, id)), "made", "{round}");
        let path = format!("/applications/{id}/policy");
        patch(
            &stack,
            &path,
            &json!({"version": 1, "policy": {"app_mode": "async"}}),
        );
        assert_eq!(call_with_card(&stack, id).text(), ANSWER, "{round}");
        patch(
            &stack,
            &path,
            &json!({"version": 2, "policy": {"app_mode": "sync"}}),
        );
        assert_eq!(phrase(&call_with_card(&stack, id)), "made", "{round}");
    }
}

#[test]
fn contract_16_a_reload_is_in_force_when_it_says_so_while_the_database_is_silent() {
    // It takes connections and answers nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("hello"));
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml(&format!(
            "store: {{host: 127.0.0.1, port: {port}, db: d, user: u, password: p, ssl: false}}\n\
             applications:\n- {{id: {LISTED}, app_mode: async, phrase: first}}"
        ))
        .start();
    let call = Request::chat(HELLO).header("X-Application-Id", LISTED);
    assert_eq!(stack.call(&call).text(), ANSWER);
    let text = std::fs::read_to_string(stack.configuration()).unwrap();
    let text = text.replace("app_mode: async", "app_mode: sync");
    std::fs::write(stack.configuration(), text).unwrap();
    let out = order(&stack, "reload", "gateway");
    assert!(out.status.success(), "{out:?}");
    assert_eq!(phrase(&stack.call(&call)), "first");
}
