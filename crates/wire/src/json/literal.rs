//! Strings of a body as they are written: where a part of their text stands among the escapes, and
//! how a text is written so (RFC 8259 section 7, CONTRACT 41). Changes nothing itself.

use super::text::{escape, plain_len};
use std::ops::Range;

/// Where spans of a string's text stand in its token, which is given with its quotes and passed the
/// scanner. `spans` are bytes of [`super::unescape`]'s text at character borders; they ascend and do
/// not overlap. One beyond the text ends with it.
pub fn raw_spans(token: &[u8], spans: &[Range<usize>]) -> Vec<Range<usize>> {
    let inner = token.get(1..token.len().saturating_sub(1));
    let Some(inner) = inner.and_then(|inner| std::str::from_utf8(inner).ok()) else {
        return Vec::new();
    };
    let mut walk = Walk {
        inner,
        raw: 0,
        text: 0,
        backslash: next_backslash(inner, 0),
    };
    let place = |span: &Range<usize>| {
        let start = walk.raw_of(span.start);
        // Behind the opening quote.
        start + 1..walk.raw_of(span.end) + 1
    };
    spans.iter().map(place).collect()
}

/// One pass over a token, in its bytes and in those of its text.
struct Walk<'a> {
    inner: &'a str,
    raw: usize,
    text: usize,
    /// The first backslash at or behind `raw`.
    backslash: usize,
}

impl Walk<'_> {
    fn raw_of(&mut self, text: usize) -> usize {
        while self.text < text {
            let plain = (self.backslash - self.raw).min(text - self.text);
            self.raw += plain;
            self.text += plain;
            if self.text == text || self.raw == self.inner.len() {
                break;
            }
            let (decoded, used) = escape(&self.inner[self.raw + 1..]);
            self.raw = (self.raw + 1 + used).min(self.inner.len());
            self.text += decoded.len_utf8();
            self.backslash = next_backslash(self.inner, self.raw);
        }
        self.raw
    }
}

fn next_backslash(inner: &str, from: usize) -> usize {
    let rest = &inner.as_bytes()[from..];
    memchr::memchr(b'\\', rest).map_or(inner.len(), |place| from + place)
}

/// Passes every string of a body that the scanner accepted to `each`, quotes included; member names
/// count as strings.
pub fn each_literal(body: &[u8], mut each: impl FnMut(&[u8])) {
    let mut at = 0;
    while let Some(open) = body
        .get(at..)
        .and_then(|rest| memchr::memchr(b'"', rest))
        .map(|place| at + place)
    {
        let mut end = open + 1;
        while let Some(rest) = body.get(end..) {
            let plain = plain_len(rest);
            match rest.get(plain) {
                Some(b'\\') => end += plain + 2,
                Some(b'"') | None => {
                    end += plain + 1;
                    break;
                }
                Some(_) => end += plain + 1,
            }
        }
        each(body.get(open..end).unwrap_or_default());
        at = end;
    }
}

/// Writes a text as a JSON string, quotes included.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    escape_into(text, out);
    out.push(b'"');
}

/// Writes a text as the inside of a JSON string: runs that stand for themselves at once.
pub fn escape_into(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    loop {
        let (plain, tail) = rest.split_at(plain_len(rest));
        out.extend_from_slice(plain);
        let Some((special, tail)) = tail.split_first() else {
            return;
        };
        rest = tail;
        match special {
            b'"' | b'\\' => out.extend([b'\\', *special]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            control => out.extend(format!("\\u{control:04x}").bytes()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::{each_literal, escape_into, raw_spans};
    use crate::json::{scan, unescape};

    /// Characters, and the ways each may be written.
    const WAYS: &[&[&str]] = &[
        &["a", "\\u0061"],
        &["@", "\\u0040"],
        &["/", "\\/", "\\u002f", "\\u002F"],
        &["\\\\", "\\u005c"],
        &["\\\"", "\\u0022"],
        &["\\n", "\\u000a"],
        &["ж", "\\u0436"],
        &["😀", "\\ud83d\\ude00", "\\uD83D\\uDE00"],
        &["\\ud83d"],
        &["\\ude00"],
        &["€"],
    ];

    /// A small generator, so that a failure repeats.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % sides as u64) as usize
        }
    }

    #[test]
    fn every_part_of_a_text_is_found_among_the_escapes() {
        let mut dice = Dice(41);
        for _ in 0..2_000 {
            let mut token = String::from("\"");
            for _ in 0..dice.roll(12) {
                let ways = WAYS[dice.roll(WAYS.len())];
                token.push_str(ways[dice.roll(ways.len())]);
            }
            token.push('"');
            let text = unescape(token.as_bytes()).into_owned();
            let mut borders: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            borders.push(text.len());
            for (place, start) in borders.iter().enumerate() {
                for end in &borders[place..] {
                    let spans = [*start..*end, *end..text.len()];
                    let raw = raw_spans(token.as_bytes(), &spans);
                    for (span, raw) in spans.iter().zip(&raw) {
                        let part = format!("\"{}\"", &token[raw.clone()]);
                        assert_eq!(
                            unescape(part.as_bytes()),
                            text[span.clone()],
                            "{token} {span:?}"
                        );
                    }
                    assert_eq!((raw[0].end, raw[1].end), (raw[1].start, token.len() - 1));
                }
            }
        }
    }

    #[test]
    fn spans_beyond_the_text_and_tokens_that_are_none_are_no_panic() {
        assert_eq!(raw_spans(b"\"ab\"", &[1..9, 9..12]), [2..3, 3..3]);
        for token in [&b""[..], b"\"", b"\"\\\"", b"\"\\u12\"", b"\"\xff\""] {
            let _ = raw_spans(token, &[0..1, 1..7]);
        }
    }

    #[test]
    fn every_string_of_a_body_is_seen() {
        let body = r#" {"a":"b\"c", "\u0061" :[ "", {"d\\":"\\"},1e400,"ж"]} "#;
        let body = body.as_bytes();
        let mut seen = Vec::new();
        each_literal(body, |token| {
            seen.push(String::from_utf8(token.to_vec()).unwrap())
        });
        let expected = [
            r#""a""#,
            r#""b\"c""#,
            r#""\u0061""#,
            r#""""#,
            r#""d\\""#,
            r#""\\""#,
            "\"ж\"",
        ];
        assert_eq!(seen, expected);
        for odd in [&b"\""[..], b"\"a\\", b"\"a\nb"] {
            each_literal(odd, |_| {});
        }
    }

    #[test]
    fn a_text_written_as_a_string_reads_back() {
        let text: String = (0..0x300)
            .filter_map(char::from_u32)
            .chain("😀\u{2028}".chars())
            .collect();
        let mut token = vec![b'"'];
        escape_into(&text, &mut token);
        token.push(b'"');
        assert!(scan(&token).is_ok());
        assert_eq!(unescape(&token), text);
        let mut short = Vec::new();
        escape_into("\"\\\n\r\t\u{1}", &mut short);
        assert_eq!(short, br#"\"\\\n\r\t\u0001"#);
    }
}
