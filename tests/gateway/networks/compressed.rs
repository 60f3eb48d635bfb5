//! Request bodies that clients compress: decoded for the checks within bounds, and the bytes unchanged to the model
//! server; a body that the policy changes goes there uncompressed.

use crate::memory::{BUFFERED, empty};
use crate::sync::{SYNC, blocked, chat, sync};
use support::backend::Backend;
use support::compressed::{brotli, gzip, zlib};
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::Stack;
use support::upstream::{ANSWER, Upstream};
use support::{assert_envelope, contains, eventually};

fn compressed(body: &[u8], coding: &str) -> Request {
    chat(body).header("Content-Encoding", coding)
}

/// A conversation of so many bytes that does not compress further than text does.
fn long(bytes: usize, word: &str) -> String {
    let numbers =
        (0..).map(|number: u64| format!("{} ", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let mut text = String::new();
    numbers
        .take_while(|number| {
            text.push_str(number);
            text.len() < bytes
        })
        .for_each(drop);
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text} {word}"}}]}}"#)
}

#[test]
fn a_compressed_prompt_is_recorded_in_clear_and_reaches_the_model_server_as_it_came() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let many = [
        gzip(br#"{"model":"test-model","messages":["#),
        gzip(br#"{"role":"user","content":"hello"}]}"#),
    ]
    .concat();
    for (coding, body) in [
        ("gzip", gzip(HELLO.as_bytes())),
        ("X-GZIP", gzip(HELLO.as_bytes())),
        ("gzip", many),
        ("deflate", zlib(HELLO.as_bytes())),
        ("identity, br", brotli(HELLO.as_bytes())),
        ("zstd", zstd::encode_all(HELLO.as_bytes(), 1).unwrap()),
    ] {
        for request in [
            compressed(&body, coding),
            compressed(&body, coding).chunked(11),
        ] {
            backend.forget();
            assert_eq!(stack.call(&request).text(), ANSWER, "{coding}");
            let seen = upstream.last();
            assert_eq!(seen.body, body, "{coding}: byte for byte");
            assert_eq!(seen.head.values("content-encoding"), [coding]);
            assert_eq!(
                seen.head.header("content-length"),
                Some(body.len().to_string().as_str())
            );
            assert_eq!(backend.await_exchange().0.message(), "hello", "{coding}");
        }
    }
    empty(&stack);
}

#[test]
fn a_compressed_prompt_is_blocked_like_any_other() {
    let (upstream, backend) = (Upstream::ok(), Backend::flagging("secret"));
    let stack = sync(&upstream, "").monitor(&backend).start();
    let flagged = HELLO.replace("hello", "a secret");
    blocked(&stack.call(&compressed(&gzip(flagged.as_bytes()), "gzip")));
    let large = long(3 << 20, "secret");
    blocked(&stack.call(&compressed(&gzip(large.as_bytes()), "gzip")));
    upstream.assert_untouched();
    let harmless = long(3 << 20, "hello");
    let body = gzip(harmless.as_bytes());
    assert_eq!(stack.call(&compressed(&body, "gzip")).text(), ANSWER);
    assert_eq!(upstream.last().body, body);
    empty(&stack);
}

#[test]
fn a_body_that_the_gateway_changes_goes_on_uncompressed() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = sync(&upstream, "").monitor(&backend).start();
    // Sync mode turns the stream off.
    let digest = "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:";
    let call = compressed(&gzip(HELLO_STREAM.as_bytes()), "gzip")
        .header("Content-Digest", digest)
        .header("Repr-Digest", digest);
    assert_eq!(stack.call(&call).text(), ANSWER);
    let seen = upstream.last();
    let expected = HELLO_STREAM.replace("true", "false");
    assert_eq!(String::from_utf8_lossy(&seen.body), expected);
    for name in ["content-encoding", "content-digest", "repr-digest"] {
        assert!(!seen.head.has(name), "{name}");
    }
    assert_eq!(
        seen.head.header("content-length"),
        Some(expected.len().to_string().as_str())
    );

    let stack = Stack::gateway()
        .upstream(&upstream)
        .yaml(&format!(
            "applications:\n- {{id: {SYNC}, app_mode: async, redact_upstream: true}}"
        ))
        .start();
    let personal = HELLO.replace("hello", "write to ann@corp.example");
    assert_eq!(
        stack
            .call(&compressed(&gzip(personal.as_bytes()), "gzip"))
            .text(),
        ANSWER
    );
    let seen = upstream.last();
    assert!(contains(&seen.body, b"write to [EMAILS_1]"));
    assert!(!seen.head.has("content-encoding"));
    // Without a finding nothing changes.
    let body = gzip(HELLO.as_bytes());
    assert_eq!(stack.call(&compressed(&body, "gzip")).text(), ANSWER);
    assert_eq!(upstream.last().body, body);
    assert_eq!(
        upstream.last().head.header("content-encoding"),
        Some("gzip")
    );
}

#[test]
fn a_body_that_cannot_be_decoded_gets_a_clear_400() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let whole = gzip(HELLO.as_bytes());
    let mut damaged = whole.clone();
    let last = damaged.len() - 6;
    damaged[last] ^= 1;
    for (coding, body) in [
        ("gzip", HELLO.as_bytes().to_vec()),
        ("gzip", Vec::new()),
        ("gzip", whole[..whole.len() - 3].to_vec()),
        ("gzip", damaged),
        ("gzip", [&whole[..], b"{}"].concat()),
        ("gzip", zlib(HELLO.as_bytes())),
        ("deflate", whole.clone()),
        ("deflate", [&zlib(HELLO.as_bytes())[..], b" "].concat()),
        ("br", [&brotli(HELLO.as_bytes())[..], b" "].concat()),
        ("zstd", whole.clone()),
    ] {
        let answer = stack.call(&compressed(&body, coding));
        assert_envelope(&answer.body, "invalid_request_error", 400);
        let text = answer.text();
        assert!(
            text.contains(coding) && text.contains("Content-Encoding"),
            "{text}"
        );
    }
    // What is decoded has to be JSON.
    let answer = stack.call(&compressed(&gzip(b"[1,"), "gzip"));
    assert_envelope(&answer.body, "invalid_request_error", 400);
    assert!(
        !answer.text().contains("Content-Encoding"),
        "{}",
        answer.text()
    );
    upstream.assert_untouched();
    empty(&stack);
}

#[test]
fn a_coding_that_is_not_decoded_is_refused_by_name() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let twice = gzip(&gzip(HELLO.as_bytes()));
    for (coding, body) in [
        ("compress", HELLO.as_bytes()),
        ("gzip, gzip", &twice),
        ("gzip;q=1", HELLO.as_bytes()),
    ] {
        let answer = stack.call(&compressed(body, coding));
        assert_envelope(&answer.body, "invalid_request_error", 415);
        assert!(
            answer.text().contains("gzip, deflate, br and zstd"),
            "{}",
            answer.text()
        );
    }
    let two = compressed(&twice, "gzip").header("Content-Encoding", "gzip");
    assert_envelope(&stack.call(&two).body, "invalid_request_error", 415);
    upstream.assert_untouched();
}

#[test]
fn a_body_that_expands_too_far_is_refused_and_takes_no_memory() {
    let upstream = Upstream::ok();
    let yaml = "limits: {decoded_bytes: 1MiB}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    let before = stack.process.peak_memory();
    let spaces = HELLO
        .replace(' ', "")
        .replace(':', &format!(":{}", " ".repeat(48 << 20)));
    let bomb = gzip(spaces.as_bytes());
    assert!(bomb.len() < 256 << 10, "{}", bomb.len());
    for _ in 0..20 {
        let answer = stack.call(&compressed(&bomb, "gzip"));
        assert_envelope(&answer.body, "invalid_request_error", 413);
        assert!(
            answer.text().contains("limits.decoded_bytes"),
            "{}",
            answer.text()
        );
    }
    let grown = stack.process.peak_memory() - before;
    assert!(grown < 48 << 20, "{grown}");
    let large = long(2 << 20, "hello");
    let answer = stack.call(&compressed(&gzip(large.as_bytes()), "gzip"));
    assert_envelope(&answer.body, "invalid_request_error", 413);
    // Within the default of 64 MiB, but not as text expands.
    let stack = Stack::before(&upstream);
    let answer = stack.call(&compressed(&bomb, "gzip"));
    assert_envelope(&answer.body, "invalid_request_error", 413);
    assert!(answer.text().contains("200 times"), "{}", answer.text());
    upstream.assert_untouched();
    empty(&stack);
}

#[test]
fn what_is_decoded_counts_as_memory_of_calls_in_progress() {
    let (upstream, feed) = Upstream::fed();
    let yaml = "limits: {buffered_bytes: 4MiB}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    let large = long(6 << 20, "hello");
    let body = gzip(large.as_bytes());
    assert!(body.len() < 4 << 20, "{}", body.len());
    let answer = stack.call(&compressed(&body, "gzip"));
    assert_envelope(&answer.body, "gateway_error", 503);
    assert!(
        answer.text().contains("limits.buffered_bytes"),
        "{}",
        answer.text()
    );
    eventually("it is given back", || {
        (stack.metric(BUFFERED) == 0.0).then_some(())
    });
    drop(feed);
}
