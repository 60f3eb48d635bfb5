//! Calls of the APIs held to the gateway's own OpenAPI document: what is sent, and each status, header and body that comes
//! back.

use super::Api;
use crate::sync::SYNC;
use serde_json::{Value, json};
use support::backend::Backend;
use support::openapi::{assert_documented, faults};
use support::request::Request;
use support::stack::Stack;
use support::upstream::{Upstream, json as answer, sse};

contract! {
    every_answer_of_the_gateways_is_in_its_document;
}

const LIMITED: &str = "6f1c2d4e-8a90-4b1c-9d2e-3f4a5b6c7d90";
const NOBODYS: &str = "6f1c2d4e-8a90-4b1c-9d2e-3f4a5b6c7d91";
const BUSY: &str = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;

/// A gateway with an application in sync mode, and one that may call once.
fn stack(upstream: &Upstream, backend: &Backend) -> Stack {
    let yaml = format!(
        "monitor: {{unknown_application: refuse}}\napplications:\n\
         - {{id: {SYNC}, app_mode: sync, phrase: no, replace_response: true}}\n\
         - {{id: {LIMITED}, app_mode: async, limits: {{requests_per_minute: 1, burst: 1}}}}"
    );
    let stack = Stack::gateway().upstream(upstream).monitor(backend);
    stack.yaml(&yaml).start()
}

fn model(api: Api) -> Upstream {
    let (whole, stream) = (api.answer("Hi", "ls"), api.stream("Hi", "ls"));
    Upstream::answering(move |request| {
        let text = String::from_utf8_lossy(&request.body);
        let frames: Vec<&str> = stream.iter().map(String::as_str).collect();
        match &*text {
            _ if text.contains("busy") => answer(529, BUSY),
            _ if text.contains("\"stream\":true") => sse(&frames),
            _ => answer(200, &whole),
        }
    })
}

fn body(api: Api, text: &str, streams: bool) -> Value {
    let said = json!([{"role": "user", "content": text}]);
    match api {
        Api::Chat => json!({"model": "m-1", "stream": streams, "messages": said}),
        Api::Completions => json!({"model": "m-1", "stream": streams, "prompt": text}),
        Api::Responses => json!({"model": "m-1", "stream": streams, "input": said}),
        Api::Messages => {
            json!({"model": "m-1", "stream": streams, "max_tokens": 9, "messages": said})
        }
    }
}

fn every_answer_of_the_gateways_is_in_its_document(api: Api) {
    let (upstream, backend) = (model(api), Backend::flagging("forbidden"));
    let stack = stack(&upstream, &backend);
    let document = stack.call(&Request::get("/openapi.json")).json();
    let operation = &document["paths"][api.path()]["post"];
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let of = |application: &str, text: &str, streams: bool| {
        let body = body(api, text, streams);
        assert_eq!(faults(&document, schema, &body), Vec::<String>::new());
        Request::post(api.path(), body.to_string()).header("X-Application-Id", application)
    };
    let own = |text: &str, streams: bool| of(SYNC, text, streams);
    for (call, status) in [
        (own("hello", false), 200),
        (own("hello", true), 200),
        (own("forbidden", false), 200),
        (own("forbidden", true), 200),
        (own("hello", false).without_key(), 401),
        (Request::post(api.path(), "{"), 400),
        (of(NOBODYS, "hello", false), 403),
        (Request::get(api.path()), 405),
        (own("hello", false).content_type("multipart/form-data"), 415),
        (of(LIMITED, "hello", false), 200),
        (of(LIMITED, "hello", false), 429),
    ] {
        let got = stack.call(&call);
        assert_eq!(got.status(), status, "{}", got.text());
        let is_named = operation["responses"][status.to_string()].is_object();
        assert!(is_named, "{status}");
        assert_documented(&document, (api.path(), "post"), &got);
    }
    let busy = stack.call(&own("busy", false));
    assert_eq!(busy.status(), 529);
    assert_documented(&document, (api.path(), "post"), &busy);
}

#[test]
fn what_is_refused_below_is_in_the_document() {
    let (upstream, backend) = (Upstream::json(200, "{}"), Backend::start());
    let stack = stack(&upstream, &backend);
    let document = stack.call(&Request::get("/openapi.json")).json();
    for (method, path, named) in [
        ("post", "/v1/responses/compact", "/v1/responses/compact"),
        ("get", "/v1/responses/resp_1", "/v1/responses/{response_id}"),
        (
            "delete",
            "/v1/responses/resp_1",
            "/v1/responses/{response_id}",
        ),
        (
            "post",
            "/v1/messages/count_tokens",
            "/v1/messages/count_tokens",
        ),
        ("get", "/v1/messages/batches", "/v1/messages/batches"),
        (
            "get",
            "/v1/messages/batches/b_1/results",
            "/v1/messages/batches/{batch_id}/results",
        ),
    ] {
        let call = match method {
            "post" => Request::post(path, "{}"),
            method => Request::new(&method.to_uppercase(), path),
        };
        let of = |application: &str| call.clone().header("X-Application-Id", application);
        let wrong = Request::new("PATCH", path).header("X-Application-Id", SYNC);
        for call in [of(SYNC), of(LIMITED), of(NOBODYS), wrong] {
            let got = stack.call(&call);
            let is_named =
                document["paths"][named][method]["responses"][got.status().to_string()].is_object();
            assert!(is_named, "{method} {path}: {}", got.text());
            assert_documented(&document, (named, method), &got);
        }
    }
}
