//! Numbers of arguments of tools, however they are written, and the names that say what they are: CONTRACT 15, 41, 42.

use crate::hold_back::{CLOSED, held, text_of};
use crate::sync::{PHRASE, SYNC, chat, sync};
use serde_json::{Value, json};
use support::backend::Backend;
use support::request::{HELLO, HELLO_STREAM};
use support::stack::Stack;
use support::upstream::{ANSWER, DONE, Upstream, json as answer_of, sse};

const UNREADABLE: &str = r#"monitor_unchecked_total{reason="unreadable"}"#;

/// Arguments with a card that is written as no reader shows it.
const ODD: [&str; 6] = [
    r#"{"n":2200124464507773.0}"#,
    r#"{"x":[1,{"y":2.200124464507773e15}]}"#,
    r#"{"\u006e":22001244645077730E-1}"#,
    r#"{"n":2200124464507773.5}"#,
    r#"2200124464507773.00"#,
    r#"{"a":"\"","n":4.5,"cardNumber": 2200124464507773.25 ,"z":1}"#,
];

/// The frames of a stream in which arguments come in pieces.
fn frames(call: &str, arguments: &str, cut: usize) -> Vec<String> {
    let pieces = arguments.as_bytes().chunks(cut);
    let delta = |piece: &[u8]| {
        let piece = json!(std::str::from_utf8(piece).unwrap()).to_string();
        let call = call.replace('A', &piece);
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{{call}}}}}]}}\n\n")
    };
    pieces.map(delta).chain([DONE.to_owned()]).collect()
}

const CALLS: [&str; 3] = [
    r#""tool_calls":[{"index":0,"function":{"arguments":A}}]"#,
    r#""tool_calls":[{"index":0,"custom":{"input":A}}]"#,
    r#""function_call":{"arguments":A}"#,
];

fn bytes_of(frames: &[String]) -> Vec<u8> {
    sse(&frames.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn contract_41_numbers_of_arguments_in_a_string_are_held_back_however_they_are_written() {
    let mut bodies = Vec::new();
    for arguments in ODD {
        for cut in [1, 7, 100] {
            bodies.push((arguments, frames(CALLS[0], arguments, cut)));
        }
        for call in &CALLS[1..] {
            bodies.push((arguments, frames(call, arguments, 3)));
        }
    }
    let all: Vec<Vec<u8>> = bodies.iter().map(|(_, frames)| bytes_of(frames)).collect();
    let next = std::sync::Mutex::new(all.into_iter());
    let upstream = Upstream::answering(move |_| next.lock().unwrap().next().unwrap());
    let backend = Backend::start();
    let stack = sync(&upstream, CLOSED).monitor(&backend).start();
    for (arguments, frames) in bodies {
        let answer = stack.call(&chat(HELLO_STREAM));
        assert_eq!(text_of(&answer), PHRASE, "{arguments}");
        // Of the frames with a digit of the number, the client got none.
        let seen = frames.iter().filter(|frame| answer.text().contains(*frame));
        let seen: String = seen.map(|frame| frame.replace("\"index\":0", "")).collect();
        assert!(!seen.contains("22"), "{arguments}: {}", answer.text());
    }
    assert_eq!(stack.metric(UNREADABLE), 0.0);
}

#[test]
fn contract_41_numbers_that_hide_nothing_pass_as_they_come() {
    let words = "words ".repeat(30);
    let arguments = format!(
        r#"{{"order":4276549360344563.0,"a":[1,2.5,-3e4,12345678.0,55.7558123],"b":"{words}#","c":17}}"#
    );
    for call in CALLS {
        let (_stack, feed, mut conn, _upstream, _backend) = held(CLOSED, "");
        let frames = frames(call, &arguments, 2);
        frames[..frames.len() - 1]
            .iter()
            .for_each(|frame| feed.chunk(frame));
        // Before the end, all but the last number is with the client.
        let mark = frames.iter().position(|frame| frame.contains('#')).unwrap();
        let seen = conn.read_until(frames[mark].as_bytes());
        assert_eq!(String::from_utf8(seen).unwrap(), frames[..=mark].concat());
        feed.chunk(DONE);
        feed.end();
        conn.read_until(DONE.as_bytes());
    }
}

/// A conversation in which a tool was called with these arguments, given as JSON.
fn called(arguments: &Value) -> String {
    let call =
        json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}});
    let messages = json!([
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "user", "content": "hello"}
    ]);
    json!({ "messages": messages }).to_string()
}

fn redacting(upstream: &Upstream, backend: &Backend) -> Stack {
    let yaml = format!(
        "applications:\n- {{id: {SYNC}, app_mode: async, redact_upstream: true, scan_roles: [assistant, last_user]}}"
    );
    let stack = Stack::gateway().upstream(upstream).monitor(backend);
    stack.yaml(&yaml).start()
}

/// The arguments that reach the model server.
fn sent(upstream: &Upstream) -> Value {
    let body: Value = serde_json::from_slice(&upstream.last().body).unwrap();
    body["messages"][0]["tool_calls"][0]["function"]["arguments"].clone()
}

#[test]
fn contract_41_numbers_of_arguments_are_redacted_however_they_are_written() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = redacting(&upstream, &backend);
    for arguments in ODD {
        assert_eq!(stack.call(&chat(called(&json!(arguments)))).text(), ANSWER);
        let sent = sent(&upstream);
        let text = sent.as_str().unwrap();
        assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}");
        assert!(text.contains("\"[BANK_CARD_NUMBER_1]\""), "{text}");
        assert!(!text.contains("22"), "{text}");
        let inside =
            format!(r#"{{"messages":[{{"role":"user","content":"hi","input":{arguments}}}]}}"#);
        assert_eq!(stack.call(&chat(&*inside)).text(), ANSWER);
        let body: Value = serde_json::from_slice(&upstream.last().body).unwrap();
        let body = body["messages"][0]["input"].to_string();
        assert!(
            body.contains("[BANK_CARD_NUMBER_1]") && !body.contains("22001"),
            "{body}"
        );
    }
}

#[test]
fn contract_41_a_number_of_arguments_is_read_with_its_name() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = redacting(&upstream, &backend);
    let arguments = json!({
        "inn": 7752601811u64,
        "clientInn": [7759083012u64, 7752601811u64],
        "x": {"order_id": 4276549360344563u64, "y": [{"z": 1}, 4276549360344563u64]},
        "n": 7752601811u64,
        "+7": 9261234567u64,
        "4276": 549360344563u64,
    });
    let expected = json!({
        "inn": "[INN_2]",
        "clientInn": ["[INN_1]", "[INN_2]"],
        "x": {"order_id": 4276549360344563u64, "y": [{"z": 1}, "[BANK_CARD_NUMBER_1]"]},
        "n": 7752601811u64,
        "+7": 9261234567u64,
        "4276": 549360344563u64,
    });
    assert_eq!(stack.call(&chat(called(&arguments))).text(), ANSWER);
    assert_eq!(sent(&upstream), expected);
    // The same in a string, written so that the numbers are read behind the arguments.
    let odd = r#"{"inn":7752601811.0,"x":{"order_id":4276549360344563.0,"y":[{"z":1},4276549360344563.0]}}"#;
    assert_eq!(stack.call(&chat(called(&json!(odd)))).text(), ANSWER);
    let text = sent(&upstream)
        .as_str()
        .unwrap()
        .replace("[INN_1]", "7752601811.0");
    let text = text.replace("\"7752601811.0\"", "7752601811.0");
    assert_eq!(
        text,
        odd.replace("4276549360344563.0]", "\"[BANK_CARD_NUMBER_1]\"]")
    );
}

#[test]
fn contract_42_a_name_that_is_no_text_and_any_object_of_a_call_are_checked() {
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("2200124464507773"));
    let stack = sync(&upstream, "").monitor(&backend).start();
    let value = |form: &str| form.replace('N', "2200124464507773");
    for member in [
        r#""name":{"first":"N"}"#,
        r#""name":["N"]"#,
        r#""name":{"N":{"x":[]}}"#,
        r#""name":[{"type":N.0}]"#,
        r#""name":N"#,
        r#""tool_calls":[{"function":{"name":{"id":"N"}}}]"#,
        r#""tool_calls":[{"function":{"name":"f","payload":{"n":N.0}}}]"#,
        r#""tool_calls":[{"function":{"name":"f","payload":"{\"n\":N.0}"}}]"#,
        r#""tool_calls":[{"server":{"N":1}}]"#,
        r#""function_call":{"name":"f","x":[N]}"#,
        r#""content":[{"type":"tool_use","name":"f","payload":{"n":N}}]"#,
        r#""content":[{"type":"tool_result","structured":{"N":1}}]"#,
    ] {
        let member = value(member);
        let message = match member.starts_with("\"content\"") {
            true => format!(r#"{{"role":"user",{member}}}"#),
            false => format!(r#"{{"role":"user","content":"hello",{member}}}"#),
        };
        let body = format!(r#"{{"model":"m","messages":[{message}]}}"#);
        let answer = stack.call(&chat(&*body));
        assert!(
            answer.text().contains("monitor-guardrails-"),
            "{member}: {}",
            answer.text()
        );
    }
    upstream.assert_untouched();
}

#[test]
fn contract_15_any_object_of_a_call_is_checked() {
    let messages = [
        r#""content":"ok","name":{"a":"N"}"#,
        r#""content":"ok","tool_calls":[{"function":{"name":"f","arguments":"{}","payload":{"n":N.0}}}]"#,
        r#""content":"ok","tool_calls":[{"function":{"name":"f","arguments":"{}","payload":"{\"n\":N.0}"}}]"#,
        r#""content":"ok","tool_calls":[{"x":{"type":{"N":1}}}]"#,
        r#""content":"ok","function_call":{"name":"f","arguments":"{}","x":[N]}"#,
        r#""content":[{"type":"text","text":"ok"},{"type":"tool_use","name":"f","payload":{"n":N}}]"#,
        r#""content":"ok","output":[{"type":"function_call","x":{"n":N}}]"#,
    ];
    let messages = messages.map(|message| message.replace('N', "2200124464507773"));
    let bodies: Vec<Vec<u8>> = messages
        .iter()
        .flat_map(|message| {
            let event =
                format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{{message}}}}}]}}\n\n");
            let whole = format!("{{\"choices\":[{{\"message\":{{{message}}}}}]}}");
            [answer_of(200, &whole), sse(&[&event, DONE])]
        })
        .collect();
    let count = bodies.len();
    for (fields, hello) in [(", replace_response: true", HELLO), (CLOSED, HELLO_STREAM)] {
        let next = std::sync::Mutex::new(bodies.clone().into_iter());
        let upstream = Upstream::answering(move |_| next.lock().unwrap().next().unwrap());
        let backend = Backend::flagging("2200124464507773");
        let stack = sync(&upstream, fields).monitor(&backend).start();
        for at in 0..count {
            let answer = stack.call(&chat(hello));
            let text = answer.text();
            let is_blocked =
                text.contains("monitor-guardrails-") || text.contains("content_filter");
            assert!(is_blocked, "{at} {}: {text}", messages[at / 2]);
            assert!(!text.contains("4507773"), "{at}: {text}");
        }
        assert_eq!(stack.metric(UNREADABLE), 0.0);
    }
}
