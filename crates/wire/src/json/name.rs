//! Whether a member has a name, for those who read it exactly and for those who ignore its case. Go's
//! `encoding/json`, and with it many model servers, takes `Content` and `CONTENT` for `content`, under
//! Unicode's simple case folding: U+017F counts as `s`, U+212A as `k`. Other readers fold U+0130 and U+0131
//! to `i`. What is looked for in a client's body is looked for in any case.

use super::text::unescape;
use std::borrow::Cow;

/// The most bytes that one character of a name takes in a token: `\u017f`.
const LONGEST_CHARACTER: usize = 6;

/// Whether a member's name, given as its token with quotes, stands for `name`.
pub(crate) fn is_exactly(token: &[u8], name: &str) -> bool {
    match memchr::memchr(b'\\', token) {
        None => inside(token) == name.as_bytes(),
        Some(_) => unescape(token) == name,
    }
}

/// Whether some reader takes a member's name, given as its token with quotes, for this one of lower-case ASCII.
pub(super) fn is_in_any_case(token: &[u8], name: &str) -> bool {
    let given = inside(token);
    if given.len() == name.len() {
        return given.eq_ignore_ascii_case(name.as_bytes());
    }
    // A longer one has escapes, or characters beyond ASCII.
    let may_fold = (name.len()..=LONGEST_CHARACTER * name.len()).contains(&given.len());
    may_fold && unescape(token).chars().map(fold).eq(name.chars())
}

/// A name in lower case, as far as ASCII names are concerned.
pub(super) fn folded(name: &str) -> Cow<'_, str> {
    match name.chars().any(|c| fold(c) != c) {
        true => name.chars().map(fold).collect::<String>().into(),
        false => name.into(),
    }
}

fn inside(token: &[u8]) -> &[u8] {
    let end = token.len().saturating_sub(1);
    token.get(1..end).unwrap_or_default()
}

fn fold(c: char) -> char {
    match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        '\u{130}' | '\u{131}' => 'i',
        _ => c.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_any_case_is_the_name_for_readers_that_ignore_it() {
        let table: &[(&str, &str, bool)] = &[
            (r#""messages""#, "messages", true),
            (r#""MESSAGES""#, "messages", true),
            (r#""me\u0053sages""#, "messages", true),
            (
                r#""\u006d\u0045\u0053\u017f\u0061\u0067\u0065\u0073""#,
                "messages",
                true,
            ),
            ("\"me\u{17f}\u{17f}ages\"", "messages", true),
            ("\"th\u{131}n\u{212a}ing\"", "thinking", true),
            ("\"TH\u{130}NKING\"", "thinking", true),
            (r#""message""#, "messages", false),
            (r#""messages ""#, "messages", false),
            (r#""messagesmessages""#, "messages", false),
            ("\"c\u{43e}ntent\"", "content", false),
            (r#""""#, "role", false),
            ("\"", "role", false),
        ];
        for (token, name, expected) in table {
            assert_eq!(is_in_any_case(token.as_bytes(), name), *expected, "{token}");
        }
        assert!(is_exactly(br#""r\u006fle""#, "role") && !is_exactly(br#""Role""#, "role"));
    }

    #[test]
    fn a_name_without_case_is_borrowed() {
        assert!(matches!(folded("content"), Cow::Borrowed("content")));
        assert_eq!(folded("Mime\u{17f}Type"), "mimestype");
    }
}
