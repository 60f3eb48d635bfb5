//! The bytes of a prompt, of the size that agents send, in every mode: with tools, an image and what a model server has
//! signed, they reach the model server as they came. §1.3, CONTRACT 1, 2, 41, 46: a cached prompt is found by its bytes.

use super::Api;
use support::backend::{Backend, Manner};
use support::contains;
use support::request::Request;
use support::stack::Stack;
use support::upstream::{Upstream, json, sse};

contract! {
    a_prompt_of_an_agent_arrives_to_the_byte_in_every_mode;
    a_prompt_of_an_agent_arrives_to_the_byte_without_a_backend_and_behind_the_disk;
    a_redaction_changes_the_finds_alone_and_nothing_that_was_signed;
}

/// Policies, and whether sync mode turns the streams of chat completions off with them (§1.3, CONTRACT 2, 43).
const MODES: [(&str, bool); 7] = [
    ("async", false),
    ("sync, phrase: x", true),
    ("sync, phrase: x, replace_response: true", true),
    ("sync, phrase: x, stream_in_sync: hold_back", false),
    ("sync, phrase: x, stream_in_sync: replay", true),
    ("sync, phrase: x, block_details: header", true),
    (
        "sync, phrase: x, scan_roles: [all_user, assistant, system, tool]",
        true,
    ),
];

const ADDRESS: &str = "anna@example.com";
/// About 1 KB of the inside of a JSON string.
fn fill() -> String {
    r#"and so it goes on, \u0416 caf\u00e9 é \ud83d\ude00 with \"quotes\", a \\ and a \/ in it;\r\n\t"#.repeat(10)
}

/// The turns of an agent: `@F` is a long text, `@O` a short one, and `@A` an address that the model server has signed.
fn turn(api: Api) -> &'static str {
    match api {
        Api::Chat => {
            r#"{"role":"user","content":[{"type":"text","text":"turn @F @O"}]}, {"role":"assistant","content":"I look, @O","tool_calls":[{"id":"c_@N","type":"function","function":{"name":"shell","arguments":"{\"command\": \"ls @N\"}"}}]},{"role":"tool","tool_call_id":"c_@N","content":"@F @O"},"#
        }
        Api::Completions => "@F",
        Api::Responses => {
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"turn @F @O"}]}, {"type":"reasoning","id":"rs_@N","summary":[],"encrypted_content":"@A"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look, @O"}]},{"type":"function_call","call_id":"c_@N","name":"shell","arguments":"{\"command\": \"ls @N\"}"},{"type":"function_call_output","call_id":"c_@N","output":"@F @O"},"#
        }
        Api::Messages => {
            r#"{"role":"user","content":[{"type":"text","text":"turn @F @O"}]}, {"role":"assistant","content":[{"type":"thinking","thinking":"I think of @A","signature":"c2lnbmVk"},{"type":"redacted_thinking","data":"@A"},{"type":"text","text":"I look, @O"},{"type":"tool_use","id":"t_@N","name":"shell","input":{"command" : "ls @N"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t_@N","content":"@F @O"}]},"#
        }
    }
}

/// What stands around the turns.
fn frame_of(api: Api) -> &'static str {
    match api {
        Api::Chat => {
            r#"{ "model":"m-1", "stream": @S,"seed":12345678901234567890123,"top_p":1e400,"tools":[{"type":"function","function":{"name":"shell","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}],"messages":[{"role":"system","content":"rules"},@T{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,@P"}}]},{"role":"user","content":"@L"}]} "#
        }
        Api::Completions => {
            r#"{ "model":"m-1", "stream": @S,"max_tokens":1e2,"top_p":1e400,"prompt":"@T @L"} "#
        }
        Api::Responses => {
            r#"{ "model":"m-1", "stream": @S,"n":12345678901234567890123,"top_p":1e400,"tools":[{"type":"function","name":"shell","strict":true,"parameters":{"type":"object","properties":{"command":{"type":"string"}}}}],"instructions":"rules","input":[@T{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,@P"}]},{"role":"user","content":[{"type":"input_text","text":"@L"}]}]} "#
        }
        Api::Messages => {
            r#"{ "model":"m-1", "stream": @S,"max_tokens":1e2,"top_p":1e400,"thinking":{"type":"enabled","budget_tokens":1024},"tools":[{"name":"shell","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}],"system":[{"type":"text","text":"rules","cache_control":{"type":"ephemeral"}}],"messages":[@T{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"@P"}}]},{"role":"user","content":[{"type":"text","text":"@L"}]}]} "#
        }
    }
}

/// What the parts of a prompt say.
#[derive(Clone, Copy)]
struct Said<'a> {
    last: &'a str,
    others: &'a str,
}

/// A prompt of so many turns, as odd to the byte as JSON may be.
fn prompt(api: Api, turns: usize, streams: bool, said: Said<'_>) -> String {
    let (turn, fill) = (turn(api), fill());
    let turns = (0..turns).map(|number| {
        let turn = turn.replace("@F", &fill).replace("@O", said.others);
        turn.replace("@N", &number.to_string())
    });
    let turns = turns.collect::<Vec<_>>().concat();
    let streams = if streams { "true" } else { "false" };
    let whole = frame_of(api).replace("@S", streams).replace("@T", &turns);
    let whole = whole.replace("@P", &"iVBORw0KGgo".repeat(2_000));
    let whole = whole.replace("@L", said.last);
    whole.replace("@A", ADDRESS)
}

/// One of some 400 KB.
fn long(api: Api, streams: bool) -> String {
    let turns = if api.has_tools() { 190 } else { 400 };
    let said = Said {
        last: "hello",
        others: "and more",
    };
    let body = prompt(api, turns, streams, said);
    assert!(
        (350 << 10..500 << 10).contains(&body.len()),
        "{}",
        body.len()
    );
    body
}

/// A model server that streams where it is asked to.
fn answering(api: Api) -> Upstream {
    let whole = json(200, &api.answer("Hi", "ls"));
    let frames = api.stream("Hi", "ls");
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    let stream = sse(&frames);
    Upstream::answering(move |request| {
        let is_stream = contains(&request.body[..100], b"\"stream\": true");
        if is_stream {
            stream.clone()
        } else {
            whole.clone()
        }
    })
}

fn application(number: usize) -> String {
    format!("57100000-0000-4000-8000-{number:012}")
}

/// A gateway with an application for each policy.
fn stack(upstream: &Upstream, backend: &Backend, policies: &[&str], yaml: &str) -> Stack {
    let lines = policies.iter().enumerate().map(|(number, policy)| {
        let id = application(number);
        format!("- {{id: {id}, app_mode: {policy}}}\n")
    });
    let applications = lines.collect::<Vec<_>>().concat();
    Stack::gateway()
        .upstream(upstream)
        .monitor(backend)
        .yaml(&format!("applications:\n{applications}{yaml}"))
        .start()
}

/// Calls with the body and asserts what reached the model server.
#[track_caller]
fn assert_sent(stack: &Stack, upstream: &Upstream, call: &Request, expected: &str) {
    upstream.forget();
    let got = stack.call(call);
    assert_eq!(got.status(), 200, "{}", got.text());
    let sent = upstream.last();
    let differs = sent.body.iter().zip(expected.as_bytes());
    let differs = differs.take_while(|(sent, expected)| sent == expected);
    assert!(
        sent.body == expected.as_bytes(),
        "{} of {} bytes, other from byte {} on",
        sent.body.len(),
        expected.len(),
        differs.count()
    );
    assert_eq!(
        sent.head.values("content-length"),
        [expected.len().to_string()]
    );
}

#[track_caller]
fn assert_every_mode(api: Api, backend: &Backend, yaml: &str) {
    let upstream = answering(api);
    let policies = MODES.map(|(policy, _)| policy);
    let stack = stack(&upstream, backend, &policies, yaml);
    for streams in [false, true] {
        let body = long(api, streams);
        let call = Request::post(api.path(), &body);
        assert_sent(&stack, &upstream, &call, &body);
        for (number, (_, turns_off)) in MODES.into_iter().enumerate() {
            let call = call
                .clone()
                .header("X-Application-Id", &application(number));
            let expected = match turns_off && api.is_answered_whole() {
                true => body.replacen("\"stream\": true", "\"stream\": false", 1),
                false => body.clone(),
            };
            assert_sent(&stack, &upstream, &call, &expected);
        }
    }
}

fn a_prompt_of_an_agent_arrives_to_the_byte_in_every_mode(api: Api) {
    assert_every_mode(api, &Backend::start(), "");
}

/// CONTRACT 13: an open policy lets the call pass unchecked.
fn a_prompt_of_an_agent_arrives_to_the_byte_without_a_backend_and_behind_the_disk(api: Api) {
    let backend = Backend::that(Manner::Refuses(503));
    assert_every_mode(api, &backend, "spool: {durability: before_upstream}\n");
}

/// CONTRACT 41: a model server refuses reasoning that is not as it signed it.
fn a_redaction_changes_the_finds_alone_and_nothing_that_was_signed(api: Api) {
    let policies = [
        "async, redact_upstream: true",
        "sync, phrase: x, replace_response: true, redact_upstream: true",
        "async, redact_upstream: true, scan_roles: [all_user, assistant, tool]",
    ];
    let (upstream, backend) = (answering(api), Backend::start());
    let stack = stack(&upstream, &backend, &policies, "");
    let found = "[EMAILS_1]";
    for streams in [false, true] {
        for (number, others) in [ADDRESS, ADDRESS, found].into_iter().enumerate() {
            let of = |last, others| prompt(api, 20, streams, Said { last, others });
            let call = Request::post(api.path(), of(ADDRESS, ADDRESS));
            let call = call.header("X-Application-Id", &application(number));
            let mut expected = of(found, others);
            if number == 1 && api.is_answered_whole() {
                expected = expected.replacen("\"stream\": true", "\"stream\": false", 1);
            }
            assert_sent(&stack, &upstream, &call, &expected);
        }
    }
}
