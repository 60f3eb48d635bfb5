//! The texts of requests and answers: each stands in a string of the body, they ascend, replacing them by
//! themselves changes nothing, and what a second reader finds as a user's or a model's text, or decodes of arguments, is
//! among them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use monitor_wire::json::{
    Request, RequestShape, Form, ScanRole, answer_literals, answer_text, checked_answer, is_envelope, replace_spans,
    replace_text, scan, unescape,
};
use serde_json::Value;
use std::ops::Range;

const ROLES: [&[ScanRole]; 4] = [
    &[],
    &[ScanRole::AllUser],
    &[ScanRole::System, ScanRole::LastUser],
    &[
        ScanRole::AllUser,
        ScanRole::System,
        ScanRole::Assistant,
        ScanRole::Tool,
    ],
];

fn check_literals(body: &[u8], literals: &[Range<usize>]) {
    let mut from = 0;
    for span in literals {
        assert!(from <= span.start && span.start < span.end, "{literals:?}");
        from = span.end;
        let token = &body[span.clone()];
        let is_string = token.len() >= 2 && token.starts_with(b"\"") && token.ends_with(b"\"");
        // A number of many digits, or one of few with an exponent.
        let is_number = std::str::from_utf8(token).is_ok_and(|token| token.parse::<f64>().is_ok());
        assert!(is_string || is_number);
    }
    let same: Vec<_> = literals
        .iter()
        .map(|span| (span.clone(), &body[span.clone()]))
        .collect();
    assert_eq!(replace_spans(body, &same), body);
}

fn check_request(body: &[u8], second: Option<&Value>) {
    let Ok(scan) = scan(body) else { return };
    let chat = Request::read(&RequestShape::CHAT, body, &scan);
    for roles in ROLES {
        let prompt = chat.prompt(roles).text;
        let literals = chat.prompt_literals(roles);
        for literal in &literals {
            let token = &body[literal.span.clone()];
            assert!(prompt.contains(&*literal.form.text(token)));
            check_replaced(literal.form, token);
        }
        let mut literals: Vec<_> = literals.into_iter().map(|literal| literal.span).collect();
        // What stands beside the texts comes behind them.
        literals.sort_by_key(|span| span.start);
        check_literals(body, &literals);
    }
    for span in chat.stream_true_spans() {
        assert_eq!(&body[span], b"true");
    }
    let _ = (chat.wants_stream(), chat.model(), chat.request_id());
    let all = chat.prompt(&[ScanRole::AllUser]).text;
    let messages = second.and_then(|value| value["messages"].as_array());
    for message in messages.into_iter().flatten() {
        if let (Some("user"), Some(text)) = (message["role"].as_str(), message["content"].as_str())
        {
            assert!(all.contains(text), "a user's text is not in the prompt");
        }
        if let (Some("user"), Some(text)) = (message["role"].as_str(), message["x"].as_str()) {
            assert!(
                all.contains(text),
                "a member that nobody knows is not in the prompt"
            );
        }
    }
}

/// What takes the place of a text leaves a value, and arguments that are JSON.
fn check_replaced(form: Form, token: &[u8]) {
    let text = form.text(token);
    let middle = text.floor_char_boundary(text.len() / 2);
    let end = text.ceil_char_boundary(middle + 1).min(text.len());
    if middle == end || text[middle..end].contains(['{', '}', '[', ']', '"', ':', ',', '\\']) {
        return;
    }
    let changed = replace_spans(token, &replace_text(form, token, &[(middle..end, "[X]")]));
    assert!(scan(&changed).is_ok());
}

fn check_answer(body: &[u8], second: Option<&Value>) {
    assert_eq!(answer_text(body).is_some(), scan(body).is_ok());
    let _ = is_envelope(body);
    let (Some(answer), Some(literals)) = (answer_text(body), answer_literals(body)) else {
        return;
    };
    let spans: Vec<_> = literals
        .iter()
        .map(|literal| literal.span.clone())
        .collect();
    check_literals(body, &spans);
    let choices = second.and_then(|value| value["choices"].as_array());
    for choice in choices.into_iter().flatten() {
        if let Some(text) = choice["message"]["content"].as_str() {
            assert!(
                answer.text.contains(text),
                "a choice's text is not recorded"
            );
            let found = spans
                .iter()
                .any(|span| unescape(&body[span.clone()]) == text);
            assert!(found, "a choice's text is not judged");
        }
    }
    if let Some(usage) = answer.usage {
        assert!(scan(&body[usage]).is_ok());
    }
    check_checked(body, second);
}

/// What is checked of an answer is no longer than the answer, and has every text of every choice.
fn check_checked(body: &[u8], second: Option<&Value>) {
    let checked = checked_answer(body).expect("what the scanner accepts is read");
    // Arguments that are no JSON are read in two forms.
    assert!(checked.text.len() <= 2 * body.len());
    let breaks = checked.part_breaks.iter();
    assert!(
        breaks
            .clone()
            .all(|place| checked.text.as_bytes()[*place] == b'\n')
    );
    assert!(breaks.clone().is_sorted() && breaks.len() <= 4_096);
    let choices = second.and_then(|value| value["choices"].as_array());
    for choice in choices.into_iter().flatten() {
        for text in [
            &choice["message"]["content"],
            &choice["message"]["thinking"],
            &choice["text"],
        ] {
            let text = text.as_str().unwrap_or_default();
            assert!(
                checked.has_unreadable || checked.text.contains(text),
                "a text is not checked"
            );
        }
        let calls = choice["message"]["tool_calls"].as_array();
        for call in calls.into_iter().flatten() {
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            let arguments = serde_json::from_str(arguments).unwrap_or_default();
            check_strings(&arguments, |text| {
                checked.has_unreadable || checked.text.contains(text)
            });
        }
    }
}

/// Whether every string of arguments is checked as a second reader decodes it.
fn check_strings(value: &Value, is_checked: impl Fn(&str) -> bool + Copy) {
    match value {
        Value::String(text) => assert!(is_checked(text), "a text of arguments is not checked"),
        Value::Array(values) => values
            .iter()
            .for_each(|value| check_strings(value, is_checked)),
        Value::Object(members) => {
            for (name, value) in members {
                assert!(is_checked(name), "a name in arguments is not checked");
                check_strings(value, is_checked);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fuzz_target!(|body: &[u8]| {
    let second = serde_json::from_slice::<Value>(body).ok();
    check_request(body, second.as_ref());
    check_answer(body, second.as_ref());
});
