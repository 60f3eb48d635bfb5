//! The texts of an object beside the members that a reader knows (CONTRACT 42): each string, at any depth, that is
//! not known to be an attribute, an image, a sound or a file.

use super::meaning::{DEEPEST, Meaning, is_textual};
use crate::json::kind::Kind;
use crate::json::name::{folded, is_in_any_case};
use crate::json::text::unescape;
use crate::json::view::{View, has_misspelled};
use std::ops::Range;

/// What servers say of an answer beside its text.
const ATTRIBUTES: [&str; 20] = [
    "object",
    "model",
    "created_at",
    "system_fingerprint",
    "service_tier",
    "provider",
    "usage",
    "finish_reason",
    "stop_reason",
    "done_reason",
    "native_finish_reason",
    "matched_stop",
    "prompt_filter_results",
    "content_filter_results",
    "content_filter_offsets",
    "token_ids",
    "item_id",
    "response_id",
    "previous_response_id",
    "obfuscation",
];

/// The most strings that are told of one object, so that a body of nothing but tiny ones takes no more memory than a few
/// of its size. With more, the rest is unreadable.
const MOST_TEXTS: usize = 16_384;

/// A string, and what leads to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OtherText {
    /// The names and places of the members that lead to it, each behind a slash.
    pub(crate) path: String,
    /// The string with its quotes, as bytes of the object.
    pub(crate) span: Range<usize>,
}

/// What was found beside the known members.
#[derive(Default)]
pub(crate) struct OtherTexts {
    /// The strings, in their order.
    pub(crate) found: Vec<OtherText>,
    /// A value is nested too deeply to be read, or there are too many.
    pub(crate) has_unreadable: bool,
}

/// The strings of the members of a checked object that are none of `known`, in their order. None where some reader takes
/// a member for one of `known` and another does not, and where a value is nested too deeply to be read.
pub(crate) fn other_texts(object: &[u8], known: &[&str]) -> Option<Vec<OtherText>> {
    if has_misspelled(object, known) {
        return None;
    }
    let texts = texts_beside(View::new(object, 0..object.len()), known);
    (!texts.has_unreadable).then_some(texts.found)
}

/// The strings of the members that no reader takes for one of `known`, in their order.
pub(crate) fn texts_beside(object: View<'_>, known: &[&str]) -> OtherTexts {
    let mut walk = Walk::default();
    for member in object.members() {
        let is_known = known.iter().any(|name| is_in_any_case(member.key, name));
        if !is_known {
            walk.member(member.key, member.value, Scope::Part { is_text: true });
        }
    }
    walk.texts
}

/// The strings of a value of any kind. `name` is that of its member.
pub(crate) fn texts_of(name: &str, value: View<'_>) -> OtherTexts {
    let mut walk = Walk::default();
    let scope = Scope::Part { is_text: true };
    walk.inside(name, value, scope.of_member(name));
    walk.texts
}

/// What the members of an object are.
#[derive(Clone, Copy)]
enum Scope {
    /// A part, whose data are text where it is one of text.
    Part { is_text: bool },
    /// A call of a tool, whose name is text.
    Call,
    /// A sound, whose data are none.
    Media,
    /// Arguments, whose members mean what their caller wants.
    Free,
}

impl Scope {
    /// That of the value of a member, by its name in lower case.
    fn of_member(self, name: &str) -> Self {
        match name {
            "tool_calls" | "function_call" => Self::Call,
            _ => self,
        }
    }
}

#[derive(Default)]
struct Walk {
    texts: OtherTexts,
    path: String,
    depth: usize,
}

impl Walk {
    fn member(&mut self, key: &[u8], value: View<'_>, scope: Scope) {
        let name = unescape(key);
        let lower = folded(&name);
        let is_bytes = value.kind() == Kind::String
            && matches!(scope, Scope::Media | Scope::Part { is_text: false });
        match (scope, Meaning::of(&name)) {
            (Scope::Free, _) | (_, Meaning::Free) => self.inside(&name, value, Scope::Free),
            (Scope::Call, _) if lower == "name" => self.inside(&name, value, scope),
            // Sound comes with what it says.
            _ if lower == "audio" && value.kind() == Kind::Object => {
                self.inside(&name, value, Scope::Media);
            }
            (_, Meaning::NoText) => {}
            (_, Meaning::Source) if is_bytes => {}
            _ if ATTRIBUTES.contains(&&*lower) => {}
            _ => self.inside(&name, value, scope.of_member(&lower)),
        }
    }

    /// Reads a value under one more name.
    fn inside(&mut self, name: &str, value: View<'_>, scope: Scope) {
        let length = self.path.len();
        self.path.push('/');
        self.path += name;
        self.value(value, scope);
        self.path.truncate(length);
    }

    fn value(&mut self, value: View<'_>, scope: Scope) {
        if matches!(value.kind(), Kind::Object | Kind::Array) && self.depth == DEEPEST {
            self.texts.has_unreadable = true;
            return;
        }
        self.depth += 1;
        match value.kind() {
            // One of no text begins none.
            Kind::String if value.span().len() > 2 => self.text(value),
            Kind::Object => self.object(value, scope),
            Kind::Array => {
                for (place, element) in value.elements().enumerate() {
                    let place = index(element).unwrap_or_else(|| place.to_string());
                    self.inside(&place, element, scope);
                }
            }
            Kind::String | Kind::Number | Kind::True | Kind::False | Kind::Null => {}
        }
        self.depth -= 1;
    }

    fn text(&mut self, text: View<'_>) {
        match self.texts.found.len() < MOST_TEXTS {
            true => self.texts.found.push(OtherText {
                path: self.path.clone(),
                span: text.span(),
            }),
            false => self.texts.has_unreadable = true,
        }
    }

    fn object(&mut self, object: View<'_>, scope: Scope) {
        let scope = match scope {
            Scope::Part { .. } => Scope::Part {
                is_text: is_textual(object),
            },
            other => other,
        };
        for member in object.members() {
            self.member(member.key, member.value, scope);
        }
    }
}

/// Which element of a growing list this is, where it says so.
fn index(element: View<'_>) -> Option<String> {
    let index = element.named("index").last()?;
    (index.kind() == Kind::Number).then(|| index.raw().to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{MOST_TEXTS, other_texts, texts_beside};
    use crate::json::view::View;

    /// The paths and the strings.
    fn read(object: &str) -> Option<Vec<(String, &str)>> {
        let found = other_texts(object.as_bytes(), &["content", "delta"])?.into_iter();
        Some(found.map(|text| (text.path, &object[text.span])).collect())
    }

    #[test]
    fn every_string_that_is_no_attribute_has_a_path() {
        let object = r#"{"role":"assistant","content":"no","thinking":"a","x":{"y":["b",{"z":"c"}],"n":7,"e":""},
            "reasoning_details":[{"index":3,"type":"reasoning.text","text":"d","signature":"no","format":"no"}],
            "audio":{"id":"no","transcript":"e","data":"no"},"source":{"type":"text","data":"f"},
            "images":[{"type":"image_url","image_url":{"url":"no"}}],"input":{"id":"g"},"logprobs":{"content":[{"token":"no"}]},
            "Stop_Reason":"no","file":{"file_data":"no"},"z":{"type":"image","data":"no"}}"#;
        let expected = [
            ("/thinking", "\"a\""),
            ("/x/y/0", "\"b\""),
            ("/x/y/1/z", "\"c\""),
            ("/reasoning_details/3/text", "\"d\""),
            ("/audio/transcript", "\"e\""),
            ("/source/data", "\"f\""),
            ("/input/id", "\"g\""),
        ];
        let expected: Vec<_> = expected
            .iter()
            .map(|(path, text)| ((*path).to_owned(), *text))
            .collect();
        assert_eq!(read(object).unwrap(), expected);
    }

    #[test]
    fn the_name_of_a_called_tool_is_text() {
        let object = r#"{"tool_calls":[{"id":"no","type":"custom","custom":{"name":"a","input":"b"}},
            {"index":7,"function":{"name":"c","arguments":{"id":"d"}}}],"function_call":{"name":"e"},"name":"no"}"#;
        let found = read(object).unwrap();
        let texts: Vec<_> = found.iter().map(|(_, text)| *text).collect();
        assert_eq!(texts, ["\"a\"", "\"b\"", "\"c\"", "\"d\"", "\"e\""]);
        assert_eq!(found[3].0, "/tool_calls/7/function/arguments/id");
    }

    #[test]
    fn of_very_many_strings_the_first_are_told_and_the_rest_is_unreadable() {
        for (more, has_unreadable) in [(0, false), (1, true)] {
            let object = format!(
                r#"{{"x":["a"{}]}}"#,
                r#","a""#.repeat(MOST_TEXTS - 1 + more)
            );
            let texts = texts_beside(View::new(object.as_bytes(), 0..object.len()), &[]);
            assert_eq!(texts.found.len(), MOST_TEXTS);
            assert_eq!(texts.has_unreadable, has_unreadable);
        }
    }

    #[test]
    fn what_lies_too_deep_hides_nothing_beside_it() {
        let object = format!(
            r#"{{"x":{}"no"{},"y":"a"}}"#,
            "[".repeat(40),
            "]".repeat(40)
        );
        let texts = texts_beside(View::new(object.as_bytes(), 0..object.len()), &[]);
        assert!(texts.has_unreadable);
        assert_eq!(texts.found.len(), 1);
    }

    #[test]
    fn a_name_of_two_readings_and_a_depth_without_end_are_unreadable() {
        assert!(read(r#"{"Content":"a"}"#).is_none());
        assert!(read(r#"{"c\u006fntent":"a"}"#).unwrap().is_empty());
        let nested =
            |depth: usize| format!(r#"{{"x":{}"a"{}}}"#, "[".repeat(depth), "]".repeat(depth));
        assert_eq!(read(&nested(32)).unwrap().len(), 1);
        assert!(read(&nested(33)).is_none());
        assert!(read("7").unwrap().is_empty());
    }
}
