//! Arguments of tools, and members of messages that nobody knows, hide nothing: CONTRACT 15, 41, 42.

use crate::hold_back::{CLOSED, text_of};
use crate::sync::{PHRASE, SYNC, blocked, chat, sync};
use serde_json::{Value, json};
use support::backend::Backend;
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::Stack;
use support::upstream::{ANSWER, DONE, Upstream, json as answer_of, sse};

const CHECKED: &str = ", replace_response: true";
const UNREADABLE: &str = r#"monitor_unchecked_total{reason="unreadable"}"#;
const CARD: &str = "2200124464507773";

/// Arguments in whose names and numbers the card stands, as the number may be written too.
const ARGUMENTS: [&str; 6] = [
    r#"{"n":2200124464507773}"#,
    r#"{"x":[1,{"y":2200124464507773.0}]}"#,
    r#"{"n":2.200124464507773e15}"#,
    r#"{"2200124464507773":1}"#,
    r#"{"x":{"2200\u003124464507773":{}}}"#,
    r#"2200124464507773"#,
];

/// Messages of a model server with these arguments, as they are and not in a string.
fn messages(arguments: &str) -> Vec<String> {
    [
        r#""content":null,"tool_calls":[{"index":0,"type":"function","function":{"name":"f","arguments":A}}]"#,
        r#""content":"ok","tool_calls":[{"index":0,"type":"custom","custom":{"name":"f","input":A}}]"#,
        r#""content":null,"function_call":{"name":"f","arguments":A}"#,
        r#""content":[{"type":"tool_use","name":"f","input":A}]"#,
        r#""content":"ok","x":{"parameters":A}"#,
    ]
    .iter()
    .map(|message| format!("{{{}}}", message.replace('A', arguments)))
    .collect()
}

fn event(delta: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n")
}

/// Each form of each arguments, in answers one after the other.
fn each_answered(fields: &str, body: fn(&str) -> Vec<u8>, each: impl Fn(&Stack, &str)) {
    let messages: Vec<String> = ARGUMENTS.iter().flat_map(|form| messages(form)).collect();
    let next = std::sync::Mutex::new(messages.clone().into_iter());
    let upstream =
        Upstream::answering(move |_| body(&next.lock().unwrap().next().unwrap_or_default()));
    let backend = Backend::flagging(CARD);
    let stack = sync(&upstream, fields).monitor(&backend).start();
    messages.iter().for_each(|message| each(&stack, message));
}

#[track_caller]
fn is_blocked(stack: &Stack, request: &Request, sent: &str) {
    let answer = stack.call(request);
    assert!(
        answer.text().contains("monitor-guardrails-"),
        "{sent}: {}",
        answer.text()
    );
    blocked(&answer);
}

#[test]
fn contract_15_names_and_numbers_of_arguments_are_checked() {
    let whole =
        |message: &str| answer_of(200, &format!("{{\"choices\":[{{\"message\":{message}}}]}}"));
    each_answered(CHECKED, whole, |stack, sent| {
        is_blocked(stack, &chat(HELLO), sent)
    });
    let stream = |delta: &str| sse(&[&event(delta), DONE]);
    each_answered(CHECKED, stream, |stack, sent| {
        is_blocked(stack, &chat(HELLO), sent)
    });
}

#[test]
fn contract_41_names_and_numbers_of_arguments_are_held_back() {
    let stream = |delta: &str| sse(&[&event(delta), DONE]);
    each_answered(CLOSED, stream, |stack, sent| {
        let unreadable = stack.metric(UNREADABLE);
        let answer = stack.call(&chat(HELLO_STREAM));
        assert!(
            !answer.text().contains("4507773"),
            "{sent}: {}",
            answer.text()
        );
        // As the arguments of a function they are of another type than a client expects, and give no verdict.
        let is_odd = stack.metric(UNREADABLE) > unreadable;
        assert_eq!(is_odd, sent.contains("\"arguments\""), "{sent}");
        if !is_odd {
            assert_eq!(text_of(&answer), PHRASE, "{sent}");
        }
    });
}

#[test]
fn contract_41_arguments_that_hide_nothing_pass_unchanged() {
    let many: Vec<String> = (0..200)
        .map(|at| format!("\"name{at}\":{}", 1_000 + at))
        .collect();
    let arguments = format!("{{\"ids\":[12345678,1700000000],{}}}", many.join(","));
    let frames: Vec<String> = messages(&arguments)
        .iter()
        .filter(|message| !message.contains("\"arguments\""))
        .map(|message| event(message))
        .chain([DONE.to_owned()])
        .collect();
    let raw: Vec<&str> = frames.iter().map(String::as_str).collect();
    let (upstream, backend) = (Upstream::raw(sse(&raw)), Backend::start());
    let stack = sync(&upstream, CLOSED).monitor(&backend).start();
    assert_eq!(stack.call(&chat(HELLO_STREAM)).text(), frames.concat());
    assert_eq!(stack.metric(UNREADABLE), 0.0);
}

#[test]
fn contract_42_numbers_of_arguments_in_a_string_are_checked_however_they_are_written() {
    let call = |arguments: &str| {
        let arguments = json!(arguments);
        format!(
            r#"{{"content":null,"tool_calls":[{{"index":0,"type":"function","function":{{"name":"f","arguments":{arguments}}}}}]}}"#
        )
    };
    let forms = ["{\"n\":2200124464507773.0}", "[2.200124464507773e15]"];
    for form in forms {
        let answer = format!("{{\"choices\":[{{\"message\":{}}}]}}", call(form));
        for answer in [answer_of(200, &answer), sse(&[&event(&call(form)), DONE])] {
            let (upstream, backend) = (Upstream::raw(answer), Backend::flagging(CARD));
            let stack = sync(&upstream, CHECKED).monitor(&backend).start();
            is_blocked(&stack, &chat(HELLO), form);
        }
        let (upstream, backend) = (Upstream::ok(), Backend::flagging(CARD));
        let roles = ", scan_roles: [assistant, last_user]";
        let stack = sync(&upstream, roles).monitor(&backend).start();
        let said = call(form).replacen('{', r#"{"role":"assistant","#, 1);
        let hello = r#"{"role":"user","content":"hello"}"#;
        is_blocked(&stack, &with_message(&format!("{said},{hello}")), form);
        upstream.assert_untouched();
    }
}

fn with_message(message: &str) -> Request {
    chat(format!(r#"{{"model":"m","messages":[{message}]}}"#))
}

#[test]
fn contract_42_names_and_numbers_of_arguments_are_checked() {
    let (upstream, backend) = (Upstream::ok(), Backend::flagging(CARD));
    let stack = sync(&upstream, "").monitor(&backend).start();
    for arguments in ARGUMENTS {
        let content = format!(
            r#"[{{"type":"text","text":"hello"}},{{"type":"tool_use","name":"f","input":{arguments}}}]"#
        );
        let message = format!(r#"{{"role":"user","content":{content}}}"#);
        is_blocked(&stack, &with_message(&message), arguments);
    }
    upstream.assert_untouched();
}

#[test]
fn contract_42_a_member_of_a_message_that_nobody_knows_is_checked() {
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("forbidden"));
    let stack = sync(&upstream, "").monitor(&backend).start();
    for member in [
        r#""x":"forbidden""#,
        r#""x":{"y":[1,"\u0066orbidden"]}"#,
        r#""input":{"forbidden":1}"#,
        r#""arguments":"{\"a\":\"\\u0066orbidden\"}""#,
        r#""tool_calls":[{"function":{"name":"f","arguments":"{\"a\":\"\\u0066orbidden\"}"}}]"#,
        r#""function_call":{"name":"forbidden","arguments":"{}"}"#,
    ] {
        for content in [r#""hello""#, r#""""#, "null"] {
            let message = format!(r#"{{"role":"user","content":{content},{member}}}"#);
            is_blocked(&stack, &with_message(&message), &message);
        }
    }
    upstream.assert_untouched();
    // Attributes are no text.
    for member in [
        r#""id":"forbidden""#,
        r#""created_at":"forbidden""#,
        r#""images":["forbidden"]"#,
        r#""audio":{"id":"forbidden"}"#,
    ] {
        let message = format!(r#"{{"role":"user","content":"hello",{member}}}"#);
        assert_eq!(
            stack.call(&with_message(&message)).text(),
            ANSWER,
            "{message}"
        );
    }
}

/// A conversation in which a tool was called with these arguments, given as JSON.
fn called(arguments: &str) -> String {
    let call = format!(
        r#"{{"id":"1","type":"function","function":{{"name":"f","arguments":{arguments}}}}}"#
    );
    format!(
        r#"{{"messages":[{{"role":"assistant","content":null,"tool_calls":[{call}]}},{{"role":"user","content":"hello"}}]}}"#
    )
}

#[test]
fn contract_42_calls_of_tools_are_checked_where_their_messages_are() {
    let arguments = [
        r#""{\"a\":\"forbidden\"}""#,
        r#""{\"a\":\"\\u0066orbidden\"}""#,
        r#""{\"\\u0066orbidden\":1}""#,
        r#""\\u0066orbidden""#,
        r#"{"a":"forbidden"}"#,
        r#"{"forbidden":1}"#,
    ];
    for (roles, is_checked) in [("", false), (", scan_roles: [assistant, last_user]", true)] {
        let (upstream, backend) = (Upstream::ok(), Backend::flagging("forbidden"));
        let stack = sync(&upstream, roles).monitor(&backend).start();
        for arguments in arguments {
            let request = chat(called(arguments));
            match is_checked {
                true => is_blocked(&stack, &request, arguments),
                false => assert_eq!(stack.call(&request).text(), ANSWER, "{arguments}"),
            }
        }
    }
}

#[test]
fn contract_41_what_is_redacted_of_arguments_stays_json() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let yaml = format!(
        "applications:\n- {{id: {SYNC}, app_mode: async, redact_upstream: true, scan_roles: [assistant, last_user]}}"
    );
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml(&yaml)
        .start();
    for (arguments, expected) in [
        (
            json!(r#"{"to":"a\u0040example.com","n":2200124464507773}"#),
            json!(r#"{"to":"[EMAILS_1]","n":"[BANK_CARD_NUMBER_1]"}"#),
        ),
        (
            json!({"2200124464507773": 2200124464507773u64, "n": [1, "a@example.com"]}),
            json!({"BANK_CARD_NUMBER_1": "[BANK_CARD_NUMBER_1]", "n": [1, "[EMAILS_1]"]}),
        ),
    ] {
        assert_eq!(
            stack.call(&chat(called(&arguments.to_string()))).text(),
            ANSWER
        );
        let sent: Value = serde_json::from_slice(&upstream.last().body).unwrap();
        let found = &sent["messages"][0]["tool_calls"][0]["function"]["arguments"];
        assert_eq!(*found, expected);
    }
}
