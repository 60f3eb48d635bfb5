//! A whole answer as a stream: it has at most as many bytes as it may, every event is one line of JSON, and what a
//! second reader finds as a choice's text is what a client puts together. The first byte of the input is the limit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use monitor_wire::json::scan;
use monitor_wire::sse::{Accumulator, NotReplayed, Parser, replay};
use serde_json::Value;

/// No stream of an input is longer: three events for a choice of two bytes, each with the members that come again.
const MOST: usize = 4 << 20;

fuzz_target!(|input: &[u8]| {
    let [limit, body @ ..] = input else { return };
    let limit = usize::from(*limit) * 64;
    for with_usage in [false, true] {
        let whole = replay(body, with_usage, u64::MAX, MOST);
        match (&whole, replay(body, with_usage, u64::MAX, limit)) {
            (Ok(whole), Ok(stream)) => assert!(*whole == stream && stream.len() <= limit),
            (Ok(whole), Err(NotReplayed::TooLarge)) => assert!(whole.len() > limit),
            (Err(NotReplayed::Unreadable), Err(_)) => {}
            other => panic!("{other:?}"),
        }
        if let Ok(stream) = whole {
            assert!(scan(body).is_ok());
            check(&stream, body);
        }
    }
});

fn check(stream: &[u8], body: &[u8]) {
    let (mut parser, mut answer) = (Parser::new(MOST), Accumulator::new(MOST));
    parser.push(stream, |event| {
        assert!(event.data == b"[DONE]" || scan(event.data).is_ok());
        answer.push(event.data);
    });
    assert!(answer.is_done());
    // Two members of one name stay two, which the reader of records skips.
    let Some(second) = serde_json::from_slice::<Value>(body)
        .ok()
        .filter(|_| answer.skipped() == 0)
    else {
        return;
    };
    let text = answer.text();
    for choice in second["choices"].as_array().into_iter().flatten() {
        let content = choice["message"]["content"].as_str().unwrap_or_default();
        assert!(
            text.contains(content),
            "a choice's text is not in its stream"
        );
    }
}
