//! The limits of names and descriptions, for applications and tokens alike. They are data: quotes, angle
//! brackets and other scripts are stored unchanged, and whoever displays them escapes them.

use crate::analysis::error::FieldProblem;
use serde_json::Value;

/// The longest name, in Unicode code points.
pub(super) const LONGEST_NAME: usize = 200;
/// The longest description, in Unicode code points.
const LONGEST_DESCRIPTION: usize = 2_000;

/// A name: one line that is not blank.
pub(super) fn check_name(text: &str) -> Result<(), FieldProblem> {
    let problem = |problem: String| Err(FieldProblem::new("name", problem));
    match text.chars().count() {
        length if length > LONGEST_NAME => problem(format!(
            "has {length} characters; allowed: 1 to {LONGEST_NAME}"
        )),
        _ if text.trim().is_empty() => {
            problem(format!("is empty; allowed: 1 to {LONGEST_NAME} characters"))
        }
        _ if text.chars().any(char::is_control) => {
            problem("has control characters; allowed: one line of text".to_owned())
        }
        _ => Ok(()),
    }
}

/// Text of limited length, line breaks included.
pub(super) fn check_description(text: &str) -> Result<(), FieldProblem> {
    let problem = |problem: String| Err(FieldProblem::new("description", problem));
    let forbidden = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    match text.chars().count() {
        length if length > LONGEST_DESCRIPTION => problem(format!(
            "has {length} characters; allowed: up to {LONGEST_DESCRIPTION}"
        )),
        _ if text.chars().any(forbidden) => {
            problem("has control characters; allowed: text with line breaks and tabs".to_owned())
        }
        _ => Ok(()),
    }
}

/// Neither a key nor a text of a document may contain the character NUL, which not every database stores.
pub(super) fn check_no_nul(field: &str, document: &Value) -> Result<(), FieldProblem> {
    match holds_nul(document) {
        true => Err(FieldProblem::new(
            field,
            "contains a text with the character NUL",
        )),
        false => Ok(()),
    }
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(map) => map
            .iter()
            .any(|(key, value)| key.contains('\0') || holds_nul(value)),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_and_descriptions_have_their_limits_and_otherwise_are_data() {
        for good in [
            "a",
            "<script>alert(1)</script>",
            "'; DROP TABLE x --",
            "бот 🤖",
        ] {
            assert_eq!(check_name(good), Ok(()));
            assert_eq!(check_description(good), Ok(()));
        }
        assert!(check_name(&"й".repeat(200)).is_ok());
        assert!(check_description(&"й".repeat(2000)).is_ok());
        assert!(check_description("two\nlines\r\n\tindented").is_ok());
        for bad in ["", " \u{3000}", "two\nlines", "nul\0", "\u{1b}[31m"] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
        for (long, problem) in [
            (
                check_name(&"й".repeat(201)),
                "has 201 characters; allowed: 1 to 200",
            ),
            (
                check_description(&"й".repeat(2001)),
                "has 2001 characters; allowed: up to 2000",
            ),
        ] {
            assert_eq!(long.unwrap_err().problem, problem);
        }
        assert!(check_description("nul\0").is_err());
    }

    #[test]
    fn nul_is_found_wherever_it_hides() {
        assert!(check_no_nul("rules", &json!({"a": [1, {"b": "text"}]})).is_ok());
        for bad in [json!({"a": [{"b": "\0"}]}), json!({"\0": 1})] {
            assert_eq!(check_no_nul("rules", &bad).unwrap_err().field, "rules");
        }
    }
}
