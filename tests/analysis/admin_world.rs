//! How these tests administer: any method with any token, applications and tokens at hand.

use serde_json::{Value, json};
use support::http::Response;
use support::request::Request;
use support::stack::Stack;
use support::{KEY, assert_envelope};

/// A call with a token and, unless it is null, a body.
#[track_caller]
pub(crate) fn call_as(
    key: &str,
    stack: &Stack,
    (method, path): (&str, &str),
    body: Value,
) -> Response {
    let request = match body {
        Value::Null => Request::new(method, path),
        body => Request::json(method, path, body.to_string()),
    };
    request
        .without_key()
        .header("Authorization", &format!("Bearer {key}"))
        .call(stack.analysis_addr)
}

/// The same with the first token.
#[track_caller]
pub(crate) fn call(stack: &Stack, method: &str, path: &str, body: Value) -> Response {
    call_as(KEY, stack, (method, path), body)
}

/// A call that has to end with this status; gives its body.
#[track_caller]
pub(crate) fn expect(
    stack: &Stack,
    status: u16,
    (method, path): (&str, &str),
    body: Value,
) -> Value {
    let response = call(stack, method, path, body);
    assert_eq!(
        response.status(),
        status,
        "{method} {path}: {}",
        response.text()
    );
    match response.body.is_empty() {
        true => Value::Null,
        false => response.json(),
    }
}

/// A refusal with this status whose message has these words.
#[track_caller]
pub(crate) fn assert_refused(response: &Response, status: u16, words: &str) {
    assert_eq!(response.status(), status, "{}", response.text());
    assert_envelope(&response.body, "invalid_request_error", status);
    let message = response.json()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(message.contains(words), "{words:?} in {message:?}");
}

/// Makes an application.
#[track_caller]
pub(crate) fn application(stack: &Stack, name: &str) -> String {
    let made = expect(stack, 201, ("POST", "/applications"), json!({"name": name}));
    made["id"].as_str().unwrap().to_owned()
}

/// Makes a token; gives its id and its value.
#[track_caller]
pub(crate) fn token(stack: &Stack, body: Value) -> (String, String) {
    let made = expect(stack, 201, ("POST", "/tokens"), body);
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    (text("id"), text("value"))
}

/// The status of a registration with this token.
#[track_caller]
pub(crate) fn registers(stack: &Stack, key: &str, application: &str) -> u16 {
    let body = json!({"application_id": application, "message": "hello"});
    call_as(key, stack, ("POST", "/process_request/"), body).status()
}
