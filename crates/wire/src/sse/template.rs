//! Events of the gateway within a stream of the upstream (CONTRACT 41): they carry the id, the model and the
//! time of the event they replace, so that clients see one answer.

use super::data::data;
use super::pieces::Field;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The longest value that every event of an answer repeats. What is longer would make a stream of short texts many times
/// as long as the answer.
pub(super) const LONGEST_REPEATED: usize = 256;

/// What every event of one answer says of it, as the upstream wrote it.
#[derive(Default, Serialize, Deserialize)]
pub struct Template {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Event<'a, C> {
    #[serde(flatten)]
    template: &'a Template,
    choices: [C; 1],
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u64,
    delta: Value,
    finish_reason: Option<&'a str>,
}

#[derive(Serialize)]
struct TextChoice<'a> {
    index: u64,
    text: &'a str,
    logprobs: Option<()>,
    finish_reason: Option<&'a str>,
}

impl Template {
    /// Of one raw frame; empty when it holds no event of the reference format.
    pub fn of(frame: &[u8]) -> Self {
        let mut template: Self = serde_json::from_slice(&data(frame)).unwrap_or_default();
        for part in [
            &mut template.id,
            &mut template.object,
            &mut template.created,
            &mut template.model,
        ] {
            part.take_if(|value| value.get().len() > LONGEST_REPEATED);
        }
        template
    }

    /// A frame that adds `text` to a field of a choice that has begun.
    pub fn text(&self, choice: u64, field: Field, text: &str) -> Vec<u8> {
        self.frame(choice, delta(field, text), None)
    }

    /// The first frame of a choice: it names the role and adds `text`.
    pub fn first_text(&self, choice: u64, field: Field, text: &str) -> Vec<u8> {
        let mut delta = delta(field, text);
        delta["role"] = "assistant".into();
        self.frame(choice, delta, None)
    }

    /// A frame that ends a choice.
    pub fn end(&self, choice: u64, finish_reason: &str) -> Vec<u8> {
        self.frame(choice, json!({}), Some(finish_reason))
    }

    /// A frame of completions, whose choices have `text`.
    pub fn completion(&self, index: u64, text: &str, finish_reason: Option<&str>) -> Vec<u8> {
        self.event(TextChoice {
            index,
            text,
            logprobs: None,
            finish_reason,
        })
    }

    fn frame(&self, index: u64, delta: Value, finish_reason: Option<&str>) -> Vec<u8> {
        self.event(Choice {
            index,
            delta,
            finish_reason,
        })
    }

    fn event(&self, choice: impl Serialize) -> Vec<u8> {
        let event = Event {
            template: self,
            choices: [choice],
        };
        // Strings, numbers and checked JSON only: serialization has no failing case.
        let json = serde_json::to_vec(&event).unwrap_or_default();
        [b"data: ".as_slice(), &json, b"\n\n"].concat()
    }
}

fn delta(field: Field, text: &str) -> Value {
    let tool = |index: u64, function: Value| json!({"tool_calls": [{"index": index, "function": function}]});
    match field {
        Field::Content => json!({"content": text}),
        Field::Refusal => json!({"refusal": text}),
        Field::Reasoning => json!({"reasoning": text}),
        Field::ReasoningContent => json!({"reasoning_content": text}),
        Field::ToolName(index) => tool(index, json!({"name": text})),
        Field::ToolArguments(index) => tool(index, json!({"arguments": text})),
        Field::FunctionName => json!({"function_call": {"name": text}}),
        Field::FunctionArguments => json!({"function_call": {"arguments": text}}),
        // The form around it is not known, or another API's.
        Field::ToolInput | Field::Part(_) | Field::Whole(_) | Field::Other(_) => json!({}),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Template;
    use crate::sse::pieces::{Field, Reading, read};

    const FRAME: &str =
        "data: {\"id\":\"c-1\",\"model\":\"m\",\ndata: \"created\":1e0,\"choices\":[]}\n\n";

    #[test]
    fn a_frame_of_ours_is_read_like_the_upstreams() {
        let template = Template::of(FRAME.as_bytes());
        for field in [
            Field::Content,
            Field::Refusal,
            Field::Reasoning,
            Field::ReasoningContent,
            Field::ToolName(2),
            Field::ToolArguments(3),
            Field::FunctionName,
            Field::FunctionArguments,
        ] {
            for write in [Template::first_text, Template::text] {
                let frame = write(&template, 5, field, "a\n\"Ж\"");
                let Reading::Said(said) = read(&frame) else {
                    panic!("not readable");
                };
                let piece = said.pieces.first().unwrap();
                assert_eq!((piece.choice, &piece.field), (5, &field));
                assert_eq!(piece.text, "a\n\"Ж\"");
            }
        }
    }

    #[test]
    fn what_the_upstream_said_of_the_answer_stays_to_the_byte() {
        let frame = Template::of(FRAME.as_bytes()).end(1, "content_filter");
        let expected = "data: {\"id\":\"c-1\",\"created\":1e0,\"model\":\"m\",\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\n";
        assert_eq!(String::from_utf8(frame).unwrap(), expected);
        let long = FRAME.replace("c-1", &"x".repeat(300));
        let frame = Template::of(long.as_bytes()).end(1, "content_filter");
        assert_eq!(
            String::from_utf8(frame).unwrap(),
            expected.replace("\"id\":\"c-1\",", "")
        );
        let bare = Template::of(b": note\n\n").end(0, "stop");
        assert!(
            String::from_utf8(bare)
                .unwrap()
                .starts_with("data: {\"choices\"")
        );
    }
}
