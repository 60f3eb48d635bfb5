//! Whether the error body of an upstream already is the envelope of §2.6 and passes unchanged (§7.3).

use super::kind::Kind;
use super::scan::scan;
use super::view::View;

/// Whether `body` is an object whose `error` is an object with a `message` string.
pub fn is_envelope(body: &[u8]) -> bool {
    let Ok(scan) = scan(body) else {
        return false;
    };
    scan.members_named(body, "error").any(|error| {
        let mut messages = View::new(body, error.value).named("message");
        messages.any(|message| message.kind() == Kind::String)
    })
}

#[cfg(test)]
mod tests {
    use super::is_envelope;

    #[test]
    fn an_envelope_is_an_error_object_with_a_message() {
        let table: &[(&str, bool)] = &[
            (r#"{"error":{"message":"m","type":"t","code":400}}"#, true),
            (
                r#" {"id":1,"error": {"param":null, "message" :""} } "#,
                true,
            ),
            (r#"{"\u0065rror":{"mess\u0061ge":"m"}}"#, true),
            (r#"{"error":{"message":"m"}"#, false),
            (r#"{"error":{"message":null}}"#, false),
            (r#"{"error":{"code":400}}"#, false),
            (r#"{"error":{"inner":{"message":"m"}}}"#, false),
            (r#"{"error":"message"}"#, false),
            (r#"{"error":[{"message":"m"}]}"#, false),
            (r#"{"detail":{"error":{"message":"m"}}}"#, false),
            (r#"[{"error":{"message":"m"}}]"#, false),
            ("", false),
            ("upstream connect error", false),
        ];
        for (body, expected) in table {
            assert_eq!(is_envelope(body.as_bytes()), *expected, "{body}");
        }
    }
}
