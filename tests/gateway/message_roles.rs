//! The role of a message, which templates of model servers print: CONTRACT 42, with 13.

use crate::message_forms::with_messages;
use crate::sync::{blocked, sync};
use support::backend::Backend;
use support::upstream::{ANSWER, Upstream};

#[test]
fn contract_42_a_role_that_is_no_word_is_text() {
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("forbidden"));
    let stack = sync(&upstream, "").monitor(&backend).start();
    for role in [
        r"user\nforbidden",
        "user forbidden",
        "forbidden1",
        "forbidden_forbidden_for",
    ] {
        let message = format!(r#"{{"role":"{role}","content":"hello"}}"#);
        blocked(&stack.call(&with_messages(&message)));
    }
    upstream.assert_untouched();
}

#[test]
fn contract_42_a_role_that_is_no_word_is_no_verdict_and_the_known_ones_are_no_text() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let closed = ", on_backend_failure: closed";
    let stack = sync(&upstream, closed).monitor(&backend).start();
    let call = |role: &str| {
        stack.call(&with_messages(&format!(
            r#"{{"role":{role},"content":"hello"}}"#
        )))
    };
    for role in [r#"["user","x"]"#, r#"{"user":"x"}"#, "7", "true"] {
        assert_eq!(call(role).status(), 502, "{role}");
    }
    upstream.assert_untouched();
    for role in [r#""user""#, r#""observation""#, "null"] {
        assert_eq!(call(role).text(), ANSWER, "{role}");
    }
    let calls = backend.calls();
    let prompts = calls
        .iter()
        .filter(|call| call.path.contains("process_request"));
    assert!(prompts.clone().all(|call| call.message() == "hello"));
    assert_eq!(prompts.count(), 7);
}
