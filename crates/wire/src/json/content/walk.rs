//! The walk over the values of a content or of another member of a message.

use super::Piece;
use super::meaning::{DEEPEST, Meaning, is_textual};
use crate::json::form::Form;
use crate::json::kind::Kind;
use crate::json::name::{is_exactly, is_in_any_case};
use crate::json::number::long_number;
use crate::json::view::{NamedView, View};
use std::ops::ControlFlow;

/// What a string is to the message around it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Main,
    Aside,
    Unknown,
}

pub(super) struct Walk<'w, 'a> {
    pub(super) each: &'w mut dyn FnMut(Piece<'a>) -> ControlFlow<()>,
    depth: usize,
    standing: Standing,
    /// It is a call of a tool, whose name is read and whose arguments are JSON in a string.
    is_call: bool,
}

impl<'w, 'a> Walk<'w, 'a> {
    pub(super) fn new(
        standing: Standing,
        each: &'w mut dyn FnMut(Piece<'a>) -> ControlFlow<()>,
    ) -> Self {
        Self {
            each,
            depth: 0,
            standing,
            is_call: false,
        }
    }

    /// Calls of tools, in a list or one alone.
    pub(super) fn call(&mut self, calls: View<'a>) -> ControlFlow<()> {
        self.is_call = true;
        self.value(calls, Meaning::Unknown)
    }

    /// The arguments of a tool: JSON in a string, or as it is.
    pub(super) fn arguments(&mut self, arguments: View<'a>) -> ControlFlow<()> {
        match arguments.kind() {
            Kind::String => (self.each)(Piece::Alone(arguments, Form::Arguments)),
            _ => self.value(arguments, Meaning::Free),
        }
    }

    pub(super) fn value(&mut self, value: View<'a>, meaning: Meaning) -> ControlFlow<()> {
        match value.kind() {
            Kind::String => (self.each)(match self.standing {
                Standing::Main => Piece::Text(value),
                Standing::Aside => Piece::Aside(value),
                Standing::Unknown => Piece::Unknown(value),
            }),
            Kind::Object | Kind::Array if self.depth == DEEPEST => (self.each)(Piece::Unreadable),
            Kind::Object => self.deeper(|walk| walk.part(value, meaning)),
            Kind::Array => self.deeper(|walk| {
                let mut elements = value.elements();
                elements.try_for_each(|element| walk.value(element, meaning))
            }),
            Kind::Number if meaning == Meaning::Free => match long_number(value.raw()) {
                Some(_) => (self.each)(Piece::Alone(value, Form::Number)),
                None => ControlFlow::Continue(()),
            },
            // Numbers are common among unknown members, and none where text is expected.
            Kind::Number | Kind::True | Kind::False if meaning == Meaning::Text => {
                (self.each)(Piece::Unreadable)
            }
            Kind::Number | Kind::True | Kind::False | Kind::Null => ControlFlow::Continue(()),
        }
    }

    fn deeper(&mut self, walk: impl FnOnce(&mut Self) -> ControlFlow<()>) -> ControlFlow<()> {
        self.depth += 1;
        let ended = walk(self);
        self.depth -= 1;
        ended
    }

    fn part(&mut self, part: View<'a>, meaning: Meaning) -> ControlFlow<()> {
        if meaning == Meaning::Free {
            return part.members().try_for_each(|member| {
                if member.key.len() > 2 {
                    (self.each)(Piece::Alone(member.name, Form::Name))?;
                }
                self.value(member.value, Meaning::Free)
            });
        }
        // Looked up once: a part may have any number of members.
        let (mut textual, main) = (None, main_text(part));
        for (at, member) in part.members().enumerate() {
            let own = Meaning::of_member(member.key);
            let is_main = match own {
                Meaning::Text => main == Some(at),
                own => own != Meaning::Unknown,
            };
            let standing = self.standing;
            if !is_main && standing == Standing::Main {
                self.standing = Standing::Aside;
            }
            match own {
                Meaning::Source
                    if member.value.kind() == Kind::String
                        && !*textual.get_or_insert_with(|| is_textual(part)) => {}
                Meaning::Source => self.value(member.value, Meaning::Unknown)?,
                Meaning::NoText => self.name_of_call(&member)?,
                Meaning::Free if self.is_call => self.arguments(member.value)?,
                meaning => self.value(member.value, meaning)?,
            }
            self.standing = standing;
        }
        ControlFlow::Continue(())
    }

    fn name_of_call(&mut self, member: &NamedView<'a>) -> ControlFlow<()> {
        let is_string = member.value.kind() == Kind::String;
        match self.is_call && is_string && is_in_any_case(member.key, "name") {
            true => (self.each)(Piece::Alone(member.value, Form::Name)),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Which member of a part most readers take for its text: the last that is called so, in the case that readers
/// agree on if there is one.
fn main_text(part: View<'_>) -> Option<usize> {
    let names = part.members().enumerate();
    let texts = names.filter(|(_, member)| Meaning::of_member(member.key) == Meaning::Text);
    let rank = |key: &[u8]| match is_in_any_case(key, "text") {
        true => 1 + u8::from(is_exactly(key, "text")),
        false => 0,
    };
    texts
        .max_by_key(|(_, member)| rank(member.key))
        .map(|(at, _)| at)
}
