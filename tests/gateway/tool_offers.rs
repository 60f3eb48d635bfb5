//! A backend that does not tell whether it takes calls of tools and their results (CONTRACT 46): no record and no verdict
//! is lost because of the question, and what is left out of a record is counted.

use crate::sync::{SYNC, blocked, sync};
use crate::tool_parts::{completion, history};
use serde_json::json;
use support::backend::Backend;
use support::request::{CHAT, Request};
use support::stack::Stack;
use support::upstream::Upstream;

/// How a question is answered that may be asked again; None where it is not answered.
const IN_VAIN: [Option<u16>; 5] = [Some(408), Some(429), Some(500), Some(503), None];

fn with_result() -> Request {
    Request::post(CHAT, history(CHAT, false, "a secret"))
}

fn omitted(stack: &Stack, sender: &str) -> f64 {
    stack.metric(&format!(
        "monitor_tool_parts_omitted_total{{sender=\"{sender}\"}}"
    ))
}

/// Runs for each such answer at the same time.
fn for_each(answers: &[Option<u16>], test: impl Fn(Option<u16>) + Sync) {
    let test = &test;
    std::thread::scope(|scope| {
        for status in answers {
            scope.spawn(move || test(*status));
        }
    });
}

#[test]
fn records_wait_for_an_answer_and_have_their_parts() {
    // CONTRACT 23, 46: as after a start with a backlog, while the analysis server is busy or starts itself.
    for_each(&IN_VAIN, |status| {
        let upstream = Upstream::json(200, &completion());
        let backend = Backend::telling_after(3, status, "no such word");
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .env("MONITOR_TIMEOUT", "1s")
            .start();
        assert_eq!(stack.call(&with_result()).status(), 200);
        let (pre, post) = backend.await_exchange();
        let results = &pre.parameter("tool_results")[0];
        assert_eq!(results["text"], "a secret", "{status:?}");
        assert_eq!(post.parameter("tool_calls")[0]["name"], "shell");
        for record in [&pre, &post] {
            assert!(record.parameter("tools_omitted").is_null(), "{status:?}");
        }
        assert_eq!(backend.questions(), 4, "{status:?}");
        assert_eq!(omitted(&stack, "delivery"), 0.0, "{status:?}");
    });
}

#[test]
fn records_do_not_wait_for_ever() {
    // CONTRACT 11: such a backend got no record with parts, and the spool kept them.
    for_each(&IN_VAIN, |status| {
        let upstream = Upstream::json(200, &completion());
        let backend = Backend::not_telling(status, "no such word");
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .env("MONITOR_TIMEOUT", "1s")
            .start();
        assert_eq!(stack.call(&with_result()).status(), 200);
        let (pre, post) = backend.await_exchange();
        assert_eq!(backend.questions(), 6, "{status:?}");
        assert_eq!(
            (pre.message(), post.message()),
            ("go", "Hello"),
            "{status:?}"
        );
        assert_eq!(*pre.parameter("tool_results"), json!([]), "{status:?}");
        assert_eq!(*pre.parameter("tools_omitted"), 1, "{status:?}");
        // The answer to the first record says that none are taken.
        for name in ["tool_calls", "tools_omitted"] {
            assert!(post.parameter(name).is_null(), "{status:?} {name}");
        }
        assert_eq!(omitted(&stack, "delivery"), 1.0, "{status:?}");
    });
}

#[test]
fn a_backend_without_the_question_gets_records_without_parts() {
    // CONTRACT 11: it has only the calls of §4.2.
    for_each(&[Some(400), Some(404), Some(405), Some(501)], |status| {
        let upstream = Upstream::json(200, &completion());
        let backend = Backend::not_telling(status, "no such word");
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        assert_eq!(stack.call(&with_result()).status(), 200);
        let (pre, post) = backend.await_exchange();
        for name in ["tool_results", "tool_calls", "tools_omitted"] {
            assert!(pre.parameter(name).is_null(), "{status:?} {name}");
            assert!(post.parameter(name).is_null(), "{status:?} {name}");
        }
        assert_eq!(backend.questions(), 1, "{status:?}");
        assert_eq!(omitted(&stack, "delivery"), 0.0, "{status:?}");
    });
}

#[test]
fn a_check_has_its_verdict_where_the_question_fails() {
    // CONTRACT 12, 13: without it an open policy lets the call pass.
    for_each(&IN_VAIN, |status| {
        let upstream = Upstream::json(200, &completion());
        let backend = Backend::not_telling(status, "go");
        let stack = sync(&upstream, "")
            .monitor(&backend)
            .env("MONITOR_TIMEOUT", "2s")
            .start();
        let call = with_result();
        blocked(&stack.call(&call.header("X-Application-Id", SYNC)));
        upstream.assert_untouched();
        assert_eq!(backend.questions(), 1, "{status:?}");
        let pre = &backend.calls()[0];
        assert_eq!(*pre.parameter("tool_results"), json!([]), "{status:?}");
        assert_eq!(*pre.parameter("tools_omitted"), 1, "{status:?}");
        assert_eq!(omitted(&stack, "check"), 1.0, "{status:?}");
    });
}
