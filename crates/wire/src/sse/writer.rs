//! The frames that the gateway itself adds to a stream (CONTRACT 18, 19 and 41). `template` makes events in
//! the name of the upstream.

use monitor_model::{ErrorEnvelope, ErrorType};

/// A comment frame. It may be sent only at a [`super::FrameBoundary`].
pub const HEARTBEAT: &[u8] = b": keepalive\n\n";

/// The frame that ends a stream.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// The frame of a stream that failed, by whose fault: `code` is 504 after a silence, 502 after a reset. `message` is
/// the client's to read; JSON keeps its line breaks out of the frame.
pub fn error_frame(kind: ErrorType, message: &str, code: u16) -> Vec<u8> {
    let envelope = ErrorEnvelope::new(kind, code, message);
    [b"data: ".as_slice(), &envelope.to_json(), b"\n\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::error_frame;
    use monitor_model::ErrorType;

    #[test]
    fn an_error_frame_is_one_data_line_with_the_envelope() {
        let table: &[(&str, u16, &str)] = &[
            (
                "silent",
                504,
                r#"data: {"error":{"message":"silent","type":"upstream_error","code":504}}"#,
            ),
            (
                "a\n\n\"b\"",
                502,
                r#"data: {"error":{"message":"a\n\n\"b\"","type":"upstream_error","code":502}}"#,
            ),
        ];
        for (message, code, line) in table {
            assert_eq!(
                error_frame(ErrorType::UpstreamError, message, *code),
                format!("{line}\n\n").into_bytes()
            );
        }
    }
}
