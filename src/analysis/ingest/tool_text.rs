//! What is checked of a tool call. Programs often escape every letter that is not ASCII, so that no check would
//! read a name in it: such escapes are written out, and nothing else changes.

use serde::de::IgnoredAny;

/// The name of a tool and its arguments, as the gateway records those in an answer.
pub(super) fn of_arguments(name: &str, arguments: &str) -> String {
    format!("{name}\n{}", readable(arguments))
}

/// JSON with its `\u` escapes written out, except those of quotes, backslashes and control characters. Any other
/// text as it is.
pub(super) fn readable(text: &str) -> String {
    let is_json = text.contains("\\u") && serde_json::from_str::<IgnoredAny>(text).is_ok();
    if !is_json {
        return text.to_owned();
    }
    let (mut readable, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        readable.push_str(before);
        // In JSON a backslash begins an escape of at least two characters, all ASCII.
        let (character, length) = match escaped(escape) {
            Some((character, length)) if is_plain(character) => (Some(character), length),
            Some((_, length)) => (None, length),
            None => (None, 2.min(escape.len())),
        };
        let (written, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        match character {
            Some(character) => readable.push(character),
            None => readable.push_str(written),
        }
        rest = after;
    }
    readable.push_str(rest);
    readable
}

fn is_plain(character: char) -> bool {
    !character.is_control() && !matches!(character, '"' | '\\')
}

/// The character that a text begins with as `\uXXXX`, or as two of them, and the bytes they take.
fn escaped(text: &str) -> Option<(char, usize)> {
    let unit = |text: &str| {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(text)?;
    let mut units = vec![first];
    if (0xD800..0xDC00).contains(&first) {
        units.push(unit(text.get(6..)?)?);
    }
    let length = 6 * units.len();
    let mut characters = char::decode_utf16(units);
    Some((characters.next()?.ok()?, length))
}

#[cfg(test)]
mod tests {
    use super::{of_arguments, readable};

    #[test]
    fn escapes_of_letters_are_written_out_and_the_json_stays_the_same() {
        for (text, expected) in [
            (
                r#"{"to":"\u0430\u043d\u043d\u0430@example.org"}"#,
                r#"{"to":"анна@example.org"}"#,
            ),
            (r#"["\ud83d\ude00","\u0041"]"#, r#"["😀","A"]"#),
            (
                r#"["a\"b","\u0022","\u005c","\u000a","\\u0041","\n"]"#,
                r#"["a\"b","\u0022","\u005c","\u000a","\\u0041","\n"]"#,
            ),
            // Lone halves are replaced before a request is parsed; here they stay.
            (
                r#"["\ud83d x","\ud83d\u0041"]"#,
                r#"["\ud83d x","\ud83dA"]"#,
            ),
            (r"not JSON: \u0041", r"not JSON: \u0041"),
            ("", ""),
            (r#"{"plain":1}"#, r#"{"plain":1}"#),
        ] {
            assert_eq!(readable(text), expected, "{text}");
            let same = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
            assert_eq!(same(text), same(expected), "{text}");
        }
        assert_eq!(of_arguments("find", "{}"), "find\n{}");
    }
}
