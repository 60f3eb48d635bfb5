//! Members that the APIs of agents put before a model, or before whoever reads its answer, beside the usual ones: each
//! is checked and redacted. CONTRACT 13, 15, 41, 42.

use super::{Api, frame};
use crate::sync::{PHRASE, SYNC, sync};
use serde_json::{Value, json};
use std::sync::Mutex;
use support::backend::Backend;
use support::request::Request;
use support::stack::Stack;
use support::upstream::{Upstream, sse};

const CARD: &str = "2200 1244 6450 7773";

/// A call of Messages whose only message has this content.
fn message(content: &str) -> String {
    format!(
        r#"{{"model":"m-1","max_tokens":9,"messages":[{{"role":"user","content":{content}}}]}}"#
    )
}

#[test]
fn contract_41_only_reasoning_of_the_assistant_that_is_signed_for_every_reader_is_not_redacted() {
    for mode in ["async", "sync, phrase: x, on_backend_failure: closed"] {
        let upstream = Upstream::json(200, &Api::Messages.answer("Hi", "ls"));
        let backend = Backend::start();
        let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
        let policy = format!("{{id: {SYNC}, app_mode: {mode}, redact_upstream: true}}");
        let stack = stack.yaml(&format!("applications:\n- {policy}")).start();
        for content in [
            r#"[{"Type":"thinking","type":"text","text":"@"}]"#,
            r#"[{"type":"thinking","type":"text","text":"@"}]"#,
            r#"[{"type":"text","type":"thinking","text":"@"}]"#,
            r#"[{"type":"rethinking","text":"@"}]"#,
            r#"[{"type":"thinking","thinking":"@","signature":"c2ln"}]"#,
            r#"[{"type":"search_result","source":"@","title":"t","content":[]}]"#,
        ] {
            let body = |text: &str| message(content).replace('@', text);
            let call = Request::post("/v1/messages", body("to anna\\u0040example.com"));
            let got = stack.call(&call.header("X-Application-Id", SYNC));
            assert_eq!(got.status(), 200, "{mode} {content}: {}", got.text());
            let sent = String::from_utf8(upstream.last().body).unwrap();
            assert_eq!(sent, body("to [EMAILS_1]"), "{mode} {content}");
        }
    }
}

#[test]
fn contract_42_every_member_that_a_model_is_shown_is_checked() {
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("forbidden"));
    let fields = ", on_backend_failure: closed, scan_roles: [assistant, last_user]";
    let stack = sync(&upstream, fields).monitor(&backend).start();
    let call = |api: Api, body: &str| {
        let call = Request::post(api.path(), body);
        stack.call(&call.header("X-Application-Id", SYNC))
    };
    let sources =
        r#"[{"type":"search_result","source":"forbidden","title":"t","content":[]},"hello"]"#;
    for (api, body) in [
        (Api::Messages, &*message(sources)),
        (
            Api::Messages,
            r#"{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"forbidden","input":{}}]},{"role":"user","content":"hello"}]}"#,
        ),
        (
            Api::Responses,
            r#"{"input":[{"type":"mcp_list_tools","server_label":"s","tools":[{"name":"forbidden"}]},{"role":"user","content":[]}]}"#,
        ),
    ] {
        let got = call(api, body);
        assert_eq!(api.shown(&got), PHRASE, "{body}");
    }
    // No API takes them, and a server may read them all the same.
    for body in [
        r#"{"prompt":{"id":"p","variables":"forbidden"}}"#,
        r#"{"input":"hello","prompt":{"id":"p","variables":["forbidden"]}}"#,
    ] {
        let got = call(Api::Responses, body);
        assert_eq!(got.status(), 502, "{body}: {}", got.text());
    }
    upstream.assert_untouched();
}

/// Streams of model servers that say the card where clients may show it.
fn streams() -> Vec<(Api, Vec<String>)> {
    let item =
        |item: Value| json!({"type": "response.output_item.done", "output_index": 0, "item": item});
    let call = json!({"type": "function_call", "id": "f", "call_id": "c", "name": "sh", "arguments": "{}",
        "namespace": CARD});
    let said =
        json!({"type": "message", "id": "m", "role": "assistant", "phase": CARD, "content": []});
    let ended = json!({"id": "r", "status": "incomplete", "output": [], "incomplete_details": {"reason": CARD}});
    let stopped = json!({"stop_reason": "stop_sequence", "stop_sequence": CARD});
    let begun = json!({"type": "response.created", "response": {"id": "r", "output": []}});
    let of_responses = [
        item(call),
        item(said),
        json!({"type": "response.function_call_arguments.done", "output_index": 0, "item_id": "f", "name": CARD,
            "arguments": "{}"}),
        json!({"type": "response.incomplete", "response": ended}),
        json!({"type": "response.tomorrow", "text": CARD}),
        json!({"type": "error", "code": CARD, "message": "x"}),
    ];
    let of_responses =
        of_responses.map(|event| (Api::Responses, vec![frame(&begun), frame(&event)]));
    let of_messages = [
        json!({"type": "message_start", "message": {"id": "m", "content": []}}),
        json!({"type": "message_delta", "delta": stopped, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ];
    let of_messages = (Api::Messages, of_messages.iter().map(frame).collect());
    of_responses.into_iter().chain([of_messages]).collect()
}

#[test]
fn contract_15_what_clients_may_show_beside_the_texts_of_an_answer_is_checked() {
    for fields in [
        ", on_backend_failure: closed, stream_in_sync: hold_back",
        ", on_backend_failure: closed, replace_response: true",
    ] {
        let next = Mutex::new(streams().into_iter());
        let upstream = Upstream::answering(move |_| {
            let (_, frames) = next.lock().unwrap().next().unwrap();
            sse(&frames.iter().map(String::as_str).collect::<Vec<_>>())
        });
        let backend = Backend::flagging(CARD);
        let stack = sync(&upstream, fields).monitor(&backend).start();
        for (api, frames) in streams() {
            let got = stack.call(&api.checked("hello", true)).text();
            let phrase = json!(PHRASE).to_string();
            assert!(!got.contains(CARD), "{fields} {frames:?}: {got}");
            let has_phrase = got.contains(phrase.trim_matches('"'));
            assert!(has_phrase, "{fields} {frames:?}: {got}");
        }
    }
}

#[test]
fn words_of_the_api_are_no_text_of_an_answer() {
    let said = json!({"type": "message", "id": "m", "role": "assistant", "phase": "final_answer",
        "content": [{"type": "output_text", "text": "Hello", "annotations": []}]});
    let ended = json!({"id": "r", "status": "incomplete", "model": "m-1", "output": [said],
        "incomplete_details": {"reason": "max_output_tokens"}});
    let (upstream, backend) = (Upstream::json(200, &ended.to_string()), Backend::start());
    let stack = sync(&upstream, ", replace_response: true");
    let stack = stack.monitor(&backend).start();
    let got = stack.call(&Api::Responses.checked("hello", false));
    assert_eq!(got.text(), ended.to_string());
    let (_, post) = backend.await_exchange();
    assert_eq!(post.message(), "Hello");
}
