//! Bodies that clients compress: read like others under the same limits, and refused with a reason.

use serde_json::{Value, json};
use support::api::{authorised, records};
use support::assert_envelope;
use support::compressed::{brotli, gzip, zlib};
use support::http::Response;
use support::request::Request;
use support::stack::Stack;

fn message(stack: &Stack, text: &str) -> Vec<u8> {
    let body = json!({"application_id": stack.application_id(), "message": text,
        "additional_parameters": {"session_id": "compressed"}});
    body.to_string().into_bytes()
}

fn send(stack: &Stack, path: &str, body: &[u8], coding: &str) -> Response {
    let request = Request::post(path, body).header("Content-Encoding", coding);
    authorised(request).call(stack.analysis_addr)
}

#[track_caller]
fn refused(answer: &Response, status: u16, words: &str) {
    assert_envelope(&answer.body, "invalid_request_error", status);
    assert_eq!(answer.status(), status, "{}", answer.text());
    assert!(answer.text().contains(words), "{}", answer.text());
}

#[test]
fn a_compressed_message_is_analyzed_like_any_other() {
    let stack = Stack::all().start();
    let plain = message(&stack, "write to anna@example.com");
    for (coding, body) in [
        ("gzip", gzip(&plain)),
        ("X-GZIP", gzip(&plain)),
        ("deflate", zlib(&plain)),
        ("identity, br", brotli(&plain)),
        ("zstd", zstd::encode_all(&plain[..], 1).unwrap()),
        ("identity", plain.clone()),
    ] {
        let answer = send(&stack, "/process_request/", &body, coding);
        assert_eq!(answer.status(), 200, "{coding}: {}", answer.text());
        let found = &answer.json()["dataclean"]["cleaned_text"];
        assert_eq!(found, "write to [EMAILS]", "{coding}");
    }
    assert_eq!(records(&stack, "session_id=compressed").len(), 6);
    let line = json!({"stage": "pre", "body": serde_json::from_slice::<Value>(&plain).unwrap()});
    let batch = Request::post("/process_batch/", gzip(line.to_string().as_bytes()))
        .content_type("application/x-ndjson")
        .header("Content-Encoding", "gzip");
    let answer = authorised(batch).call(stack.analysis_addr);
    assert!(answer.text().contains("[EMAILS]"), "{}", answer.text());
    // Administration too.
    let made = send(
        &stack,
        "/applications",
        &gzip(br#"{"name":"small"}"#),
        "gzip",
    );
    assert_eq!(made.status(), 201, "{}", made.text());
}

#[test]
fn what_cannot_be_decoded_or_expands_too_far_is_refused_with_its_limit() {
    let stack = Stack::all().yaml("  max_body: 1MiB").start();
    let plain = message(&stack, "hello");
    let path = "/process_request/";
    let whole = gzip(&plain);
    for body in [
        &plain[..],
        &whole[..whole.len() - 1],
        &[&whole[..], b"{}"].concat(),
    ] {
        refused(
            &send(&stack, path, body, "gzip"),
            400,
            "one whole gzip stream",
        );
    }
    for coding in ["compress", "gzip, gzip", "aes128gcm"] {
        refused(
            &send(&stack, path, &whole, coding),
            415,
            "gzip, deflate, br and zstd",
        );
    }
    let digits: String = (0..400_000_u64)
        .map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string())
        .take(100_000)
        .collect();
    let large = gzip(&message(&stack, &digits));
    assert!(large.len() < 1 << 20, "it is small enough as it comes");
    refused(
        &send(&stack, path, &large, "gzip"),
        413,
        "larger than 1048576 bytes",
    );
    let bomb = gzip(&message(&stack, &" ".repeat(900_000)));
    refused(
        &send(&stack, path, &bomb, "gzip"),
        413,
        "more than 200 times",
    );
    assert!(records(&stack, "session_id=compressed").is_empty());
}

#[test]
fn compressed_files_are_refused_with_the_way_out() {
    let stack = Stack::all().start();
    let recorded = send(
        &stack,
        "/process_request/",
        &message(&stack, "hello"),
        "identity",
    );
    let id = recorded.json()["request_id"].as_str().unwrap().to_owned();
    let form = "--x\r\nContent-Disposition: form-data; name=\"attached_files\"; filename=\"a\"\r\n\r\na\r\n--x--\r\n";
    let upload = Request::post(
        &format!("/user_prompt_analysis/{id}/attach_files"),
        gzip(form.as_bytes()),
    )
    .content_type("multipart/form-data; boundary=x")
    .header("Content-Encoding", "gzip");
    let answer = authorised(upload).call(stack.analysis_addr);
    refused(&answer, 415, "send the form without Content-Encoding");
}
