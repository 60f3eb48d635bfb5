//! A message of four megabytes within the limits, on both stores.

use super::world::{authorised, on_every_store};
use serde_json::{Value, json};
use support::request::Request;
use support::stack::Stack;
use support::{KEY, PATIENCE};

on_every_store! {
    contract_27_four_megabytes_within_the_limits_are_judged_and_kept_on_every_store
}

#[track_caller]
fn post(stack: &Stack, path: &str, body: &str) -> Value {
    let sent = authorised(Request::post(path, body)).send(stack.analysis_addr);
    let response = sent.patient(4 * PATIENCE).response();
    assert_eq!(response.status(), 200, "{}", response.text());
    response.json()
}

fn contract_27_four_megabytes_within_the_limits_are_judged_and_kept_on_every_store(stack: &Stack) {
    // What some detector has most to do with, and prose around it. The client's patience is the bound; it
    // is long because the suite's build is not optimized.
    const KIB: usize = 1 << 10;
    let shapes = [
        ("1", 256 * KIB),
        ("4111 1111 ", 256 * KIB),
        ("a@", 256 * KIB),
        ("10.0.0.", 256 * KIB),
        ("+7 912 ", 256 * KIB),
        ("x", 256 * KIB),
        ("слово ", 2_560 * KIB),
    ];
    let filled = shapes.map(|(piece, bytes)| piece.repeat(bytes / piece.len()));
    let message = format!("{} 192.168.0.1", filled.join(" "));
    let at = message.chars().count() - "192.168.0.1".len();
    let body = json!({"application_id": stack.application_id(), "message": message});
    let answer = post(stack, "/process_request/", &body.to_string());
    assert_eq!(answer["status"], "success");
    let entities = answer["dataclean"]["entities"].as_array().unwrap();
    assert_eq!(entities.last().unwrap()["start"], at);
    let path = format!("/records/{}", answer["request_id"].as_str().unwrap());
    let record = stack.analysis(&path, KEY).json();
    assert_eq!(record["cleaned_text"], answer["dataclean"]["cleaned_text"]);
}
