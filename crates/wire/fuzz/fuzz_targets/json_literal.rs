//! Strings of a body: what is escaped is read back, and a span of a text stands at the bytes that spell it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use monitor_wire::json::{each_literal, escape_into, raw_spans, scan, unescape};

fn check_spans(token: &[u8]) {
    let text = unescape(token).into_owned();
    let borders = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let borders: Vec<usize> = borders.collect();
    let spans: Vec<_> = borders.windows(2).map(|pair| pair[0]..pair[1]).collect();
    let mut from = 1;
    for (span, raw) in spans.iter().zip(raw_spans(token, &spans)) {
        assert_eq!(raw.start, from, "characters follow each other");
        from = raw.end;
        let quoted = [b"\"", &token[raw], b"\""].concat();
        assert_eq!(unescape(&quoted), text[span.clone()]);
    }
    assert_eq!(from, token.len() - 1);
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut token = b"\"".to_vec();
    escape_into(&text, &mut token);
    token.push(b'"');
    assert!(scan(&token).is_ok());
    assert_eq!(unescape(&token), text);
    check_spans(&token);
    // Any bytes are no panic, and those that the scanner accepts hold by the same rules.
    let _ = unescape(bytes);
    if scan(bytes).is_ok() {
        each_literal(bytes, check_spans);
    }
});
