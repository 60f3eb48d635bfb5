//! How these tests speak to the API: one stack, its first token, JSON in and out.

use crate::KEY;
use crate::http::Response;
use crate::request::Request;
use crate::stack::Stack;
use serde_json::{Value, json};

/// A request with the first token.
pub fn authorised(request: Request) -> Request {
    request
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
}

/// Posts to the API with the first token.
#[track_caller]
pub fn post(stack: &Stack, path: &str, body: &Value) -> Response {
    authorised(Request::post(path, body.to_string())).call(stack.analysis_addr)
}

/// Changes something with the first token, and gives the answer.
#[track_caller]
pub fn patch(stack: &Stack, path: &str, change: &Value) -> Value {
    let request = authorised(Request::json("PATCH", path, change.to_string()));
    let answer = request.call(stack.analysis_addr);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

/// The value of a new token that is described so.
#[track_caller]
pub fn new_key(stack: &Stack, token: &Value) -> String {
    let made = post(stack, "/tokens", token);
    assert_eq!(made.status(), 201, "{}", made.text());
    made.json()["value"].as_str().expect("a value").to_owned()
}

/// Has a message analysed for the first application.
#[track_caller]
pub fn analyse(stack: &Stack, message: &str, additional_parameters: Value) -> Value {
    let body = json!({
        "application_id": stack.application_id(),
        "message": message,
        "additional_parameters": additional_parameters,
    });
    let response = post(stack, "/process_request/", &body);
    assert_eq!(response.status(), 200, "{}", response.text());
    response.json()
}

/// The list under these parameters, newest first.
#[track_caller]
pub fn records(stack: &Stack, query: &str) -> Vec<Value> {
    let response = stack.analysis(&format!("/records?{query}"), KEY);
    assert_eq!(response.status(), 200, "{}", response.text());
    response.json()["records"].as_array().unwrap().clone()
}

/// One whole record.
#[track_caller]
pub fn record(stack: &Stack, id: &Value) -> Value {
    let response = stack.analysis(&format!("/records/{}", id.as_str().unwrap()), KEY);
    assert_eq!(response.status(), 200, "{}", response.text());
    response.json()
}
