//! The readers of answers take a few times the bytes of an answer, whatever a model server sends. One test in a process
//! of its own, since it measures the largest memory of the process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use monitor_wire::json::{answer_literals, answer_text, checked_answer};
use monitor_wire::sse::pieces::{read, read_known};
use monitor_wire::sse::{Accumulator, Parser, replay};

const MIB: usize = 1 << 20;

/// A figure of the process in bytes: `VmRSS` now, `VmHWM` at most.
fn memory(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.unwrap().trim_matches(|c: char| !c.is_ascii_digit());
    kib.parse::<usize>().unwrap() * 1024
}

/// Answers of about `bytes` bytes that make readers keep as much as they can.
fn hostile(bytes: usize) -> Vec<String> {
    let name = "n".repeat(bytes / 2);
    let texts = vec![r#""a""#; bytes / 8].join(",");
    let many = |element: &str| vec![element; bytes / (element.len() + 1)].join(",");
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(60_000));
    vec![
        // A long name above many texts.
        format!(
            r#"{{"choices":[{{"delta":{{}},"message":{{"content":"a","{name}":[{texts}]}}}}]}}"#
        ),
        format!(r#"{{"choices":[{{"message":{{"content":"a"}}}}],"{name}":[{texts}]}}"#),
        // Many of what is smallest.
        format!(
            r#"{{"choices":[{{"message":{{"content":[{}]}}}}]}}"#,
            many(r#""""#)
        ),
        format!(
            r#"{{"choices":[{{"delta":{{"content":[{}]}}}}]}}"#,
            many(r#""a""#)
        ),
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{}]}}}}]}}"#,
            many("{}")
        ),
        format!(r#"{{"choices":[{}]}}"#, many("{}")),
        format!(r#"{{"choices":[{}]}}"#, many(r#"{"a":"x"}"#)),
        format!(r#"{{"choices":[{}]}}"#, many(r#"{"delta":{"a":"x"}}"#)),
        format!(
            r#"{{"choices":[{}]}}"#,
            many(r#"{"message":{"content":"a","b":"c"}}"#)
        ),
        format!(
            r#"{{"model":"{}","choices":[{}]}}"#,
            "m".repeat(bytes / 2),
            many("{}")
        ),
        format!(r#"{{{}}}"#, many(r#""x":"y""#)),
        // Names that are long together.
        format!(
            r#"{{"choices":[{}]}}"#,
            many(&format!(r#"{{"message":{long}}}"#))
        ),
    ]
}

#[test]
fn readers_take_a_few_times_the_bytes_of_an_answer() {
    let bytes = MIB;
    let bodies = hostile(bytes);
    let (before, mut largest) = (memory("VmRSS:"), 0);
    for body in &bodies {
        let limit = 2 * MIB;
        assert!(checked_answer(body.as_bytes()).is_some());
        assert!(answer_text(body.as_bytes()).is_some());
        assert!(answer_literals(body.as_bytes()).is_some());
        let _ = replay(body.as_bytes(), true, u64::MAX, limit);
        let frame = format!("data: {body}\n\n");
        let _ = (read(frame.as_bytes()), read_known(frame.as_bytes()));
        let (mut parser, mut texts) = (Parser::new(limit), Accumulator::of_every_text(limit));
        parser.push(frame.as_bytes(), |event| texts.push(event.data));
        assert!(texts.checked_text().is_some());
        largest = largest.max(body.len());
        let taken = memory("VmHWM:") - before;
        let start = &body[..body.floor_char_boundary(60)];
        assert!(
            taken <= 20 * largest,
            "{taken} bytes for an answer of {} that begins with {start}",
            body.len()
        );
    }
}
