//! The texts of an object beside the members that a reader knows (CONTRACT 42): each string, at any depth, that is
//! not known to be an attribute, an image, a sound or a file.

use super::meaning::{DEEPEST, Meaning, is_textual};
use super::text_path::TextPath;
use crate::json::index::index_of;
use crate::json::kind::Kind;
use crate::json::name::{folded, is_in_any_case};
use crate::json::text::unescape;
use crate::json::view::{View, has_misspelled};
use std::borrow::Cow;
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

/// The most strings that are returned of one object, so that a body of nothing but tiny ones takes no more memory than a
/// few of its size. With more, the rest is unreadable.
const MOST_TEXTS: usize = 16_384;

/// A string, and the members that lead to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OtherText {
    /// The members that lead to it. Strings of one path are parts of one text.
    pub(crate) path: TextPath,
    /// The member of the outermost object.
    pub(crate) member: TopMember,
    /// What of a tool call it is.
    pub(crate) of_call: Option<CallText>,
    /// The string with its quotes, as bytes of the object.
    pub(crate) span: Range<usize>,
}

/// A string of a tool call that is read in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallText {
    /// The name of the tool, which some servers repeat in every event.
    Name,
    /// Its arguments, whose text is JSON again.
    Arguments,
}

/// A member of an outermost object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TopMember {
    ToolCalls,
    FunctionCall,
    Other(TextPath),
}

/// The strings beside the known members of an object.
#[derive(Default)]
pub(crate) struct OtherTexts {
    /// The strings, in their order.
    pub(crate) found: Vec<OtherText>,
    /// A value is nested too deeply to be read, or there are too many.
    pub(crate) has_unreadable: bool,
}

/// An object of an answer: the path to it, and what its members are.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    path: TextPath,
    /// The member of the outermost object; None of that object itself.
    member: Option<TopMember>,
    scope: Scope,
    of_call: Option<CallText>,
}

impl Place {
    /// The outermost object of a name, such as a choice or its delta.
    pub(crate) fn of_object(name: &str) -> Self {
        Self {
            path: TextPath::of(name),
            member: None,
            scope: Scope::Part { is_text: true },
            of_call: None,
        }
    }

    /// One of its members.
    pub(crate) fn member(self, name: &str) -> Self {
        self.inside(name, self.scope.of_member(name))
    }

    fn inside(self, name: &str, scope: Scope) -> Self {
        let path = self.path.member(name);
        let member = self.member.unwrap_or(match name {
            "tool_calls" => TopMember::ToolCalls,
            "function_call" => TopMember::FunctionCall,
            _ => TopMember::Other(path),
        });
        Self {
            path,
            member: Some(member),
            scope,
            of_call: None,
        }
    }
}

/// The strings of the members of a checked object that are none of `known`, in their order. None where some reader takes
/// a member for one of `known` and another does not, and where a value is nested too deeply to be read.
pub(crate) fn other_texts(object: &[u8], known: &[&str], place: Place) -> Option<Vec<OtherText>> {
    if has_misspelled(object, known) {
        return None;
    }
    let texts = texts_in(View::new(object, 0..object.len()), known, place);
    (!texts.has_unreadable).then_some(texts.found)
}

/// The strings of the members that no reader takes for one of `known`, in their order.
pub(crate) fn texts_beside(object: View<'_>, known: &[&str]) -> OtherTexts {
    texts_in(object, known, Place::of_object(""))
}

fn texts_in(object: View<'_>, known: &[&str], place: Place) -> OtherTexts {
    let mut walk = Walk::default();
    for member in object.members() {
        let is_known = known.iter().any(|name| is_in_any_case(member.key, name));
        if !is_known {
            walk.member(member.key, member.value, place);
        }
    }
    walk.texts
}

/// The strings of a value of any kind. `name` is that of its member.
pub(crate) fn texts_of(name: &str, value: View<'_>) -> OtherTexts {
    let mut walk = Walk::default();
    walk.value(value, Place::of_object("").member(name));
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
    depth: usize,
}

impl Walk {
    fn member(&mut self, key: &[u8], value: View<'_>, object: Place) {
        let name = unescape(key);
        let lower = folded(&name);
        let scope = object.scope;
        let is_bytes = value.kind() == Kind::String
            && matches!(scope, Scope::Media | Scope::Part { is_text: false });
        let place = match (scope, Meaning::of(&name)) {
            (Scope::Free, _) => object.inside(&name, Scope::Free),
            (_, Meaning::Free) => Place {
                of_call: Some(CallText::Arguments),
                ..object.inside(&name, Scope::Free)
            },
            (Scope::Call, _) if lower == "name" => Place {
                of_call: Some(CallText::Name),
                ..object.inside(&name, scope)
            },
            // Sound comes with what it says.
            _ if lower == "audio" && value.kind() == Kind::Object => {
                object.inside(&name, Scope::Media)
            }
            (_, Meaning::NoText) => return,
            (_, Meaning::Source) if is_bytes => return,
            _ if ATTRIBUTES.contains(&&*lower) => return,
            _ => object.inside(&name, scope.of_member(&lower)),
        };
        self.value(value, place);
    }

    fn value(&mut self, value: View<'_>, place: Place) {
        if matches!(value.kind(), Kind::Object | Kind::Array) && self.depth == DEEPEST {
            self.texts.has_unreadable = true;
            return;
        }
        self.depth += 1;
        match value.kind() {
            // One of no text begins none.
            Kind::String if value.span().len() > 2 => self.text(value, place),
            Kind::Object => self.object(value, place),
            Kind::Array => {
                for (at, element) in value.elements().enumerate() {
                    let at = index(element).unwrap_or_else(|| at.to_string().into());
                    let scope = place.scope;
                    self.value(element, place.inside(&at, scope));
                }
            }
            Kind::String | Kind::Number | Kind::True | Kind::False | Kind::Null => {}
        }
        self.depth -= 1;
    }

    fn text(&mut self, text: View<'_>, place: Place) {
        match self.texts.found.len() < MOST_TEXTS {
            true => self.texts.found.push(OtherText {
                path: place.path,
                member: place.member.unwrap_or(TopMember::Other(place.path)),
                of_call: place.of_call,
                span: text.span(),
            }),
            false => self.texts.has_unreadable = true,
        }
    }

    fn object(&mut self, object: View<'_>, mut place: Place) {
        if let Scope::Part { is_text } = &mut place.scope {
            *is_text = is_textual(object);
        }
        for member in object.members() {
            self.member(member.key, member.value, place);
        }
    }
}

/// Which element of a growing list this is, where it says so.
fn index(element: View<'_>) -> Option<Cow<'_, str>> {
    let index = element.named("index").last()?;
    let number = (index.kind() == Kind::Number).then(|| index.raw())?;
    Some(index_of(number).map_or(number.into(), |index| index.to_string().into()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{
        CallText, MOST_TEXTS, OtherText, Place, TextPath, TopMember, other_texts, texts_beside,
    };
    use crate::json::view::View;

    fn found(object: &str) -> Option<Vec<OtherText>> {
        let place = Place::of_object("object");
        other_texts(object.as_bytes(), &["content", "delta"], place)
    }

    /// The paths and the strings.
    fn read(object: &str) -> Option<Vec<(TextPath, &str)>> {
        let found = found(object)?.into_iter();
        Some(found.map(|text| (text.path, &object[text.span])).collect())
    }

    fn path(names: &str) -> TextPath {
        let root = TextPath::of("object");
        names.split('/').skip(1).fold(root, TextPath::member)
    }

    #[test]
    fn every_string_that_is_no_attribute_has_a_path() {
        let object = r#"{"role":"assistant","content":"no","thinking":"a","x":{"y":["b",{"z":"c"}],"n":7,"e":""},
            "reasoning_details":[{"index":3e0,"type":"reasoning.text","text":"d","signature":"no","format":"no"}],
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
            .map(|(names, text)| (path(names), *text))
            .collect();
        assert_eq!(read(object).unwrap(), expected);
    }

    #[test]
    fn the_name_of_a_called_tool_is_text() {
        let object = r#"{"tool_calls":[{"id":"no","type":"custom","custom":{"name":"a","input":"b"}},
            {"index":7,"function":{"name":"c","arguments":{"id":"d"}}}],"function_call":{"name":"e"},"name":"no"}"#;
        let found = found(object).unwrap();
        let texts: Vec<_> = found
            .iter()
            .map(|text| &object[text.span.clone()])
            .collect();
        assert_eq!(texts, ["\"a\"", "\"b\"", "\"c\"", "\"d\"", "\"e\""]);
        assert_eq!(found[3].path, path("/tool_calls/7/function/arguments/id"));
        let of_calls: Vec<_> = found.iter().map(|text| text.of_call).collect();
        let (name, arguments) = (Some(CallText::Name), Some(CallText::Arguments));
        assert_eq!(of_calls, [name, arguments, name, None, name]);
        assert_eq!(
            (found[3].member, found[4].member),
            (TopMember::ToolCalls, TopMember::FunctionCall)
        );
    }

    #[test]
    fn the_members_of_an_object_inside_have_the_paths_of_the_whole() {
        let call = r#"{"index":7,"name":"a","function":{"name":"b"}}"#;
        let whole = format!(r#"{{"tool_calls":[{call}]}}"#);
        let place = Place::of_object("object").member("tool_calls").member("7");
        let inside = other_texts(call.as_bytes(), &[], place).unwrap();
        let whole = found(&whole).unwrap();
        assert_eq!(inside.len(), 2);
        for (inside, whole) in inside.iter().zip(&whole) {
            assert_eq!((inside.path, inside.member), (whole.path, whole.member));
            assert_eq!(
                (inside.of_call, whole.of_call),
                (Some(CallText::Name), Some(CallText::Name))
            );
        }
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
