//! The one change ever made to a body (§1.3, CONTRACT 2): spans are replaced, every other byte stays.

use std::ops::Range;

/// `body` with each of `spans` replaced by `with`. Spans ascend and do not overlap, as
/// [`super::Chat::stream_true_spans`] gives them; one that does not fit so is left alone.
pub fn replace_spans(body: &[u8], spans: &[Range<usize>], with: &[u8]) -> Vec<u8> {
    let mut changed = Vec::with_capacity(body.len() + spans.len() * with.len());
    let mut copied = 0;
    for span in spans {
        let Some(kept) = body.get(copied..span.start) else {
            continue;
        };
        if span.end < span.start || span.end > body.len() {
            continue;
        }
        changed.extend_from_slice(kept);
        changed.extend_from_slice(with);
        copied = span.end;
    }
    changed.extend_from_slice(&body[copied..]);
    changed
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::replace_spans;
    use crate::json::{Chat, scan};

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
                r#"{"Stream":true,"streams":true,"stream ":true}"#,
            ),
            (r#"[{"stream":true}]"#, r#"[{"stream":true}]"#),
            ("true", "true"),
        ];
        for (body, expected) in table {
            let found = scan(body.as_bytes()).unwrap();
            let spans = Chat::read(body.as_bytes(), &found).stream_true_spans();
            assert_eq!(
                replace_spans(body.as_bytes(), &spans, b"false"),
                expected.as_bytes()
            );
        }
    }

    #[test]
    #[allow(clippy::reversed_empty_ranges)]
    fn spans_that_do_not_fit_change_nothing() {
        for span in [2..9, 3..1, 7..8, usize::MAX..usize::MAX] {
            assert_eq!(replace_spans(b"abc", &[span], b"x"), b"abc");
        }
        assert_eq!(replace_spans(b"abcd", &[0..1, 0..2, 3..4], b"x"), b"xbcx");
        assert_eq!(replace_spans(b"", &[], b"x"), b"");
    }
}
