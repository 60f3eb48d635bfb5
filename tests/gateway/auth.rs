//! The access key: §2.1, §4.1 rule 1, §5, CONTRACT 6.

use support::request::{CHAT, HELLO, Request};
use support::stack::Stack;
use support::upstream::Upstream;
use support::{KEY, assert_envelope};

const NAME: &str = "X-Monitor-Api-Key";

#[test]
fn a_missing_empty_or_blank_key_gives_401_on_every_v1_endpoint() {
    // §4.1 rule 1, §7.2 row "401 gateway", CONTRACT 6.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for request in Request::every_endpoint() {
        let bare = request.without_key();
        for variant in [
            bare.clone(),
            bare.clone().header(NAME, ""),
            bare.header(NAME, " \t "),
        ] {
            let answer = stack.call(&variant);
            assert_eq!(answer.status(), 401, "{variant:?}");
            assert_envelope(&answer.body, "invalid_request_error", 401);
            assert_eq!(answer.head.header("content-type"), Some("application/json"));
            assert!(!answer.head.has("www-authenticate"), "CONTRACT 6");
            for header in ["X-Monitor-Api-Key", "beside Authorization"] {
                assert!(answer.text().contains(header), "{}", answer.text());
            }
        }
    }
    upstream.assert_untouched();
}

#[test]
fn two_different_keys_give_401_and_the_same_key_twice_is_one_key() {
    // CONTRACT 6.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for request in Request::every_endpoint() {
        let answer = stack.call(&request.header(NAME, "mon_another"));
        assert_eq!(answer.status(), 401);
        assert_envelope(&answer.body, "invalid_request_error", 401);
    }
    upstream.assert_untouched();
    for request in Request::every_endpoint() {
        assert_eq!(stack.call(&request.header(NAME, KEY)).status(), 200);
    }
}

#[test]
fn two_different_ids_give_400_and_the_same_id_twice_is_one_id() {
    // §2.1: one value each. Two readers could disagree about which one counts.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for name in ["X-Application-Id", "X-User-Id", "X-Session-Id"] {
        for request in Request::every_endpoint() {
            let one = request.header(name, "gateway.test");
            let answer = stack.call(&one.clone().header(name, "another"));
            assert_eq!(answer.status(), 400, "{name}");
            assert_envelope(&answer.body, "invalid_request_error", 400);
            assert!(answer.text().contains(name), "{}", answer.text());
        }
    }
    // RFC 9112 3.2.
    let two_hosts = Request::chat(HELLO).header("Host", "another");
    assert_eq!(stack.call(&two_hosts).status(), 400);
    upstream.assert_untouched();
    for name in ["X-Application-Id", "X-User-Id", "X-Session-Id"] {
        let one = Request::chat(HELLO).header(name, "gateway.test");
        let twice = one.header(name, " gateway.test ");
        assert_eq!(stack.call(&twice).status(), 200, "{name}");
    }
}

#[test]
fn two_different_request_ids_make_a_new_one() {
    // CONTRACT 5: accepted or made.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let one = Request::chat(HELLO).header("X-Request-Id", "one");
    let answer = stack.call(&one.clone().header("X-Request-Id", "other"));
    let made = answer.head.header("x-request-id").unwrap();
    assert!(!["one", "other"].contains(&made), "{made}");
    let answer = stack.call(&one.header("X-Request-Id", "one"));
    assert_eq!(answer.head.values("x-request-id"), ["one"]);
}

#[test]
fn the_name_of_the_key_header_may_have_any_case() {
    // RFC 9110 5.1.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let request = Request::chat(HELLO)
        .without_key()
        .header("x-MONITOR-api-KEY", KEY);
    assert_eq!(stack.call(&request).status(), 200);
}

#[test]
fn a_refusal_does_not_wait_for_the_body() {
    // CONTRACT 6: no body read beyond a small drain. Only the head is ever sent here.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let request = Request::post(CHAT, vec![b' '; 12_000_000]).without_key();
    let mut conn = support::http::Conn::open(stack.gateway_addr);
    conn.send(&request.head());
    assert_eq!(conn.head().status(), 401);
    upstream.assert_untouched();
}

#[test]
fn a_key_is_required_without_a_backend_too_and_its_absence_is_said_on_stderr() {
    // §1.9.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    stack
        .process
        .await_stderr("monitoring is disabled", |text| {
            let text = text.to_lowercase();
            (text.contains("monitoring") && text.contains("disabled")).then_some(())
        });
    assert_eq!(
        stack.call(&Request::chat(HELLO).without_key()).status(),
        401
    );
    upstream.assert_untouched();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    assert_eq!(upstream.heads(), 1);
}

#[test]
fn the_upstreams_key_is_neither_needed_nor_judged_by_the_gateway() {
    // §5.2: Authorization is for the upstream.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    assert!(!upstream.last().head.has("authorization"));
    let odd = Request::chat(HELLO).header("Authorization", "Basic  odd==,x");
    assert_eq!(stack.call(&odd).status(), 200);
    assert_eq!(
        upstream.last().head.header("authorization"),
        Some("Basic  odd==,x")
    );
}
