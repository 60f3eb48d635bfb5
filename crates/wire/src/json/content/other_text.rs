//! The texts of an object beside the members that a reader knows (CONTRACT 42): each string, at any depth, that is
//! not known to be an attribute, an image, a sound or a file.

use super::meaning::{DEEPEST, Meaning, is_textual};
use crate::json::kind::Kind;
use crate::json::name::{folded, is_exactly, is_in_any_case};
use crate::json::text::unescape;
use crate::json::view::View;
use std::ops::Range;

/// What servers say of a choice beside its text.
const ATTRIBUTES: [&str; 9] = [
    "object",
    "model",
    "stop_reason",
    "native_finish_reason",
    "matched_stop",
    "content_filter_results",
    "content_filter_offsets",
    "token_ids",
    "obfuscation",
];

/// A string, and what leads to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OtherText {
    /// The names and places of the members that lead to it, each behind a slash.
    pub(crate) path: String,
    /// The string with its quotes, as bytes of the object.
    pub(crate) span: Range<usize>,
}

/// The strings of the members of a checked object that are none of `known`, in their order. None where some reader takes
/// a member for one of `known` and another does not, and where a value is nested too deeply to be read.
pub(crate) fn other_texts(object: &[u8], known: &[&str]) -> Option<Vec<OtherText>> {
    let mut walk = Walk::default();
    for member in View::new(object, 0..object.len()).members() {
        if known.iter().any(|name| is_exactly(member.key, name)) {
            continue;
        }
        if known.iter().any(|name| is_in_any_case(member.key, name)) {
            return None;
        }
        if member.value.kind() == Kind::Null {
            continue;
        }
        // Sound comes with what it says.
        match is_in_any_case(member.key, "audio") {
            true => walk.inside("audio", member.value, Scope::Media)?,
            false => walk.member(member.key, member.value, Scope::Part { is_text: true })?,
        }
    }
    Some(walk.found)
}

/// What the members of an object are.
#[derive(Clone, Copy)]
enum Scope {
    /// A part, whose data are text where it is one of text.
    Part { is_text: bool },
    /// A sound, whose data are none.
    Media,
    /// Arguments, whose members mean what their caller wants.
    Free,
}

#[derive(Default)]
struct Walk {
    found: Vec<OtherText>,
    path: String,
    depth: usize,
}

impl Walk {
    fn member(&mut self, key: &[u8], value: View<'_>, scope: Scope) -> Option<()> {
        let name = unescape(key);
        let is_bytes = value.kind() == Kind::String
            && matches!(scope, Scope::Media | Scope::Part { is_text: false });
        match (scope, Meaning::of(&name)) {
            (Scope::Free, _) | (_, Meaning::Free) => self.inside(&name, value, Scope::Free),
            (_, Meaning::NoText) => Some(()),
            (_, Meaning::Source) if is_bytes => Some(()),
            _ if ATTRIBUTES.contains(&&*folded(&name)) => Some(()),
            _ => self.inside(&name, value, scope),
        }
    }

    /// Reads a value under one more name.
    fn inside(&mut self, name: &str, value: View<'_>, scope: Scope) -> Option<()> {
        let length = self.path.len();
        self.path.push('/');
        self.path += name;
        let read = self.value(value, scope);
        self.path.truncate(length);
        read
    }

    fn value(&mut self, value: View<'_>, scope: Scope) -> Option<()> {
        if matches!(value.kind(), Kind::Object | Kind::Array) && self.depth == DEEPEST {
            return None;
        }
        self.depth += 1;
        let read = match value.kind() {
            Kind::String => {
                // One of no text begins none.
                if value.span().len() > 2 {
                    self.found.push(OtherText {
                        path: self.path.clone(),
                        span: value.span(),
                    });
                }
                Some(())
            }
            Kind::Object => self.object(value, scope),
            Kind::Array => value
                .elements()
                .enumerate()
                .try_for_each(|(place, element)| {
                    let place = index(element).unwrap_or_else(|| place.to_string());
                    self.inside(&place, element, scope)
                }),
            Kind::Number | Kind::True | Kind::False | Kind::Null => Some(()),
        };
        self.depth -= 1;
        read
    }

    fn object(&mut self, object: View<'_>, scope: Scope) -> Option<()> {
        let scope = match scope {
            Scope::Part { .. } => Scope::Part {
                is_text: is_textual(object),
            },
            other => other,
        };
        let mut members = object.members();
        members.try_for_each(|member| self.member(member.key, member.value, scope))
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
    use super::other_texts;

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
