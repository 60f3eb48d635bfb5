//! The calls of tools in a whole chat completion. `sse::Accumulator` reads those of a stream.

use crate::json::{message_calls, scan};
use crate::protocol::fields::text;
use memchr::memmem;
use monitor_model::{ToolPart, ToolParts};

/// The members that have them, with the quote behind their names. An upstream that escapes these letters is not read.
const CALLS: [&str; 2] = ["tool_calls\"", "function_call\""];

/// The calls of all choices, within `most` bytes.
pub(super) fn of_completion(body: &[u8], most: usize) -> ToolParts {
    let mut parts = ToolParts::default();
    // Most answers have none, and are not read again.
    if !CALLS.iter().any(|name| has_filled(body, name)) {
        return parts;
    }
    let Ok(scan) = scan(body) else {
        return parts;
    };
    let choices = scan.members_in_any_case(body, "choices");
    let choices = choices.flat_map(|choices| scan.view(body, choices.value).elements());
    let messages = choices.flat_map(|choice| choice.named_in_any_case("message"));
    for called in messages.flat_map(message_calls) {
        let arguments = called.tool.named_in_any_case(called.arguments).last();
        let arguments = arguments.map(|arguments| match arguments.text() {
            Some(text) => text.into_owned(),
            None => arguments.raw().to_owned(),
        });
        let part = ToolPart {
            call_id: text(called.call, "id").unwrap_or_default().into_owned(),
            name: text(called.tool, "name").unwrap_or_default().into_owned(),
            text: arguments.unwrap_or_default(),
            is_cut: false,
        };
        parts.push(part, most);
    }
    parts
}

/// Whether something stands in a list or an object behind this name. Many servers write an empty list, or null, into
/// every answer. A text has a backslash before the quote.
fn has_filled(body: &[u8], name: &str) -> bool {
    let mut places = memmem::find_iter(body, name);
    places.any(|place| {
        let value = body.get(place + name.len()..).unwrap_or_default();
        let value = value.trim_ascii_start().strip_prefix(b":");
        let value = value.unwrap_or_default().trim_ascii_start();
        match value.split_first() {
            Some((b'[' | b'{', inner)) => !matches!(inner.trim_ascii_start(), [b']' | b'}', ..]),
            _ => false,
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_again_only_for_calls_that_are_there() {
        for (message, is_read) in [
            (
                r#"{"content":"a","tool_calls":[],"function_call":null}"#,
                false,
            ),
            (
                r#"{"content":"a","tool_calls": [ ] ,"function_call" : {}}"#,
                false,
            ),
            (r#"{"content":"a","tool_calls":null}"#, false),
            (r#"{"content":"{\"tool_calls\":[{\"id\":1}]}"}"#, false),
            (r#"{"content":"tool_calls"}"#, false),
            (r#"{"content":"a"},"finish_reason":"tool_calls""#, false),
            (r#"{"tool_calls": [{}]}"#, true),
            ("{\"tool_calls\"\n:\n[ {}]}", true),
            (r#"{"function_call":{"name":"f"}}"#, true),
        ] {
            let body = format!(r#"{{"choices":[{{"message":{message}}}]}}"#);
            let is_found = CALLS.iter().any(|name| has_filled(body.as_bytes(), name));
            assert_eq!(is_found, is_read, "{body}");
        }
    }

    #[test]
    fn calls_of_functions_and_custom_tools_are_read_and_the_older_form() {
        let body = br#"{"choices":[{"message":{"tool_calls":[
            {"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"custom":null},
            {"id":"b","type":"custom","custom":{"name":"exec","input":"rm -rf /"},"function":null}],
            "function_call":{"name":"g","arguments":"1"}}}]}"#;
        let parts = of_completion(body, usize::MAX).parts;
        let parts = parts
            .iter()
            .map(|part| [&*part.call_id, &*part.name, &*part.text]);
        let expected = [["a", "f", "{}"], ["b", "exec", "rm -rf /"], ["", "g", "1"]];
        assert!(parts.eq(expected));
    }
}
