//! What a request says its body is: the gateway reads JSON in UTF-8 and forwards the declaration, so it
//! refuses one that a model server would read another body by.

use support::assert_envelope;
use support::request::{EMBEDDINGS, HELLO, Request};
use support::stack::Stack;
use support::upstream::{ANSWER, Upstream};

/// JSON that has a card number only for a reader of UTF-7.
const UTF_7: &str =
    r#"{"model":"m","messages":[{"role":"user","content":"+ADQAMQAxADE- 1111 1111 1111"}]}"#;
/// JSON that is another conversation for a reader of forms.
const FORM: &str = r#"{"x":"&messages[0][role]=user&messages[0][content]=4111 1111 1111 1111&y="}"#;

fn both(body: &str) -> [Request; 2] {
    [Request::chat(body), Request::post(EMBEDDINGS, body)]
}

#[test]
fn a_body_that_is_declared_as_something_else_than_json_in_utf8_is_refused() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for (body, kind) in [
        (UTF_7, "application/json; charset=utf-7"),
        (UTF_7, "application/json;Charset=\"UTF-7\""),
        (UTF_7, "application/json; charset=utf-8; charset=utf-7"),
        (UTF_7, "application/json; charset*=utf-8''utf-7"),
        (HELLO, "application/json; charset=utf-16"),
        (FORM, "application/x-www-form-urlencoded"),
        (FORM, "Application/X-WWW-Form-Urlencoded; charset=utf-8"),
        (FORM, "multipart/form-data; boundary=x"),
    ] {
        for request in both(body) {
            let answer = stack.call(&request.content_type(kind));
            assert_envelope(&answer.body, "invalid_request_error", 415);
            assert!(answer.text().contains("Content-Type"), "{}", answer.text());
        }
    }
    upstream.assert_untouched();
    for kind in [
        "",
        "application/json; charset=UTF-8",
        "application/json;charset=\"utf-8\"",
        "application/json; charset=us-ascii",
        "application/vnd.api+json",
        "text/plain",
    ] {
        for request in both(HELLO) {
            let answer = stack.call(&request.content_type(kind));
            assert_eq!(answer.text(), ANSWER, "{kind}");
            assert_eq!(upstream.last().head.header("content-type"), Some(kind));
        }
    }
}

#[test]
fn two_content_types_are_refused_and_one_spelled_with_an_underscore_stays_here() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for request in both(HELLO) {
        let before = upstream.heads();
        let answer = stack.call(&request.clone().header("Content-Type", "text/plain"));
        assert_envelope(&answer.body, "invalid_request_error", 400);
        assert!(answer.text().contains("Content-Type"), "{}", answer.text());
        assert_eq!(upstream.heads(), before);
        // Servers that take headers from the environment of a process read both spellings as one.
        let twin = request
            .header("Content-Type", "application/json")
            .header("Content_Type", "application/x-www-form-urlencoded")
            .header("Content_Encoding", "gzip");
        assert_eq!(stack.call(&twin).text(), ANSWER);
        assert_eq!(upstream.last().head.header("content_type"), None);
        assert_eq!(upstream.last().head.header("content_encoding"), None);
    }
}

#[test]
fn a_chat_completion_in_an_unknown_coding_is_refused_and_an_embedding_in_any_is_forwarded() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    for coding in ["compress", "identity, zstd, gzip"] {
        let answer = stack.call(&Request::chat(HELLO).header("Content-Encoding", coding));
        assert_envelope(&answer.body, "invalid_request_error", 415);
        assert!(
            answer.text().contains("Content-Encoding"),
            "{}",
            answer.text()
        );
    }
    upstream.assert_untouched();
    let plain = Request::chat(HELLO).header("Content-Encoding", "identity");
    assert_eq!(stack.call(&plain).text(), ANSWER);
    let embedding = Request::post(EMBEDDINGS, "\u{1f}").header("Content-Encoding", "gzip");
    assert_eq!(stack.call(&embedding).text(), ANSWER);
    assert_eq!(
        upstream.last().head.header("content-encoding"),
        Some("gzip")
    );
}
