//! The paths below the monitored ones.

use super::Api;
use crate::sync::{SYNC, sync};
use support::backend::Backend;
use support::http::Response;
use support::request::Request;
use support::stack::Stack;
use support::upstream::Upstream;

/// Paths with a prompt in their body, and the list of batches.
const PROMPTS: [(&str, &str); 5] = [
    ("POST", "/v1/responses/input_tokens"),
    ("POST", "/v1/responses/compact"),
    ("POST", "/v1/messages/count_tokens"),
    ("POST", "/v1/messages/batches"),
    ("GET", "/v1/messages/batches"),
];
/// Paths that name something the model server keeps, and whether they deliver an answer.
const STORED: [(&str, &str, bool); 8] = [
    ("GET", "/v1/responses/resp_1?stream=true", true),
    ("DELETE", "/v1/responses/resp_1", false),
    ("POST", "/v1/responses/resp_1/cancel", true),
    ("GET", "/v1/responses/resp_1/input_items", true),
    ("GET", "/v1/messages/batches/b_1", false),
    ("DELETE", "/v1/messages/batches/b_1", false),
    ("POST", "/v1/messages/batches/b_1/cancel", false),
    ("GET", "/v1/messages/batches/b_1/results", true),
];

fn call(method: &str, path: &str) -> Request {
    match method {
        "POST" => Request::post(path, r#"{"messages":[{"role":"user","content":"x"}]}"#),
        method => Request::new(method, path),
    }
}

/// What the error of a policy's refusal says, after what is the same in every one: the status that programs of the API
/// give up at (AGENT_ROUTES 4, rule 3), and the envelope that they read.
#[track_caller]
fn refusal(path: &str, answer: &Response) -> String {
    let (api, status, kind) = match path.starts_with("/v1/messages") {
        true => (Api::Messages, 403, "permission_error"),
        false => (Api::Responses, 400, "invalid_request_error"),
    };
    let error = api.error(answer, status);
    assert_eq!(error["type"], kind, "{path}");
    assert_eq!(answer.head.values("x-should-retry"), ["false"], "{path}");
    assert!(!answer.head.has("retry-after"), "{path}");
    error["message"].as_str().unwrap().to_owned()
}

#[test]
fn what_official_clients_call_beside_passes_and_is_not_registered() {
    let (upstream, backend) = (Upstream::json(200, "{}"), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let stored = STORED.map(|(method, path, _)| (method, path));
    for (method, path) in stored.into_iter().chain(PROMPTS) {
        let call = call(method, path);
        assert_eq!(stack.call(&call).status(), 200, "{method} {path}");
        let sent = upstream.last();
        assert_eq!(sent.head.start_line, format!("{method} {path} HTTP/1.1"));
        assert!(sent.head.values("x-monitor-api-key").is_empty());
        assert_eq!(stack.call(&call.without_key()).status(), 401, "{path}");
    }
    assert!(backend.calls().is_empty());
    for path in [
        "/v1/responses/..",
        "/v1/responses/%2e%2e/models",
        "/v1/messages/x",
    ] {
        assert_eq!(stack.call(&Request::get(path)).status(), 404, "{path}");
    }
}

#[test]
fn a_prompt_that_nobody_reads_is_refused_where_prompts_are_checked() {
    // §1.3: a forbidden prompt must not reach the model server by another path.
    let upstream = Upstream::json(200, "{}");
    let stack = sync(&upstream, "").monitor(&Backend::start()).start();
    for (method, path) in PROMPTS {
        let call = call(method, path);
        let refused = stack.call(&call.clone().header("X-Application-Id", SYNC));
        let message = refusal(path, &refused);
        assert!(message.contains("app_mode: sync"), "{message}");
        assert_eq!(
            stack.call(&call).status(),
            200,
            "{path}: another application"
        );
    }
    assert_eq!(upstream.heads(), PROMPTS.len());
}

/// A gateway whose application has prompts redacted, and checked by nobody.
fn redacting(upstream: &Upstream, backend: &Backend) -> Stack {
    let policy = format!("{{id: {SYNC}, app_mode: async, redact_upstream: true}}");
    let stack = Stack::gateway().upstream(upstream).monitor(backend);
    stack.yaml(&format!("applications:\n- {policy}")).start()
}

#[test]
fn contract_41_a_prompt_whose_tokens_are_counted_is_redacted() {
    let counted = r#"{"input_tokens":5}"#;
    let (upstream, backend) = (Upstream::json(200, counted), Backend::start());
    let stack = redacting(&upstream, &backend);
    for (api, path, unreadable) in [
        (Api::Responses, "/v1/responses/input_tokens", 1.0),
        (Api::Messages, "/v1/messages/count_tokens", 2.0),
    ] {
        let call = |body: &str| Request::post(path, body).header("X-Application-Id", SYNC);
        let whole = call(&api.body("Write to anna@example.com.", false));
        for call in [whole.clone(), whole.clone().chunked(7)] {
            assert_eq!(stack.call(&call).text(), counted, "{path}");
            let sent = upstream.last();
            assert_eq!(sent.head.start_line, format!("POST {path} HTTP/1.1"));
            assert!(sent.head.values("x-monitor-api-key").is_empty());
            let expected = api.body("Write to [EMAILS_1].", false);
            assert_eq!(String::from_utf8_lossy(&sent.body), expected);
        }
        // CONTRACT 13: what cannot be read passes as the call itself does, counted.
        let odd = r#"{"prompt":"Write to anna@example.com."}"#;
        assert_eq!(stack.call(&call(odd)).text(), counted, "{path}");
        let counted_so = stack.metric(r#"monitor_unchecked_total{reason="unreadable"}"#);
        assert_eq!(counted_so, unreadable, "{path}");
        let form = whole.content_type("multipart/form-data");
        assert_eq!(stack.call(&form).status(), 415, "{path}");
        assert_eq!(stack.call(&call("{")).status(), 400, "{path}");
        assert_eq!(stack.call(&Request::post(path, odd)).text(), counted);
    }
    assert!(backend.calls().is_empty());
}

#[test]
fn contract_41_where_an_answer_cannot_be_restored_no_prompt_passes_that_has_to_be_redacted() {
    let (upstream, backend) = (Upstream::json(200, "{}"), Backend::start());
    let stack = redacting(&upstream, &backend);
    for path in ["/v1/responses/compact", "/v1/messages/batches"] {
        let refused = stack.call(&call("POST", path).header("X-Application-Id", SYNC));
        let message = refusal(path, &refused);
        assert!(message.contains("redact_upstream"), "{message}");
    }
    upstream.assert_untouched();
    let list = call("GET", "/v1/messages/batches").header("X-Application-Id", SYNC);
    assert_eq!(stack.call(&list).status(), 200);
}

#[test]
fn an_answer_that_nobody_checks_is_refused_where_answers_are_checked() {
    // CONTRACT 15: what was replaced cannot be fetched from the model server by its id.
    for (fields, checks_answers) in [
        ("", false),
        (", replace_response: true", true),
        (", stream_in_sync: hold_back", true),
    ] {
        let upstream = Upstream::json(200, "{}");
        let stack = sync(&upstream, fields).monitor(&Backend::start()).start();
        for (method, path, delivers) in STORED {
            upstream.forget();
            let answer = stack.call(&call(method, path).header("X-Application-Id", SYNC));
            if checks_answers && delivers {
                let message = refusal(path, &answer);
                assert!(message.contains("replace_response"), "{message}");
                assert_eq!(upstream.heads(), 0, "{fields} {method} {path}");
            } else {
                assert_eq!(answer.status(), 200, "{fields} {method} {path}");
                assert_eq!(upstream.heads(), 1, "{fields} {method} {path}");
            }
        }
    }
}

#[test]
fn a_dial_by_websocket_is_told_to_use_http() {
    // Any other status costs programs seven dials.
    let upstream = Upstream::ok();
    let stack = Stack::gateway().upstream(&upstream).start();
    let dial = Request::get("/v1/responses")
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    for call in [dial.clone(), dial.without_key()] {
        let answer = stack.call(&call);
        assert_eq!(answer.status(), 426, "{}", answer.text());
        assert!(answer.head.header("upgrade").is_some());
    }
    assert_eq!(stack.call(&Request::get("/v1/responses")).status(), 405);
    upstream.assert_untouched();
}
