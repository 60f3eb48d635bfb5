//! What is checked of a tool call. Its escapes hide a value from whoever does not decode them, so they are written out,
//! as for the tool calls in an answer.

use monitor_wire::json::arguments_text;

/// The name of a tool and its arguments, as the gateway records those in an answer.
pub(crate) fn of_arguments(name: &str, arguments: &str) -> String {
    format!("{name}\n{}", arguments_text(arguments))
}

/// What a tool gave back.
pub(crate) fn of_result(result: &str) -> String {
    arguments_text(result).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{of_arguments, of_result};

    #[test]
    fn escapes_are_written_out() {
        for (text, expected) in [
            (
                r#"{"to":"\u0430\u043d\u043d\u0430@example.org"}"#,
                r#"{"to":"анна@example.org"}"#,
            ),
            (r#"["a\/b","\ud83d\ude00"]"#, r#"["a/b","😀"]"#),
            (r#"["top\nsecret"]"#, "[\"top\nsecret\"]"),
            ("", ""),
            (r#"{"plain":1}"#, r#"{"plain":1}"#),
        ] {
            assert_eq!(of_result(text), expected, "{text}");
            assert_eq!(of_arguments("find", text), format!("find\n{expected}"));
        }
        assert_eq!(
            of_result(r"no JSON: \u0041"),
            "no JSON: \\u0041\nno JSON: A",
            "nobody knows what reads it"
        );
    }
}
