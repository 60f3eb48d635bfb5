//! `embeddings: off | record | check`: the texts of embeddings, which have no phrase. CONTRACT 46 with 12, 13, 42.

use crate::sync::{SYNC, sync};
use support::backend::{Backend, Manner};
use support::request::{EMBEDDINGS, Request};
use support::stack::Stack;
use support::upstream::Upstream;
use support::{assert_envelope, eventually};

const CHECK: &str = ", embeddings: check";
const VECTORS: &str = r#"{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1e-7,0.50]}],"model":"m"}"#;

/// As odd to the byte as JSON may be.
fn body(input: &str) -> String {
    format!("{{ \"model\":\"m\",\r\n\"input\":{input},\"n\":1e400}} ")
}

/// A call of the application.
fn embed(input: &str) -> Request {
    Request::post(EMBEDDINGS, body(input)).header("X-Application-Id", SYNC)
}

fn asynchronous(upstream: &Upstream, backend: &Backend, fields: &str) -> Stack {
    Stack::gateway()
        .upstream(upstream)
        .monitor(backend)
        .yaml(&format!(
            "applications:\n- {{id: {SYNC}, app_mode: async{fields}}}"
        ))
        .start()
}

#[test]
fn without_the_switch_embeddings_are_forwarded_unread() {
    // §4.1: also what is no JSON at all.
    for fields in ["", ", embeddings: \"off\""] {
        let (upstream, backend) = (Upstream::json(200, VECTORS), Backend::flagging("secret"));
        let stack = sync(&upstream, fields).monitor(&backend).start();
        for sent in [r#"{"model":"m","input":"secret"}"#, "no JSON"] {
            let call = Request::post(EMBEDDINGS, sent).header("X-Application-Id", SYNC);
            assert_eq!(stack.call(&call).text(), VECTORS, "{fields}");
            assert_eq!(upstream.last().body, sent.as_bytes());
        }
        assert!(backend.calls().is_empty(), "{fields}");
    }
}

#[test]
fn recorded_texts_pass_to_the_byte_and_the_answer_is_empty() {
    // CONTRACT 3, 5, 8: detected, never masked, whatever redact_upstream and scan_roles say.
    for fields in [
        ", embeddings: record",
        ", embeddings: record, redact_upstream: true, scan_roles: [system]",
    ] {
        for (input, message) in [
            (r#""mail anna@example.com""#, "mail anna@example.com"),
            (r#"["one","two \u0041"]"#, "one\ntwo A"),
        ] {
            let (upstream, backend) = (Upstream::json(200, VECTORS), Backend::start());
            let stack = asynchronous(&upstream, &backend, fields);
            let call = embed(input).header("X-User-Id", "u-1");
            let got = stack.call(&call);
            assert_eq!(
                (got.status(), got.text().as_str()),
                (200, VECTORS),
                "{fields}"
            );
            assert_eq!(upstream.last().body, body(input).as_bytes());
            let (pre, post) = backend.await_exchange();
            assert_eq!((pre.message(), post.message()), (message, ""), "{fields}");
            assert_eq!(*pre.parameter("user_id"), "u-1");
            assert_eq!(pre.exchange(), post.exchange());
            for record in [&pre, &post] {
                assert!(record.parameter("incomplete").is_null());
            }
        }
    }
}

#[test]
fn texts_that_are_only_recorded_pass_in_sync_mode_and_are_marked() {
    // CONTRACT 13.
    let (upstream, backend) = (Upstream::json(200, VECTORS), Backend::flagging("forbidden"));
    let stack = sync(&upstream, ", embeddings: record")
        .monitor(&backend)
        .start();
    assert_eq!(stack.call(&embed(r#""forbidden""#)).text(), VECTORS);
    let (pre, _) = backend.await_exchange();
    assert_eq!(pre.message(), "forbidden");
    assert_eq!(*pre.parameter("unchecked"), true);
}

#[test]
fn a_forbidden_text_is_refused_with_the_kind_of_the_finding_and_never_sent() {
    // CONTRACT 12: any of several texts.
    let (upstream, backend) = (Upstream::json(200, VECTORS), Backend::flagging("forbidden"));
    let stack = sync(&upstream, CHECK).monitor(&backend).start();
    for input in [r#""a forbidden text""#, r#"["forbidden","fine"]"#] {
        let got = stack.call(&embed(input));
        assert_eq!(got.status(), 400, "{}", got.text());
        assert_envelope(&got.body, "invalid_request_error", 400);
        let message = got.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("because of a finding of "), "{message}");
        assert!(!got.text().contains("forbidden") && !got.text().contains("s3cret"));
    }
    upstream.assert_untouched();
    assert!(backend.calls().iter().all(|call| call.is_pre()));
    let counted = "monitor_requests_total{outcome=\"blocked\",route=\"embeddings\"}";
    // A call is counted behind its answer.
    eventually("both calls are counted", || {
        (stack.metric(counted) == 2.0).then_some(())
    });
    let fine = r#""fine""#;
    assert_eq!(stack.call(&embed(fine)).text(), VECTORS);
    assert_eq!(upstream.last().body, body(fine).as_bytes());
}

#[test]
fn what_cannot_be_read_or_has_no_verdict_is_no_silent_pass() {
    // CONTRACT 13, 42.
    for (policy, status) in [
        (", embeddings: check, on_backend_failure: closed", 502),
        (CHECK, 200),
    ] {
        for (input, manner) in [
            ("[1,2,3]", None),
            ("[[1,2],[3]]", None),
            (r#"["fine",[1]]"#, None),
            ("null", None),
            (r#""fine""#, Some(Manner::Refuses(503))),
        ] {
            let upstream = Upstream::json(200, VECTORS);
            let backend = manner.map_or_else(Backend::start, Backend::that);
            let stack = sync(&upstream, policy).monitor(&backend).start();
            let got = stack.call(&embed(input));
            assert_eq!(got.status(), status, "{policy} {input}: {}", got.text());
            match status {
                200 => assert_eq!(got.text(), VECTORS),
                _ => upstream.assert_untouched(),
            }
        }
    }
}

#[test]
fn a_member_that_a_server_may_read_instead_of_the_input_is_no_silent_pass() {
    // CONTRACT 13, 42: vLLM takes `messages`, llama.cpp `content`; a server that minds the case takes no `Input`.
    let closed = ", embeddings: check, on_backend_failure: closed";
    let (upstream, backend) = (Upstream::json(200, VECTORS), Backend::flagging("forbidden"));
    let stack = sync(&upstream, closed).monitor(&backend).start();
    let call = |body: &str| Request::post(EMBEDDINGS, body).header("X-Application-Id", SYNC);
    for body in [
        r#"{"Input":"fine","content":"forbidden"}"#,
        r#"{"input":"fine","content":"forbidden"}"#,
        r#"{"input":"fine","messages":[{"role":"user","content":"forbidden"}]}"#,
        r#"{"input":[],"Messages":[{"role":"user","content":"forbidden"}]}"#,
        r#"{"input":"fine","prompt":"forbidden"}"#,
        r#"{"INPUT":"fine","text":"forbidden"}"#,
        r#"{"input":null,"Input":"fine","text":"forbidden"}"#,
    ] {
        assert_eq!(stack.call(&call(body)).status(), 502, "{body}");
    }
    upstream.assert_untouched();
    for body in [
        r#"{"input":"fine","content":null,"messages":null}"#,
        r#"{"inp\u0075t":["fine"],"Input":"fine"}"#,
    ] {
        assert_eq!(stack.call(&call(body)).text(), VECTORS, "{body}");
        assert_eq!(upstream.last().body, body.as_bytes());
    }
}

#[test]
fn an_error_of_the_model_server_passes_and_is_registered() {
    // CONTRACT 17, 40: in any form.
    let (upstream, backend) = (Upstream::json(529, "<html>busy"), Backend::start());
    let stack = asynchronous(&upstream, &backend, ", embeddings: record");
    let got = stack.call(&embed(r#""fine""#));
    assert_eq!((got.status(), got.text().as_str()), (529, "<html>busy"));
    let (_, post) = backend.await_exchange();
    assert_eq!(post.parameter("error")["code"], 529);
    let got = stack.call(&Request::post(EMBEDDINGS, "{").header("X-Application-Id", SYNC));
    assert_envelope(&got.body, "invalid_request_error", 400);
}
