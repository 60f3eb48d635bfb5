//! The changes made to a body (§1.3, CONTRACT 2, 41): spans are replaced, every other byte stays.

mod text;

pub use text::replace_text;

use std::ops::Range;

/// A span of a body and what stands in its place.
pub type Edit<W> = (Range<usize>, W);

/// `body` with each span replaced. Spans ascend and do not overlap; one that breaks
/// this order is not replaced.
pub fn replace_spans<W: AsRef<[u8]>>(body: &[u8], edits: &[Edit<W>]) -> Vec<u8> {
    let longer: usize = edits.iter().map(|(_, with)| with.as_ref().len()).sum();
    let mut changed = Vec::with_capacity(body.len() + longer);
    let mut copied = 0;
    for (span, with) in edits {
        let Some(kept) = body.get(copied..span.start) else {
            continue;
        };
        if span.end < span.start || span.end > body.len() {
            continue;
        }
        changed.extend_from_slice(kept);
        changed.extend_from_slice(with.as_ref());
        copied = span.end;
    }
    changed.extend_from_slice(&body[copied..]);
    changed
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::replace_spans;
    use crate::json::{Request, RequestShape, scan};

    #[test]
    fn only_top_level_literals_of_stream_change() {
        let table: &[(&str, &str)] = &[
            (r#"{"stream":true}"#, r#"{"stream":false}"#),
            (
                r#"{ "stream" : true , "n":1e400 }"#,
                r#"{ "stream" : false , "n":1e400 }"#,
            ),
            (
                r#"{"str\u0065am":true,"stream":true}"#,
                r#"{"str\u0065am":false,"stream":false}"#,
            ),
            (r#"{"stream":"true"}"#, r#"{"stream":"true"}"#),
            (r#"{"stream":[true]}"#, r#"{"stream":[true]}"#),
            (
                r#"{"a":{"stream":true},"b":"\"stream\":true"}"#,
                r#"{"a":{"stream":true},"b":"\"stream\":true"}"#,
            ),
            (
                r#"{"Stream":true,"streams":true,"stream ":true}"#,
                r#"{"Stream":false,"streams":true,"stream ":true}"#,
            ),
            (r#"[{"stream":true}]"#, r#"[{"stream":true}]"#),
            ("true", "true"),
        ];
        for (body, expected) in table {
            let found = scan(body.as_bytes()).unwrap();
            let spans =
                Request::read(&RequestShape::CHAT, body.as_bytes(), &found).stream_true_spans();
            let edits: Vec<_> = spans.into_iter().map(|span| (span, "false")).collect();
            assert_eq!(replace_spans(body.as_bytes(), &edits), expected.as_bytes());
        }
    }

    #[test]
    fn a_span_of_no_bytes_is_where_something_is_inserted() {
        assert_eq!(replace_spans(b"ab", &[(1..1, b"x")]), b"axb");
    }

    #[test]
    #[allow(clippy::reversed_empty_ranges)]
    fn spans_that_do_not_fit_change_nothing() {
        for span in [2..9, 3..1, 7..8, usize::MAX..usize::MAX] {
            assert_eq!(replace_spans(b"abc", &[(span, "x")]), b"abc");
        }
        let edits = [(0..1, "x"), (0..2, "y"), (3..4, "zz")];
        assert_eq!(replace_spans(b"abcd", &edits), b"xbczz");
        assert_eq!(replace_spans::<&str>(b"", &[]), b"");
    }
}
