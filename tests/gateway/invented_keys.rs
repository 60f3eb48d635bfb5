//! Keys that no backend has accepted: whoever invents many of them has no more of what all calls share than with one.

use crate::memory::{BUFFERED, empty, of_size};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use support::backend::{Backend, verdict};
use support::eventually;
use support::request::{HELLO, Request};
use support::stack::Stack;
use support::upstream::{Upstream, json};

const APPLICATION: &str = "57100000-0000-4000-8000-000000000034";

#[test]
fn keys_that_a_client_invents_have_one_share_of_the_memory() {
    // A prompt of `of_size` is held until the test lets it be judged.
    let (sender, judged) = channel::<()>();
    let judged = Mutex::new(judged);
    let backend = Backend::judging(move |call| {
        if call.message().starts_with('m') {
            let _ = judged.lock().unwrap().recv();
        }
        verdict(&[])
    });
    let upstream = Upstream::ok();
    let yaml = format!(
        "limits: {{buffered_bytes: 16MiB, header_timeout: 2s}}\napplications: [{{id: {APPLICATION}, app_mode: sync, phrase: no}}]"
    );
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = stack.yaml(&yaml).start();
    let known = |request: Request| request.header("X-Application-Id", APPLICATION);
    let invented = |number: usize| {
        let key = format!("invented-{number}");
        let request = of_size(300_000).without_key();
        known(request.header("X-Monitor-Api-Key", &key))
    };
    // The backend accepts a record of this key.
    assert_eq!(stack.call(&known(Request::chat(HELLO))).status(), 200);
    let held_from = |bytes: f64| {
        eventually("it is held", || {
            (stack.metric(BUFFERED) >= bytes).then_some(())
        });
    };
    let mut open: Vec<_> = (0..6)
        .map(|number| invented(number).send(stack.gateway_addr))
        .collect();
    // With what their checks take: three times the text again.
    held_from(7_100_000.0);
    // More than one of seven keys may have, and less than one of two.
    open.push(known(of_size(1_500_000)).send(stack.gateway_addr));
    held_from(13_100_000.0);
    let one_more = stack.call(&invented(6));
    assert_eq!(one_more.status(), 503, "their share is taken");
    drop(sender);
    for conn in &mut open {
        assert_eq!(conn.response().status(), 200);
    }
    empty(&stack);
}

#[test]
fn keys_that_one_address_invents_do_not_delay_a_new_key_of_another() {
    // The backend answers about an invented key when the test lets it.
    let (sender, answers) = channel::<()>();
    let answers = Mutex::new(answers);
    let backend = Upstream::answering(move |asked| {
        let key = asked.head.header("authorization").unwrap_or_default();
        if !key.contains("invented") {
            return json(200, "{}");
        }
        let _ = answers.lock().unwrap().recv();
        json(401, "{}")
    });
    let upstream = Upstream::ok();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .env("MONITOR_URL", backend.url())
        .yaml("trusted_proxies: {networks: [127.0.0.1]}\nmonitor: {unknown_key: refuse}")
        .start();
    let of = |address: &str, key: &str| {
        let request = Request::chat(HELLO).without_key();
        let request = request.header("X-Monitor-Api-Key", key);
        request.header("X-Forwarded-For", address)
    };
    let mut open: Vec<_> = (0..40)
        .map(|number| of("192.0.2.1", &format!("invented-{number}")).send(stack.gateway_addr))
        .collect();
    // As many questions as one address may have.
    backend.await_heads(8);
    assert_eq!(stack.call(&of("192.0.2.2", "good")).status(), 200);
    drop(sender);
    for conn in &mut open {
        assert_eq!(conn.response().status(), 401);
    }
}
