//! The demo model (CONTRACT 32) for programs of the Responses and the Messages API: what they call beside, and the form
//! of their errors. Its calls of tools are tested where sessions are shown.

use serde_json::{Value, json};
use support::assert_envelope;
use support::http::Response;
use support::request::Request;
use support::stack::Stack;

const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages";

fn response(more: &Value) -> Request {
    let mut body = json!({"model": "demo-small", "input": "one two three"});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    Request::post(&format!("{RESPONSES}?pace_ms=0"), body.to_string())
}

fn message(model: &str) -> String {
    let messages = json!([{"role": "user", "content": "one two three"}]);
    json!({"model": model, "max_tokens": 100, "messages": messages}).to_string()
}

#[track_caller]
fn ok(answer: &Response) -> Value {
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

#[test]
fn tokens_that_are_counted_are_those_of_the_call() {
    let stack = Stack::all().start();
    let body = json!({"model": "demo-small", "input": "one two three"}).to_string();
    for (path, body) in [(RESPONSES, body), (MESSAGES, message("demo-small"))] {
        let answer = ok(&stack.call(&Request::post(path, &body)));
        let tokens = &answer["usage"]["input_tokens"];
        let (below, expected) = match path {
            RESPONSES => (
                "input_tokens",
                json!({"object": "response.input_tokens", "input_tokens": tokens}),
            ),
            _ => ("count_tokens", json!({"input_tokens": tokens})),
        };
        assert!(tokens.as_u64().unwrap() >= 3, "{answer}");
        let count = Request::post(&format!("{path}/{below}"), &body);
        assert_eq!(ok(&stack.call(&count)), expected);
    }
}

#[test]
fn a_stored_response_is_fetched_by_its_id() {
    let stack = Stack::all().start();
    let fetch = |id: &Value| {
        let path = format!("{RESPONSES}/{}", id.as_str().unwrap());
        stack.call(&Request::get(&path))
    };
    let whole = ok(&stack.call(&response(&json!({}))));
    assert_eq!(ok(&fetch(&whole["id"])), whole);
    let stream = stack.call(&response(&json!({"stream": true}))).text();
    let (_, last) = stream.rsplit_once("data: ").unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["type"], "response.completed");
    let streamed = &last["response"];
    assert_eq!(ok(&fetch(&streamed["id"])), *streamed);
    let unstored = ok(&stack.call(&response(&json!({"store": false}))));
    for id in [&unstored["id"], &json!("resp_0")] {
        let missing = fetch(id);
        assert_eq!(missing.status(), 404, "{}", missing.text());
        assert_eq!(missing.json()["error"]["type"], "invalid_request_error");
    }
}

#[test]
fn errors_have_the_form_of_their_api_and_its_key_is_read() {
    let stack = Stack::all().start();
    let call = |body: &str| Request::post(MESSAGES, body);
    for (call, status, kind) in [
        (
            call(&message("demo-small")).header("x-api-key", "invalid"),
            401,
            "authentication_error",
        ),
        (call(&message("missing-model")), 404, "not_found_error"),
        (call(&message("rate-limited")), 429, "rate_limit_error"),
        (
            call(r#"{"model":"demo-small"}"#),
            400,
            "invalid_request_error",
        ),
        (Request::get("/v1/messages/batches"), 404, "not_found_error"),
    ] {
        let answer = stack.call(&call);
        assert_eq!(answer.status(), status, "{}", answer.text());
        let json = answer.json();
        assert_eq!(json["type"], "error", "{json}");
        assert_eq!(json["error"]["type"], kind, "{json}");
        assert!(json["error"]["message"].is_string(), "{json}");
        assert!(json["request_id"].as_str().unwrap().starts_with("req_"));
    }
    let refused = stack.call(&response(&json!({})).header("x-api-key", "invalid"));
    assert_eq!(refused.status(), 401, "{}", refused.text());
    assert_eq!(refused.json()["error"]["code"], "invalid_api_key");
    // The gateway's own errors have a number there.
    let own = stack.call(&response(&json!({})).without_key());
    assert_envelope(&own.body, "invalid_request_error", 401);
}
