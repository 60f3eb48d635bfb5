//! Messages and filters that could mean something else to a database: they are data, on every store and
//! over the wire (CONTRACT 27, 36, 38; "Bad input" of the analysis API).

use super::world::{authorised, on_every_store};
use serde_json::{Value, json};
use support::KEY;
use support::api::patch;
use support::request::Request;
use support::stack::Stack;

on_every_store! {
    contract_36_offsets_count_code_points_on_every_store_and_come_back_with_the_record
    contract_38_characters_of_sql_and_like_are_data_in_every_filter
}

#[track_caller]
fn post(stack: &Stack, path: &str, body: &str) -> Value {
    let response = authorised(Request::post(path, body)).call(stack.analysis_addr);
    assert_eq!(response.status(), 200, "{}", response.text());
    response.json()
}

fn contract_36_offsets_count_code_points_on_every_store_and_come_back_with_the_record(
    stack: &Stack,
) {
    let id = stack.application_id();
    // As JSON writes them, and how many code points that is.
    for (lead, at) in [
        ("", 0),
        (r"\u0000 a\u0000 ", 5),
        (r"\u202e\u05e9\u05dc\u05d5\u05dd\u202c ", 7),
        (r"e\u0301\u0302 ", 4),
        (r"\ud83d\udc69\u200d\ud83d\udc67 ", 4),
        (r"\ud83d ", 2),
        (r"\udc67\ud83d ", 3),
        ("Ёж — ", 5),
    ] {
        for path in ["/process_request/", "/process_response/"] {
            let body = format!(r#"{{"application_id":"{id}","message":"{lead}10.0.0.1 {lead}"}}"#);
            let answer = post(stack, path, &body);
            let entities = json!([{"type": "IP", "start": at, "end": at + 8}]);
            assert_eq!(answer["dataclean"]["entities"], entities, "{lead}");
            let path = format!("/records/{}", answer["request_id"].as_str().unwrap());
            let record = stack.analysis(&path, KEY).json();
            assert_eq!(record["answer"], answer, "{lead}");
            let cleaned = record["cleaned_text"].as_str().unwrap();
            assert_eq!(cleaned.chars().position(|c| c == '['), Some(at), "{lead}");
        }
    }
}

fn contract_38_characters_of_sql_and_like_are_data_in_every_filter(stack: &Stack) {
    const NAMES: [&str; 10] = [
        "' OR '1'='1",
        "'; DROP TABLE records; --",
        "%",
        "_",
        "100% sure_",
        r"back\slash\%",
        "\"quoted\"",
        "$1 ?1 :name @name",
        "*[a-z]?",
        "null",
    ];
    // "$1" is an amount of money too: what is looked for here is the text as it came.
    let path = format!("/applications/{}", stack.application_id());
    let rules = json!({"version": 1, "rules": {"pre": {"dataclean": {"patterns": ["SNILS"]}}}});
    patch(stack, &path, &rules);
    for name in NAMES {
        let body = json!({
            "application_id": stack.application_id(),
            "message": format!("<{name}>"),
            "additional_parameters": {"user_id": name, "session_id": name, "request_id": name},
        });
        post(stack, "/process_request/", &body.to_string());
    }
    for name in NAMES {
        let word = encoded(name);
        for query in [
            format!("user_id={word}"),
            format!("session_id={word}"),
            format!("text={}", encoded(&format!("<{name}>"))),
            format!("user_id={word}&session_id={word}&text={word}"),
        ] {
            let listed = stack.analysis(&format!("/records?{query}"), KEY);
            assert_eq!(listed.status(), 200, "{query}: {}", listed.text());
            let listed = listed.json();
            let ids: Vec<_> = listed["records"].as_array().unwrap().iter().collect();
            assert_eq!(ids.len(), 1, "{query}");
            assert_eq!(ids[0]["exchange_id"], name, "{query}");
        }
        let none = stack.analysis(&format!("/records?type={word}"), KEY).json();
        assert_eq!(none["records"], json!([]), "{name}");
        let sessions = format!("/sessions?user_id={word}");
        let sessions = stack.analysis(&sessions, KEY).json();
        assert_eq!(sessions["sessions"][0]["session_id"], name);
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    }
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
