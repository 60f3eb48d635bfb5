//! The call of a tool that a prompt orders from the demo: `tool:NAME`, and behind it the arguments as a JSON object.
//! As with a model, the request has to offer the tool.

use super::tokens::estimated_tokens;
use serde_json::{Deserializer, Map, Value};

const ORDER: &str = "tool:";
/// Characters of the arguments in one step of a stream.
const STEP: usize = 8;

/// A call without its id, which differs between the APIs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToolCall {
    pub(super) name: String,
    /// A JSON object, as the prompt has it.
    pub(super) arguments: String,
}

impl ToolCall {
    /// What a prompt orders of these tools of the request.
    pub(super) fn ordered(prompt: &str, tools: &Value) -> Option<Self> {
        let mut orders = prompt.match_indices(ORDER);
        orders.find_map(|(at, _)| {
            let (before, order) = prompt.split_at(at);
            let order = &order[ORDER.len()..];
            let name = order.split_whitespace().next()?;
            let is_word = before.is_empty() || before.ends_with(char::is_whitespace);
            let (_, arguments) = order.split_once(name)?;
            (is_word && offers(tools, name)).then(|| Self {
                name: name.to_owned(),
                arguments: object(arguments),
            })
        })
    }

    pub(super) fn tokens(&self) -> u64 {
        estimated_tokens(&self.name).saturating_add(estimated_tokens(&self.arguments))
    }

    /// The pieces that a stream sends. Their sum are the arguments.
    pub(super) fn pieces(&self) -> Vec<String> {
        let letters: Vec<char> = self.arguments.chars().collect();
        letters
            .chunks(STEP)
            .map(|step| step.iter().collect())
            .collect()
    }
}

/// Whether one of the tools, in the form of any API, has this name.
fn offers(tools: &Value, name: &str) -> bool {
    let mut tools = tools.as_array().into_iter().flatten();
    tools.any(|tool| tool["name"] == name || tool["function"]["name"] == name)
}

/// The object that a text begins with, else an empty one.
fn object(text: &str) -> String {
    let mut values = Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    match values.next() {
        Some(Ok(_)) => text[..values.byte_offset()].trim().to_owned(),
        _ => "{}".to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_word_of_its_own_that_names_an_offered_tool_orders_it() {
        let tools = json!([{"type": "function", "function": {"name": "ls"}}, {"name": "cat", "input_schema": {}}]);
        for (prompt, ordered) in [
            ("tool:ls", Some(("ls", "{}"))),
            (
                "Please tool:cat {\"a\": [1]} now",
                Some(("cat", "{\"a\": [1]}")),
            ),
            ("tool:rm then\ntool: ls 7", Some(("ls", "{}"))),
            ("tool:cat {\"a\"", Some(("cat", "{}"))),
            ("a tool:rm {}", None),
            ("mytool:ls", None),
            ("tool:", None),
        ] {
            let call = ToolCall::ordered(prompt, &tools);
            let call = call.as_ref().map(|call| (&*call.name, &*call.arguments));
            assert_eq!(call, ordered, "{prompt}");
        }
        assert_eq!(ToolCall::ordered("tool:ls", &Value::Null), None);
    }

    #[test]
    fn pieces_add_up_to_the_arguments() {
        let arguments = json!({"text": "Счёт 4276, закрыт"}).to_string();
        let call = ToolCall {
            name: "say".to_owned(),
            arguments: arguments.clone(),
        };
        assert!(call.pieces().len() > 2);
        assert_eq!(call.pieces().concat(), arguments);
    }
}
