//! The frames the gateway adds to a stream of its own accord (CONTRACT 18, 19, 41).

use super::parser::Parser;
use super::pieces::Field;
use crate::model::{ErrorEnvelope, ErrorType};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A comment frame. It may stand only at a [`super::Border`].
pub const HEARTBEAT: &[u8] = b": keepalive\n\n";

/// The frame of a stream that failed: `code` is 504 after a silence, 502 after a reset. `message` is
/// the client's to read; JSON keeps its line breaks out of the frame.
pub fn error_frame(message: &str, code: u16) -> Vec<u8> {
    let envelope = ErrorEnvelope::new(ErrorType::UpstreamError, code, message);
    [b"data: ".as_slice(), &envelope.to_json(), b"\n\n"].concat()
}

/// What every event of one stream has in common.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    created: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
}

/// The longest value of a member that is repeated.
const LONGEST_MEMBER: usize = 512;

/// The members of a raw frame's event that every event of its stream repeats, byte for byte, each
/// with a comma behind it; empty where there are none.
pub fn head_of(frame: &[u8]) -> Vec<u8> {
    let mut members = Vec::new();
    let mut parser = Parser::new(frame.len());
    parser.push(frame, |event| {
        let head = std::str::from_utf8(event.data).unwrap_or_default();
        let Ok(head) = serde_json::from_str::<Head<'_>>(head) else {
            return;
        };
        for (name, value) in [
            ("id", head.id),
            ("object", head.object),
            ("created", head.created),
            ("model", head.model),
        ] {
            let value = value.map(RawValue::get).unwrap_or_default();
            if !value.is_empty() && value.len() <= LONGEST_MEMBER && !value.contains('\n') {
                members.extend_from_slice(format!("\"{name}\":{value},").as_bytes());
            }
        }
    });
    members
}

/// An event that says one more piece of a choice's text. `head` is [`head_of`] a frame of the stream.
pub fn delta_frame(head: &[u8], (choice, field): (u64, Field), text: &str) -> Vec<u8> {
    let delta: Value = match field {
        Field::Content => json!({"content": text}),
        Field::Refusal => json!({"refusal": text}),
        Field::Reasoning => json!({"reasoning": text}),
        Field::ReasoningContent => json!({"reasoning_content": text}),
        Field::ToolName(index) => {
            json!({"tool_calls": [{"index": index, "function": {"name": text}}]})
        }
        Field::ToolArguments(index) => {
            json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
        }
        Field::FunctionName => json!({"function_call": {"name": text}}),
        Field::FunctionArguments => json!({"function_call": {"arguments": text}}),
    };
    let choices = json!([{"index": choice, "delta": delta, "finish_reason": null}]);
    let choices = format!("\"choices\":{choices}}}\n\n");
    [b"data: {", head, choices.as_bytes()].concat()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Field, delta_frame, error_frame, head_of};
    use crate::sse::pieces::{Reading, read};

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
                error_frame(message, *code),
                format!("{line}\n\n").into_bytes()
            );
        }
    }

    #[test]
    fn a_delta_frame_continues_its_stream() {
        let frame = b": x\r\ndata: {\"id\": \"a\\u0062\",\"created\":1.0e3,\r\ndata: \"model\":null,\"x\":1}\r\n\r\n";
        let head = head_of(frame);
        assert_eq!(head, b"\"id\":\"a\\u0062\",\"created\":1.0e3,");
        let expected = b"data: {\"id\":\"a\\u0062\",\"created\":1.0e3,\"choices\":[{\"delta\":{\"content\":\"[\"},\"finish_reason\":null,\"index\":2}]}\n\n";
        assert_eq!(delta_frame(&head, (2, Field::Content), "["), expected);
        assert_eq!(head_of(b"data: [DONE]\n\n"), b"");
        for field in [
            Field::Content,
            Field::Refusal,
            Field::Reasoning,
            Field::ReasoningContent,
            Field::ToolName(3),
            Field::ToolArguments(4),
            Field::FunctionName,
            Field::FunctionArguments,
        ] {
            let Reading::Said(said) = read(&delta_frame(b"", (7, field), "a\n\"")) else {
                panic!("not readable");
            };
            let piece = &said.pieces[0];
            assert_eq!(
                (piece.choice, piece.field, piece.text.as_str()),
                (7, field, "a\n\"")
            );
        }
    }
}
