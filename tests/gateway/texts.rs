//! Which text of an exchange is recorded: §4.1 rule 3, CONTRACT 3 and 4.

use serde_json::json;
use std::io::Write;
use support::backend::{Backend, Call};
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::Stack;
use support::upstream::{ANSWER, DONE, SSE_HEAD, Upstream, delta, response};

/// The records of one exchange with that request body and that upstream.
#[track_caller]
fn records(upstream: &Upstream, body: &str) -> (Call, Call) {
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(upstream)
        .monitor(&backend)
        .start();
    let status = stack.call(&Request::chat(body)).status();
    assert_eq!(status, 200, "{body}");
    backend.await_exchange()
}

#[test]
fn the_recorded_prompt_is_the_last_user_messages_text() {
    // CONTRACT 3.
    let cases = [
        (r#"{"messages":[{"role":"user","content":"only"}]}"#, "only"),
        (
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"one"},{"role":"assistant","content":"a"},{"role":"user","content":"two"}]}"#,
            "two",
        ),
        (
            r#"{"messages":[{"role":"user","content":"asked"},{"role":"assistant","content":"a"},{"role":"tool","content":"t"}]}"#,
            "asked",
        ),
        (
            r#"{"messages":[{"content":"role comes last","role":"user"}]}"#,
            "role comes last",
        ),
        (
            r#"{"messages":[{"role":"system","content":"no user"},{"role":"developer","content":"at all"}]}"#,
            "at all",
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"first"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","text":"hidden"}},{"type":"text","text":"second"}]}]}"#,
            "first\nsecond",
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"text":"type comes last","type":"text"},{"type":"file","file":{"file_data":"AAAA"}}]}]}"#,
            "type comes last",
        ),
        (
            r#"{"messages":[{"role":"user","content":"tab\t quote\" \u0041 \ud83d\ude42 é"}]}"#,
            "tab\t quote\" A 🙂 é",
        ),
        (
            r#"{"messa\u0067es":[{"r\u006fle":"us\u0065r","content":"escaped keys"}]}"#,
            "escaped keys",
        ),
        (
            r#"{"nested":{"messages":[{"role":"user","content":"decoy"}]},"messages":[{"role":"user","content":"real"}]}"#,
            "real",
        ),
        (r#"{"messages":[{"role":"user","content":""}]}"#, ""),
    ];
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    for (turn, (body, expected)) in cases.iter().enumerate() {
        assert_eq!(stack.call(&Request::chat(body)).status(), 200);
        let calls = backend.await_posts(turn + 1);
        let pre = calls.iter().rfind(|call| call.is_pre()).unwrap();
        assert_eq!(pre.message(), *expected, "{body}");
    }
}

#[test]
fn a_second_occurrence_of_a_key_hides_nothing() {
    // CONTRACT 3: with duplicate keys every occurrence is scanned.
    let bodies = [
        r#"{"messages":[{"role":"user","content":"alpha"}],"messages":[{"role":"user","content":"omega"}]}"#,
        r#"{"messages":[{"role":"user","content":"alpha","content":"omega"}]}"#,
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"alpha","text":"omega"}]}]}"#,
    ];
    for body in bodies {
        let (pre, _) = records(&Upstream::ok(), body);
        assert!(
            pre.message().contains("alpha") && pre.message().contains("omega"),
            "{body}: {}",
            pre.message()
        );
    }
}

#[test]
fn text_that_no_string_can_hold_is_recorded_as_far_as_it_can_be() {
    // CONTRACT 1, 3: lone surrogates and odd shapes never fail the call.
    let (pre, _) = records(
        &Upstream::ok(),
        r#"{"messages":[{"role":"user","content":"left \ud800 right"}]}"#,
    );
    assert!(
        pre.message().starts_with("left ") && pre.message().ends_with(" right"),
        "{}",
        pre.message()
    );
    for odd in [
        "{}",
        "[]",
        r#"{"messages":7}"#,
        r#"{"messages":[{"role":"user","content":7}]}"#,
        r#"{"messages":[null,1]}"#,
    ] {
        records(&Upstream::ok(), odd);
    }
}

fn answer_with(choices: serde_json::Value) -> String {
    json!({"id": "c", "object": "chat.completion", "model": "m", "choices": choices, "usage": {}})
        .to_string()
}

#[test]
fn the_recorded_answer_is_the_text_of_all_choices() {
    // CONTRACT 4.
    let message = |message: serde_json::Value| json!({"index": 0, "message": message, "finish_reason": "stop"});
    let cases = [
        (
            json!([message(json!({"role": "assistant", "content": "one"}))]),
            "one",
        ),
        (
            json!([
                message(json!({"content": "one"})),
                message(json!({"content": "two"}))
            ]),
            "one\ntwo",
        ),
        (
            json!([message(json!({"content": null, "refusal": "I will not"}))]),
            "I will not",
        ),
        (json!([]), ""),
    ];
    for (choices, expected) in cases {
        let (_, post) = records(&Upstream::json(200, &answer_with(choices)), HELLO);
        assert_eq!(post.message(), expected);
        assert!(post.parameter("error").is_null());
    }
}

#[test]
fn tool_calls_are_recorded_with_names_and_arguments() {
    // CONTRACT 4.
    let calls = json!([{"id": "t", "type": "function", "function": {"name": "look_up", "arguments": "{\"who\":\"x\"}"}}]);
    let choices = json!([{"index": 0, "message": {"role": "assistant", "content": null, "tool_calls": calls}}]);
    let (_, post) = records(&Upstream::json(200, &answer_with(choices)), HELLO);
    assert!(
        post.message().contains("look_up") && post.message().contains(r#"{"who":"x"}"#),
        "{}",
        post.message()
    );
}

#[test]
fn a_streams_text_is_put_together_per_choice_whatever_the_cuts() {
    // CONTRACT 4: UTF-8 cut anywhere, CRLF, no space after `data:`.
    let frames = [
        delta(0, "He"),
        delta(1, "При"),
        ": note\n\n".into(),
        delta(0, "llo").replace("data: ", "data:"),
        delta(1, "вет").replace('\n', "\r\n"),
        delta(0, " 🙂"),
        DONE.into(),
    ]
    .concat();
    for size in [1, 3, 11, frames.len()] {
        let pieces: Vec<Vec<u8>> = frames.as_bytes().chunks(size).map(<[u8]>::to_vec).collect();
        let upstream = Upstream::scripted(move |peer| {
            if peer.read_request().is_some() {
                peer.send(SSE_HEAD);
                pieces.iter().for_each(|piece| peer.send_chunk(piece));
                peer.send("0\r\n\r\n");
            }
        });
        let (_, post) = records(&upstream, HELLO_STREAM);
        assert_eq!(post.message(), "Hello 🙂\nПривет", "in pieces of {size}");
        assert!(post.parameter("incomplete").is_null());
    }
}

#[test]
fn a_streams_refusals_and_tool_calls_are_recorded() {
    // CONTRACT 4.
    let chunk = |delta: serde_json::Value| {
        format!(
            "data: {}\n\n",
            json!({"choices": [{"index": 0, "delta": delta}]})
        )
    };
    let refusal = [
        chunk(json!({"refusal": "I will"})),
        chunk(json!({"refusal": " not"})),
        DONE.into(),
    ]
    .concat();
    let (_, post) = records(&Upstream::sse(&[&refusal]), HELLO_STREAM);
    assert_eq!(post.message(), "I will not");
    let tools = [
        chunk(json!({"tool_calls": [{"index": 0, "id": "t", "function": {"name": "look_up", "arguments": ""}}]})),
        chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"who\""}}]})),
        chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": ":\"x\"}"}}]})),
        DONE.into(),
    ]
    .concat();
    let (_, post) = records(&Upstream::sse(&[&tools]), HELLO_STREAM);
    assert!(
        post.message().contains("look_up") && post.message().contains(r#"{"who":"x"}"#),
        "{}",
        post.message()
    );
}

#[test]
fn a_plain_answer_to_a_streaming_request_is_recorded_by_what_it_is() {
    // CONTRACT 4: the upstream's content type decides, not the request.
    let (_, post) = records(&Upstream::ok(), HELLO_STREAM);
    assert_eq!(post.message(), "general greeting");
    let (_, post) = records(&Upstream::sse(&[&delta(0, "streamed"), DONE]), HELLO);
    assert_eq!(post.message(), "streamed");
}

fn packed(coding: &str, text: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::default();
    match coding {
        "gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
        "br" => {
            let mut out = Vec::new();
            let mut encoder = brotli::CompressorWriter::new(&mut out, 4096, 5, 20);
            encoder.write_all(text).unwrap();
            drop(encoder);
            out
        }
        _ => zstd::encode_all(text, 3).unwrap(),
    }
}

#[test]
fn a_compressed_answer_is_decoded_for_the_record() {
    // CONTRACT 4.
    let stream = delta(0, "general ") + &delta(0, "greeting") + DONE;
    for coding in ["gzip", "deflate", "br", "zstd"] {
        for (kind, text) in [
            ("application/json", ANSWER),
            ("text/event-stream", stream.as_str()),
        ] {
            let headers = format!("Content-Type: {kind}\r\nContent-Encoding: {coding}\r\n");
            let upstream = Upstream::raw(response(200, &headers, &packed(coding, text.as_bytes())));
            let (_, post) = records(&upstream, HELLO);
            assert_eq!(post.message(), "general greeting", "{coding} {kind}");
        }
    }
}

#[test]
fn a_compressed_answer_that_is_damaged_or_a_bomb_reaches_the_client_all_the_same() {
    // CONTRACT 4: decoding is under a size and ratio cap and never in the way.
    let zeros = vec![b' '; 100_000_000];
    let mut bodies = vec![("gzip", b"\x1f\x8b\x08 not gzip".to_vec())];
    bodies.extend(["gzip", "deflate", "br", "zstd"].map(|coding| (coding, packed(coding, &zeros))));
    for (coding, body) in bodies {
        for kind in ["application/json", "text/event-stream"] {
            let headers = format!("Content-Type: {kind}\r\nContent-Encoding: {coding}\r\n");
            let upstream = Upstream::raw(response(200, &headers, &body));
            let backend = Backend::start();
            let stack = Stack::gateway()
                .upstream(&upstream)
                .monitor(&backend)
                .start();
            let answer = stack.call(&Request::chat(HELLO));
            assert!(answer.body == body, "{coding} {kind}");
            assert_eq!(answer.head.header("content-encoding"), Some(coding));
            let (_, post) = backend.await_exchange();
            assert_eq!(post.message(), "", "{coding} {kind}");
            assert_eq!(*post.parameter("incomplete"), true, "{coding} {kind}");
            let peak = stack.process.peak_memory();
            assert!(peak < 80 << 20, "{coding} {kind}: {peak} bytes");
        }
    }
}

#[test]
fn a_record_of_an_answer_past_the_bound_is_cut_and_marked() {
    // What is copied for the record is bounded (limits.recorded_bytes).
    let text = "x".repeat(200_000);
    let frames: Vec<String> = (0..4).map(|_| delta(0, &text)).collect();
    let body = frames.concat() + DONE;
    let upstream = Upstream::sse(&[&body]);
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml("limits: {recorded_bytes: 300KiB}")
        .start();
    assert_eq!(
        stack.call(&Request::chat(HELLO_STREAM)).text(),
        body,
        "the client gets all of it"
    );
    let (_, post) = backend.await_exchange();
    assert!(post.message().len() <= 310_000, "{}", post.message().len());
    assert_eq!(*post.parameter("incomplete"), true);
}
