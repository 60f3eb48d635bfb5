//! The texts of an object beside the members that a reader knows (CONTRACT 42): each string, at any depth, that is
//! not known to be an attribute, an image, a sound or a file, and each name and long number of arguments.

use super::alone::labelled;
use super::is_word;
use super::meaning::{Depth, Meaning, PartKind, is_attribute, is_wrapper};
use super::text_path::TextPath;
use crate::json::form::Form;
use crate::json::index::index_of;
use crate::json::kind::Kind;
use crate::json::name::{folded, is_in_any_case};
use crate::json::number::long_number;
use crate::json::number::name::{NumberName, Sharing};
use crate::json::scan::notes_of;
use crate::json::text::unescape;
use crate::json::view::{NamedView, View, has_misspelled};
use std::borrow::Cow;
use std::ops::Range;

/// The most texts that are returned of one object, so that a body of nothing but tiny ones takes no more memory than a
/// few of its size. With more, the rest is unreadable.
const MOST_TEXTS: usize = 16_384;

/// A text, and the members that lead to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OtherText {
    /// The members that lead to it. Strings of one path are parts of one text. Names and numbers of arguments have the
    /// path of those of their outermost member.
    pub(crate) path: TextPath,
    /// The member of the outermost object.
    pub(crate) member: TopMember,
    /// What of a tool call it is.
    pub(crate) of_call: Option<CallText>,
    /// It is of the arguments of a call.
    pub(crate) in_arguments: bool,
    /// The value as it is written, as bytes of the object.
    pub(crate) span: Range<usize>,
    /// Of a number.
    name: Option<NumberName>,
}

/// A text of a tool call that is read in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallText {
    /// The name of the tool, which some servers repeat in every event.
    Name,
    /// Its arguments, whose text is JSON again.
    Arguments,
    /// The name of an argument.
    ArgumentName,
    /// A number of many digits among the arguments.
    Number,
}

impl CallText {
    /// Whether it stands between no two texts: it is read alone.
    pub(crate) fn stands_alone(self) -> bool {
        matches!(self, Self::ArgumentName | Self::Number)
    }
}

impl OtherText {
    /// What the value is written as. Arguments that grow are JSON only as a whole.
    pub(crate) fn form(&self) -> Form {
        match self.of_call {
            Some(CallText::Number) => Form::Number,
            Some(CallText::ArgumentName) => Form::Name,
            Some(CallText::Arguments) => Form::Arguments,
            Some(CallText::Name) | None => Form::Text,
        }
    }

    /// What a check reads of it: a number stands behind the words of its name.
    pub(crate) fn text<'a>(&self, object: &'a [u8]) -> Cow<'a, str> {
        labelled(self.name, self.form(), object, &self.span)
    }

    /// The same of the text of a value that is a part of a body, by the bytes of that value.
    pub(crate) fn text_in<'a>(&self, value: View<'a>) -> Cow<'a, str> {
        let begin = value.span().start;
        let span = self.span.start.saturating_sub(begin)..self.span.end.saturating_sub(begin);
        let name = self.name.map(|name| name.moved(begin));
        labelled(name, self.form(), value.token(), &span)
    }

    pub(crate) fn stands_alone(&self) -> bool {
        self.of_call.is_some_and(CallText::stands_alone)
    }
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
    /// A value is nested too deeply to be read, or there are too many texts.
    pub(crate) has_unreadable: bool,
}

/// An object of an answer: the path to it, and what its members are.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    path: TextPath,
    /// The member of the outermost object; None of that object itself.
    member: Option<TopMember>,
    /// The path of what stands alone inside that member.
    alone: TextPath,
    scope: Scope,
    of_call: Option<CallText>,
    in_arguments: bool,
}

impl Place {
    /// The outermost object of a name, such as a choice or its delta.
    pub(crate) fn of_object(name: &str) -> Self {
        Self {
            path: TextPath::of(name),
            member: None,
            alone: TextPath::of(name).alone(),
            scope: Scope::Part {
                is_text: true,
                is_call: false,
            },
            of_call: None,
            in_arguments: false,
        }
    }

    /// The path of what stands alone inside it.
    pub(crate) fn alone(self) -> TextPath {
        self.alone
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
            alone: self.member.map_or_else(|| path.alone(), |_| self.alone),
            scope,
            of_call: None,
            in_arguments: self.in_arguments,
        }
    }

    /// One of its members, which is the arguments of a tool, or may be.
    fn arguments(self, name: &str) -> Self {
        Self {
            of_call: Some(CallText::Arguments),
            in_arguments: self.in_arguments || matches!(self.scope, Scope::Call),
            ..self.inside(name, Scope::Free)
        }
    }
}

/// The strings of the members of a checked object that are none of `known`, in their order. None where some reader takes
/// a member for one of `known` and another does not, and where a value is nested too deeply to be read.
pub(crate) fn other_texts(object: &[u8], known: &[&str], place: Place) -> Option<Vec<OtherText>> {
    if has_misspelled(object, known) {
        return None;
    }
    let notes = notes_of(object);
    let view = View::of_scanned(object, 0..object.len(), &notes);
    let texts = texts_in(view, known, place);
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
        if !is_known || says_more(&member) {
            walk.member(&member, place);
        }
    }
    walk.texts
}

/// Whether a known member that holds a word of its API holds anything else: clients may show it.
fn says_more(member: &NamedView<'_>) -> bool {
    let says = |value: View<'_>| match value.text() {
        Some(text) => !is_word(&text),
        None => value.kind() != Kind::Null,
    };
    if is_in_any_case(member.key, "incomplete_details") {
        let mut details = member.value.members();
        return details.any(|detail| says(detail.value));
    }
    is_in_any_case(member.key, "phase") && says(member.value)
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
    /// A part, whose data are text where it is one of text, and whose objects are arguments where it is a call.
    Part { is_text: bool, is_call: bool },
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
    depth: Depth,
    /// That of the numbers that follow, inside arguments.
    name: Option<NumberName>,
}

impl Walk {
    fn member(&mut self, member: &NamedView<'_>, object: Place) {
        let (name, value, outer) = (unescape(member.key), member.value, self.name);
        let lower = folded(&name);
        let scope = object.scope;
        let is_string = value.kind() == Kind::String;
        let is_bytes =
            is_string && matches!(scope, Scope::Media | Scope::Part { is_text: false, .. });
        let place = match (scope, Meaning::of(&name)) {
            (Scope::Free, _) => {
                self.text_alone(member.name, CallText::ArgumentName, object);
                self.name = Some(name_at(member.name));
                object.inside(&name, Scope::Free)
            }
            (_, Meaning::Free) => object.arguments(&name),
            // One that is no text means what its caller wants.
            _ if lower == "name" && !is_string => object.inside(&name, Scope::Free),
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
            _ if is_attribute(&lower) => return,
            (Scope::Call, Meaning::Unknown | Meaning::Source) if !is_wrapper(member.key) => {
                object.arguments(&name)
            }
            (Scope::Part { is_call: true, .. }, Meaning::Unknown)
                if value.kind() == Kind::Object && !is_wrapper(member.key) =>
            {
                object.inside(&name, Scope::Free)
            }
            _ => object.inside(&name, scope.of_member(&lower)),
        };
        self.value(value, place);
        self.name = outer;
    }

    fn value(&mut self, value: View<'_>, place: Place) {
        if matches!(value.kind(), Kind::Object | Kind::Array) && !self.depth.may_enter(value) {
            self.texts.has_unreadable = true;
            return;
        }
        self.depth.enter();
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
            Kind::Number if matches!(place.scope, Scope::Free) => {
                if long_number(value.raw()).is_some() {
                    self.text_alone(value, CallText::Number, place);
                    if let Some(name) = &mut self.name {
                        name.sharing = Sharing::Further;
                    }
                }
            }
            Kind::String | Kind::Number | Kind::True | Kind::False | Kind::Null => {}
        }
        self.depth.leave();
    }

    fn text_alone(&mut self, text: View<'_>, of_call: CallText, place: Place) {
        if text.span().len() > 2 {
            self.text(
                text,
                Place {
                    path: place.alone,
                    of_call: Some(of_call),
                    ..place
                },
            );
        }
    }

    fn text(&mut self, text: View<'_>, place: Place) {
        match self.texts.found.len() < MOST_TEXTS {
            true => self.texts.found.push(OtherText {
                path: place.path,
                member: place.member.unwrap_or(TopMember::Other(place.path)),
                of_call: place.of_call,
                in_arguments: place.in_arguments,
                span: text.span(),
                name: self
                    .name
                    .filter(|_| place.of_call == Some(CallText::Number)),
            }),
            false => self.texts.has_unreadable = true,
        }
    }

    fn object(&mut self, object: View<'_>, mut place: Place) {
        let members = object.kept_members();
        if matches!(place.scope, Scope::Part { .. }) {
            let PartKind { is_text, is_call } = PartKind::of(&members);
            place.scope = Scope::Part { is_text, is_call };
        }
        for member in members.iter() {
            self.member(&member, place);
        }
    }
}

fn name_at(name: View<'_>) -> NumberName {
    let Range { start, end } = name.span();
    NumberName {
        start,
        end,
        sharing: Sharing::First,
    }
}

/// Which element of a growing list this is, where it says so.
fn index(element: View<'_>) -> Option<Cow<'_, str>> {
    let index = element.named("index").last()?;
    let number = (index.kind() == Kind::Number).then(|| index.raw())?;
    Some(index_of(number).map_or(number.into(), |index| index.to_string().into()))
}

#[cfg(test)]
mod tests;
