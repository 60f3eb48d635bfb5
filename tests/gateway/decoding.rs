//! The memory that decoding a compressed request body takes (`limits.buffered_bytes` of CONTRACT 34).

use crate::memory::{empty, held_alone};
use crate::sync::{chat, sync};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::backend::Backend;
use support::request::{HELLO, Request};
use support::stack::Stack;
use support::upstream::Upstream;

const MIB: usize = 1 << 20;

/// A chat body whose text hardly compresses.
fn incompressible(bytes: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = 1_u64;
    let letters = (0..bytes).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(LETTERS[(state >> 58) as usize])
    });
    let text: String = letters.collect();
    format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}]}}"#)
}

#[test]
fn what_decoding_takes_for_a_moment_is_counted() {
    let plain = incompressible(12 * MIB);
    let fast = flate2::Compression::fast();
    let gzip = |part: &str| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), fast);
        gzip.write_all(part.as_bytes()).unwrap();
        gzip.finish().unwrap()
    };
    let (first, second) = plain.split_at(plain.len() / 2);
    let members = [gzip(first), gzip(second)].concat();
    let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), fast);
    deflate.write_all(plain.as_bytes()).unwrap();
    let upstream = Upstream::ok();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .yaml("limits: {buffered_bytes: 25MiB}")
        .start();
    // Encoded it takes 9 MiB. A gzip body names its size, and that of a deflate body is found out before. Of several
    // members the last one names its own: the buffer grows once, and a half of the text is there twice for a moment.
    for (coding, encoded, status) in [
        ("gzip", gzip(&plain), 200),
        ("deflate", deflate.finish().unwrap(), 200),
        ("gzip", members, 503),
    ] {
        assert!((8 * MIB..10 * MIB).contains(&encoded.len()));
        let request = Request::chat(&encoded).header("Content-Encoding", coding);
        let answer = stack.call(&request);
        assert_eq!(answer.status(), status, "{coding}");
        assert_eq!(
            answer.text().contains("limits.buffered_bytes"),
            status == 503
        );
        empty(&stack);
    }
    assert_eq!(upstream.heads(), 2);
}

#[test]
fn checked_bodies_take_the_memory_of_calls_and_little_more_compressed_or_not() {
    const LIMIT: usize = 64 * MIB;
    // What the spool holds for the disk (32 MiB), buffers of connections, and answers of the backend.
    const BESIDE: usize = 64 * MIB;
    // 25 KB that become 4 MiB.
    let line = format!("{}abcdefghij", " ".repeat(150));
    let text = line.repeat(4 * MIB / line.len());
    let plain = format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}]}}"#);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(plain.as_bytes()).unwrap();
    let encoded = gzip.finish().unwrap();
    assert!(encoded.len() < 100_000, "{}", encoded.len());
    for (name, request) in [
        ("plain", chat(&plain)),
        ("gzip", chat(&encoded).header("Content-Encoding", "gzip")),
    ] {
        let (upstream, backend) = (Upstream::ok(), Backend::start());
        let stack = held_alone(sync(&upstream, "").monitor(&backend));
        let stack = stack
            .yaml(&format!("limits: {{buffered_bytes: {}MiB}}", LIMIT / MIB))
            .start();
        assert_eq!(stack.call(&chat(HELLO)).status(), 200);
        let before = stack.process.peak_memory();
        let served = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..30 {
                scope.spawn(|| {
                    for _ in 0..4 {
                        let status = stack.call(&request).status();
                        assert!(matches!(status, 200 | 503), "{status}");
                        served.fetch_add(usize::from(status == 200), Ordering::Relaxed);
                    }
                });
            }
        });
        empty(&stack);
        let grown = stack.process.peak_memory() - before;
        println!(
            "{name}: {} MiB beside a limit of {} MiB",
            grown >> 20,
            LIMIT >> 20
        );
        let served = served.into_inner();
        println!("{served} of 120 calls served");
        assert!(grown < (LIMIT + BESIDE) as u64, "{name}: {grown} bytes");
        assert!(served >= 60, "{served} of 120 calls");
    }
}
